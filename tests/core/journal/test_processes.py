"""Several processes at once, and processes that are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from core.journal.journal import Journal
from core.journal.model import Change
from tests.core.journal.desk import Desk

ROOT = Path(__file__).parents[3]


def writer(folder: Path, name: str, count: int) -> tuple[subprocess.Popen[bytes], Path]:
    """A process that writes, and the file where it says what it recorded."""
    said = folder.with_name(f"{name}.said")
    command = [sys.executable, "-m", "tests.core.journal.writer", str(folder), name, str(count)]
    with said.open("wb") as out:
        return subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT), said


def said_in(path: Path) -> list[list[str]]:
    """(record, text) of each whole line."""
    return [line.split() for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.timeout(300)
def test_eight_processes_make_one_unbroken_chain(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    running = [writer(folder, f"p{number}", 200) for number in range(8)]
    assert [(process.wait(), len(said_in(said))) for process, said in running] == [(0, 200)] * 8
    journal = Journal.open(folder, time.time)
    verdict = journal.verify()
    assert verdict.sound and not verdict.unfinished and not verdict.set_aside
    assert verdict.records == 1_600
    history = journal.history(limit=10_000)
    assert len(history) == 1_600
    assert {one.id for one in history} == {ident for _, said in running for ident, _ in said_in(said)}
    assert len(journal.state_at(1e12)) == 8
    journal.close()


@pytest.mark.timeout(300)
def test_killed_at_any_moment_it_can_be_verified_and_what_was_said_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    chance = random.Random()
    said: list[list[str]] = []
    for turn in range(20):
        pair = [writer(folder, f"t{turn}-{number}", 0) for number in range(2)]
        while not all(said_in(out) for _, out in pair):
            time.sleep(0.01)
        time.sleep(chance.random() * 0.1)
        for process, _out in pair:
            process.kill()
            process.wait()
        for _process, out in pair:
            said += said_in(out)
        journal = Journal.open(folder, time.time)
        assert not journal.verify().broken, turn
        journal.close()
    journal = Journal.open(folder, time.time)
    journal.record(Change("after.md", None, b"goes on", "user", "create"))
    verdict = journal.verify()
    assert verdict.sound and not verdict.unfinished
    known = {one.id for one in journal.history(limit=100_000)}
    assert len(known) == verdict.records
    for ident, text in said:
        assert ident in known
        assert journal.text(text)
    journal.close()


def test_threads_share_one_journal(desk: Desk) -> None:
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(20):
                desk.journal.record(
                    Change(
                        name,
                        str(number - 1).encode() if number else None,
                        str(number).encode(),
                        "user",
                        "edit",
                    )
                )
                assert desk.journal.history(name, limit=1)[0].path == name
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"{number}.md",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    verdict = desk.journal.verify()
    assert verdict.sound and verdict.records == 120
