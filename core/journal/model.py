"""Journal room, plain values: a record, a change to be recorded, and what the journal's questions answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.errors import MemdeckError, NotFound

Actor = Literal["user", "dream", "flush", "external", "agent"]
ACTORS: tuple[Actor, ...] = ("user", "dream", "flush", "external", "agent")

BASELINE = "baseline"
PURGE = "purge"

Stamp = tuple[int, int, int]
"""What tells that a file may have changed: (size in bytes, mtime in nanoseconds, inode)."""


class JournalError(MemdeckError):
    """The journal cannot be written, so the change it was to record must not be made either."""


class TextPurged(NotFound):
    """The text was removed from the journal on request; its records stay."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change about to be made, or just made, to one file.

    ``path`` is relative to the root, ``/`` between its parts, as ``os.fsdecode`` gives it.  ``before`` and
    ``after`` are the file's bytes, the id of a text the journal has, or None where there is no file.  A
    rename is two changes of one step: the old path to None, the new one from None.
    """

    path: str
    before: bytes | str | None
    after: bytes | str | None
    actor: Actor
    action: str
    reason: str = ""
    group: str = ""
    undo_of: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the journal.

    ``id`` is the BLAKE3 (hex) of its content, which holds ``prev``, the id of the record before.  ``time``
    is in unix seconds.  ``before`` and ``after`` are text ids, None where there was no file.  ``group`` is
    shared by the changes of one step; ``undo_of`` is the record this one undoes.  ``file_time`` is the mtime
    (unix seconds) of a file that was found changed.  ``purged`` lists the texts a purge removed.  ``path``
    is empty for a record about the whole root.
    """

    id: str
    prev: str
    time: float
    actor: str
    action: str
    path: str
    before: str | None
    after: str | None
    reason: str = ""
    group: str = ""
    undo_of: str = ""
    file_time: float | None = None
    purged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """What a look at the root brought: new records, files that could not be read (path, why), files read."""

    records: tuple[Record, ...]
    unread: tuple[tuple[str, str], ...]
    read: int
    unchanged: int


TextStatus = Literal["kept", "purged", "missing"]
RefusalKind = Literal["changed", "purged", "missing", "unreadable", "not-a-change"]


@dataclass(frozen=True, slots=True)
class UndoStep:
    """What one path must get: ``content`` (None: no file), if it still is ``expect``."""

    path: str
    content: bytes | None
    expect: bytes | None
    undo_of: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one path is not simply put back.

    For ``changed``, a three-way merge: ``base`` is what the change made, ``theirs`` what is there now,
    ``ours`` what the undo would put there; None where there is no file.
    """

    path: str
    kind: RefusalKind
    why: str
    base: bytes | None = None
    theirs: bytes | None = None
    ours: bytes | None = None


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """How to undo a record, or the step it belongs to.  Nothing has been written.

    ``steps`` are in the order in which they lose nothing if they stop half way; empty without ``refused``:
    every file already is as it was before.
    """

    record: Record
    steps: tuple[UndoStep, ...]
    refused: tuple[Refusal, ...] = ()

    @property
    def possible(self) -> bool:
        return not self.refused

    def changes(self, actor: Actor = "user", reason: str = "") -> tuple[Change, ...]:
        """The steps as changes to be recorded before they are made."""
        return tuple(
            Change(step.path, step.expect, step.content, actor, "restore", reason, undo_of=step.undo_of)
            for step in self.steps
        )


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line of the journal that is not as it was written: line number from 1, byte offset, id as it says."""

    line: int
    offset: int
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class BadText:
    """A text (or a file among the texts) with something wrong, and what."""

    object: str
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a walk through all records and texts found.

    ``broken`` lines in order; ``missing`` and ``corrupt`` texts.  ``purged``: texts removed on request, of
    which ``lingering`` are still there (a purge that was cut off: purge again).  ``unfinished``: the last
    line has no end (a writer was killed; the next write sets it aside, into ``set_aside``).  ``vanished``:
    records known earlier that are no longer in the journal.  ``unreferenced`` texts belong to no record.
    ``problems``: what kept the walk from seeing everything.
    """

    records: int
    texts: int
    broken: tuple[BrokenLine, ...] = ()
    missing: tuple[BadText, ...] = ()
    corrupt: tuple[BadText, ...] = ()
    purged: tuple[str, ...] = ()
    lingering: tuple[str, ...] = ()
    unreferenced: int = 0
    unfinished: bool = False
    set_aside: tuple[str, ...] = ()
    vanished: str = ""
    problems: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Nothing is broken or lost; an unfinished last line and what was set aside never were records."""
        return not (
            self.broken or self.missing or self.corrupt or self.lingering or self.vanished or self.problems
        )

    @property
    def first_broken(self) -> BrokenLine | None:
        return self.broken[0] if self.broken else None


@dataclass(frozen=True, slots=True)
class PurgeReceipt:
    """Texts removed, those that are still there (id, why), and damaged ones that could not be judged."""

    removed: tuple[str, ...]
    failed: tuple[BadText, ...] = ()
    unjudged: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()


Current = Callable[[str], bytes | None]
"""Reads a file by its path relative to the root; None: it is not there."""
