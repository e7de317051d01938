"""The agent's listing order, and every entry that cannot be listed named with its reason."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.errors import UsageError
from core.store import entries
from core.store.layout import Root, open_root
from core.store.listing import Listing, list_memory

WS = "widgets-a3f7b2c9"
Snapshot = Callable[[Path], dict[str, tuple[object, ...]]]


def problems(listing: Listing) -> dict[str, str]:
    return {os.path.basename(problem.path): problem.kind for problem in listing.problems}


def names(listing: Listing) -> list[str]:
    return [file.name for file in listing.files]


def test_global_then_workspace_then_logs_by_name(root: Root) -> None:
    listing = list_memory(root, WS)
    assert [(file.source, file.path.removeprefix(root.path)) for file in listing.files] == [
        ("global", "/MEMORY.md"),
        ("workspace", f"/{WS}/MEMORY.md"),
        ("session", f"/{WS}/sessions/2025-12-01-auth-00000001.md"),
        ("session", f"/{WS}/sessions/2025-12-30-auth-00000000.md"),
        ("session", f"/{WS}/sessions/2025-12-31-auth-00000002.md"),
    ]
    assert listing.problems == ()


def test_entries_carry_what_a_scan_compares(root: Root, memory: Path) -> None:
    status = (memory / "MEMORY.md").stat()
    assert list_memory(root, "").files[0].stamp == (status.st_size, status.st_mtime_ns, status.st_ino)


def test_only_markdown_directly_in_sessions(root: Root, memory: Path) -> None:
    sessions = memory / WS / "sessions"
    for path in (memory / WS / "topic.md", sessions / "a.txt", sessions / "b.MD", sessions / ".md"):
        path.write_text("x")
    (sessions / "deep").mkdir()
    (sessions / "deep" / "c.md").write_text("x")
    assert len(list_memory(root, WS).files) == 5


def test_no_workspace_is_global_alone_and_a_missing_one_too(root: Root) -> None:
    assert names(list_memory(root, "")) == ["MEMORY.md"]
    assert names(list_memory(root, "none-00000000")) == ["MEMORY.md"]


def test_a_flat_root_is_its_own_workspace(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "MEMORY.md").write_text("x")
    (tmp_path / "sessions" / "a.md").write_text("x")
    listing = list_memory(open_root(str(tmp_path)), "")
    assert [file.source for file in listing.files] == ["workspace", "session"]


def test_a_workspace_outside_the_root_cannot_be_named(root: Root) -> None:
    with pytest.raises(UsageError):
        list_memory(root, "../..")


def test_a_root_opened_by_link_keeps_its_spelling(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(memory)
    listing = list_memory(open_root(str(tmp_path / "alias")), WS)
    assert all(file.path.startswith(str(tmp_path / "alias")) for file in listing.files)
    assert not any(file.outside or file.link_target for file in listing.files)


def test_linked_files_are_listed_with_their_target(root: Root, memory: Path, tmp_path: Path) -> None:
    sessions = memory / WS / "sessions"
    (tmp_path / "elsewhere.md").write_text("outside")
    (sessions / "in.md").symlink_to(sessions / "2025-12-01-auth-00000001.md")
    (sessions / "out.md").symlink_to(tmp_path / "elsewhere.md")
    files = {file.name: file for file in list_memory(root, WS).files}
    assert files["in.md"].link_target == str((sessions / "2025-12-01-auth-00000001.md").resolve())
    assert not files["in.md"].outside
    assert files["out.md"].outside
    assert files["out.md"].size == len("outside")


def test_every_broken_entry_is_named_and_the_rest_loads(root: Root, memory: Path) -> None:
    sessions = memory / WS / "sessions"
    (sessions / "dangling.md").symlink_to(memory / "nowhere.md")
    (sessions / "loop.md").symlink_to("loop.md")
    (sessions / "folder.md").mkdir()
    (sessions / "folder-link.md").symlink_to(memory)
    (sessions / "bytes\udcff\x1b[31m\n.md").write_text("x")
    os.mkfifo(sessions / "pipe.md")
    (sessions / "pipe-link.md").symlink_to("pipe.md")

    listing = list_memory(root, WS)

    assert len(listing.files) == 5
    assert problems(listing) == {
        "dangling.md": "dangling-link",
        "loop.md": "link-loop",
        "folder.md": "unreadable",
        "folder-link.md": "folder-link",
        "bytes\udcff\x1b[31m\n.md": "not-utf8",
        "pipe.md": "unreadable",
        "pipe-link.md": "unreadable",
    }
    messages = {os.path.basename(p.path): p.message for p in listing.problems}
    assert "bytes\\xff\x1b[31m\n.md" in messages["bytes\udcff\x1b[31m\n.md"]
    assert "nowhere.md" in messages["dangling.md"]
    assert "a FIFO" in messages["pipe.md"]
    for message in messages.values():
        message.encode()


def test_a_socket_for_a_memory_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    server = socket.socket(socket.AF_UNIX)
    server.bind("MEMORY.md")
    server.close()
    listing = list_memory(open_root(str(tmp_path)), "")
    assert listing.files == ()
    assert "a socket" in listing.problems[0].message


def test_names_with_escapes_that_are_text_are_listed_as_they_are(root: Root, memory: Path) -> None:
    name = "2025-01-01-\x1b]0;x\x07\n-00000009.md"
    (memory / WS / "sessions" / name).write_text("x")
    assert name in names(list_memory(root, WS))


def test_linked_folders_are_not_followed(root: Root, memory: Path, tmp_path: Path) -> None:
    (memory / "linked-12345678").symlink_to(memory / WS)
    listing = list_memory(root, "linked-12345678")
    assert problems(listing) == {"linked-12345678": "folder-link"}
    (memory / WS / "sessions").rename(tmp_path / "moved")
    (memory / WS / "sessions").symlink_to(tmp_path / "moved")
    assert problems(list_memory(root, WS)) == {"sessions": "folder-link"}


def test_files_where_folders_should_be_are_named(root: Root, memory: Path) -> None:
    (memory / "odd-12345678").mkdir()
    (memory / "odd-12345678" / "sessions").write_text("x")
    (memory / "even-12345678").write_text("x")
    assert problems(list_memory(root, "odd-12345678")) == {"sessions": "unreadable"}
    assert problems(list_memory(root, "even-12345678")) == {"even-12345678": "unreadable"}


class Entry:
    """A directory entry whose stat fails as the operating system's would."""

    def __init__(self, entry: os.DirEntry[str], error: OSError) -> None:
        self.name, self.path, self.error = entry.name, entry.path, error

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        raise self.error


