"""The look at a root: what others did is recorded, once, and only what may have changed is read."""

from __future__ import annotations

import pytest

from core.errors import UnreadableFile
from core.journal.lines import hash_of
from tests.core.journal.desk import Desk


def told(desk: Desk) -> list[tuple[str, str]]:
    return [(one.action, one.path) for one in desk.look()]


def test_the_first_look_is_the_baseline_and_later_files_were_created(desk: Desk) -> None:
    desk.put("a.md", b"1")
    desk.put("b.md", b"2")
    assert told(desk) == [("baseline", "a.md"), ("baseline", "b.md"), ("baseline", "")]
    assert told(desk) == []
    desk.put("c.md", b"3")
    assert told(desk) == [("create", "c.md")]


def test_a_first_look_at_nothing_is_one_as_well(desk: Desk) -> None:
    assert told(desk) == [("baseline", "")]
    desk.put("a.md", b"1")
    assert told(desk) == [("create", "a.md")]


def test_changed_gone_and_back(desk: Desk) -> None:
    desk.put("a.md", b"1")
    desk.look()
    desk.put("a.md", b"2")
    (edit,) = desk.look()
    assert (edit.actor, edit.action, edit.before, edit.after) == (
        "external",
        "edit",
        hash_of(b"1"),
        hash_of(b"2"),
    )
    assert edit.file_time == 2.0
    desk.put("a.md", None)
    (gone,) = desk.look()
    assert (gone.action, gone.before, gone.after) == ("delete", hash_of(b"2"), None)
    desk.put("a.md", b"1")
    assert told(desk) == [("create", "a.md")]


def test_only_files_with_another_stamp_are_read(desk: Desk) -> None:
    for number in range(200):
        desk.put(f"{number}.md", str(number).encode())
    desk.look()
    desk.put("7.md", b"changed")
    desk.put("8.md", b"8")  # touched, not changed
    desk.reads.clear()
    seen = desk.journal.observe(dict(desk.stamps), desk.read)
    assert sorted(desk.reads) == ["7.md", "8.md"]
    assert [one.path for one in seen.records] == ["7.md"]
    assert (seen.read, seen.unchanged) == (2, 198)
    desk.reads.clear()
    desk.reopen()
    assert desk.look() == ()
    assert desk.reads == []


def test_a_file_as_young_as_the_look_is_read_again(desk: Desk) -> None:
    now = int(desk.clock.start)
    desk.files["a.md"], desk.stamps["a.md"] = b"1", (1, now * 10**9, 5)
    desk.look()
    desk.files["a.md"] = b"2"  # within the same tick: same size, mtime and inode
    assert told(desk) == [("edit", "a.md")]


def test_our_own_change_is_no_news(desk: Desk) -> None:
    desk.put("a.md", b"1")
    desk.look()
    desk.edit("a.md", b"2")
    desk.edit("new.md", b"3")
    desk.edit("new.md", None)
    assert desk.look() == ()


def test_a_change_recorded_but_never_made_comes_out(desk: Desk) -> None:
    desk.put("a.md", b"1")
    desk.look()
    stamp = desk.stamps["a.md"]
    desk.edit("a.md", b"2")
    desk.files["a.md"], desk.stamps["a.md"] = b"1", stamp  # the rename was never reached
    (found,) = desk.look()
    assert (found.before, found.after) == (hash_of(b"2"), hash_of(b"1"))


def test_without_the_index_everything_is_read_and_nothing_recorded_twice(desk: Desk) -> None:
    for number in range(100):
        desk.put(f"{number}.md", str(number).encode())
    desk.look()
    desk.journal.rebuild()
    desk.reads.clear()
    assert desk.look() == ()
    assert len(desk.reads) == 100


def test_a_file_made_while_the_list_was_taken_is_not_gone(desk: Desk) -> None:
    desk.look()
    stale = dict(desk.stamps)
    desk.edit("a.md", b"1")
    assert desk.journal.observe(stale, desk.read).records == ()


def test_paths_the_list_does_not_speak_of_are_left_alone(desk: Desk) -> None:
    desk.put("w1/a.md", b"1")
    desk.put("w2/b.md", b"2")
    desk.look()
    seen = desk.journal.observe({}, desk.read, within=lambda path: path.startswith("w1/"))
    assert seen.records == ()  # it is there: the list was wrong, not the file gone
    desk.files.clear()
    seen = desk.journal.observe({}, desk.read, within=lambda path: path.startswith("w1/"))
    assert [(one.action, one.path) for one in seen.records] == [("delete", "w1/a.md")]


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), UnreadableFile("Permission denied")]
)
def test_a_file_that_cannot_be_read_is_named_and_not_taken_for_gone(desk: Desk, error: Exception) -> None:
    desk.put("a.md", b"1")
    desk.put("b.md", b"2")
    desk.look()
    desk.put("a.md", b"3")
    desk.put("b.md", b"4")

    def read(path: str) -> bytes:
        if path == "a.md":
            raise error
        return desk.read(path)

    seen = desk.journal.observe(dict(desk.stamps), read)
    assert seen.unread == (("a.md", "Permission denied"),)
    assert [one.path for one in seen.records] == ["b.md"]
    assert told(desk) == [("edit", "a.md")]


def test_a_renamed_file_is_one_step(desk: Desk) -> None:
    desk.put("old.md", b"text")
    desk.look()
    desk.put("old.md", None)
    desk.put("new.md", b"text")
    gone, new = desk.look()
    assert (gone.path, gone.after, new.path, new.before) == ("old.md", None, "new.md", None)
    assert gone.action == new.action == "rename"
    assert gone.group == new.group
    desk.apply(desk.plan(new))
    assert desk.files == {"old.md": b"text"}
