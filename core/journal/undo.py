"""Journal room: what has to be written so that a change is undone.  The writing is the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import MemdeckError, NotFound
from core.journal.disk import shown
from core.journal.lines import hash_of
from core.journal.model import BASELINE, PURGE, Current, Record, Refusal, TextPurged, UndoPlan, UndoStep

if TYPE_CHECKING:
    from core.journal.journal import Journal


def plan_undo(journal: Journal, record: Record, current: Current, whole_step: bool) -> UndoPlan:
    members = journal.step(record) if whole_step else (record,)
    spans: dict[str, tuple[Record, Record]] = {}
    for one in members:
        if _is_change(one):
            first, _last = spans.get(one.path, (one, one))
            spans[one.path] = (first, one)
    if not spans:
        why = (
            "it tells how the memory was when it was first seen"
            if record.action == BASELINE
            else "it changed no file"
        )
        return UndoPlan(record, (), (Refusal(record.path, "not-a-change", why),))
    steps: list[UndoStep] = []
    refused: list[Refusal] = []
    for path, (first, last) in spans.items():
        found = _plan_path(journal, path, first, last, current)
        if isinstance(found, UndoStep):
            steps.append(found)
        elif found is not None:
            refused.append(found)
    # What is put back comes before what is removed: half an undone rename leaves two files, not none.
    steps.sort(key=lambda step: step.content is None)
    return UndoPlan(record, tuple(steps), tuple(refused))


def _is_change(record: Record) -> bool:
    return record.path != "" and record.action not in (BASELINE, PURGE)


def _plan_path(
    journal: Journal, path: str, first: Record, last: Record, current: Current
) -> UndoStep | Refusal | None:
    try:
        there = current(path)
    except (OSError, MemdeckError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Refusal(path, "unreadable", f"{shown(path)} cannot be read: {why}")
    try:
        goal = _text(journal, first.before)
    except NotFound as error:
        kind = "purged" if isinstance(error, TextPurged) else "missing"
        return Refusal(path, kind, f"{shown(path)}: {error}", theirs=there)  # type: ignore[arg-type]
    if there == goal:
        return None
    try:
        made = _text(journal, last.after)
    except NotFound as error:
        # Whether the file is still what the change made shows from its hash; a merge has no base.
        if not _same(there, last.after):
            kind = "purged" if isinstance(error, TextPurged) else "missing"
            return Refusal(path, kind, f"{shown(path)} changed since; {error}", theirs=there, ours=goal)  # type: ignore[arg-type]
        made = there
    if there != made:
        why = f"{shown(path)} {'is gone' if there is None else 'changed'} since"
        return Refusal(path, "changed", why, base=made, theirs=there, ours=goal)
    return UndoStep(path, goal, there, last.id)


def _text(journal: Journal, ident: str | None) -> bytes | None:
    return None if ident is None else journal.text(ident)


def _same(there: bytes | None, ident: str | None) -> bool:
    return there is not None and hash_of(there) == ident
