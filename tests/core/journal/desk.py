"""A journal over a made-up root, and a disk that fails when told to."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable
from pathlib import Path

from core.journal.disk import Disk
from core.journal.journal import Journal
from core.journal.model import Change, Record, Stamp, UndoPlan


class Ticking:
    """A clock that moves on by a second each time it is asked."""

    def __init__(self, start: float = 1_767_225_600.0) -> None:
        self._ticks = itertools.count()
        self.start = start

    def __call__(self) -> float:
        return self.start + next(self._ticks)


class FailingDisk(Disk):
    """Writes ``room`` more bytes, then fails with ``error``, in the middle of a write if need be."""

    def __init__(self, room: int | None = None, error: int = errno.ENOSPC) -> None:
        self.room = room
        self.error = error

    def write(self, handle: int, data: bytes) -> int:
        if self.room is None:
            return super().write(handle, data)
        part = data[: self.room]
        if not part:
            raise OSError(self.error, os.strerror(self.error))
        self.room -= len(part)
        return super().write(handle, part)


class ReadOnlyDisk(Disk):
    def write(self, handle: int, data: bytes) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))


class Desk:
    """A root whose files are in memory, stamped anew at every write, and its journal."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self.clock = Ticking()
        self.journal = Journal.open(folder, self.clock, disk=disk)
        self.files: dict[str, bytes] = {}
        self.stamps: dict[str, Stamp] = {}
        self.reads: list[str] = []
        self._writes = itertools.count(1)

    def reopen(self) -> None:
        self.journal.close()
        self.journal = Journal.open(self.folder, self.clock)

    def put(self, path: str, data: bytes | None) -> None:
        """A write by anybody, past the journal."""
        self.files.pop(path, None)
        self.stamps.pop(path, None)
        if data is not None:
            self.files[path] = data
            number = next(self._writes)
            self.stamps[path] = (len(data), number * 10**9, number)

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def look(self) -> tuple[Record, ...]:
        return self.journal.observe(dict(self.stamps), self.read).records

    def edit(self, path: str, data: bytes | None, action: str = "edit") -> Record:
        """As memdeck changes a file: record, then write."""
        with self.journal.hold():
            record = self.journal.record(Change(path, self.files.get(path), data, "user", action))
            self.put(path, data)
        return record

    def apply(self, plan: UndoPlan) -> tuple[Record, ...]:
        assert plan.possible
        records = self.journal.record_all(plan.changes())
        for step in plan.steps:
            assert self.files.get(step.path) == step.expect
            self.put(step.path, step.content)
        return records

    def plan(self, record: Record, *, whole_step: bool = True) -> UndoPlan:
        return self.journal.plan_undo(record.id, self.files.get, whole_step=whole_step)


DeskMaker = Callable[[], Desk]
