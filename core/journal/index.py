"""Journal room: an index over the records, so that no question reads them all.

Derived: an SQLite file that holds no text and is made anew from the journal whenever it is missing, damaged or
belongs to another journal.  Where it cannot be written it is made in memory.  It also remembers each file's
stamp at the last look; without those, files are read again, and nothing is recorded twice.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import apsw

from core.journal.disk import shown
from core.journal.lines import Broken, parse
from core.journal.log import Log, line_at
from core.journal.model import JournalError, Record, Stamp
from core.journal.schema import SCHEMA, TABLES, VERSION, Ingest, Reach, plain, read_reach, short, write_reach

BUSY_TIMEOUT_MS = 10_000
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.SchemaChangeError, apsw.SQLError)

T = TypeVar("T")


def path_key(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def path_of(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one file: its text (None: it is gone), and stamp and text at the last look."""

    object: str | None
    stamp: Stamp | None
    seen: str | None


@dataclass(frozen=True, slots=True)
class Query:
    """Which records, newest first; times in unix seconds, both inclusive."""

    path: str | None = None
    actor: str | None = None
    since: float | None = None
    until: float | None = None
    group: str | None = None

    def where(self) -> tuple[str, list[object]]:
        parts: list[tuple[str, object]] = []
        if self.path is not None:
            parts.append(("file=(SELECT num FROM files WHERE path=?)", path_key(self.path)))
        if self.actor is not None:
            parts.append(("actor=?", plain(self.actor)))
        if self.since is not None:
            parts.append(("time>=?", self.since))
        if self.until is not None:
            parts.append(("time<=?", self.until))
        if self.group is not None:
            parts.append(("step=?", plain(self.group)))
        return "".join(f" AND {part}" for part, _ in parts), [value for _, value in parts]


