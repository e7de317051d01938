"""What anyone does to the files of a memory reaches the callback, under the index's spelling."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.index.watcher import Watcher, WatchEvent
from tests.core.index.watching import Recorder, wait_until

Start = Callable[..., tuple[Watcher, Recorder]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "memory"
    (root / "widgets-a3f7b2c9" / "sessions").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Global\n")
    (root / "widgets-a3f7b2c9" / "MEMORY.md").write_text("# Widgets\n")
    return root


@pytest.fixture
def workspace(root: Path) -> Path:
    return root / "widgets-a3f7b2c9"


@pytest.fixture(params=["live", "polling"])
def network(request: pytest.FixtureRequest) -> Callable[[Path], bool]:
    return lambda path: bool(request.param == "polling")


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    watchers: list[Watcher] = []

    def begin(
        spelled: Path = root, network: Callable[[Path], bool] = lambda path: False
    ) -> tuple[Watcher, Recorder]:
        heard = Recorder()
        watcher = Watcher(
            [(str(spelled), spelled.resolve())],
            heard,
            network=network,
            poll_interval=0.05,
            health_interval=0.05,
        )
        watchers.append(watcher)
        watcher.start()
        return watcher, heard

    yield begin
    for watcher in watchers:
        watcher.stop()


def marker(heard: Recorder, folder: Path) -> None:
    """Make one change that must be heard, so that everything before it was heard as well."""
    path = folder / "marker.md"
    path.write_text(f"{path.exists()}")
    heard.expect(path)


def test_edits_of_every_kind_are_told(
    root: Path, workspace: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    watcher, heard = start(network=network)
    assert watcher.status.mode == ("polling" if network(root) else "live")

    log = workspace / "sessions" / "2026-07-17-auth-12345678.md"
    log.write_text("created\n")
    heard.expect(log)

    heard.clear()
    with log.open("a") as file:
        file.write("appended\n")
    heard.expect(log)

    heard.clear()
    (workspace / "MEMORY.md").write_text("# truncated and written in place\n")
    heard.expect(workspace / "MEMORY.md")

    heard.clear()
    for text in ("first", "second", "third save in a row"):
        (root / "MEMORY.md").write_text(text)
    heard.expect(root / "MEMORY.md")

    heard.clear()
    temporary = root / ".memdeck-1.tmp"
    temporary.write_text("# saved by temporary file and rename\n")
    temporary.replace(root / "MEMORY.md")
    heard.expect(root / "MEMORY.md")

    heard.clear()
    renamed = log.with_name("2026-07-17-renamed-12345678.md")
    log.rename(renamed)
    heard.expect(log, renamed)

    heard.clear()
    renamed.unlink()
    heard.expect(renamed)

    heard.clear()
    renamed.write_text("created again\n")
    heard.expect(renamed)
    assert heard.most_at_once == 1
    assert len(heard.threads) == 1


def test_a_file_deleted_and_created_at_once_is_told(
    workspace: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    _, heard = start(network=network)
    (workspace / "MEMORY.md").unlink()
    (workspace / "MEMORY.md").write_text("# Another\n")
    heard.expect(workspace / "MEMORY.md")


def test_folders_that_come_go_and_move_ask_for_a_rescan(
    root: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    _, heard = start(network=network)
    fresh = root / "api-1f2e3d4c"
    (fresh / "sessions").mkdir(parents=True)
    (fresh / "sessions" / "2026-07-01-a-1.md").write_text("lands before any watch can be placed\n")
    heard.expect_rescan("folder")
    late = fresh / "sessions" / "2026-07-02-b-2.md"
    late.write_text("in the new folder\n")
    heard.expect(late)

    heard.clear()
    moved = root / "api-99999999"
    fresh.rename(moved)
    heard.expect_rescan("folder")
    heard.clear()
    (moved / "sessions" / "2026-07-03-c-3.md").write_text("after the move\n")
    heard.expect(moved / "sessions" / "2026-07-03-c-3.md")

    heard.clear()
    shutil.rmtree(moved)
    heard.expect_rescan("folder")


def test_a_folder_moved_in_is_watched(
    root: Path, tmp_path: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    outside = tmp_path / "prepared"
    (outside / "sessions").mkdir(parents=True)
    _, heard = start(network=network)
    outside.rename(root / "prepared-00000001")
    heard.expect_rescan("folder")
    inside = root / "prepared-00000001" / "sessions" / "a.md"
    inside.write_text("x")
    heard.expect(inside)


def test_a_burst_of_2000_files_is_told_completely_and_in_few_events(workspace: Path, start: Start) -> None:
    _, heard = start()
    logs = [workspace / "sessions" / f"2026-01-01-burst-{n:08d}.md" for n in range(2000)]
    for log in logs:
        log.write_text("# One of many\n")
    heard.expect(*logs)
    assert len(heard.events) < 200


def test_a_stream_of_changes_is_told_while_it_goes_on(workspace: Path, root: Path) -> None:
    heard = Recorder()
    # With a debounce this long only the limit on waiting can let the first event through.
    watcher = Watcher([(str(root), root)], heard, network=lambda path: False, debounce=0.4)
    watcher.start()
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.01):
            (workspace / "MEMORY.md").write_text("again")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        heard.expect(workspace / "MEMORY.md")
    finally:
        stop.set()
        writer.join()
        watcher.stop()


def test_what_is_no_memory_is_never_told(
    root: Path, workspace: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    (root / ".git").mkdir()
    _, heard = start(network=network)
    for name in (".memdeck-7.tmp", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", ".dream-lock"):
        (workspace / name).write_text("x")
        (workspace / name).unlink()
    (root / ".git" / "COMMIT.md").write_text("x")
    (root / ".git" / "refs").mkdir()
    (workspace / "notes.txt").write_text("x")
    marker(heard, workspace)
    assert heard.paths == {str(workspace / "marker.md")}
    assert heard.rescans == []


def test_reading_causes_no_event(root: Path, workspace: Path, start: Start) -> None:
    _, heard = start()
    for path in root.rglob("*.md"):
        path.read_bytes()
    marker(heard, workspace)
    assert heard.paths == {str(workspace / "marker.md")}


def test_a_linked_root_is_told_in_its_own_spelling(
    root: Path, tmp_path: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    _, heard = start(link, network=network)
    (root / "MEMORY.md").write_text("# through the real path\n")
    heard.expect(link / "MEMORY.md")
    assert all(path.startswith(f"{link}/") for path in heard.paths)

    # The link now leads elsewhere.
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)
    heard.expect_rescan("was replaced")
    (other / "NEW.md").write_text("x")
    heard.expect(link / "NEW.md")


def test_the_target_of_a_linked_file_is_watched(
    root: Path, tmp_path: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    target = tmp_path.resolve() / "notes" / "shared.txt"
    target.parent.mkdir()
    target.write_text("shared\n")
    link = root / "LINKED.md"
    link.symlink_to(target)
    watcher, heard = start(network=network)
    watcher.watch_targets({str(link): str(target)})
    if not network(root):
        heard.expect(link)  # told once when it comes to be watched
        heard.clear()
    target.write_text("edited where it really lies\n")
    heard.expect(link)

    heard.clear()
    replacement = target.with_name("replacement")
    replacement.write_text("saved by rename\n")
    replacement.replace(target)
    heard.expect(link)

    watcher.watch_targets({})
    (target.parent / "unrelated.md").write_text("x")
    marker(heard, root)
    assert heard.paths == {str(link), str(root / "marker.md")}


def test_a_linked_file_inside_the_memory_is_told_under_both_names(root: Path, start: Start) -> None:
    link = root / "AGAIN.md"
    link.symlink_to(root / "MEMORY.md")
    watcher, heard = start()
    watcher.watch_targets({str(link): str(root / "MEMORY.md")})
    wait_until(lambda: watcher.status.mode == "live")

    def edited() -> bool:
        (root / "MEMORY.md").write_text("# again\n")
        return {str(link), str(root / "MEMORY.md")} <= heard.paths

    wait_until(edited)


def test_a_root_that_appears_later_goes_and_comes_back(
    tmp_path: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    root = tmp_path.resolve() / "later" / "memory"
    watcher, heard = start(root, network=network)
    assert "does not exist yet" in watcher.status.reason
    for _ in range(2):
        heard.clear()
        root.mkdir(parents=True)
        heard.expect_rescan()
        heard.clear()
        (root / "MEMORY.md").write_text("x")
        heard.expect(root / "MEMORY.md")
        heard.clear()
        shutil.rmtree(root.parent)
        heard.expect_rescan()
    wait_until(lambda: "does not exist yet" in watcher.status.reason)


def test_a_root_swapped_for_another_folder_is_watched_anew(
    root: Path, tmp_path: Path, start: Start, network: Callable[[Path], bool]
) -> None:
    _, heard = start(network=network)
    root.rename(tmp_path / "aside")
    root.mkdir()
    heard.expect_rescan()
    heard.clear()
    (root / "MEMORY.md").write_text("x")
    heard.expect(root / "MEMORY.md")


def test_roots_are_added_and_removed(root: Path, tmp_path: Path, start: Start) -> None:
    other = tmp_path.resolve() / "agent-memory"
    other.mkdir()
    watcher, heard = start()
    watcher.add_root(str(other), other)
    heard.expect_rescan("agent-memory appeared")
    (other / "MEMORY.md").write_text("x")
    heard.expect(other / "MEMORY.md")
    watcher.remove_root(str(other))
    heard.clear()

    def deaf() -> bool:
        heard.clear()
        (other / "MEMORY.md").write_text("more")
        marker(heard, root)
        return str(other / "MEMORY.md") not in heard.paths

    wait_until(deaf, "the removed root is no longer told")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_becomes_readable_is_watched(workspace: Path, start: Start) -> None:
    (workspace / "sessions").chmod(0)
    _, heard = start()
    (workspace / "sessions").chmod(0o700)
    heard.expect_rescan("sessions")
    (workspace / "sessions" / "a.md").write_text("x")
    heard.expect(workspace / "sessions" / "a.md")


def test_an_error_of_the_callback_is_kept_and_watching_goes_on(root: Path) -> None:
    heard = Recorder()

    def broken(event: WatchEvent) -> None:
        heard(event)
        if len(heard.events) == 1:
            raise ValueError("no index today")

    watcher = Watcher([(str(root), root)], broken, network=lambda path: False, health_interval=0.05)
    watcher.start()
    try:
        (root / "MEMORY.md").write_text("x")
        wait_until(lambda: "no index today" in watcher.status.reason)
        (root / "OTHER.md").write_text("x")
        heard.expect(root / "OTHER.md")
        wait_until(lambda: watcher.status.reason == "")
        assert watcher.status.mode == "live"
    finally:
        watcher.stop()


def test_stopping_leaves_no_thread_and_may_be_repeated(root: Path, network: Callable[[Path], bool]) -> None:
    before = set(threading.enumerate())
    watcher = Watcher([(str(root), root)], lambda event: None, network=network)
    assert watcher.status.mode == "off"
    watcher.start()
    # Whoever runs the tests may start threads of its own meanwhile.
    ours = {
        thread
        for thread in set(threading.enumerate()) - before
        if thread.name.startswith("memdeck") or type(thread).__module__.startswith(("watchdog", "core"))
    }
    assert ours
    assert all(thread.daemon and thread.name.startswith("memdeck-watch") for thread in ours)
    watcher.stop()
    watcher.stop()
    wait_until(lambda: not any(thread.is_alive() for thread in ours))
    assert watcher.status.mode == "off"
    watcher.start()
    assert watcher.status.mode == "off"


def test_stopping_from_within_the_callback_ends_it(root: Path) -> None:
    done = threading.Event()
    watcher = Watcher(
        [(str(root), root)], lambda event: (watcher.stop(), done.set())[1], network=lambda path: False
    )
    watcher.start()
    (root / "MEMORY.md").write_text("x")
    assert done.wait(10)
    wait_until(lambda: watcher.status.mode == "off")


def test_importing_the_watcher_does_not_import_watchdog() -> None:
    code = "import sys, core.index.watcher; sys.exit('watchdog' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
