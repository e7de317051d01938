"""A made-up memory of any size: Zipf words in Markdown of the shape an agent writes, the same every time."""

from __future__ import annotations

import bisect
import itertools
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

SEED = 20_260_701
VOCABULARY = 30_000
SECTIONS = 4
"""Sections of a log; each stays below the chunker's limit, so a log has exactly that many chunks."""
LOG_BYTES = 4_096
MEMORY_BYTES = 60_000
MEMORY_SECTIONS = 60
NEWEST = datetime(2026, 6, 30, 18, tzinfo=UTC)
DAYS = 400
WORKSPACE = "widgets-a3f7b2c9"

_CONSONANTS = "bcdfghjklmnprstvz"
_VOWELS = "aeiou"
_TRIGGERS = ("user-requested", "idle", "interval", "pre-compaction", "slash-command")


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was written: the root, and how many files and chunks the product must find there."""

    root: Path
    logs: int
    chunks: int


def vocabulary(size: int = VOCABULARY) -> list[str]:
    """Return ``size`` different words, the commonest first; common ones are shorter, as in speech."""
    rng = random.Random(SEED)
    syllables = [left + right for left in _CONSONANTS for right in _VOWELS]
    words: dict[str, None] = {}
    while len(words) < size:
        length = 2 if len(words) < 800 else 3 if len(words) < 12_000 else 4
        words.setdefault("".join(rng.choice(syllables) for _ in range(length)))
    return list(words)


class Zipf:
    """Draws words: the one of rank r as often as 1/r says."""

    def __init__(self, words: Sequence[str], seed: int) -> None:
        self._words = words
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
        self._random = random.Random(seed)

    def draw(self, count: int) -> list[str]:
        """Return ``count`` words."""
        total, uniform, weights = self._weights[-1], self._random.random, self._weights
        return [self._words[bisect.bisect(weights, uniform() * total)] for _ in range(count)]

    def between(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        return self._random.randint(low, high)


def logs_for(chunks: int) -> int:
    """Return how many logs, beside the two MEMORY.md, make up that many chunks."""
    return max(0, chunks - 2 * MEMORY_SECTIONS) // SECTIONS


def chunks_of(logs: int) -> int:
    """Return how many chunks a memory with that many logs has."""
    return logs * SECTIONS + 2 * MEMORY_SECTIONS


def log_text(zipf: Zipf) -> str:
    """Write one log of about ``LOG_BYTES``: a title, headings, bullets, paragraphs, blank lines."""
    parts = [_section(zipf, "#", LOG_BYTES // SECTIONS)]
    parts += [_section(zipf, "##", LOG_BYTES // SECTIONS) for _ in range(SECTIONS - 1)]
    return "\n".join(parts)


def memory_text(zipf: Zipf) -> str:
    """Write one MEMORY.md of about ``MEMORY_BYTES``."""
    size = MEMORY_BYTES // MEMORY_SECTIONS
    parts = [
        _section(zipf, "##" if number % 5 == 0 else "###", size, spread=100)
        for number in range(MEMORY_SECTIONS)
    ]
    return "\n".join(parts)


def _section(zipf: Zipf, mark: str, size: int, *, spread: int = 250) -> str:
    """A heading and about ``size`` bytes below it (± ``spread``), well under the chunker's limit."""
    wanted = size + zipf.between(-spread, spread)
    lines = [f"{mark} {' '.join(zipf.draw(zipf.between(2, 5))).capitalize()}", ""]
    written = len(lines[0]) + 2
    while written < wanted:
        bullet = zipf.between(0, 2) > 0
        words = zipf.draw(zipf.between(6, 16))
        sentence = " ".join(words).capitalize() + "."
        line = f"- {sentence}" if bullet else sentence
        lines.append(line)
        written += len(line) + 1
        if not bullet or zipf.between(0, 4) == 0:
            lines.append("")
            written += 1
    while lines[-1] == "":
        lines.pop()
    return "\n".join(lines) + "\n"


def log_names(count: int, seed: int = SEED) -> Iterator[tuple[str, datetime]]:
    """Yield (file name, time of writing) of the logs, oldest first, evenly over ``DAYS`` days."""
    rng = random.Random(seed)
    for number in range(count):
        written = NEWEST - timedelta(days=DAYS) * ((count - number) / count)
        trigger = rng.choice(_TRIGGERS)
        yield f"{written:%Y-%m-%d}-{trigger}-{rng.getrandbits(32):08x}.md", written


def write_corpus(root: Path, logs: int) -> Corpus:
    """Write global and workspace MEMORY.md and ``logs`` logs below ``root`` (which must not exist yet)."""
    words = vocabulary()
    sessions = root / WORKSPACE / "sessions"
    sessions.mkdir(parents=True)
    for number, folder in enumerate((root, root / WORKSPACE)):
        _write(folder / "MEMORY.md", memory_text(Zipf(words, SEED + number)), NEWEST)
    zipf = Zipf(words, SEED + 2)
    for name, when in log_names(logs):
        _write(sessions / name, log_text(zipf), when)
    return Corpus(root, logs, chunks_of(logs))


def _write(path: Path, text: str, when: datetime) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
    os.utime(path, (when.timestamp(), when.timestamp()))


def queries(count: int, low: int, high: int, *, words: int = 3) -> list[str]:
    """Return ``count`` queries of ``words`` different words whose ranks lie between ``low`` and ``high``."""
    rng = random.Random(SEED + low)
    pool = vocabulary()[low:high]
    return [" ".join(rng.sample(pool, words)) for _ in range(count)]


def specific_queries(count: int) -> list[str]:
    """Queries of words that a few chunks in a thousand hold."""
    return queries(count, 1_000, 15_000)


def frequent_queries(count: int) -> list[str]:
    """Queries of words that stand in a good part of all chunks."""
    return queries(count, 5, 60)
