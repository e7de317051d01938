"""Bar of saving: from a written file to a search that finds it, the watcher's debounce apart."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.corpus import SEED, Zipf, log_text, vocabulary
from bench.ground import Ground, ground, indexed
from bench.measure import Row, Spread, alone
from core.memory import Memory, Watcher

LIMIT_MS = 100
PATIENCE = 5.0
DEBOUNCE = float(inspect.signature(Watcher).parameters["debounce"].default)


def searchable(quick: bool) -> Iterator[Row]:
    """A log of 4 kB is rewritten with one word changed; its chunk, and no other, is indexed and found."""
    yield from _section(ground(10_000), 5 if quick else 15)
    if not quick:
        yield from _section(ground(100_000), 5)


def _section(place: Ground, rounds: int) -> Iterator[Row]:
    indexed(place)
    target = place.workspace / "sessions" / "2026-06-30-memdeck-bench.md"
    text = log_text(Zipf(vocabulary(), SEED + 3))
    try:
        times, touched = _saves(place, target, text, rounds)
    finally:
        target.unlink(missing_ok=True)
        indexed(place)
    size = f"{place.chunks:,} chunks"
    yield alone(
        "save",
        f"{size}: save to searchable",
        "ms",
        times,
        limit=LIMIT_MS,
        note=f"after the debounce of {DEBOUNCE * 1000:.0f} ms",
    )
    yield Row(
        "save",
        f"{size}: chunks written for a change in one",
        "",
        Spread.of(touched),
        bar="1",
        verdict="pass" if set(touched) == {1} else "miss",
    )


def _saves(place: Ground, target: Path, text: str, rounds: int) -> tuple[list[float], list[float]]:
    target.write_text(text)
    noticed = threading.Event()
    memory = place.open()
    try:
        memory.watch(lambda event: noticed.set())
        memory.sync()
        times, touched = [], []
        for number in range(rounds):
            noticed.clear()
            word = f"zyx{number}save"
            started = _replace(target, f"{text.rstrip()} {word}\n")
            took, chunks = _until_found(memory, noticed, word, started)
            times.append((took - DEBOUNCE) * 1000)
            touched.append(float(chunks))
            time.sleep(0.2)
        return times, touched
    finally:
        memory.close()


def _replace(target: Path, text: str) -> float:
    """Save as editors do (another file, then a rename); return the moment of the rename."""
    other = target.with_name(f".{target.name}.new")
    other.write_text(text)
    started = time.perf_counter()
    os.replace(other, target)
    return started


def _until_found(memory: Memory, noticed: threading.Event, word: str, started: float) -> tuple[float, int]:
    """Return the seconds until the word was found, and how many chunks were written for it."""
    chunks = 0
    while time.perf_counter() - started < PATIENCE:
        if not noticed.wait(PATIENCE):
            break
        noticed.clear()
        report = memory.sync()
        chunks += report.added + report.updated
        found = memory.search(word, sync=False)
        if found.hits or found.dropped:
            return time.perf_counter() - started, chunks
    raise RuntimeError(f"{word} was not found within {PATIENCE:.0f} s of its saving")
