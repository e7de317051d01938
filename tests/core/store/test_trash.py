"""The trash: a move loses nothing, whatever happens meanwhile, and can be taken back."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import MemdeckError, NotFound, UnreadableFile, UsageError
from core.store import restore as restoring
from core.store import trash as room
from core.store.layout import Root
from core.store.trash import MANIFEST, MANIFEST_VERSION, Thrown, throw_away
from tests.core.store.bringing_back import restore

NOW = 1_767_225_600.0
WS = "widgets-a3f7b2c9"
Snapshot = Callable[[Path], dict[str, tuple[object, ...]]]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(params=["rename", "copy"])
def filesystem(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways a move can go: within one filesystem, and across two."""
    if request.param == "copy":
        refuse_renames(monkeypatch)
    return str(request.param)


def refuse_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every folder a filesystem of its own."""

    def apart(real: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def move(source: Any, target: Any) -> None:
            if os.path.dirname(source) != os.path.dirname(target):
                raise OSError(errno.EXDEV, "Invalid cross-device link")
            real(source, target)

        return move

    monkeypatch.setattr(room.os, "rename", apart(os.rename))
    monkeypatch.setattr("core.store.restore.os.link", apart(os.link))


def throw(root: Root, state: Path, *names: str) -> Thrown:
    return throw_away(
        [f"{root.path}/{name}" for name in names], root=root, state=state, now=NOW, action="test"
    )


def without_inodes(taken: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    return {path: (mode, mtime, content) for path, (mode, _inode, mtime, content) in taken.items()}


def manifest(thrown: Thrown) -> dict[str, Any]:
    assert thrown.trash is not None
    loaded: dict[str, Any] = json.loads((thrown.trash / "manifest.json").read_text())
    return loaded


def test_files_come_back_byte_for_byte_with_mode_and_time(
    root: Root, memory: Path, state: Path, filesystem: str, snapshot: Snapshot
) -> None:
    (memory / "MEMORY.md").chmod(0o640)
    (memory / WS / "MEMORY.md").write_bytes(b"\xff\x00\r\n")
    names = ["MEMORY.md", f"{WS}/MEMORY.md", f"{WS}/sessions/2025-12-01-auth-00000001.md"]
    before = {path: entry for path, entry in snapshot(memory).items() if Path(path).is_file()}

    thrown = throw(root, state, *names)

    assert thrown.failed == ()
    assert thrown.trash is not None
    assert thrown.trash.name == "20260101T000000Z"
    assert [entry["path"] for entry in manifest(thrown)["entries"]] == [f"{root.path}/{n}" for n in names]
    assert not any((memory / name).exists() for name in names)
    receipt = restore(thrown.trash)
    assert (receipt.failed, receipt.notes, receipt.trash) == ((), (), None)
    after = {path: entry for path, entry in snapshot(memory).items() if Path(path).is_file()}
    assert without_inodes(after) == without_inodes(before)
    assert not thrown.trash.exists()


def test_where_hard_links_are_impossible_a_file_still_comes_back(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thrown = throw(root, state, "MEMORY.md")

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("core.store.restore.os.link", refuse)
    assert thrown.trash is not None
    assert restore(thrown.trash).failed == ()
    assert (memory / "MEMORY.md").read_text() == "# Global\n\nPrefers tabs.\n"
    assert not list(memory.glob(".memdeck-*"))


def test_the_trash_is_private_and_outside_the_memory(
    root: Root, memory: Path, state: Path, filesystem: str
) -> None:
    thrown = throw(root, state, "MEMORY.md")
    assert thrown.trash is not None
    for folder in (thrown.trash, thrown.trash.parent, thrown.trash.parent.parent, state):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((thrown.trash / "manifest.json").stat().st_mode) == 0o600
    if filesystem == "copy":
        assert stat.S_IMODE((thrown.trash / "000000").stat().st_mode) == 0o600
    with pytest.raises(UsageError):
        throw(root, memory / "state", f"{WS}/MEMORY.md")
    assert (memory / WS / "MEMORY.md").exists()


def test_two_removals_in_one_second_have_two_folders(root: Root, state: Path) -> None:
    first, second = throw(root, state, "MEMORY.md"), throw(root, state, f"{WS}/MEMORY.md")
    assert first.trash is not None
    assert second.trash is not None
    assert (first.trash.name, second.trash.name) == ("20260101T000000Z", "20260101T000000Z-2")


def test_a_link_is_removed_and_its_target_never_touched(
    root: Root, memory: Path, state: Path, tmp_path: Path, filesystem: str
) -> None:
    (tmp_path / "target.md").write_text("mine")
    (memory / WS / "link.md").symlink_to(tmp_path / "target.md")
    (memory / WS / "dangling.md").symlink_to("nowhere")
    thrown = throw(root, state, f"{WS}/link.md", f"{WS}/dangling.md")
    assert not os.path.lexists(memory / WS / "link.md")
    assert (tmp_path / "target.md").read_text() == "mine"
    assert [entry["target"] for entry in manifest(thrown)["entries"]] == [
        str(tmp_path / "target.md"),
        "nowhere",
    ]
    assert thrown.trash is not None
    restore(thrown.trash)
    assert (memory / WS / "link.md").read_text() == "mine"
    assert os.readlink(memory / WS / "dangling.md") == "nowhere"


def test_names_that_are_not_utf8_survive_the_manifest(
    root: Root, memory: Path, state: Path, filesystem: str
) -> None:
    name = "odd\udcff\x1b[31m\n.md"
    (memory / name).write_text("x")
    thrown = throw(root, state, name)
    assert thrown.trash is not None
    restore(thrown.trash)
    assert (memory / name).read_text() == "x"


def test_nothing_is_removed_when_the_trash_cannot_be_written(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(room, "write_private", full)
    before = snapshot(memory)
    with pytest.raises(MemdeckError, match="No space") as caught:
        throw(root, state, "MEMORY.md")
    assert caught.value.data == "Nothing was removed."
    assert snapshot(memory) == before


def test_a_manifest_that_cannot_be_completed_is_told_and_still_restores(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = room.write_private, []

    def second_fails(path: Path, data: bytes) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, data)

    monkeypatch.setattr(room, "write_private", second_fails)
    thrown = throw(root, state, "MEMORY.md")
    assert "could not be completed" in thrown.failed[0]
    assert thrown.trash is not None
    assert restore(thrown.trash).failed == ()
    assert (memory / "MEMORY.md").exists()


def test_the_list_is_on_disk_before_the_first_move(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(Exception):
        pass

    real, moved = os.rename, []

    def crash_at_second(source: str, target: str) -> None:
        if moved:
            raise Crash
        moved.append(source)
        real(source, target)

    monkeypatch.setattr(room.os, "rename", crash_at_second)
    with pytest.raises(Crash):
        throw(root, state, "MEMORY.md", f"{WS}/MEMORY.md")
    assert not (memory / "MEMORY.md").exists()
    (trash,) = state.glob("roots/*/trash/*")
    receipt = restore(trash)
    assert receipt.failed == ()
    assert "never left" in receipt.notes[0]
    assert (memory / "MEMORY.md").exists()
    assert not trash.exists()


def test_a_file_that_changes_while_it_is_copied_is_kept(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_renames(monkeypatch)
    real = room._copy

    def copy_then_write(source: int, target: str) -> tuple[str, int]:
        result = real(source, target)
        with (memory / "MEMORY.md").open("a") as file:
            file.write("new fact\n")
        return result

    monkeypatch.setattr(room, "_copy", copy_then_write)
    thrown = throw(root, state, "MEMORY.md", f"{WS}/MEMORY.md")
    assert "changed while it was being moved; it was kept" in thrown.failed[0]
    assert (memory / "MEMORY.md").read_text().endswith("new fact\n")
    assert [entry.path for entry in thrown.done] == [f"{root.path}/{WS}/MEMORY.md"]
    assert thrown.trash is not None
    assert sorted(os.listdir(thrown.trash)) == ["000001", "manifest.json"]


def test_a_file_replaced_while_it_is_copied_is_kept(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_renames(monkeypatch)
    real = room._copy

    def copy_then_replace(source: int, target: str) -> tuple[str, int]:
        result = real(source, target)
        (memory / "new").write_text("replaced")
        os.replace(memory / "new", memory / "MEMORY.md")
        return result

    monkeypatch.setattr(room, "_copy", copy_then_replace)
    thrown = throw(root, state, "MEMORY.md")
    assert (len(thrown.failed), thrown.done, thrown.trash) == (1, (), None)
    assert (memory / "MEMORY.md").read_text() == "replaced"


def test_what_is_written_at_the_very_last_moment_is_in_the_trash(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_renames(monkeypatch)
    real = os.unlink

    def write_then_unlink(path: str) -> None:
        if path.endswith("MEMORY.md"):
            with Path(path).open("a") as file:
                file.write("last words\n")
        real(path)

    monkeypatch.setattr(room.os, "unlink", write_then_unlink)
    thrown = throw(root, state, "MEMORY.md")
    monkeypatch.undo()
    assert thrown.trash is not None
    receipt = restore(thrown.trash)
    assert (receipt.failed, receipt.notes) == ((), ())
    assert (memory / "MEMORY.md").read_text().endswith("last words\n")


def test_a_copy_that_cannot_be_verified_is_no_copy(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_renames(monkeypatch)
    monkeypatch.setattr(room, "_hash_file", lambda _path: ("0" * 64, 0))
    thrown = throw(root, state, "MEMORY.md")
    assert "could not be verified; it was kept" in thrown.failed[0]
    assert (memory / "MEMORY.md").exists()
    assert list(state.glob("roots/*/trash/*")) == []


def test_a_writer_that_still_holds_the_file_loses_nothing(root: Root, memory: Path, state: Path) -> None:
    with (memory / "MEMORY.md").open("a") as file:
        thrown = throw(root, state, "MEMORY.md")
        file.write("still writing\n")
    assert thrown.trash is not None
    receipt = restore(thrown.trash)
    assert "written to after" in receipt.notes[0]
    assert (memory / "MEMORY.md").read_text().endswith("still writing\n")


def test_a_file_that_became_a_link_or_a_pipe_is_handled(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def swap(source: str, target: str) -> None:
        if source.endswith("MEMORY.md") and target.endswith(("000000", "000001")):
            os.unlink(source)
            if WS in source:
                os.mkfifo(source)
            else:
                os.symlink("/etc/hostname", source)
        real(source, target)

    monkeypatch.setattr(room.os, "rename", swap)
    thrown = throw(root, state, "MEMORY.md", f"{WS}/MEMORY.md")
    assert [(entry.kind, entry.target) for entry in thrown.done] == [("link", "/etc/hostname")]
    assert "a FIFO" in thrown.failed[0]
    assert stat.S_ISFIFO((memory / WS / "MEMORY.md").stat().st_mode)


def test_what_is_gone_or_lies_outside_is_named(root: Root, memory: Path, state: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("x")
    (memory / "out-12345678").symlink_to(tmp_path / "outside")
    os.mkfifo(memory / "pipe.md")
    thrown = throw(root, state, "none.md", "out-12345678/a.md", "pipe.md")
    assert (thrown.trash, thrown.done, len(thrown.failed)) == (None, (), 3)
    assert (tmp_path / "outside" / "a.md").exists()
    assert not state.exists()


def test_a_folder_into_which_something_comes_stays(
    root: Root, memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = memory / "old-12345678"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("")
    real = os.rmdir

    def new_log_first(path: str) -> None:
        if path == str(folder):
            (folder / "new.md").write_text("new")
        real(path)

    monkeypatch.setattr(room.os, "rmdir", new_log_first)
    thrown = throw(root, state, "old-12345678")
    assert "old-12345678" in thrown.failed[0]
    assert (folder / "new.md").read_text() == "new"


def test_restoring_never_overwrites(root: Root, memory: Path, state: Path) -> None:
    thrown = throw(root, state, "MEMORY.md", f"{WS}/MEMORY.md")
    (memory / "MEMORY.md").write_text("made anew")
    assert thrown.trash is not None
    receipt = restore(thrown.trash)
    assert receipt.done == (f"{root.path}/{WS}/MEMORY.md",)
    assert "stays in the trash" in receipt.failed[0]
    assert (memory / "MEMORY.md").read_text() == "made anew"
    (memory / "MEMORY.md").unlink()
    assert restore(thrown.trash).failed == ()
    assert (memory / "MEMORY.md").read_text() == "# Global\n\nPrefers tabs.\n"


def test_restoring_makes_lost_folders_but_goes_through_no_link(
    root: Root, memory: Path, state: Path, tmp_path: Path
) -> None:
    name = f"{WS}/sessions/2025-12-01-auth-00000001.md"
    thrown = throw(root, state, name)
    (memory / WS).rename(tmp_path / "away")
    (memory / WS).symlink_to(tmp_path / "away")
    assert thrown.trash is not None
    assert "no longer lies inside" in restore(thrown.trash).failed[0]
    assert not (tmp_path / "away/sessions/2025-12-01-auth-00000001.md").exists()
    (memory / WS).unlink()
    assert restore(thrown.trash).failed == ()
    assert (memory / name).read_text() == "# Log 1\n"


def test_a_text_missing_from_the_trash_is_named(root: Root, state: Path) -> None:
    thrown = throw(root, state, "MEMORY.md")
    assert thrown.trash is not None
    (thrown.trash / "000000").unlink()
    assert "not in the trash" in restore(thrown.trash).failed[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"version": 9, "real_root": "/", "entries": []}',
        '{"version": 1, "real_root": "/", "entries": [{"x": 1}]}',
    ],
)
def test_a_damaged_manifest_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UnreadableFile):
        restore(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == text


def test_a_manifest_cannot_reach_outside(root: Root, memory: Path, state: Path, tmp_path: Path) -> None:
    thrown = throw(root, state, "MEMORY.md", f"{WS}/MEMORY.md")
    assert thrown.trash is not None
    path = thrown.trash / "manifest.json"
    changed = json.loads(path.read_text())
    changed["entries"][0]["path"] = str(tmp_path / "escaped.md")
    changed["entries"][1]["stored"] = "../../x"
    path.write_text(json.dumps(changed))
    assert len(restore(thrown.trash).failed) == 2
    assert not (tmp_path / "escaped.md").exists()


def test_no_trash_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        restore(tmp_path / "none")


def test_a_folder_that_is_no_trash_is_refused_whatever_its_manifest_says(
    root: Root, memory: Path, tmp_path: Path
) -> None:
    crafted, victim = tmp_path / "crafted", tmp_path / "victim"
    crafted.mkdir()
    victim.mkdir()
    (crafted / "0").write_bytes(b"#!/bin/sh\n")
    entry = {"path": str(victim / "pwn.sh"), "kind": "file", "stored": "0", "mode": 0o4777, "mtime_ns": 0,
             "size": 10, "blake3": "", "target": ""}  # fmt: skip
    (crafted / MANIFEST).write_text(
        json.dumps({"version": MANIFEST_VERSION, "real_root": "/", "entries": [entry]})
    )
    with pytest.raises(UsageError, match="no trash folder of memdeck's"):
        restoring.restore(crafted, roots=[str(root.real)], within=tmp_path / "state" / "roots")
    with pytest.raises(UsageError, match="not the one opened"):
        restoring.restore(crafted, roots=[str(root.real)], within=tmp_path)
    assert not list(victim.iterdir())
    assert (crafted / "0").exists()


def test_a_mode_never_brings_back_more_than_permissions(root: Root, memory: Path, tmp_path: Path) -> None:
    thrown = throw_away(
        [str(memory / "MEMORY.md")], root=root, state=tmp_path / "state", now=NOW, action="clear global"
    )
    assert thrown.trash is not None
    listed = json.loads((thrown.trash / MANIFEST).read_text())
    listed["entries"][0]["mode"] = 0o4755
    (thrown.trash / MANIFEST).write_text(json.dumps(listed))
    restore(thrown.trash)
    assert stat.S_IMODE((memory / "MEMORY.md").stat().st_mode) == 0o755
