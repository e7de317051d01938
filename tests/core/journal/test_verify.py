"""Every byte that is not as it was written is named, whatever it is."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import NotFound
from core.journal.journal import Journal
from core.journal.lines import hash_of
from tests.core.journal.desk import Desk, Ticking


@pytest.fixture
def filled(desk: Desk) -> Desk:
    for number in range(6):
        desk.edit("a.md", b"line\n" * 20 + str(number).encode())
    assert desk.journal.verify().sound
    return desk


def flip(path: Path, at: int, bit: int = 1) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= bit
    path.write_bytes(bytes(data))


def test_any_flipped_byte_of_the_journal_is_named(filled: Desk) -> None:
    path = filled.folder / "journal"
    whole = path.read_bytes()
    chance = random.Random(1)
    for at in range(len(whole)):
        flip(path, at, 1 << chance.randrange(8))
        broken = filled.journal.verify().first_broken
        # A line feed that is gone joins its line with the next; it counts to the first.
        assert broken is not None, at
        assert broken.line == whole[:at].count(b"\n") + 1, at
        path.write_bytes(whole)
    assert not filled.journal.verify().broken


def test_any_flipped_byte_of_a_text_is_named(filled: Desk) -> None:
    ident = hash_of(filled.files["a.md"])
    path = filled.journal.objects.place(ident)
    whole = path.read_bytes()
    for at in range(len(whole)):
        flip(path, at, 1 << at % 8)
        assert [one.object for one in filled.journal.verify().corrupt] == [ident], at
        path.write_bytes(whole)
    for other in (whole + b"\0", whole[:-1], b"", whole * 2):
        path.write_bytes(other)
        assert [one.object for one in filled.journal.verify().corrupt] == [ident]


def test_a_text_with_only_its_checksum_hurt_can_still_be_had(filled: Desk) -> None:
    ident = hash_of(filled.files["a.md"])
    flip(filled.journal.objects.place(ident), 0)
    assert filled.journal.text(ident) == filled.files["a.md"]
    flip(filled.journal.objects.place(ident), 25)
    with pytest.raises(NotFound):
        filled.journal.text(ident)


def test_a_damaged_text_is_kept_anew_when_it_comes_by_again(filled: Desk) -> None:
    ident = hash_of(filled.files["a.md"])
    filled.journal.objects.place(ident).write_bytes(b"rubbish")
    filled.edit("b.md", filled.files["a.md"])
    assert filled.journal.verify().sound


def test_a_line_taken_out_swapped_or_put_in_is_named(filled: Desk) -> None:
    path = filled.folder / "journal"
    lines = path.read_bytes().splitlines(keepends=True)
    for changed, line in (
        (lines[:2] + lines[3:], 3),
        (lines[1:], 1),
        ([lines[0], lines[2], lines[1], *lines[3:]], 2),
        (lines[:3] + lines[2:], 4),
        ([*lines[:3], b"{}\n", *lines[3:]], 4),
        ([*lines[:3], b"\n", *lines[3:]], 4),
    ):
        path.write_bytes(b"".join(changed))
        broken = filled.journal.verify().first_broken
        assert broken is not None and broken.line == line


def test_a_journal_cut_at_a_line_is_noticed_by_what_was_known(filled: Desk) -> None:
    path = filled.folder / "journal"
    lines = path.read_bytes().splitlines(keepends=True)
    filled.journal.history()
    path.write_bytes(b"".join(lines[:4]))
    verdict = filled.journal.verify()
    assert not verdict.sound and not verdict.broken
    assert verdict.vanished.startswith("6 lines")
    assert len(filled.journal.history()) == 4


def test_missing_and_foreign_files_are_named(filled: Desk) -> None:
    ident = hash_of(filled.files["a.md"])
    filled.journal.objects.place(ident).unlink()
    (filled.folder / "objects" / "zz").write_bytes(b"")
    (filled.folder / "objects" / "00").mkdir(exist_ok=True)
    (filled.folder / "objects" / "00" / "short").write_bytes(b"")
    verdict = filled.journal.verify()
    assert [one.object for one in verdict.missing] == [ident]
    assert {one.object for one in verdict.corrupt} == {"zz", "00/short"}


def test_the_chain_goes_on_after_a_broken_last_line(filled: Desk) -> None:
    path = filled.folder / "journal"
    flip(path, path.stat().st_size - 20)
    filled.edit("a.md", b"after")
    filled.edit("a.md", b"and on")
    verdict = filled.journal.verify()
    assert [one.line for one in verdict.broken] == [6]
    # The last state known was that of the line before: what the broken one did is found again.
    assert [one.actor for one in filled.journal.history(limit=3)] == ["user", "user", "external"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=2_000), where=st.integers(0, 10_000), keep=st.booleans())
def test_no_rubbish_makes_anything_raise(tmp_path: Path, data: bytes, where: int, keep: bool) -> None:
    folder = tmp_path / os.urandom(4).hex()
    desk = Desk(folder)
    for number in range(3):
        desk.edit("a.md", str(number).encode())
    path = folder / "journal"
    whole = path.read_bytes()
    at = where % len(whole)
    path.write_bytes(whole[:at] + data + (whole[at:] if keep else b""))
    for target in (folder / "objects").rglob("*"):
        if target.is_file():
            target.write_bytes(data)
    verdict = desk.journal.verify()
    assert verdict.corrupt
    assert len(desk.journal.history()) <= 3
    desk.journal.state_at(1e12)
    before = len(verdict.broken)
    desk.edit("b.md", b"goes on")
    assert desk.journal.history(limit=1)[0].path == "b.md"
    assert len(desk.journal.verify().broken) <= before
    desk.journal.close()


@pytest.mark.parametrize("place", ["journal", "objects"])
def test_a_folder_or_file_of_the_wrong_kind_raises_nothing(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    if place == "journal":
        (folder / "journal").mkdir()
    else:
        (folder / "objects").write_bytes(b"x")
    journal = Journal.open(folder, Ticking())
    verdict = journal.verify()
    assert verdict.sound == (place == "objects")  # no record names a text, so none is missing
    journal.close()