class Index:
    """The index of one journal.  Every question first takes in what the journal has got since."""

    def __init__(self, path: Path, log: Log, *, network: bool = False) -> None:
        self._path: Path | None = path
        self._log = log
        self._network = network
        self._mutex = threading.RLock()
        self._connection: apsw.Connection | None = None
        self._stamp: tuple[int, int, int] | None = None

    def records(self, query: Query, limit: int, before: str | None) -> list[Record]:
        """Up to ``limit`` records, newest first, older than the record ``before``."""
        where, values = query.where()
        sql = f"SELECT pos, size FROM records WHERE pos<?{where} ORDER BY pos DESC LIMIT ?"

        def work(db: apsw.Connection) -> list[tuple[int, int]]:
            top = 2**62
            if before is not None:
                row = db.execute("SELECT pos FROM records WHERE id=?", (short(before),)).fetchone()
                top = int(row[0]) if row else -1
            return list(db.execute(sql, (top, *values, max(0, limit))))

        return self._load(self._run(work))

    def find(self, prefix: str) -> list[Record]:
        """The records whose id begins with ``prefix`` (hex digits), two at most."""
        low, high = prefix.ljust(16, "0"), prefix.ljust(16, "f")
        sql = "SELECT pos, size FROM records WHERE id BETWEEN ? AND ? LIMIT 2"
        return [one for one in self._rows(sql, (short(low), short(high))) if one.id.startswith(prefix)]

    def step(self, group: str) -> list[Record]:
        """The records of one step, oldest first."""
        return self._rows("SELECT pos, size FROM records WHERE step=? ORDER BY pos", (plain(group),))

    def undoing(self, ident: str) -> list[Record]:
        """The records that undo one, newest first."""
        sql = "SELECT pos, size FROM records WHERE undo_of=? ORDER BY pos DESC"
        return [one for one in self._rows(sql, (short(ident),)) if one.undo_of == ident]

    def known(self) -> dict[str, Known]:
        """All files ever recorded, by path."""
        sql = """SELECT f.path, f.object, s.size, s.mtime_ns, s.inode, s.object
                 FROM files f LEFT JOIN seen s ON s.path = f.path WHERE f.path<>x''"""
        found = self._run(lambda db: list(db.execute(sql)))
        return {
            path_of(path): Known(_hex(object_), None if size is None else (size, mtime, inode), _hex(seen))
            for path, object_, size, mtime, inode, seen in found
        }

    def latest(self, path: str) -> tuple[bool, str | None]:
        """(ever recorded, its text or None when it is gone) of one file."""
        sql = "SELECT object FROM files WHERE path=?"
        row = self._run(lambda db: db.execute(sql, (path_key(path),)).fetchone())
        return (False, None) if row is None else (True, _hex(row[0]))

    def has_baseline(self) -> bool:
        """Whether a first look at the root was recorded to its end."""
        sql = "SELECT 1 FROM meta WHERE key='baseline'"
        return self._run(lambda db: db.execute(sql).fetchone()) is not None

    def state_at(self, time: float) -> dict[str, str]:
        """Path → text of every file there was, as far as was known at ``time`` (unix seconds)."""
        sql = """SELECT path, (SELECT after FROM records WHERE file=num AND time<=? ORDER BY pos DESC LIMIT 1)
                 FROM files WHERE path<>x''"""
        found = self._run(lambda db: list(db.execute(sql, (time,))))
        return {path_of(path): after.hex() for path, after in found if after is not None}

    def purged(self, ident: str) -> bool:
        sql = "SELECT 1 FROM purged WHERE object=?"
        return self._run(lambda db: db.execute(sql, (bytes.fromhex(ident),)).fetchone()) is not None

    def remember(self, sights: Sequence[tuple[str, Stamp, str]]) -> None:
        """Remember stamps of files: (path, stamp, text read then)."""
        rows = [(path_key(path), *stamp, bytes.fromhex(ident)) for path, stamp, ident in sights]

        def work(db: apsw.Connection) -> None:
            with db:
                db.executemany("INSERT OR REPLACE INTO seen VALUES(?,?,?,?,?)", rows)

        if rows:
            self._run(work)

    def vanished(self) -> str:
        """What the index knew of a journal that has since lost its end; "" when nothing is amiss."""
        row = self._run(lambda db: db.execute("SELECT value FROM meta WHERE key='vanished'").fetchone())
        return str(row[0]) if row else ""

    def rebuild(self) -> None:
        """Make the index anew from the journal."""
        with self._mutex:
            self._discard()
            self._run(lambda db: None)

    def close(self) -> None:
        with self._mutex:
            if self._connection is not None:
                with contextlib.suppress(apsw.Error):
                    self._connection.close(True)
            self._connection = self._stamp = None

    def _rows(self, sql: str, values: Iterable[object]) -> list[Record]:
        bound = tuple(values)
        return self._load(self._run(lambda db: list(db.execute(sql, bound))))

    def _load(self, places: Sequence[tuple[int, int]]) -> list[Record]:
        """Read records from the journal itself; a line that was damaged since is left out."""
        found: list[Record] = []
        with contextlib.suppress(OSError), self._log.reading() as handle:
            if handle is None:
                return found
            for pos, size in places:
                with contextlib.suppress(Broken):
                    found.append(parse(line_at(handle, pos, size)))
        return found

    def _run(self, work: Callable[[apsw.Connection], T]) -> T:
        with self._mutex:
            try:
                return work(self._current())
            except _DAMAGED:
                self._discard()
            except (apsw.Error, OSError, UnicodeError):
                self._use_memory()
            try:
                return work(self._current())
            except (apsw.Error, OSError, UnicodeError):
                self._use_memory()
            try:
                return work(self._current())
            except OSError as error:
                raise JournalError(
                    f"the journal {shown(self._log.path)} cannot be read: {error.strerror or error}",
                    hint="Look at what lies there, or set MEMDECK_STATE to another folder.",
                    data="Nothing was changed; the Markdown itself can be read as ever.",
                ) from None

    def _use_memory(self) -> None:
        self.close()
        self._path = None

    def _discard(self) -> None:
        self.close()
        if self._path is not None:
            for suffix in ("-wal", "-shm", ""):
                with contextlib.suppress(OSError):
                    os.unlink(f"{self._path}{suffix}")

    def _current(self) -> apsw.Connection:
        """The connection, after what the journal has got since was taken in."""
        with self._log.reading() as handle:
            if self._connection is None:
                if handle is None and self._path is not None and not self._path.exists():
                    return self._connect(None)  # nothing to index: looking makes no file
                self._connection = self._connect(self._path)
            self._catch_up(self._connection, handle)
        return self._connection

    def _connect(self, path: Path | None) -> apsw.Connection:
        if path is not None:  # SQLite gives its other files the mode of this one
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        db = apsw.Connection(":memory:" if path is None else os.fspath(path))
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        try:
            if path is not None:
                db.pragma("journal_mode", "truncate" if self._network else "wal")
            db.execute("PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY")
            if db.pragma("user_version") != VERSION:
                with db:
                    for table in TABLES:
                        db.execute(f"DROP TABLE IF EXISTS {table}")
                    db.execute(SCHEMA)
        except BaseException:
            db.close(True)
            raise
        return db

    def _catch_up(self, db: apsw.Connection, handle: int | None) -> None:
        if handle is None:
            size, stamp = 0, (0, 0, 0)
        else:
            status = os.fstat(handle)
            size, stamp = status.st_size, (status.st_ino, status.st_size, status.st_mtime_ns)
        reach = read_reach(db)
        if stamp == self._stamp and reach.offset == size:
            return
        if not reach.still_in(handle, size) or reach.offset < size:
            db.execute("BEGIN IMMEDIATE")
            with contextlib.ExitStack() as stack:
                stack.callback(lambda: db.in_transaction and db.execute("ROLLBACK"))
                write_reach(db, self._take_in(db, handle, size, read_reach(db)))
                db.execute("COMMIT")
        self._stamp = stamp

    @staticmethod
    def _take_in(db: apsw.Connection, handle: int | None, size: int, reach: Reach) -> Reach:
        if not reach.still_in(handle, size):
            for table in TABLES:
                db.execute(f"DELETE FROM {table}")
            note = f"{reach.lines} lines up to record {reach.last[:12]} were known"
            db.execute("INSERT OR REPLACE INTO meta VALUES('vanished', ?)", (note,))
            reach = Reach()
        if handle is None or reach.offset >= size:
            return reach
        return Ingest(db, reach).run(handle)


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
