"""Processes and threads side by side, and processes that are killed: the index ends sound and right."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest

import core.index.indexfile
import core.indexes
from core.errors import UsageError
from core.index.model import WatchStatus
from core.index.sync import Index
from core.index.watcher import WatchEvent
from core.memory import Memory
from tests.core.index.comparing import contents
from tests.core.index.conftest import NOW, WS, Desk
from tests.core.memory_desk import MemoryDesk

PROJECT = Path(__file__).parents[3]
WORDS = ("harbor", "line", "word3", "changed")

CHILD = """
import itertools, os, sys
from core.index.sync import Index, IndexOptions
from core.store.layout import open_root
root, folder, cache, now, rounds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
sessions = os.path.join(root, folder, "sessions")
print("go", flush=True)
for number in itertools.count() if rounds < 0 else range(rounds):
    index = Index(open_root(root), folder, IndexOptions(cache_dir=cache, clock=lambda: now, host="box", dimensions=4))
    report = index.rebuild() if number % 2 else index.sync(force=True)
    assert not [note for note in report.notes if "lock" in note or "busy" in note.lower()], report.notes
    index.close()
    if rounds < 0:
        for name in os.listdir(sessions):
            os.utime(os.path.join(sessions, name))
"""


def child(desk: Desk, now: float, rounds: int) -> subprocess.Popen[bytes]:
    arguments = [str(desk.root), WS, str(desk.cache), str(now), str(rounds)]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments], cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def fill(desk: Desk, logs: int, lines: int) -> None:
    for number in range(logs):
        text = f"# Log {number}\n\nharbor word{number} 配置文件\n" + "\n## Part\n\nline of text\n" * lines
        desk.write(f"{WS}/sessions/2025-12-{number % 28 + 1:02}-n{number:04}-00000000.md", text)


def anew(desk: Desk) -> Index:
    for path in (desk.root / WS).glob("index.sqlite*"):
        path.unlink()
    index = desk.index()
    index.sync()
    return index


def test_processes_killed_in_the_middle_leave_a_sound_index(desk: Desk) -> None:
    fill(desk, logs=30, lines=120)
    chance = random.Random(7)
    for round_number in range(12):
        process = child(desk, desk.now, -1)
        assert process.stdout is not None and process.stdout.readline() == b"go\n"
        time.sleep(chance.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        desk.now += 61  # its claim is stale by then
        if round_number % 4 == 3:
            desk.write(f"{WS}/sessions/2025-12-01-n0000-00000000.md", f"changed {round_number}", desk.now)
    index = desk.index()
    report = index.sync()
    assert not report.behind and not report.notes
    found = contents(index, WORDS, ("配置",))
    index.close()
    assert not list((desk.root / WS).glob("*.damaged-*"))
    assert found == contents(anew(desk), WORDS, ("配置",))


def test_a_killed_process_holds_the_claim_no_longer_than_it_may(desk: Desk) -> None:
    fill(desk, logs=3, lines=3)
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    with database.writing() as writer:  # as a process leaves it that died right after taking it
        writer.execute("UPDATE meta SET value='4242:1767225600' WHERE key='reindex_claim'")
    fill(desk, logs=3, lines=5)
    assert index.sync().behind == 3
    desk.now += 61
    assert index.sync().behind == 0


def test_two_processes_sync_at_the_same_time(desk: Desk) -> None:
    fill(desk, logs=60, lines=20)
    processes = [child(desk, desk.now, 6) for _ in range(2)]
    index = desk.index()
    while any(process.poll() is None for process in processes):
        notes = index.sync().notes
        assert not notes, notes
        time.sleep(0.02)
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    assert index.sync().behind == 0
    found = contents(index, WORDS, ("配置",))
    index.close()
    assert found == contents(anew(desk), WORDS, ("配置",))


def test_searches_while_the_file_is_replaced_and_searches_are_stopped(
    place: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.index.indexfile, "RETRY_SECONDS", -1.0)
    place.fill()
    memory = place.open()
    memory.search("harbor")
    failures: list[str] = []
    done = threading.Event()

    def search(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(60):
            try:
                memory.search(
                    chance.choice(["harbor", "", "copper", 'of "a b"']), everywhere=chance.random() < 0.2
                )
            except Exception as error:
                failures.append(repr(error))

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        memory.interrupt()
        for path in (place.root / WS).glob("index.sqlite*"):
            path.unlink(missing_ok=True)
        done.wait(0.03)
    assert failures == []
    assert len(memory.search("harbor", min_score=0.0).hits) == 4
    assert memory.status().state == "ready"


def test_closing_waits_for_whoever_is_reading(desk: Desk) -> None:
    fill(desk, logs=2, lines=2)
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    closing = threading.Thread(target=index.close)
    with database.reading() as reader:
        closing.start()
        closing.join(0.2)
        assert closing.is_alive()
        assert reader.execute("SELECT count(*) FROM chunks").fetchone() is not None
    closing.join(10)
    assert not closing.is_alive()


# ── nothing that was told of is forgotten ────────────────────────────────────────────────────────────


class LiveWatcher:
    """Stands for a watcher that runs: the test tells what changed."""

    status = WatchStatus("live")

    def __init__(self, roots: object, notice: object, **options: object) -> None:
        self.notice = notice

    def watch_targets(self, targets: object) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


@pytest.fixture
def watched(place: MemoryDesk, monkeypatch: pytest.MonkeyPatch) -> tuple[MemoryDesk, Memory]:
    monkeypatch.setattr(core.indexes, "Watcher", LiveWatcher)
    place.fill()
    memory = place.open()
    memory.watch(lambda event: None)
    memory.search("harbor")
    return place, memory


def edit(place: MemoryDesk, memory: Memory) -> None:
    path = place.write(f"{WS}/MEMORY.md", "# Widgets\n\nzeppelin\n")
    watcher: LiveWatcher = memory._edits._watcher  # type: ignore[assignment]
    watcher.notice(WatchEvent(frozenset({str(path)}), False, "changed"))  # type: ignore[operator]


def test_a_refused_search_forgets_no_edit(watched: tuple[MemoryDesk, Memory]) -> None:
    place, memory = watched
    edit(place, memory)
    with pytest.raises(UsageError):
        memory.search("zeppelin", profile="astral")
    assert memory.search("zeppelin").hits


@pytest.mark.parametrize("error", [apsw.InterruptError, apsw.BusyError, apsw.IOError])
def test_a_sync_that_was_stopped_forgets_no_edit(
    watched: tuple[MemoryDesk, Memory], monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    place, memory = watched
    edit(place, memory)

    def stopped(*arguments: object) -> None:
        raise error("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(Index, "_plan", stopped)
        assert not memory.search("zeppelin").hits
        assert memory.sync().behind >= 1
    assert memory.search("zeppelin").hits


def test_what_another_process_writes_during_a_sync_is_looked_at_next_time(desk: Desk) -> None:
    desk.write(f"{WS}/sessions/2025-12-01-a-00000001.md", "harbor 配置文件", NOW - 3_000_000)
    index = desk.index()
    index.sync()
    desk.write(f"{WS}/sessions/2025-12-30-b-00000002.md", "copper", NOW - 2_000_000)

    def meanwhile(done: int, total: int) -> None:
        other = apsw.Connection(str(desk.file))
        other.execute("UPDATE chunks SET hash='agent' WHERE id LIKE '%00000001.md:0'")
        other.close()

    index.sync(progress=meanwhile)
    index.sync([])
    database = index.database()
    assert database is not None
    off = "SELECT count(*) FROM chunks c LEFT JOIN memdeck_gram_rows g ON g.rowid = c.rowid WHERE g.hash IS NOT c.hash"
    assert database.reader.execute(off).fetchone() == (0,)


def test_our_own_writes_are_nobody_elses(desk: Desk) -> None:
    desk.write(f"{WS}/sessions/2025-12-01-a-00000001.md", "harbor")
    index = desk.index()
    index.sync()
    report = index.sync([])
    assert report.files_seen == 0  # nothing was told of and nobody wrote: not even listed
