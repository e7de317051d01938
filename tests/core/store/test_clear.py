"""Clearing: exactly what the preview says, by way of the trash, and out of every index."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from core.errors import UsageError
from core.store.clear import Scope, clear, clear_preview
from core.store.layout import Root, open_root
from tests.core.store.bringing_back import restore

NOW = 1_767_225_600.0
WS = "widgets-a3f7b2c9"
LOGS = tuple(
    f"{WS}/sessions/{name}.md"
    for name in ("2025-12-01-auth-00000001", "2025-12-30-auth-00000000", "2025-12-31-auth-00000002")
)
WHOLE = {
    "workspace": (f"{WS}/MEMORY.md", *LOGS),
    "global": ("MEMORY.md",),
    "all": ("MEMORY.md", "other-12345678/MEMORY.md", f"{WS}/MEMORY.md", *LOGS),
}
Snapshot = Callable[[Path], dict[str, tuple[object, ...]]]


class Indexes:
    """Stands for every index: notes what it was asked to drop."""

    def __init__(self, memory: Path) -> None:
        self.memory = memory
        self.dropped: list[str] = []

    def __call__(self, paths: Sequence[str]) -> tuple[list[str], list[str]]:
        assert not any(Path(path).exists() for path in paths), "files go before their rows"
        self.dropped += paths
        return ["index of widgets: 4 files"], ["index of api: in use"]


@pytest.mark.parametrize("what", ["workspace", "global", "all"])
def test_what_is_previewed_is_removed_and_comes_back(
    root: Root, memory: Path, tmp_path: Path, snapshot: Snapshot, what: Scope
) -> None:
    (memory / WS / "index.sqlite").write_bytes(b"rows")
    (memory / WS / "topic.md").write_text("not listed, not cleared")
    (memory / "other-12345678").mkdir()
    (memory / "other-12345678" / "MEMORY.md").write_text("another project")
    expected = tuple(f"{root.path}/{name}" for name in WHOLE[what])
    before = snapshot(memory)
    assert clear_preview(root, WS, what) == expected
    assert snapshot(memory) == before
    indexes = Indexes(memory)

    receipt = clear(root, WS, what, state=tmp_path / "state", now=NOW, drop_from_indexes=indexes)

    assert receipt.done == (*expected, "index of widgets: 4 files")
    assert receipt.failed == ("index of api: in use",)
    assert tuple(indexes.dropped) == expected
    left = set(snapshot(memory))
    assert left == set(before) - set(expected)
    assert receipt.trash is not None
    assert restore(receipt.trash).failed == ()
    assert {path: entry[3] for path, entry in snapshot(memory).items()} == {
        path: entry[3] for path, entry in before.items()
    }


def test_links_are_previewed_as_links_and_broken_ones_go_too(
    root: Root, memory: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.md").write_text("mine")
    (memory / WS / "sessions" / "l.md").symlink_to(tmp_path / "mine.md")
    (memory / WS / "sessions" / "z.md").symlink_to("nowhere")
    (memory / WS / "sessions" / "odd\udcff.md").write_text("x")
    (memory / WS / "sessions" / "folder.md").mkdir()
    (memory / WS / "sessions" / "a.txt").write_text("x")
    shown = clear_preview(root, WS, "workspace")
    assert f"{root.path}/{WS}/sessions/l.md → {tmp_path}/mine.md (only the link is removed)" in shown
    indexes = Indexes(memory)
    clear(root, WS, "workspace", state=tmp_path / "state", now=NOW, drop_from_indexes=indexes)
    assert sorted(p.name for p in (memory / WS / "sessions").iterdir()) == ["a.txt", "folder.md"]
    assert (tmp_path / "mine.md").read_text() == "mine"
    assert not any("odd" in path for path in indexes.dropped)


def test_a_flat_memory_is_cleared_as_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "flat" / "sessions").mkdir(parents=True)
    (tmp_path / "flat" / "MEMORY.md").write_text("x")
    (tmp_path / "flat" / "sessions" / "a.md").write_text("x")
    root = open_root(str(tmp_path / "flat"))
    expected = (f"{root.path}/MEMORY.md", f"{root.path}/sessions/a.md")
    assert clear_preview(root, "", "workspace") == clear_preview(root, "", "all") == expected
    with pytest.raises(UsageError, match="no global part"):
        clear_preview(root, "", "global")


def test_without_a_workspace_only_global_can_be_cleared(root: Root) -> None:
    assert clear_preview(root, "", "global") == (f"{root.path}/MEMORY.md",)
    with pytest.raises(UsageError, match="no workspace"):
        clear_preview(root, "", "workspace")


def test_all_means_every_workspace(root: Root, memory: Path) -> None:
    other = memory / "other-12345678"
    other.mkdir()
    (other / "MEMORY.md").write_text("x")
    assert str(other / "MEMORY.md") in clear_preview(root, WS, "all")
    assert clear_preview(root, "", "all") == clear_preview(root, WS, "all")


def test_linked_folders_are_not_cleared(root: Root, memory: Path, tmp_path: Path) -> None:
    (memory / "linked-12345678").symlink_to(memory / WS)
    with pytest.raises(UsageError, match="is a link"):
        clear_preview(root, "linked-12345678", "workspace")
    (memory / WS / "sessions").rename(tmp_path / "moved")
    (memory / WS / "sessions").symlink_to(tmp_path / "moved")
    assert clear_preview(root, WS, "workspace") == (f"{root.path}/{WS}/MEMORY.md",)


def test_nothing_to_clear_is_said_and_makes_no_trash(tmp_path: Path) -> None:
    root = open_root(str(tmp_path / "memory"))
    indexes = Indexes(tmp_path)
    receipt = clear(root, WS, "all", state=tmp_path / "state", now=NOW, drop_from_indexes=indexes)
    assert receipt.done == receipt.failed == ()
    assert receipt.notes == ("There was nothing to remove.",)
    assert indexes.dropped == []
    assert list(tmp_path.iterdir()) == []


def test_when_every_file_is_kept_no_index_is_touched(
    root: Root, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("core.store.trash.os.rename", refuse)
    indexes = Indexes(memory)
    receipt = clear(root, WS, "global", state=tmp_path / "state", now=NOW, drop_from_indexes=indexes)
    assert (receipt.done, receipt.trash, indexes.dropped) == ((), None, [])
    assert "Permission denied; it was kept" in receipt.failed[0]
    assert (memory / "MEMORY.md").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_folders_that_cannot_be_looked_into_are_named(root: Root, memory: Path, tmp_path: Path) -> None:
    sessions = memory / WS / "sessions"
    sessions.chmod(0)
    try:
        _unseen_is_named(root, tmp_path, str(sessions))
    finally:
        sessions.chmod(0o700)


def test_a_folder_that_cannot_be_listed_is_named(
    root: Root, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = str(memory / WS / "sessions")
    listdir = os.listdir

    def denied(path: str) -> list[str]:
        if path == sessions:
            raise PermissionError(errno.EACCES, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", denied)
    _unseen_is_named(root, tmp_path, sessions)


def _unseen_is_named(root: Root, tmp_path: Path, sessions: str) -> None:
    line = f"{sessions}: cannot be looked into (Permission denied); what it holds stays"
    assert clear_preview(root, WS, "workspace") == (f"{root.path}/{WS}/MEMORY.md", line)
    receipt = clear(
        root, WS, "workspace", state=tmp_path / "state", now=NOW, drop_from_indexes=lambda paths: ([], [])
    )
    assert receipt.done == (f"{root.path}/{WS}/MEMORY.md",)
    assert receipt.failed == (line,)
    again = clear(
        root, WS, "workspace", state=tmp_path / "state", now=NOW, drop_from_indexes=lambda paths: ([], [])
    )
    assert (again.done, again.failed, again.notes) == ((), (line,), ())
