"""Texts removed for good: the bytes are gone, the chain is whole, and verify knows the one from the other."""

from __future__ import annotations

import errno
import os
import zlib
from pathlib import Path

import pytest

from core.errors import UsageError
from core.journal.disk import Disk
from core.journal.lines import hash_of
from core.journal.model import TextPurged
from core.journal.objects import pack
from tests.core.journal.desk import Desk

SECRET = b"the password is hunter2-" + os.urandom(16).hex().encode()


def holds(folder: Path, needle: bytes) -> list[Path]:
    """Files below ``folder`` that hold ``needle``, as it is or in anything that can be decompressed."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            texts = [data]
            for start in range(min(64, len(data))):
                try:
                    texts.append(zlib.decompressobj().decompress(data[start:]))
                except zlib.error:
                    continue
            if any(needle in text for text in texts):
                found.append(path)
    return found


def test_by_what_is_in_them(desk: Desk) -> None:
    desk.edit("a.md", b"harmless\n")
    desk.edit("a.md", b"harmless\n" + SECRET)
    desk.edit("b.md", SECRET)
    desk.edit("b.md", None)
    desk.edit("a.md", b"harmless\nagain")
    assert holds(desk.folder, SECRET)
    receipt = desk.journal.purge(lambda text: SECRET in text, reason="a password")
    assert set(receipt.removed) == {hash_of(SECRET), hash_of(b"harmless\n" + SECRET)}
    assert not receipt.failed and not receipt.unjudged
    assert holds(desk.folder, SECRET) == []
    for packed in (pack(SECRET)[20:], pack(b"harmless\n" + SECRET)[20:]):
        assert all(packed not in path.read_bytes() for path in desk.folder.rglob("*") if path.is_file())
    verdict = desk.journal.verify()
    assert verdict.sound
    assert set(verdict.purged) == set(receipt.removed)
    newest, *older = desk.journal.history()
    assert (newest.action, newest.reason, set(newest.purged)) == ("purge", "a password", set(receipt.removed))
    assert len(older) == 5
    assert desk.journal.text(hash_of(b"harmless\n")) == b"harmless\n"


def test_a_purged_text_is_not_a_missing_one(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    desk.edit("a.md", b"2")
    desk.edit("a.md", b"3")
    desk.journal.purge([hash_of(b"1")])
    desk.journal.objects.place(hash_of(b"2")).unlink()
    verdict = desk.journal.verify()
    assert verdict.purged == (hash_of(b"1"),)
    assert [one.object for one in verdict.missing] == [hash_of(b"2")]
    with pytest.raises(TextPurged):
        desk.journal.text(hash_of(b"1"))
    status = desk.journal.status
    assert [status(hash_of(text)) for text in (b"1", b"2", b"3")] == ["purged", "missing", "kept"]
    desk.journal.rebuild()
    assert status(hash_of(b"1")) == "purged"


def test_texts_without_a_record_and_leftovers_are_reached(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    with desk.journal.hold():
        desk.journal.objects.put(SECRET)  # a writer killed before its record
    (desk.folder / "objects" / ".memdeck-0123456789ab.tmp").write_bytes(SECRET)
    assert desk.journal.verify().unreferenced == 1
    desk.journal.purge(lambda text: SECRET in text)
    assert holds(desk.folder, SECRET) == []
    assert desk.journal.verify().sound


def test_a_text_that_comes_back_is_kept_again(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    desk.edit("a.md", b"2")
    desk.journal.purge([hash_of(b"1")])
    desk.edit("a.md", b"1")
    assert desk.journal.text(hash_of(b"1")) == b"1"
    verdict = desk.journal.verify()
    assert verdict.sound and verdict.purged == ()


def test_a_text_purged_while_its_file_still_has_it(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    desk.journal.purge([hash_of(b"1")])
    desk.reads.clear()
    assert desk.look()[-1].path == ""  # a first look, and nothing new in it
    assert desk.journal.verify().sound
    edit = desk.edit("a.md", b"2")  # undoing this needs the old text, so it is kept after all
    assert desk.journal.verify().sound
    desk.apply(desk.plan(edit))
    assert desk.files["a.md"] == b"1"


def test_what_could_not_be_judged_is_named(desk: Desk) -> None:
    desk.edit("a.md", b"x" * 10_000)
    ident = hash_of(desk.files["a.md"])
    desk.journal.objects.place(ident).write_bytes(b"damaged beyond reading, but long enough")
    receipt = desk.journal.purge(lambda text: SECRET in text)
    assert receipt.unjudged == (ident,) and not receipt.removed
    assert receipt.records == ()


def test_the_readable_part_of_a_damaged_text_is_judged(desk: Desk) -> None:
    text = SECRET + os.urandom(40_000)
    desk.edit("a.md", text)
    path = desk.journal.objects.place(hash_of(text))
    path.write_bytes(path.read_bytes()[:-9])
    assert desk.journal.purge(lambda found: SECRET in found).removed == (hash_of(text),)


class StubbornDisk(Disk):
    def remove(self, path: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_what_could_not_be_removed_is_named_and_lingers(tmp_path: Path) -> None:
    disk = StubbornDisk()
    desk = Desk(tmp_path / "state", disk)
    desk.edit("a.md", b"1")
    receipt = desk.journal.purge([hash_of(b"1")])
    assert [one.object for one in receipt.failed] == [hash_of(b"1")]
    assert desk.journal.verify().lingering == (hash_of(b"1"),)
    desk.reopen()
    desk.journal.purge([hash_of(b"1")])
    assert desk.journal.verify().sound
    desk.journal.close()


def test_many_at_once_and_none(desk: Desk) -> None:
    idents = [hash_of(str(number).encode()) for number in range(2_500)]
    receipt = desk.journal.purge(idents)
    assert [len(one.purged) for one in receipt.records] == [1_000, 1_000, 500]
    assert desk.journal.purge([]).records == ()
    with pytest.raises(UsageError):
        desk.journal.purge(["../../etc/passwd"])
