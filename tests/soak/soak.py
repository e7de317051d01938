"""A soak: an agent writes and indexes its memory every 100 ms beside the open app and a second reader.

``python -m tests.soak.soak --seconds 60`` prints what happened and exits 1 unless nothing failed, nothing was
lost, and the index at the end equals one that is built anew from the files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from core.memory import Memory
from tests.soak.agent_process import WORDS
from tests.soak.reader import SETTLE, Reader, Seen, environment

HERE = Path(__file__).resolve().parents[2]
WORKSPACE = "widgets-a3f7b2c9"
LOGS = 80
EVERY = 0.1
"""Seconds between two writes of the agent."""

GRACE = 60.0
"""Seconds a process may take beyond the soak itself."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything an index says: its rows, what each word finds with which rank, and our pair index's rows."""

    rows: frozenset[tuple[str, str, int, int, str, str, str]]
    found: Mapping[str, tuple[tuple[str, float], ...]]
    pairs: frozenset[tuple[str, str]]


@dataclass
class Outcome:
    """What the soak found out; ``failures`` is empty when all is well."""

    deeds: dict[str, object]
    readers: dict[str, dict[str, object]]
    chunks: int = 0
    failures: list[str] = field(default_factory=list)


def prepare(folder: Path) -> Path:
    """Make a small memory under ``folder`` and return its root."""
    root = folder / "grok" / "memory"
    (root / WORKSPACE / "sessions").mkdir(parents=True)
    # One chunk that never changes: its access count must be what the agent counted.
    (root / "MEMORY.md").write_text("# Global\n\nThe steadfast note is never edited.\n", encoding="utf-8")
    (root / WORKSPACE / "MEMORY.md").write_text("# Widgets\n\nKiosks show boards.\n", encoding="utf-8")
    chance = random.Random(0)
    for number in range(LOGS):
        prose = "\n\n".join(
            f"## Part {part}\n\n" + " ".join(chance.choices(WORDS, k=60))
            for part in range(chance.randrange(1, 12))
        )
        log = root / WORKSPACE / "sessions" / f"2026-07-{number % 28 + 1:02d}-earlier-{number:08x}.md"
        log.write_text(f"# Log {number}\n\n{prose}\n", encoding="utf-8")
    return root


def spawn(module: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)], cwd=HERE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str], name: str, seconds: float, failures: list[str]) -> None:
    """Wait for a process; one that failed, hung or wrote to stderr is a failure of the soak."""
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        failures.append(f"{name}: still running after {seconds:.0f} s")
    if process.returncode or said.strip():
        failures.append(f"{name}: exit code {process.returncode}: {said.strip()[-2000:]}")


def soak(folder: Path, seconds: float, *, app: bool, every: float = EVERY) -> Outcome:
    """Run everything for ``seconds`` under ``folder`` (empty) and compare at the end; never raises for a failure."""
    root = prepare(folder)
    report, second = folder / "agent.json", folder / "second.json"
    failures: list[str] = []
    agent = spawn("tests.soak.agent_process", root, WORKSPACE, seconds, every, report)
    other = spawn("tests.soak.reader", root, WORKSPACE, folder / "second", report, second)
    try:
        if app:
            first = asyncio.run(use_app(root, folder / "first", report, seconds + GRACE))
        else:
            first = Reader(root, WORKSPACE, folder / "first", seed=3).run(report)
    finally:
        finish(agent, "the agent", seconds + GRACE, failures)
        finish(other, "the second reader", SETTLE + GRACE, failures)
    deeds = json.loads(report.read_text(encoding="utf-8"))
    readers = {"the first reader": vars(first), "the second reader": json.loads(second.read_text())}
    outcome = Outcome(deeds, readers, failures=failures)
    failures += [f"the agent: {error}" for error in deeds["errors"]]
    for name, seen in readers.items():
        failures += [f"{name}: {error}" for error in seen["errors"]]
        failures += [f"{name}: not found: {word}" for word in seen["missing"]]
    compare(root, folder, outcome)
    return outcome


def compare(root: Path, folder: Path, outcome: Outcome) -> None:
    """Compare the files with what was written, and the index with one that is built anew."""
    for path, word in dict(outcome.deeds["words"]).items():  # type: ignore[call-overload]
        if word not in Path(path).read_text(encoding="utf-8"):
            outcome.failures.append(f"{path} no longer holds {word}")
    words = [*WORDS, "steadfast", *dict(outcome.deeds["words"]).values()]  # type: ignore[call-overload]
    database = root / WORKSPACE / "index.sqlite"
    bring_in_step(root, folder, outcome.failures)
    kept = picture(database, words)
    outcome.failures += [f"the index: {what}" for what in unsound(database)]
    accesses = count_accesses(database)
    if accesses != outcome.deeds["accesses"]:
        outcome.failures.append(
            f"the agent counted {outcome.deeds['accesses']} accesses, the index has {accesses}"
        )
    for part in database.parent.glob("index.sqlite*"):
        part.unlink()
    bring_in_step(root, folder, outcome.failures)
    anew = picture(database, words)
    outcome.chunks = len(anew.rows)
    outcome.failures += differences(kept, anew)


