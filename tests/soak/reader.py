"""Somebody who looks at a memory while an agent writes it: searches, and lets the watcher keep the index in step.

Run as ``python -m tests.soak.reader ROOT WORKSPACE STATE REPORT OUT``: reads until the agent's REPORT is there,
then until every word the agent wrote last is found, and leaves what it saw as JSON in the file OUT.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from core.memory import Memory, WatchEvent
from tests.soak.agent_process import WORDS

SETTLE = 30.0
"""Seconds after the agent's end within which everything must be found."""


@dataclass
class Seen:
    """What a reader saw; ``missing`` are the words it never found though they are in the files."""

    searches: int = 0
    syncs: int = 0
    events: int = 0
    behind: int = 0
    mode: str = ""
    missing: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def environment(state: Path) -> dict[str, str]:
    """The environment of a reader: everything of memdeck's own goes under ``state``."""
    return {"HOME": str(state), "MEMDECK_STATE": str(state / "state")}


class Reader:
    """One open memory that searches without pause and syncs when the watcher tells of a change."""

    def __init__(self, root: Path, workspace: str, state: Path, seed: int) -> None:
        self.memory = Memory.open(
            str(root), workspace=workspace, cwd=str(root), environ=environment(state), home=str(state)
        )
        self.seen = Seen()
        self._changed = threading.Event()
        self._random = random.Random(seed)

    def run(self, report: Path) -> Seen:
        """Read until ``report`` appears and all its words are found (or :data:`SETTLE` seconds passed)."""
        self.memory.watch(self._told)
        try:
            while not report.exists():
                self._round(self._random.choice(WORDS))
            words: Mapping[str, str] = json.loads(report.read_text(encoding="utf-8"))["words"]
            left = dict(words)
            end = time.monotonic() + SETTLE
            while left and time.monotonic() < end:
                left = {path: word for path, word in left.items() if not self._finds(path, word)}
            self.seen.missing = [f"{path}: {word}" for path, word in left.items()]
            self.seen.mode = self.memory.watch(self._told).status.mode
        finally:
            self.memory.close()
        return self.seen

    def _told(self, event: WatchEvent) -> None:
        self.seen.events += 1
        self._changed.set()

    def _round(self, query: str) -> None:
        try:
            if self._changed.wait(0.02):
                self._changed.clear()
                self.seen.syncs += 1
                report = self.memory.sync()
                self._read_notes(report.notes)
                if report.behind:
                    self.seen.behind += 1
                    self._changed.set()
            self.seen.searches += 1
            self._read_notes(self.memory.search(query, sync=False).notes)
        except Exception as exc:
            self.seen.errors.append(f"{type(exc).__name__}: {exc}")

    def _finds(self, path: str, word: str) -> bool:
        self._round(word)
        try:
            report = self.memory.search(word, sync=False)
        except Exception as exc:
            self.seen.errors.append(f"{type(exc).__name__}: {exc}")
            return False
        return any(hit.path == path for hit in (*report.hits, *report.dropped))

    def _read_notes(self, notes: tuple[str, ...]) -> None:
        # That another process writes may be said; that something failed for it may not.
        self.seen.errors += [note for note in notes if "locked" in note or "could not" in note]


def main(arguments: list[str]) -> None:
    root, workspace, state, report, out = arguments
    seen = Reader(Path(root), workspace, Path(state), seed=2).run(Path(report))
    Path(out).write_text(json.dumps(asdict(seen)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
