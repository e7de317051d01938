"""A journal that cannot be written says so before anything happened, and can still be read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from core.journal.disk import Disk
from core.journal.journal import Journal
from core.journal.lines import hash_of
from core.journal.model import Change, JournalError
from tests.core.journal.desk import Desk, FailingDisk, ReadOnlyDisk, Ticking


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "journal.index" not in path.name
    }


def test_full_at_every_byte(tmp_path: Path) -> None:
    disk = FailingDisk()
    desk = Desk(tmp_path / "state", disk)
    first = desk.edit("a.md", b"1")
    before = snapshot(desk.folder)
    room = 0
    while True:
        disk.room = room
        try:
            made = desk.journal.record(Change("a.md", b"1", b"two " * 20, "user", "edit"))
            break
        except JournalError as error:
            assert "MEMDECK_STATE" in error.hint and error.data
        kept = snapshot(desk.folder)
        kept.pop(f"objects/{hash_of(b'two ' * 20)[:2]}/{hash_of(b'two ' * 20)[2:]}", None)  # harmless
        assert kept == before, room
        assert desk.journal.history() == (first,)
        verdict = desk.journal.verify()
        assert verdict.sound and not verdict.unfinished
        room += 1
    assert room > 300
    assert desk.journal.history() == (made, first)
    assert desk.journal.verify().sound
    desk.journal.close()


def test_a_write_that_cannot_be_taken_back_is_mended_by_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.edit("a.md", b"1")
    disk = FailingDisk()
    other = Journal.open(desk.folder, desk.clock, disk=disk)
    with other.hold():
        other.objects.put(b"2")
    disk.room = 40

    def fail(handle: int, size: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(JournalError):
            other.record(Change("a.md", b"1", b"2", "user", "edit"))
    other.close()
    assert desk.journal.verify().unfinished
    desk.edit("a.md", b"2")
    verdict = desk.journal.verify()
    assert verdict.sound and not verdict.unfinished and len(verdict.set_aside) == 1


def test_a_read_only_disk(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "state")
    made = desk.edit("a.md", b"1")
    desk.journal.close()
    journal = Journal.open(desk.folder, Ticking(), disk=ReadOnlyDisk())
    with pytest.raises(JournalError, match="Read-only"):
        journal.record(Change("a.md", b"1", b"2", "user", "edit"))
    desk.put("a.md", b"2")
    with pytest.raises(JournalError):
        journal.observe(dict(desk.stamps), desk.read)
    with pytest.raises(JournalError):
        journal.purge([hash_of(b"1")])
    assert journal.history() == (made,)
    assert journal.text(hash_of(b"1")) == b"1"
    assert journal.verify().sound
    journal.close()
    never = Journal.open(tmp_path / "never", Ticking(), disk=ReadOnlyDisk())
    with pytest.raises(JournalError):
        never.ready()
    assert never.history() == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(desk: Desk) -> None:
    made = desk.edit("a.md", b"1")
    desk.journal.close()
    places = [desk.folder, *(path for path in desk.folder.rglob("*") if path.is_dir())]
    for path in places:
        path.chmod(0o500)
    try:
        desk.reopen()
        assert desk.journal.history() == (made,)
    finally:
        for path in places:
            path.chmod(0o700)


@pytest.mark.parametrize("what", ["folder", "above", "objects", "journal", "locks"])
def test_something_else_where_a_folder_or_file_should_be(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "roots" / "aa"
    if what == "above":
        (tmp_path / "roots").write_bytes(b"mine")
    elif what == "journal":
        (folder / "journal").mkdir(parents=True)
    else:
        place = folder if what == "folder" else folder / what
        place.parent.mkdir(parents=True)
        place.write_bytes(b"mine")
    journal = Journal.open(folder, Ticking())
    with pytest.raises(JournalError) as caught:
        journal.record(Change("a.md", None, b"1", "user", "create"))
    assert caught.value.hint and caught.value.data
    if what not in ("folder", "above", "journal"):
        assert journal.history() == ()
    journal.verify()
    journal.close()


class Unsynced(Disk):
    def __init__(self) -> None:
        self.fail = False

    def sync(self, handle: int) -> None:
        if self.fail:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(handle)


def test_what_could_not_be_made_durable_was_not_recorded(tmp_path: Path) -> None:
    disk = Unsynced()
    desk = Desk(tmp_path / "state", disk)
    made = desk.edit("a.md", b"1")
    disk.fail = True
    for change in (Change("a.md", b"1", None, "user", "delete"), Change("a.md", b"1", b"2", "user", "edit")):
        with pytest.raises(JournalError):
            desk.journal.record(change)
    disk.fail = False
    assert desk.journal.history() == (made,)
    assert desk.journal.verify().sound
    desk.journal.close()


@pytest.mark.parametrize("cut", [1, 2, 30, 200])
def test_a_torn_last_line_is_set_aside_and_the_chain_goes_on(desk: Desk, cut: int) -> None:
    for number in range(3):
        desk.edit("a.md", str(number).encode())
    path = desk.folder / "journal"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    verdict = desk.journal.verify()
    assert verdict.unfinished and not verdict.broken
    desk.edit("b.md", b"on")
    verdict = desk.journal.verify()
    assert verdict.sound and not verdict.unfinished
    if cut == 1:  # only its end was missing: the record stands
        assert path.read_bytes().startswith(whole) and verdict.records == 4
    else:
        assert verdict.records == 3
        (name,) = verdict.set_aside
        assert whole[:-cut].endswith((desk.folder / "torn" / name).read_bytes())


def test_a_last_line_whose_end_was_overwritten_stands(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    path = desk.folder / "journal"
    path.write_bytes(path.read_bytes()[:-1] + b"\x0b")
    assert desk.journal.verify().first_broken is not None
    desk.edit("a.md", b"2")
    verdict = desk.journal.verify()
    assert verdict.sound and verdict.records == 2 and len(verdict.set_aside) == 1
