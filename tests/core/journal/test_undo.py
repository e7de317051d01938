"""What is planned for an undo, and what is refused."""

from __future__ import annotations

import pytest

from core.errors import UsageError
from core.journal.lines import hash_of
from core.journal.model import Change, Record
from tests.core.journal.desk import Desk


def test_an_edit_a_creation_and_a_deletion(desk: Desk) -> None:
    create = desk.edit("a.md", b"1", "create")
    edit = desk.edit("a.md", b"2")
    delete = desk.edit("a.md", None, "delete")
    for record, wanted in ((delete, b"2"), (edit, b"1"), (create, None)):
        plan = desk.plan(record)
        assert [(step.path, step.content) for step in plan.steps] == [("a.md", wanted)]
        desk.apply(plan)
        assert desk.files.get("a.md") == wanted


def test_a_file_that_changed_since_is_refused_with_all_three_texts(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    edit = desk.edit("a.md", b"2")
    desk.put("a.md", b"3")
    plan = desk.plan(edit)
    assert not plan.possible and plan.steps == ()
    (refusal,) = plan.refused
    assert (refusal.path, refusal.kind) == ("a.md", "changed")
    assert (refusal.base, refusal.theirs, refusal.ours) == (b"2", b"3", b"1")
    assert "a.md" in refusal.why
    desk.put("a.md", None)
    assert desk.plan(edit).refused[0].theirs is None


def test_a_step_is_undone_whole_or_in_part(desk: Desk) -> None:
    desk.edit("old.md", b"text")
    records = desk.journal.record_all(
        [Change("old.md", b"text", None, "user", "rename"), Change("new.md", None, b"text", "user", "rename")]
    )
    desk.put("old.md", None)
    desk.put("new.md", b"text")
    assert len(desk.plan(records[0], whole_step=False).steps) == 1
    plan = desk.plan(records[0])
    # What is put back comes first, so that there is always one of the two.
    assert [(step.path, step.content) for step in plan.steps] == [("old.md", b"text"), ("new.md", None)]
    undo = desk.apply(plan)
    assert {one.undo_of for one in undo} == {one.id for one in records}
    assert desk.files == {"old.md": b"text"}


def test_a_step_that_touches_a_file_twice_goes_back_to_its_begin(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    records = desk.journal.record_all(
        [Change("a.md", b"1", b"2", "dream", "apply"), Change("a.md", b"2", b"3", "dream", "apply")]
    )
    desk.put("a.md", b"3")
    desk.apply(desk.plan(records[0]))
    assert desk.files == {"a.md": b"1"}


def test_what_is_as_before_already_needs_nothing(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    edit = desk.edit("a.md", b"2")
    desk.put("a.md", b"1")
    plan = desk.plan(edit)
    assert plan.possible and plan.steps == ()


def test_a_baseline_and_a_purge_are_no_changes(desk: Desk) -> None:
    desk.put("a.md", b"1")
    baseline = desk.look()
    desk.edit("a.md", b"2")
    purge = desk.journal.purge([hash_of(b"1")]).records
    for record in (*baseline, *purge):
        assert [one.kind for one in desk.plan(record).refused] == ["not-a-change"]


def test_a_purged_or_lost_text_is_refused_by_name(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    desk.edit("b.md", b"one")
    first, second = desk.edit("a.md", b"2"), desk.edit("b.md", b"two")
    desk.journal.purge([hash_of(b"1")])
    desk.journal.objects.place(hash_of(b"one")).unlink()
    assert desk.plan(first).refused[0].kind == "purged"
    assert desk.plan(second).refused[0].kind == "missing"


def test_an_undo_that_needs_only_the_text_before_does_without_the_other(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    edit = desk.edit("a.md", b"secret")
    desk.journal.purge([hash_of(b"secret")])
    desk.apply(desk.plan(edit))
    assert desk.files == {"a.md": b"1"}


def test_a_file_that_cannot_be_read_is_refused(desk: Desk) -> None:
    edit = desk.edit("a.md", b"1")

    def current(path: str) -> bytes | None:
        raise PermissionError(13, "Permission denied")

    plan = desk.journal.plan_undo(edit.id, current)
    assert [(one.kind, one.path) for one in plan.refused] == [("unreadable", "a.md")]


def test_undoing_looks_backwards_through_foreign_changes(desk: Desk) -> None:
    desk.put("a.md", b"1")
    desk.look()
    made: list[Record] = [desk.edit("a.md", b"2")]
    desk.put("a.md", b"3")
    made += desk.look()
    made.append(desk.edit("a.md", b"4"))
    for record in reversed(made):
        desk.apply(desk.plan(record))
    assert desk.files == {"a.md": b"1"}


def test_what_others_did_lies_before_a_step_not_inside(desk: Desk) -> None:
    desk.edit("a.md", b"1")
    desk.edit("b.md", b"2")
    desk.put("b.md", None)
    step = desk.journal.record_all(
        [Change("a.md", b"1", None, "user", "rename"), Change("b.md", None, b"1", "user", "rename")]
    )
    assert [one.actor for one in desk.journal.history(limit=3)] == ["user", "user", "external"]
    desk.put("a.md", None)
    desk.put("b.md", b"1")
    desk.apply(desk.plan(step[0]))
    desk.apply(desk.plan(desk.journal.history(actor="external")[0]))
    assert desk.files == {"a.md": b"1", "b.md": b"2"}


def test_changes_of_a_step_that_do_not_fit_together_are_refused(desk: Desk) -> None:
    with pytest.raises(UsageError):
        desk.journal.record_all(
            [Change("a.md", None, b"1", "user", "edit"), Change("a.md", b"2", b"3", "user", "edit")]
        )
    assert desk.journal.history() == ()