class Scan:
    def __init__(self, entries: list[object]) -> None:
        self.entries = entries

    def __enter__(self) -> Iterator[object]:
        return iter(self.entries)

    def __exit__(self, *_: object) -> None:
        return None


def test_a_log_that_vanishes_while_listing_is_named(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = "2025-12-30-auth-00000000.md"
    real_scandir = os.scandir

    def scandir(path: str) -> Scan:
        with real_scandir(path) as found:
            return Scan(
                [Entry(e, FileNotFoundError(errno.ENOENT, "gone")) if e.name == gone else e for e in found]
            )

    monkeypatch.setattr(entries.os, "scandir", scandir)
    listing = list_memory(root, WS)
    assert problems(listing) == {gone: "vanished"}
    assert len(listing.files) == 4


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EBUSY])
def test_an_unreadable_sessions_folder_is_named(
    root: Root, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def scandir(path: str) -> Scan:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(entries.os, "scandir", scandir)
    listing = list_memory(root, WS)
    assert names(listing) == ["MEMORY.md", "MEMORY.md"]
    assert problems(listing) == {"sessions": "unreadable"}


def test_a_file_without_permission_is_listed_and_named(
    root: Root, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory / "MEMORY.md").chmod(0o000)
    monkeypatch.setattr(entries.os, "access", lambda _path, _mode: False)
    listing = list_memory(root, "")
    assert names(listing) == ["MEMORY.md"]
    assert problems(listing) == {"MEMORY.md": "unreadable"}
    assert "permission denied" in listing.problems[0].message


def test_listing_writes_nothing(root: Root, memory: Path, snapshot: Snapshot) -> None:
    (memory / WS / "sessions" / "loop.md").symlink_to("loop.md")
    before = snapshot(memory.parent)
    list_memory(root, WS)
    list_memory(root, "none-00000000")
    assert snapshot(memory.parent) == before
