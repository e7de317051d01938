"""An event source that dies, drops events or is refused is noticed, said, and healed by a rescan."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.index.watcher import Watcher
from tests.core.index.watching import FakeObserver, Recorder, wait_until

linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
Start = Callable[..., tuple[Watcher, Recorder]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "memory"
    (root / "widgets-a3f7b2c9" / "sessions").mkdir(parents=True)
    return root


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    watchers: list[Watcher] = []

    def begin(
        factory: Callable[[Any], Any] | None = None, network: Callable[[Path], bool] = lambda path: False
    ) -> tuple[Watcher, Recorder]:
        heard = Recorder()
        watcher = Watcher(
            [(str(root), root)],
            heard,
            network=network,
            poll_interval=0.05,
            health_interval=0.02,
            observer_factory=factory,
        )
        watchers.append(watcher)
        watcher.start()
        return watcher, heard

    yield begin
    for watcher in watchers:
        watcher.stop()


class Factory:
    """Makes stand-in observers, and real refusals where asked."""

    def __init__(self, refuse: OSError | None = None) -> None:
        self.made: list[FakeObserver] = []
        self.refuse = refuse

    def __call__(self, sink: Any) -> FakeObserver:
        self.made.append(FakeObserver(sink, self.refuse))
        return self.made[-1]


def test_a_dead_observer_is_replaced_and_a_rescan_heals(root: Path, start: Start) -> None:
    factory = Factory()
    watcher, heard = start(factory)
    assert watcher.status.mode == "live"
    factory.made[0].alive = False
    heard.expect_rescan("the event source stopped")
    heard.expect_rescan("watching again")
    wait_until(lambda: watcher.status.mode == "live")
    assert watcher.status.restarts == 1
    assert factory.made[1].watched == [(str(root), True)]


def test_a_dead_emitter_is_noticed_though_its_observer_lives(start: Start) -> None:
    factory = Factory()
    watcher, heard = start(factory)
    for emitter in factory.made[0].emitters:
        emitter.alive = False
    heard.expect_rescan("watching again")
    assert len(factory.made) == 2
    assert watcher.status.mode == "live"


def test_a_source_that_keeps_dying_is_given_up_for_looking(root: Path, start: Start) -> None:
    class Dying(FakeObserver):
        def is_alive(self) -> bool:
            return False

    watcher, heard = start(Dying)
    wait_until(lambda: "failed 5 times" in watcher.status.reason)
    assert watcher.status.mode == "polling"
    (root / "MEMORY.md").write_text("x")
    heard.expect(root / "MEMORY.md")


def test_a_source_that_cannot_be_made_leaves_looking_in_its_place(root: Path, start: Start) -> None:
    def broken(sink: Any) -> Any:
        raise ImportError("no watchdog here")

    watcher, heard = start(broken)
    assert watcher.status.mode == "polling"
    (root / "MEMORY.md").write_text("x")
    heard.expect(root / "MEMORY.md")
    wait_until(lambda: "no watchdog here" in watcher.status.reason)


@pytest.mark.parametrize(
    ("code", "sysctl"),
    [(errno.ENOSPC, "fs.inotify.max_user_watches"), (errno.EMFILE, "fs.inotify.max_user_instances")],
)
def test_a_reached_limit_is_said_with_its_sysctl(root: Path, start: Start, code: int, sysctl: str) -> None:
    factory = Factory(OSError(code, "limit reached"))
    watcher, heard = start(factory)
    assert watcher.status.mode == "polling"
    assert sysctl in watcher.status.reason
    assert not factory.made[0].alive
    (root / "MEMORY.md").write_text("x")
    heard.expect(root / "MEMORY.md")
    assert len(factory.made) == 1


@linux
def test_a_limit_met_below_the_root_is_not_swallowed(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    from watchdog.observers.inotify_c import InotifyFD

    add = InotifyFD.add_callback

    def limited(self: Any, path: bytes, *rest: Any) -> Any:
        if path.endswith(b"/full"):
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        return add(self, path, *rest)

    monkeypatch.setattr(InotifyFD, "add_callback", limited)
    watcher, heard = start()
    assert watcher.status.mode == "live"
    (root / "full").mkdir()
    wait_until(lambda: "max_user_watches" in watcher.status.reason)
    assert watcher.status.mode == "polling"
    (root / "full" / "a.md").write_text("x")
    heard.expect(root / "full" / "a.md")


def test_a_network_filesystem_is_looked_at_and_said_so(root: Path, start: Start) -> None:
    factory = Factory()
    watcher, heard = start(factory, network=lambda path: path == root)
    assert watcher.status.mode == "polling"
    assert "network filesystem" in watcher.status.reason
    assert factory.made == []
    (root / "MEMORY.md").write_text("x")
    heard.expect(root / "MEMORY.md")


def test_a_linked_file_on_a_network_filesystem_is_looked_at(root: Path, tmp_path: Path, start: Start) -> None:
    share = tmp_path.resolve() / "share"
    share.mkdir()
    (share / "note.md").write_text("x")
    factory = Factory()
    watcher, heard = start(factory, network=lambda path: path == share)
    watcher.watch_targets({str(root / "LINK.md"): str(share / "note.md")})

    def edited() -> bool:
        with (share / "note.md").open("a") as file:
            file.write("more")
        return str(root / "LINK.md") in heard.paths

    wait_until(edited)
    assert watcher.status.mode == "live"
    assert factory.made[0].watched == [(str(root), True)]


def test_an_overflow_that_is_reported_asks_for_a_rescan(start: Start) -> None:
    factory = Factory()
    watcher, heard = start(factory)
    factory.made[0].sink.overflowed()
    heard.expect_rescan("dropped")
    assert watcher.status.mode == "live"


@linux
def test_the_kernels_own_overflow_is_noticed(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queue > 100_000:
        pytest.skip("the queue of this kernel is too long to be filled here")
    from watchdog.observers.inotify_c import InotifyFD

    reading = threading.Event()
    reading.set()
    read = InotifyFD.read_events

    def held(self: Any, **options: Any) -> Any:
        events = read(self, **options)
        reading.wait(30)
        return events

    monkeypatch.setattr(InotifyFD, "read_events", held)
    watcher, heard = start()
    first, second = root / "a.md", root / "b.md"
    first.write_text("x")
    second.write_text("x")
    heard.expect(first, second)
    reading.clear()
    for _ in range(queue // 2 + 5000):
        # Alternating, since the kernel folds an event into an equal one before it; some more than the queue
        # holds, since one last batch is read.
        os.utime(first)
        os.utime(second)
    (root / "lost.md").write_text("its event is dropped")
    reading.set()
    heard.expect_rescan("dropped")
    assert watcher.status.mode == "live"
    (root / "later.md").write_text("x")
    heard.expect(root / "later.md")


@linux
def test_a_folder_moved_out_and_made_again_does_not_end_the_watching(
    root: Path, tmp_path: Path, start: Start
) -> None:
    watcher, heard = start()
    workspace, outside = root / "widgets-a3f7b2c9", tmp_path / "outside"
    workspace.rename(outside)
    heard.expect_rescan("widgets")
    heard.clear()
    workspace.mkdir()
    heard.expect_rescan("widgets")
    heard.clear()
    shutil.rmtree(workspace)
    heard.expect_rescan("widgets")
    # This last farewell is the one watchdog's book-keeping trips over.
    shutil.rmtree(outside)
    heard.clear()
    workspace.mkdir()
    heard.expect_rescan()
    heard.clear()
    (workspace / "MEMORY.md").write_text("x")
    heard.expect(workspace / "MEMORY.md")
    wait_until(lambda: watcher.status.mode == "live")


def test_a_folder_whose_permissions_change_is_looked_through_again(root: Path, start: Start) -> None:
    factory = Factory()
    watcher, heard = start(factory)
    (observer,) = factory.made
    observer.sink.folder_changed(str(root / "widgets-a3f7b2c9"), readable=True)
    heard.expect_rescan("widgets")
    wait_until(lambda: observer.scheduled == 2)
    assert observer.watched == [(str(root), True)]
    assert watcher.status.restarts == 0


def test_what_goes_wrong_within_the_source_counts_as_its_death(start: Start) -> None:
    factory = Factory()
    watcher, heard = start(factory)
    factory.made[0].sink.failed(KeyError("a watch nobody knows"))
    heard.expect_rescan("watching again")
    wait_until(lambda: watcher.status.mode == "live")
    assert len(factory.made) == 2


def test_a_stuck_callback_does_not_hold_up_stopping(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.index.watcher.STOP_WAIT", 0.1)
    entered, release = threading.Event(), threading.Event()

    def stuck(event: object) -> None:
        entered.set()
        release.wait(60)

    watcher = Watcher([(str(root), root)], stuck, network=lambda path: False)
    watcher.start()
    (root / "MEMORY.md").write_text("x")
    assert entered.wait(10)
    stopper = threading.Thread(target=watcher.stop)
    stopper.start()
    stopper.join(30)
    assert not stopper.is_alive()
    release.set()
    wait_until(lambda: watcher.status.mode == "off")
