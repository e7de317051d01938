"""Index room: one index file — where it lies, how it is opened, what is wrong with it, its write lock.

Nothing here touches Markdown.  A file that is damaged is moved aside only under an exclusive lock; one whose
tables are not those we know is never touched, and a copy of ours in the cache dir is used instead.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import struct
import threading
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

from core.index.schema import (
    AGENT_SCHEMA,
    CHUNK_COLUMNS,
    CLAIM_KEY,
    DIMENSIONS_KEY,
    OUR_COLUMNS,
    OUR_SCHEMA,
    OUR_VERSION,
    PAIR_TABLES,
    VECTOR_SCHEMA,
)

BUSY_TIMEOUT_MS = 5_000
DEFAULT_DIMENSIONS = 1_024
JournalMode = Literal["wal", "truncate"]

# SQLite's lock bytes: the pending byte, the reserved byte and the shared range behind them.
_LOCK_START, _LOCK_LENGTH = 0x40000000, 512
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an index lies.  ``shared``: it is the agent's own file; else ours in the cache dir, and why."""

    path: str
    journal: JournalMode
    shared: bool
    reason: str = ""


class UnknownSchema(Exception):
    """The file is a database, but its tables are not those we know."""


class Damaged(Exception):
    """The file is no readable database any more."""


def host_slug(host: str) -> str:
    """Return the host as it stands in a per-host index name: ``[a-z0-9-]``, 24 characters at most."""
    return re.sub(r"[^a-z0-9]", "-", host.lower())[:24].strip("-")


def index_name(network: bool, host: str) -> str:
    """``index.sqlite``, or a file of its own for each host on a network filesystem."""
    return f"index.h-{host_slug(host)}.sqlite" if network else "index.sqlite"


def journal_mode(network: bool, environ: Mapping[str, str]) -> JournalMode:
    """WAL locally, TRUNCATE on network filesystems; ``GROK_SQLITE_JOURNAL_MODE`` overrides."""
    override = environ.get("GROK_SQLITE_JOURNAL_MODE", "").strip().lower()
    if override == "wal":
        return "wal"
    if override == "truncate":
        return "truncate"
    return "truncate" if network else "wal"


def load_sqlite_vec(connection: apsw.Connection) -> str:
    """Load sqlite-vec into a connection; return "" or why it is not there."""
    # Only found, not imported: its module would import numpy where that is installed.
    found = importlib.util.find_spec("sqlite_vec")
    if found is None or found.origin is None:
        return "sqlite-vec is not installed"
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(os.path.join(os.path.dirname(found.origin), "vec0"))
        finally:
            connection.enable_load_extension(False)
    except (apsw.Error, OSError, AttributeError) as error:
        return f"sqlite-vec could not be loaded ({error})"
    return ""