def bring_in_step(root: Path, folder: Path, failures: list[str]) -> None:
    memory = Memory.open(
        str(root), workspace=WORKSPACE, cwd=str(root), environ=environment(folder / "last"), home=str(folder)
    )
    try:
        report = memory.sync()
        failures += [f"the last sync: {note}" for note in report.notes]
        if report.behind:
            failures.append(f"the last sync: behind by {report.behind} files")
    finally:
        memory.close()


def picture(database: Path, words: Sequence[str]) -> Picture:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute("SELECT id, path, start_line, end_line, text, hash, source FROM chunks")
        found = {
            word: tuple(
                sorted(
                    (str(name), round(float(str(rank)), 9))
                    for name, rank in connection.execute(
                        "SELECT c.id, f.rank FROM chunks_fts f LEFT JOIN chunks c ON c.rowid = f.rowid"
                        " WHERE chunks_fts MATCH ?",
                        (f'"{word}"',),
                    )
                )
            )
            for word in words
        }
        pairs = connection.execute(
            "SELECT c.id, g.hash FROM memdeck_gram_rows g LEFT JOIN chunks c ON c.rowid = g.rowid"
        )
        return Picture(
            frozenset(tuple(row) for row in rows),
            found,
            frozenset((str(name), str(digest)) for name, digest in pairs),
        )
    finally:
        connection.close()


def count_accesses(database: Path) -> int:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        row = connection.execute("SELECT sum(access_count) FROM chunks WHERE source='global'").fetchone()
        return int(str(row[0])) if row is not None else -1
    finally:
        connection.close()


def unsound(database: Path) -> list[str]:
    """What SQLite itself finds wrong with the file and its full-text table."""
    connection = apsw.Connection(str(database))
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        try:
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES('integrity-check')")
        except apsw.Error as error:
            found.append(f"chunks_fts: {error}")
        return [what for what in found if what != "ok"]
    finally:
        connection.close()


def differences(kept: Picture, anew: Picture) -> list[str]:
    """Say in what the index that lived through the soak differs from one built anew."""
    said = [f"only in the kept index: {row[:4]}" for row in sorted(kept.rows - anew.rows)]
    said += [f"missing in the kept index: {row[:4]}" for row in sorted(anew.rows - kept.rows)]
    said += [
        f"{word!r} finds {kept.found[word][:3]}…, built anew {anew.found[word][:3]}…"
        for word in anew.found
        if kept.found[word] != anew.found[word]
    ]
    said += [f"the pair index differs: {pair}" for pair in sorted(kept.pairs ^ anew.pairs)]
    return said


async def use_app(root: Path, state: Path, report: Path, patience: float) -> Seen:
    """Keep the app open without a terminal, type queries into it, and wait for the newest words at the end."""
    from tui.app import MemdeckApp

    seen = Seen()
    opened: list[Memory] = []

    def open_memory() -> Memory:
        opened.append(
            Memory.open(
                str(root), workspace=WORKSPACE, cwd=str(root), environ=environment(state), home=str(state)
            )
        )
        return opened[-1]

    app = MemdeckApp(open_memory)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("/")
        number, end = 0, time.monotonic() + patience
        while not report.exists() and time.monotonic() < end:
            app.screen.searching.box.value = WORDS[number % len(WORDS)]  # type: ignore[attr-defined]
            number += 1
            seen.searches += 1
            await pilot.pause(0.3)
            _read_error(app, seen)
        words = json.loads(report.read_text(encoding="utf-8"))["words"]
        for path, word in words.items():
            if not await _shown(app, pilot, path, word):
                seen.missing.append(f"{path}: {word}")
        seen.mode = opened[-1].watch(lambda event: None).status.mode
        _read_error(app, seen)
    return seen


def _read_error(app: App[int], seen: Seen) -> None:
    """Keep what the strip for errors says, once."""
    strip = app.screen.query_one("#error", Static)
    if strip.display and (said := str(strip.content)) not in seen.errors:
        seen.errors.append(said)


async def _shown(app: App[int], pilot: Pilot[int], path: str, word: str) -> bool:
    """Type ``word`` and wait until the list on the screen holds a chunk of ``path``."""
    pane = app.screen.searching  # type: ignore[attr-defined]
    pane.box.value = word
    end = time.monotonic() + SETTLE
    while time.monotonic() < end:
        await pilot.pause(0.02)
        last = pane.last
        if last is not None and last.query == word:
            if any(hit.path == path for hit in (*last.hits, *last.dropped)):
                return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=EVERY, help="seconds between two writes")
    parser.add_argument("--without-app", action="store_true", help="two plain readers, no app")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memdeck-soak-") as folder:
        outcome = soak(
            Path(folder).resolve(), options.seconds, app=not options.without_app, every=options.every
        )
    deeds = {name: value for name, value in outcome.deeds.items() if name not in ("words", "errors")}
    print(f"the agent: {deeds}")
    for name, seen in outcome.readers.items():
        print(
            f"{name}: { {key: value for key, value in seen.items() if value and key not in ('missing', 'errors')} }"
        )
    print(f"the index at the end: {outcome.chunks} chunks")
    for failure in outcome.failures:
        print(f"FAILED {failure}")
    print("failed" if outcome.failures else "no error, no lost update, the index equals a rebuild")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
