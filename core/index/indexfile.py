"""Index room: one workspace's index file — opened when needed, healed when damaged, its state, its paths."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import apsw

from core.clock import Clock
from core.index.database import (
    DEFAULT_DIMENSIONS,
    Damaged,
    Database,
    Place,
    UnknownSchema,
    move_aside,
)
from core.index.model import ClaimHolder, IndexStatus
from core.index.place import cache_place, choose_place, choose_spelling
from core.store.entries import is_inside
from core.store.layout import Root
from core.store.model import Problem

_Identity = tuple[int, int]
_NOT_REFUSED: _Identity = (-1, -1)

RETRY_SECONDS = 5.0
"""How long our own copy is used before it is tried again to make the agent's file."""

HEAL_LIMIT = 3
"""How often in a row a damaged index is begun anew before it is given up."""


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """What an index depends on besides its root; everything is passed in."""

    cache_dir: str
    clock: Clock
    environ: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    network: bool = False
    stale_claim_secs: int = 60
    dimensions: int = DEFAULT_DIMENSIONS
    pid: int = field(default_factory=os.getpid)


class IndexFile:
    """The index file of one workspace (or of global memory alone, or of a flat root), opened and healed.

    Thread-safe; opened when first needed.  Failures of the index never reach Markdown: they end as a state
    that ``status`` and the reports name.
    """

    def __init__(self, root: Root, folder: str, options: IndexOptions) -> None:
        self.root = root
        self.folder = folder
        self.options = options
        self.spelling = root.path
        self._database: Database | None = None
        self._lock = threading.RLock()
        self._seen_version = -1
        self._notes: dict[str, str] = {}
        self._failure = ""
        self._moved_aside = False
        self._heals = 0
        self._refused: _Identity | None = _NOT_REFUSED
        self._refused_at = 0.0
        self._kept_claim = ""
        self._behind_why = ""
        self._behind = 0
        self._holder: ClaimHolder | None = None
        self._problems: tuple[Problem, ...] = ()
        self._curated: tuple[int, tuple[str, ...]] | None = None
        self.swapped = False
        """The file was replaced or removed under us, and what is there now was not compared with the files yet."""

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────

    def database(self) -> Database | None:
        """Return the open database, opening (and if need be healing) it; None when it cannot be used."""
        with self._lock:
            if self._database is not None and (self._database.moved() or self._can_be_shared(self._database)):
                # The agent cleared the workspace, or somebody put another file there, or made one at last.
                self._database.close()
                self._database = None
                self.swapped = True
            if self._database is None:
                self._failure = ""
                self._database = self._open()
                self._seen_version = -1
                self._curated = None
            return self._database

    def swapped_now(self) -> bool:
        """True when the file was replaced or removed under us and has to be brought in step first."""
        self.database()
        return self.swapped

    def _can_be_shared(self, database: Database) -> bool:
        """True when our own copy is open, although there is a file by now that was not refused before."""
        if database.place.shared:
            return False
        place = self._place()
        if not place.shared:
            return False
        there = _identity(place.path)
        if there is None and self._refused is None:  # one could not be made: perhaps it can by now
            return time.monotonic() - self._refused_at > RETRY_SECONDS
        return there != self._refused

    def _place(self) -> Place:
        options = self.options
        return choose_place(
            self.root,
            self.folder,
            cache_dir=options.cache_dir,
            network=options.network,
            environ=options.environ,
            host=options.host,
        )

    def _open(self) -> Database | None:
        place = self._place()
        damage = ""
        try:
            try:
                return self._open_place(place)
            except (apsw.IOError, apsw.CantOpenError):
                return self._open_place(place)  # the file may have been replaced that very moment
        except Damaged as error:
            damage = str(error)
        except UnknownSchema as error:
            return self._open_copy(f"its index has tables memdeck does not know ({error}); it was left alone")
        except (apsw.BusyError, apsw.LockedError):
            self._failure = "another process holds the index"
        except (apsw.Error, OSError) as error:
            if place.shared:
                return self._open_copy(f"its index cannot be opened ({error})")
            self._failure = f"the index cannot be opened ({error})"
        return self._open_damaged(place, damage) if damage else None

    def _open_place(self, place: Place) -> Database:
        if not place.shared:
            if is_inside(str(self.root.real), os.path.realpath(self.options.cache_dir)):
                raise OSError(
                    "memdeck's cache folder lies inside the memory: set MEMDECK_STATE to another one"
                )
            os.makedirs(os.path.dirname(place.path), mode=0o700, exist_ok=True)
        database = Database(place, dimensions=self.options.dimensions)
        try:
            if database.has_vectors and database.vector_problem and _agent_vectors(database):
                raise UnknownSchema("it holds vectors and sqlite-vec cannot be loaded to keep them in step")
            with database.reading() as reader:
                paths = {str(row[0]) for row in reader.execute("SELECT DISTINCT path FROM chunks")}
        except apsw.CorruptError as error:
            database.close()
            raise Damaged(str(error)) from error
        except BaseException:
            database.close()
            raise
        self.spelling = choose_spelling(self.root, self.folder, paths)
        return database

    def _open_damaged(self, place: Place, what: str) -> Database | None:
        self._heals += 1
        if self._heals > HEAL_LIMIT:
            self._failure = f"the index is damaged again and again ({what}); the files are untouched"
            return None
        if not place.shared:
            return self._open_copy(place.reason, afresh=True)
        if self._moved_aside:
            return self._open_copy(f"its index is damaged again ({what}); it was left alone")
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.options.clock()))
        target = move_aside(place.path, stamp)
        self._moved_aside = True
        if target is None:
            why = "a link" if os.path.islink(place.path) else "in use"
            return self._open_copy(f"its index is damaged ({what}) and {why}; it was left alone")
        self._notes["damaged"] = (
            f"the index was damaged and now lies in {os.path.basename(target)}; a new one was made of the files"
        )
        try:
            return self._open_place(place)
        except (apsw.Error, OSError, Damaged, UnknownSchema) as error:
            return self._open_copy(f"a new index could not be made ({error})")

    def _open_copy(self, reason: str, *, afresh: bool = False) -> Database | None:
        wanted = self._place()
        self._refused = _identity(wanted.path) if wanted.shared else _NOT_REFUSED
        self._refused_at = time.monotonic()
        place = cache_place(self.root, self.folder, self.options.cache_dir, reason)
        for remove in (afresh, True):
            if remove:  # this one is ours alone
                for suffix in ("", "-wal", "-shm"):
                    with contextlib.suppress(OSError):
                        os.unlink(place.path + suffix)
            try:
                return self._open_place(place)
            except (Damaged, UnknownSchema):
                continue
            except (apsw.Error, OSError) as error:
                self._failure = f"{reason}, and no copy could be made ({error})"
                return None
        self._failure = f"{reason}, and no copy could be made"
        return None

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def interrupt(self) -> None:
        database = self._database
        if database is not None:
            database.interrupt()

    # ── state ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes.values())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Entries the last sync could not list, read or decode."""
        return self._problems

    def status(self) -> IndexStatus:
        """Return the state of the index without syncing it (counts cost one pass over an index)."""
        database = self.database()
        if database is None:
            return IndexStatus("failed", "", reason=self._failure)
        place = database.place
        try:
            with database.reading() as reader:
                chunks = _number(reader, "SELECT count(*) FROM chunks")
                files = _number(reader, "SELECT count(DISTINCT path) FROM chunks")
                foreign = sum(count for path, count in _paths(reader).items() if self.is_foreign(path))
                mode = str(reader.pragma("journal_mode"))
        except (apsw.BusyError, apsw.LockedError):
            return IndexStatus("behind", place.path, behind=self._behind, reason="another process is writing")
        except apsw.Error as error:
            return IndexStatus("failed", place.path, reason=f"the index cannot be read ({error})")
        state = "behind" if self._behind else "ready" if place.shared else "cached"
        if not chunks and not self._behind and place.shared:
            state = "none"
        return IndexStatus(
            state=state,  # type: ignore[arg-type]
            path=place.path,
            chunks=chunks,
            files=files,
            behind=self._behind,
            holder=self._holder,
            reason=place.reason,
            journal_mode=mode,
            vectors=database.vector_problem or "sqlite-vec loaded",
            foreign=foreign,
            behind_why=self._behind_why,
        )

    def exists(self) -> bool:
        """True when there is an index already; nothing is created to find out."""
        if self._database is not None:
            return True
        place = self._place()
        cached = cache_place(self.root, self.folder, self.options.cache_dir, "")
        return any(os.path.exists(path) for path in (place.path, cached.path))

    def curated_paths(self, database: Database) -> tuple[str, ...]:
        """The paths of rows that are global or workspace memory, remembered until the file changes."""
        version = database.data_version()
        if self._curated is None or self._curated[0] != version:
            with database.reading() as reader:
                candidates = [
                    str(row[0])
                    for row in reader.execute("SELECT DISTINCT path FROM chunks")
                    if "/sessions/" not in str(row[0])
                ]
                paths = tuple(
                    path
                    for path in candidates
                    if reader.execute(
                        "SELECT 1 FROM chunks WHERE path=? AND source IN ('global','workspace') LIMIT 1",
                        (path,),
                    ).fetchone()
                )
            self._curated = (version, paths)
        return self._curated[1]

    def is_foreign(self, path: str) -> bool:
        """True for the path of a row that belongs to another workspace (or to another root)."""
        if path == f"{self.spelling}/MEMORY.md":
            return False
        return not path.startswith(self._own_prefix())

    def _own_prefix(self) -> str:
        return f"{self.spelling}/{self.folder}/" if self.folder else f"{self.spelling}/"

    def to_index(self, path: str) -> str:
        """Spell a path of the root as the rows of this index do."""
        if self.spelling != self.root.path and path.startswith(self.root.path + "/"):
            return self.spelling + path[len(self.root.path) :]
        return path

    def to_disk(self, path: str) -> str:
        """Spell a path of this index as the root was opened."""
        if self.spelling != self.root.path and path.startswith(self.spelling + "/"):
            return self.root.path + path[len(self.spelling) :]
        return path


def _identity(path: str) -> _Identity | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _number(connection: apsw.Connection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    return int(str(row[0])) if row is not None else 0


def _paths(connection: apsw.Connection) -> dict[str, int]:
    return {
        str(path): int(str(count))
        for path, count in connection.execute("SELECT path, count(*) FROM chunks GROUP BY path")
    }


def _agent_vectors(database: Database) -> bool:
    """True when the agent's vector table holds rows (its shadow table can be read without the extension)."""
    try:
        row = database.reader.execute("SELECT 1 FROM chunks_vec_rowids LIMIT 1").fetchone()
    except apsw.SQLError:
        return True
    return row is not None
