"""Records, history, texts: what goes in comes out, newest first, and nothing is made by asking."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from core.errors import NotFound, UsageError
from core.journal.journal import Journal
from core.journal.lines import GENESIS, hash_of
from core.journal.model import Change, JournalError
from tests.core.journal.desk import Desk, Ticking


def change(path: str, before: bytes | None, after: bytes | None, **more: str) -> Change:
    return Change(path, before, after, "user", "edit", **more)


def test_asking_makes_no_folder(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "roots" / "aa", Ticking())
    assert journal.history() == ()
    assert journal.state_at(1e12) == {}
    assert journal.verify().sound
    assert journal.status(hash_of(b"x")) == "missing"
    with pytest.raises(NotFound):
        journal.find("abcd")
    assert list(tmp_path.iterdir()) == []


def test_a_record_comes_back_whole(desk: Desk) -> None:
    made = desk.journal.record(
        Change("widgets/MEMORY.md", b"old", b"new", "dream", "apply", "kept 3 facts", "step1", "a" * 64)
    )
    desk.reopen()
    found = desk.journal.history()[0]
    assert found == made
    assert (found.actor, found.action, found.path) == ("dream", "apply", "widgets/MEMORY.md")
    assert (found.reason, found.group, found.undo_of) == ("kept 3 facts", "step1", "a" * 64)
    assert desk.journal.text(found.before or "") == b"old"
    assert desk.journal.text(found.after or "") == b"new"
    assert desk.journal.find(found.id[:8]) == found


def test_folder_and_files_are_private(desk: Desk) -> None:
    old = os.umask(0)
    try:
        desk.edit("a.md", b"text")
        desk.journal.history()
        for path in [desk.folder, *desk.folder.rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path
            assert path.suffix != ".md"
    finally:
        os.umask(old)


def test_each_line_names_the_one_before(desk: Desk) -> None:
    for number in range(5):
        desk.edit("a.md", str(number).encode())
    lines = (desk.folder / "journal").read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    assert [one["prev"] for one in records] == [GENESIS, *(one["id"] for one in records[:-1])]


def test_history_pages_meet_without_gap_or_overlap(desk: Desk) -> None:
    made = [desk.edit(f"{number % 3}.md", str(number).encode()) for number in range(25)]
    seen: list[str] = []
    before = None
    while page := desk.journal.history(limit=7, before=before):
        seen += [one.id for one in page]
        before = page[-1].id
    assert seen == [one.id for one in reversed(made)]


def test_history_by_path_actor_time_and_step(desk: Desk) -> None:
    first = desk.edit("a.md", b"1")
    desk.edit("b.md", b"1")
    both = desk.journal.record_all(
        [Change("a.md", b"1", b"2", "flush", "append"), Change("c.md", None, b"3", "flush", "create")]
    )
    history = desk.journal.history
    assert [one.path for one in history("a.md")] == ["a.md", "a.md"]
    assert [one.path for one in history(actor="flush")] == ["c.md", "a.md"]
    assert [one.id for one in history(until=first.time)] == [first.id]
    assert [one.id for one in history(since=both[0].time)] == [both[1].id, both[0].id]
    assert both[0].group == both[1].group != ""
    assert [one.path for one in history(group=both[0].group)] == ["c.md", "a.md"]
    assert history("nowhere.md") == ()
    assert history(limit=0) == ()
    assert history(before="f" * 64) == ()


def test_state_as_of_a_time(desk: Desk) -> None:
    first = desk.edit("a.md", b"1")
    second = desk.edit("b.md", b"2")
    gone = desk.edit("a.md", None, "delete")
    state = desk.journal.state_at
    assert state(first.time - 1) == {}
    assert state(first.time) == {"a.md": hash_of(b"1")}
    assert state(second.time) == {"a.md": hash_of(b"1"), "b.md": hash_of(b"2")}
    assert state(gone.time) == {"b.md": hash_of(b"2")}


def test_a_change_somebody_else_made_is_recorded_before_ours(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    desk.put("a.md", b"by an agent")
    ours = desk.edit("a.md", b"2")
    newest, between, _first = desk.journal.history()
    assert newest == ours
    assert (between.actor, between.action) == ("external", "edit")
    assert (between.before, between.after) == (hash_of(b"1"), hash_of(b"by an agent"))


def test_a_text_the_journal_has_may_be_named_by_its_id(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    made = desk.journal.record(Change("a.md", hash_of(b"1"), None, "user", "delete"))
    assert made.before == hash_of(b"1")
    with pytest.raises(UsageError):
        desk.journal.record(Change("a.md", None, "b" * 64, "user", "create"))
    assert desk.journal.history()[0] == made


NAMES = [
    "plain.md",
    "tab\tline\n.md",
    "\udcff\udc80.md",
    "🙂/ä.md",
    '"quoted\\',
    "\x1b[31m.md",
    "\u202egnp.md",
]
CONTENTS = [b"", b"\n", b"\x00" * 1000, b"\xff\xfe\xfd", os.urandom(5000), b"\r\n" * 9, b"a" * 300_000]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_hostile_names_and_contents_survive(desk: Desk, name: str) -> None:
    for content in CONTENTS:
        desk.edit(name, content)
    desk.reopen()
    found = desk.journal.history(name)
    assert [desk.journal.text(one.after or "") for one in found] == CONTENTS[::-1]
    assert {one.path for one in found} == {name}
    assert desk.journal.state_at(1e12) == {name: hash_of(CONTENTS[-1])}
    assert desk.journal.verify().sound


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../up.md", "a/../b", "a//b", "./a", "a\0b", "\ud800"], ids=ascii
)
def test_a_path_that_is_none_below_the_root_is_refused(desk: Desk, name: str) -> None:
    with pytest.raises(UsageError):
        desk.journal.record(change(name, None, b"x"))
    with pytest.raises(UsageError):
        desk.journal.observe({name: (1, 1, 1)}, lambda path: b"x")
    assert not desk.folder.exists()


def test_a_reason_is_clipped_and_may_hold_anything(desk: Desk) -> None:
    made = desk.journal.record(change("a.md", None, b"x", reason="\udcff\n\x1b" + "r" * 9_999))
    assert len(made.reason) == 2_000
    assert desk.journal.history()[0] == made


def test_undone_and_done_again(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    second = desk.edit("a.md", b"2")
    assert desk.journal.undone_by(second.id) is None
    (undo,) = desk.apply(desk.plan(second))
    assert desk.journal.undone_by(second.id) == undo
    desk.apply(desk.plan(undo))
    assert desk.files["a.md"] == b"2"
    assert desk.journal.undone_by(second.id) is None


def test_a_second_journal_sees_what_the_first_wrote(desk: Desk) -> None:
    other = Journal.open(desk.folder, desk.clock)
    assert other.history() == ()
    made = desk.edit("a.md", b"1")
    assert other.history() == (made,)
    mine = other.record(change("a.md", b"1", b"2"))
    assert desk.journal.history(limit=1) == (mine,)
    other.close()


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_index_is_made_anew(desk: Desk, damage: bytes) -> None:
    made = [desk.edit("a.md", str(number).encode()) for number in range(3)]
    desk.journal.close()
    for path in desk.folder.glob("journal.index-*"):
        path.unlink()
    (desk.folder / "journal.index").write_bytes(damage)
    desk.reopen()
    assert desk.journal.history() == tuple(reversed(made))


def test_an_index_of_another_journal_is_made_anew(desk: Desk, tmp_path: Path) -> None:
    desk.edit("a.md", b"1")
    desk.journal.history()
    other = Desk(tmp_path / "other")
    made = [other.edit("b.md", str(number).encode()) for number in range(4)]
    (desk.folder / "journal").write_bytes((other.folder / "journal").read_bytes())
    assert desk.journal.history() == tuple(reversed(made))
    assert "1 lines" in desk.journal.verify().vanished
    other.journal.close()


def test_an_index_that_cannot_be_made_is_done_without(desk: Desk) -> None:
    (desk.folder / "journal.index").mkdir(parents=True)
    made = desk.edit("a.md", b"1")
    assert desk.journal.history() == (made,)
    desk.put("b.md", b"2")
    assert desk.look()


def test_a_lock_that_is_held_is_an_error_in_time(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    other = Journal(desk.folder, desk.clock, network=True, disk=desk.journal.disk, lock_seconds=0.05)
    with desk.journal.hold(), pytest.raises(JournalError, match="another memdeck process"):
        other.record(change("b.md", None, b"x"))
    assert len(other.history()) == 1
    other.close()