class Database:
    """One open index file: a connection that writes and one that reads, each behind its own lock."""

    def __init__(self, place: Place, *, dimensions: int = DEFAULT_DIMENSIONS) -> None:
        """Open or create the file.

        Raises:
            UnknownSchema: its tables are not those we know (it was not changed).
            Damaged: it cannot be read as a database (it was not changed).
            apsw.BusyError: another process held it for the whole busy time-out.
            OSError, apsw.CantOpenError: it cannot be opened.
        """
        self.place = place
        self.write_lock = threading.RLock()
        self.read_lock = threading.RLock()
        self.vector_problem = ""
        self.has_vectors = False
        self._vectors_enabled: str | None = None
        self.stems_version = -1  # the data version at which the word index of ``tuned`` was in step
        self._writer: apsw.Connection | None = None
        self._reader: apsw.Connection | None = None
        existed = Path(place.path).exists() and Path(place.path).stat().st_size > 0
        try:
            self._writer = self._connect(create=True)
            self.vector_problem = load_sqlite_vec(self._writer)
            self._prepare(dimensions, existed)
            self._reader = self._connect(create=False)
            if place.journal == "truncate":  # unlike WAL, this mode belongs to the connection
                self._reader.pragma("journal_mode", "truncate")
            status = os.stat(place.path)
            self._identity = (status.st_dev, status.st_ino)
        except _DAMAGED as error:
            # Statements that are still referenced from the traceback would keep the file open, and locked.
            traceback.clear_frames(error.__traceback__)
            self.close()
            raise Damaged(str(error)) from None
        except BaseException:
            self.close()
            raise

    def _connect(self, *, create: bool) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        try:
            connection = apsw.Connection(self.place.path, flags=flags)
        except UnicodeEncodeError:
            raise OSError("its path is not UTF-8") from None
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute("PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16000")
        return connection

    def _prepare(self, dimensions: int, existed: bool) -> None:
        writer = self.writer
        tables = {name for (name,) in writer.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        if tables and not _known(writer, tables):
            raise UnknownSchema(", ".join(sorted(tables))[:200])
        mode = writer.pragma("journal_mode")
        if mode != self.place.journal:
            # Changing the mode needs the file for oneself; when the agent has it open its mode stands.
            with contextlib.suppress(apsw.BusyError, apsw.LockedError):
                writer.pragma("journal_mode", self.place.journal)
        self.has_vectors = "chunks_vec" in tables
        wrong = _wrong_tables(writer, tables)
        if "chunks" in tables and "chunks_fts" in tables and not wrong and self._meta_complete():
            return
        with self._immediate(writer):
            writer.execute(AGENT_SCHEMA)
            if "chunks" in tables and "chunks_fts" not in tables:
                writer.execute("INSERT INTO chunks_fts(rowid, text) SELECT rowid, text FROM chunks")
            if not tables and not self.vector_problem:
                self.has_vectors = self._make_vector_table(writer, dimensions)
            for name in wrong:  # ours hold nothing that cannot be had again
                writer.execute(f"DROP TABLE IF EXISTS {name}")
            writer.execute("INSERT OR IGNORE INTO meta(key, value) VALUES(?, '')", (CLAIM_KEY,))
            writer.execute(OUR_SCHEMA)
            writer.execute("INSERT OR IGNORE INTO memdeck_meta VALUES('version', ?)", (OUR_VERSION,))

    @staticmethod
    def _make_vector_table(writer: apsw.Connection, dimensions: int) -> bool:
        """The vector table is the agent's; it is ours to make only together with a new index."""
        try:
            with writer:
                writer.execute(VECTOR_SCHEMA.format(dimensions=int(dimensions)))
                writer.execute(
                    "INSERT OR IGNORE INTO meta(key, value) VALUES(?, ?)", (DIMENSIONS_KEY, str(dimensions))
                )
        except apsw.SQLError:
            return False  # more dimensions than sqlite-vec takes: the index does without
        return True

    def _meta_complete(self) -> bool:
        row = self.writer.execute("SELECT 1 FROM meta WHERE key=?", (CLAIM_KEY,)).fetchone()
        return row is not None

    @property
    def writer(self) -> apsw.Connection:
        if self._writer is None:
            raise apsw.ConnectionClosedError("the index was closed")
        return self._writer

    @property
    def reader(self) -> apsw.Connection:
        if self._reader is None:
            raise apsw.ConnectionClosedError("the index was closed")
        return self._reader

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Give the reading connection inside one read transaction (one consistent picture).

        Raises:
            apsw.CorruptError: the file is damaged; also for text in it that is not UTF-8.
        """
        with self.read_lock, _undecodable_is_damage():
            connection = self.reader
            if connection.in_transaction:  # a caller of this thread has one open
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                with contextlib.suppress(apsw.Error):
                    connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _immediate(self, connection: apsw.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(apsw.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Give the writing connection inside one immediate transaction.

        Raises:
            apsw.BusyError: another process wrote for longer than the busy time-out.
        """
        with self.write_lock, _undecodable_is_damage(), self._immediate(self.writer):
            yield self.writer

    def enable_vectors(self) -> str:
        """Load sqlite-vec into the reading connection, once; return "" or why that cannot be."""
        with self.read_lock:
            if self._vectors_enabled is None:
                self._vectors_enabled = self.vector_problem or load_sqlite_vec(self.reader)
            return self._vectors_enabled

    def data_version(self) -> int:
        """A number that changes when another connection (ours that writes included) changed the file."""
        with self.read_lock:
            return int(self.reader.pragma("data_version"))

    def foreign_version(self) -> int:
        """A number that changes when anybody else changed the file (another connection than the writing one)."""
        with self.write_lock:
            return int(self.writer.pragma("data_version"))

    def moved(self) -> bool:
        """True when the file at this place is no longer the one that is open (removed or replaced)."""
        try:
            status = os.stat(self.place.path)
        except OSError:
            return True
        return (status.st_dev, status.st_ino) != self._identity

    def interrupt(self) -> None:
        """Stop a running read from another thread."""
        if self._reader is not None:
            with contextlib.suppress(apsw.Error):
                self._reader.interrupt()

    def close(self) -> None:
        """Close both connections, once whoever uses them now is done (a running read is stopped)."""
        self.interrupt()
        with self.read_lock, self.write_lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    with contextlib.suppress(apsw.Error):
                        connection.close(True)
            self._reader = self._writer = None


@contextlib.contextmanager
def _undecodable_is_damage() -> Iterator[None]:
    """Nobody writes text that is not UTF-8 into an index, so bytes that are not have been torn."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise apsw.CorruptError(f"text that is not UTF-8 ({error.reason})") from None


def _known(connection: apsw.Connection, tables: set[str]) -> bool:
    if "chunks" not in tables or "meta" not in tables:
        return False
    columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(chunks)")}
    # rowid is a column of its own only when it is declared; the agent declares it.
    return columns == set(CHUNK_COLUMNS) and _columns(connection, "meta") == {"key", "value"}


def _columns(connection: apsw.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _wrong_tables(connection: apsw.Connection, tables: set[str]) -> list[str]:
    """Those of our tables that are missing or not as we make them; the two of the pairs go together."""
    wrong = [
        name
        for name, columns in OUR_COLUMNS.items()
        if name not in tables or _columns(connection, name) != columns
    ]
    if PAIR_TABLES & set(wrong):
        wrong = [*(name for name in wrong if name not in PAIR_TABLES), *sorted(PAIR_TABLES)]
    return wrong


def move_aside(path: str, stamp: str) -> str | None:
    """Move a damaged index, its ``-wal`` and ``-shm`` together to ``…damaged-<stamp>``; None if in use or a link.

    SQLite's own lock bytes are taken exclusively first, so a file that any process has open stays where it
    is.  Must not be called while this process has the file open.
    """
    import fcntl

    if os.path.islink(path):
        return None  # what it leads to is not ours to replace
    with contextlib.ExitStack() as stack:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        stack.callback(os.close, descriptor)
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _LOCK_START, _LOCK_LENGTH, 0)
        try:
            command = getattr(fcntl, "F_OFD_SETLK", None)
            if command is not None:
                fcntl.fcntl(descriptor, command, lock)
            else:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_LENGTH, _LOCK_START)
        except OSError:
            return None
        target = f"{path}.damaged-{stamp}"
        try:
            for suffix in ("-wal", "-shm", ""):
                if os.path.lexists(path + suffix):
                    os.rename(path + suffix, target + suffix)
        except OSError:
            return None
    return target


def integrity(database: Database) -> str:
    """Return "" when SQLite finds the file sound, else the first thing it found."""
    with database.read_lock:
        row = database.reader.execute("PRAGMA quick_check(1)").fetchone()
    return "" if row is None or row[0] == "ok" else str(row[0])


def only_text_torn(database: Database) -> bool:
    """True when SQLite finds the file sound but for the full-text indexes, which can be had again."""
    with database.read_lock:
        found = [str(row[0]) for row in database.reader.execute("PRAGMA quick_check(20)")]
    return found != ["ok"] and all("fts5" in line.lower() for line in found)
