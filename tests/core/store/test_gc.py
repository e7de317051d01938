"""gc reports, and removes only folders that hold nothing, by way of the trash."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import UsageError
from core.store.gc import gc
from core.store.layout import Root, open_root
from core.store.model import GcReport
from tests.core.store.bringing_back import restore

NOW = 1_767_225_600.0
OLD = NOW - 90 * 86_400
WS = "widgets-a3f7b2c9"
TEMPLATE = "# Project Memory — /x\n\n> Auto-populated by dream consolidation. Edit freely.\n"
Snapshot = Callable[[Path], dict[str, tuple[object, ...]]]


def age(folder: Path, when: float = OLD) -> None:
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (when, when), follow_symlinks=False)


def look(root: Root, **more: object) -> GcReport:
    return gc(root, current=WS, now=NOW, max_age_days=30, **more)  # type: ignore[arg-type]


def test_a_report_changes_nothing(root: Root, memory: Path, snapshot: Snapshot) -> None:
    (memory / "old-12345678").mkdir()
    age(memory / "old-12345678")
    before = snapshot(memory.parent)
    report = look(root)
    assert [(c.folder, c.remove) for c in report.candidates] == [("old-12345678", True), (WS, False)]
    assert report.receipt is None
    assert snapshot(memory.parent) == before


def test_an_abandoned_folder_of_derived_files_goes_to_the_trash_and_comes_back(
    root: Root, memory: Path, tmp_path: Path, snapshot: Snapshot
) -> None:
    folder = memory / "old-12345678"
    (folder / "sessions").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(TEMPLATE)
    for name in ("index.sqlite", "index.h-box-1.sqlite-wal", ".dream-lock", ".memdeck-a.tmp", ".DS_Store"):
        (folder / name).write_bytes(b"derived")
    age(folder)
    before = snapshot(folder)

    receipt = look(root, remove=True, state=tmp_path / "state").receipt

    assert receipt is not None
    assert receipt.done == (str(folder),)
    assert receipt.failed == ()
    assert not folder.exists()
    assert receipt.trash is not None
    back = restore(receipt.trash)
    assert back.failed == ()
    after = snapshot(folder)
    assert {path: (s[0], s[2], s[3]) for path, s in after.items()} == {
        path: (s[0], s[2], s[3]) for path, s in before.items()
    }


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("MEMORY.md", "# A fact\n", "has content"),
        ("topic.md", "kept", "has content"),
        ("sessions/deep/old.md", "kept", "has content"),
        ("big.md", " " * 70_000, "has content"),
        ("notes.txt", "", "is not a file of the memory"),
        ("INDEX.SQLITE", "", "is not a file of the memory"),
        ("bad\udcff", "", "bad\\xff is not a file"),
    ],
)
@pytest.mark.parametrize("folder", ["old-12345678", "tmpl-engine-12345678"])
def test_anything_real_keeps_a_folder_whatever_its_name(
    root: Root, memory: Path, folder: str, name: str, data: str, words: str
) -> None:
    path = memory / folder / name
    path.parent.mkdir(parents=True)
    path.write_text(data)
    age(memory / folder)
    candidate = next(c for c in look(root).candidates if c.folder == folder)
    assert not candidate.remove
    if not name.startswith("sessions") or folder.startswith("tmp"):
        assert words in candidate.reason


def test_links_and_pipes_keep_a_folder_and_linked_folders_are_left(
    root: Root, memory: Path, tmp_path: Path
) -> None:
    (tmp_path / "target").mkdir()
    (memory / "with-link-12345678").mkdir()
    (memory / "with-link-12345678" / "MEMORY.md").symlink_to(tmp_path / "target")
    (memory / "with-pipe-12345678").mkdir()
    os.mkfifo(memory / "with-pipe-12345678" / "pipe.md")
    (memory / "link-12345678").symlink_to(tmp_path / "target")
    (memory / "dangling-12345678").symlink_to(tmp_path / "none")
    for name in ("with-link-12345678", "with-pipe-12345678"):
        age(memory / name)
    os.utime(memory / "link-12345678", (OLD, OLD), follow_symlinks=False)
    report = look(root, remove=True, state=tmp_path / "state")
    assert {c.folder: c.remove for c in report.candidates} == {
        "link-12345678": False,
        WS: False,
        "with-link-12345678": False,
        "with-pipe-12345678": False,
    }
    assert report.receipt is not None
    assert (report.receipt.done, report.receipt.trash) == ((), None)
    assert not (tmp_path / "state").exists()


def test_an_index_in_use_lately_keeps_a_temporary_workspace(root: Root, memory: Path) -> None:
    (memory / "tmpx").mkdir()
    (memory / "tmpx" / "index.sqlite-wal").write_bytes(b"")
    age(memory / "tmpx", NOW - 3_600)
    candidate = next(c for c in look(root).candidates if c.folder == "tmpx")
    assert (candidate.remove, "in use" in candidate.reason) == (False, True)


def test_the_current_workspace_stays(tmp_path: Path) -> None:
    (tmp_path / "memory" / WS).mkdir(parents=True)
    age(tmp_path / "memory")
    candidate = look(open_root(str(tmp_path / "memory"))).candidates[0]
    assert (candidate.remove, candidate.reason) == (False, "the current workspace")


def test_hidden_folders_and_files_are_no_candidates(root: Root, memory: Path) -> None:
    (memory / ".cache").mkdir()
    age(memory / ".cache")
    assert [c.folder for c in look(root).candidates] == [WS]


def test_an_unreadable_folder_is_kept_with_the_reason(
    root: Root, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory / "old-12345678").mkdir()
    age(memory / "old-12345678")

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("core.store.gc.os.scandir", refuse)
    candidate = look(root).candidates[0]
    assert not candidate.remove


def test_flat_and_missing_roots_have_nothing_to_collect(tmp_path: Path) -> None:
    (tmp_path / "flat" / "sessions").mkdir(parents=True)
    assert look(open_root(str(tmp_path / "flat"))).candidates == ()
    assert look(open_root(str(tmp_path / "none"))).candidates == ()


def test_removing_without_a_trash_is_refused(root: Root) -> None:
    with pytest.raises(UsageError):
        look(root, remove=True)
