"""Index room: keeps one workspace's index in step with its files, under the agent's claim, batch by batch."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import apsw

from core.clock import Clock
from core.index import claim
from core.index.database import (
    DEFAULT_DIMENSIONS,
    Damaged,
    Database,
    Place,
    UnknownSchema,
    move_aside,
)
from core.index.indexer import (
    Counts,
    born,
    delete_path,
    rebuild_text_index,
    record_file,
    repair_grams,
    write_file,
)
from core.index.load import Loaded, load, stamp_of
from core.index.model import ClaimHolder, IndexStatus, SyncReport
from core.index.place import cache_place, choose_place, choose_spelling
from core.store.layout import Root, classify_source, workspace_dir
from core.store.listing import list_memory
from core.store.model import FileEntry, Problem

BATCH_FILES = 256
BATCH_BYTES = 4 * 1024 * 1024
BATCH_SECONDS = 2.0
RECENT_SECONDS = 120.0
"""Files changed this recently are compared by text when somebody else wrote to the index."""

Progress = Callable[[int, int], None]
"""Called with (files done, files to do)."""


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


class Index:
    """The index of one workspace (or of global memory alone, or of a flat root).

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
        self._behind = 0
        self._holder: ClaimHolder | None = None
        self._problems: tuple[Problem, ...] = ()
        self._curated: tuple[int, tuple[str, ...]] | None = None

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────

    def database(self) -> Database | None:
        """Return the open database, opening (and if need be healing) it; None when it cannot be used."""
        with self._lock:
            if self._database is not None and self._database.moved():
                # The agent cleared the workspace, or somebody put another file there.
                self._database.close()
                self._database = None
            if self._database is None:
                self._failure = ""
                self._database = self._open()
                self._seen_version = -1
                self._curated = None
            return self._database

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
        try:
            return self._open_place(place)
        except Damaged as error:
            return self._open_damaged(place, str(error))
        except UnknownSchema as error:
            return self._open_copy(f"its index has tables memdeck does not know ({error}); it was left alone")
        except (apsw.BusyError, apsw.LockedError):
            self._failure = "another process holds the index; trying again"
        except (apsw.Error, OSError) as error:
            if place.shared:
                return self._open_copy(f"its index cannot be opened ({error})")
            self._failure = f"the index cannot be opened ({error})"
        return None

    def _open_place(self, place: Place) -> Database:
        if not place.shared:
            os.makedirs(os.path.dirname(place.path), mode=0o700, exist_ok=True)
        database = Database(place, dimensions=self.options.dimensions)
        try:
            if database.has_vectors and database.vector_problem and _agent_vectors(database):
                raise UnknownSchema("it holds vectors and sqlite-vec cannot be loaded to keep them in step")
            paths = {str(row[0]) for row in database.reader.execute("SELECT DISTINCT path FROM chunks")}
        except apsw.CorruptError as error:
            database.close()
            raise Damaged(str(error)) from error
        except BaseException:
            database.close()
            raise
        self.spelling = choose_spelling(self.root, self.folder, paths)
        return database

    def _open_damaged(self, place: Place, what: str) -> Database | None:
        if self._moved_aside:
            return self._open_copy(f"its index is damaged again ({what}); it was left alone")
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.options.clock()))
        target = move_aside(place.path, stamp)
        self._moved_aside = True
        if target is None:
            return self._open_copy(f"its index is damaged ({what}) and in use; it was left alone")
        self._notes["damaged"] = (
            f"the index was damaged and now lies in {os.path.basename(target)}; a new one is being built"
        )
        try:
            return self._open_place(place)
        except (apsw.Error, OSError, Damaged, UnknownSchema) as error:
            return self._open_copy(f"a new index could not be made ({error})")

    def _open_copy(self, reason: str) -> Database | None:
        place = cache_place(self.root, self.folder, self.options.cache_dir, reason)
        for attempt in (1, 2):
            try:
                return self._open_place(place)
            except (Damaged, UnknownSchema):
                if attempt == 1:  # this one is ours alone: start it afresh, once
                    for suffix in ("", "-wal", "-shm"):
                        with contextlib.suppress(OSError):
                            os.unlink(place.path + suffix)
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

    # ── keeping in step ──────────────────────────────────────────────────────────────────────────────

    def sync(
        self,
        only: Iterable[str] | None = None,
        *,
        progress: Progress | None = None,
        drop_foreign: bool = False,
        force: bool = False,
    ) -> SyncReport:
        """Index what differs from the files and delete what is gone; never waits for another's claim.

        ``only``: look at these paths alone (a running watcher's dirty files).  ``drop_foreign`` also removes
        rows of other workspaces.  ``force`` compares every file's text, whatever its stamp says.
        """
        started = time.perf_counter()
        with self._lock:
            database = self.database()
            if database is None:
                return SyncReport(notes=(self._failure,), seconds=time.perf_counter() - started)
            work = _Work()
            try:
                plan = self._plan(database, None if only is None else set(only), force, drop_foreign)
                self._run(database, plan, work, progress)
            except (apsw.BusyError, apsw.LockedError):
                work.blocked = True
            except (apsw.CorruptError, apsw.NotADBError) as error:
                return self._after_damage(database, error, started)
            except (apsw.Error, OSError) as error:
                work.notes.append(f"the index could not be written ({error}); the files are untouched")
                work.blocked = True
            self._behind = max(work.left, 0) if work.blocked else 0
            self._holder = work.holder if work.blocked else None
            if only is None:
                self._problems = tuple(dict.fromkeys((*work.listing_problems, *work.problems)))
            else:
                self._problems = tuple(dict.fromkeys((*self._problems, *work.problems)))
            return work.report(self._problems, self.notes, time.perf_counter() - started)

    def rebuild(self, *, progress: Progress | None = None) -> SyncReport:
        """Compare every text, drop foreign rows and write the full-text index anew; counters are kept."""
        report = self.sync(progress=progress, drop_foreign=True, force=True)
        with self._lock:
            database = self.database()
            if database is None or report.behind:
                return report
            try:
                mine = self._take_claim(database)
                if mine is None:
                    return _with_notes(
                        report, "the full-text index was not rebuilt: another process holds the claim"
                    )
                with database.writing() as writer:
                    rebuild_text_index(writer)
                    claim.release(writer, mine)
            except apsw.Error as error:
                return _with_notes(report, f"the full-text index could not be rebuilt ({error})")
            self._seen_version = database.data_version()
        return report

    def _after_damage(self, database: Database, error: Exception, started: float) -> SyncReport:
        place = database.place
        database.close()
        self._database = self._open_damaged(place, str(error))
        self._seen_version = -1
        if self._database is None:
            return SyncReport(notes=(self._failure,), seconds=time.perf_counter() - started)
        return self.sync()

    def _plan(self, database: Database, only: set[str] | None, force: bool, drop_foreign: bool) -> _Plan:
        version = database.data_version()
        foreign_write = version != self._seen_version
        plan = _Plan(version=version, repair=foreign_write)
        if only is not None and foreign_write:
            only = None  # somebody else wrote to the index: look at everything once
        listing = list_memory(self.root, self.folder)
        plan.problems = list(listing.problems)
        with database.reading() as reader:
            known = {
                str(row[0]): tuple(int(str(value)) for value in row[1:])
                for row in reader.execute(
                    "SELECT path, size, mtime_ns, inode, chunks, rowids FROM memdeck_files"
                )
            }
            rows = _signatures(reader) if foreign_write or force or drop_foreign else None
        entries = {self.to_index(entry.path): entry for entry in listing.files}
        for path in rows if rows is not None else known:
            if path not in entries and not self.is_foreign(path):
                self._add_unlisted(path, entries, plan)
        plan.seen = len(entries)
        now = self.options.clock()
        for path, entry in entries.items():
            if only is not None and path not in only and self.to_disk(path) not in only:
                if path in known:
                    continue
            stamp = known.get(path)
            same = stamp is not None and stamp[:3] == entry.stamp
            if same and rows is not None and stamp is not None:
                same = rows.get(path, (0, 0)) == stamp[3:]
            recent = foreign_write and now - entry.mtime_ns / 1e9 < RECENT_SECONDS
            if force or not same or recent:
                plan.dirty.append((path, entry))
        plan.known = known
        if drop_foreign and rows is not None:
            plan.foreign = [path for path in rows if self.is_foreign(path)]
        return plan

    def _add_unlisted(self, path: str, entries: dict[str, FileEntry], plan: _Plan) -> None:
        """A row whose file is not listed: gone, or one of those that only the agent's watcher takes up."""
        disk = self.to_disk(path)
        stamp = stamp_of(disk)
        if stamp is None:
            if not os.path.lexists(disk):
                plan.gone.append(path)
            return
        if os.path.islink(os.path.dirname(disk)):
            return
        directory = workspace_dir(self.root, self.folder)
        source = classify_source(self.root.path, directory, disk)
        entries[path] = FileEntry(disk, source, *stamp)

    def _take_claim(self, database: Database) -> str | None:
        now = int(self.options.clock())
        with database.write_lock:
            return claim.take(database.writer, self.options.pid, now, self.options.stale_claim_secs)

    def _run(self, database: Database, plan: _Plan, work: _Work, progress: Progress | None) -> None:
        work.seen = plan.seen
        work.listing_problems = plan.problems
        todo = plan.dirty
        total = len(todo)
        work.left = total
        position = 0
        first = True
        while first or position < total:
            batch: list[tuple[str, Loaded]] = []
            size = 0
            deadline = time.perf_counter() + BATCH_SECONDS
            while position < total and len(batch) < BATCH_FILES and size < BATCH_BYTES:
                path, entry = todo[position]
                position += 1
                loaded = load(entry)
                if isinstance(loaded, Problem):
                    work.left -= 1
                    if loaded.kind != "vanished":
                        work.problems.append(loaded)
                    continue
                batch.append((path, loaded))
                size += loaded.size
                if time.perf_counter() > deadline:
                    break
            gone, foreign = (plan.gone, plan.foreign) if first else ([], [])
            repair = plan.repair and first
            first = False
            batch = [item for item in batch if self._differs(database, plan, item, work)]
            if batch or gone or foreign or (repair and self._grams_off(database)):
                if not self._write(database, batch, gone, foreign, repair, work):
                    return
            if progress is not None:
                progress(min(position, total), total)
        self._seen_version = database.data_version()

    def _differs(self, database: Database, plan: _Plan, item: tuple[str, Loaded], work: _Work) -> bool:
        """False when the rows of a file are already right (compared by hash) and its stamp is known."""
        path, loaded = item
        known = plan.known.get(path)
        if known is None or known[:3] != loaded.stamp:
            return True
        with database.reading() as reader:
            rows = [
                (str(row[0]), str(row[1]))
                for row in reader.execute("SELECT id, hash FROM chunks WHERE path=? ORDER BY rowid", (path,))
            ]
            signature = reader.execute(
                "SELECT count(*), ifnull(sum(rowid), 0) FROM chunks WHERE path=?", (path,)
            ).fetchone()
        wanted = {(f"{path}:{ordinal}", chunk.hash) for ordinal, chunk in enumerate(loaded.chunks)}
        if set(rows) == wanted and len(rows) == len(wanted) and signature == known[3:]:
            work.left -= 1
            return False
        return True

    def _grams_off(self, database: Database) -> bool:
        with database.reading() as reader:
            return (
                reader.execute(
                    "SELECT 1 FROM chunks c LEFT JOIN memdeck_gram_rows g ON g.rowid = c.rowid"
                    " WHERE g.hash IS NOT c.hash LIMIT 1"
                ).fetchone()
                is not None
                or reader.execute(
                    "SELECT 1 FROM memdeck_gram_rows WHERE rowid NOT IN (SELECT rowid FROM chunks) LIMIT 1"
                ).fetchone()
                is not None
            )

    def _write(
        self,
        database: Database,
        batch: list[tuple[str, Loaded]],
        gone: list[str],
        foreign: list[str],
        repair: bool,
        work: _Work,
    ) -> bool:
        """Write one batch in one transaction under the claim; False when somebody else holds it."""
        mine = self._take_claim(database)
        now = int(self.options.clock())
        if mine is None:
            work.blocked = True
            work.left += len(gone)
            with database.reading() as reader:
                work.holder = claim.holder(reader, now, self.options.stale_claim_secs)
            return False
        vectors = database.has_vectors and not database.vector_problem
        try:
            with database.writing() as writer:
                for path in gone:
                    work.counts.removed += delete_path(writer, path, vectors=vectors)
                    work.files_removed += 1
                for path in foreign:
                    work.foreign_removed += delete_path(writer, path, vectors=vectors)
                for path, loaded in batch:
                    self._write_one(writer, path, loaded, now, vectors, work)
                if repair:
                    repair_grams(writer)
                # Given back with the commit itself, so nobody waits for a claim that is no longer needed.
                claim.release(writer, mine)
        except BaseException:
            with contextlib.suppress(apsw.Error), database.write_lock:
                claim.release(database.writer, mine)
            raise
        work.left -= len(batch)
        return True

    def _write_one(
        self, writer: apsw.Connection, path: str, loaded: Loaded, now: int, vectors: bool, work: _Work
    ) -> None:
        if stamp_of(loaded.entry.path) != loaded.stamp:
            # It changed after it was read: somebody may have indexed the newer text meanwhile, and ours
            # must not overwrite that.
            again = load(loaded.entry)
            if isinstance(again, Problem):
                return
            loaded = again
        known = writer.execute("SELECT 1 FROM memdeck_files WHERE path=?", (path,)).fetchone()
        rows = writer.execute("SELECT 1 FROM chunks WHERE path=? LIMIT 1", (path,)).fetchone()
        created = born(
            loaded.entry.name,
            loaded.entry.source,
            loaded.mtime,
            now,
            first_time=known is None and rows is None,
        )
        counts = write_file(
            writer, path, loaded.entry.source, loaded.chunks, created_at=created, now=now, vectors=vectors
        )
        record_file(writer, path, loaded.stamp)
        work.counts.add(counts)
        if counts.changed:
            work.files_indexed += 1


@dataclass(slots=True)
class _Plan:
    """What one sync has to do."""

    version: int
    repair: bool
    seen: int = 0
    dirty: list[tuple[str, FileEntry]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    known: dict[str, tuple[int, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class _Work:
    """What one sync did so far."""

    counts: Counts = field(default_factory=Counts)
    seen: int = 0
    files_indexed: int = 0
    files_removed: int = 0
    foreign_removed: int = 0
    left: int = 0
    blocked: bool = False
    holder: ClaimHolder | None = None
    problems: list[Problem] = field(default_factory=list)
    listing_problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def report(self, problems: tuple[Problem, ...], notes: tuple[str, ...], seconds: float) -> SyncReport:
        return SyncReport(
            files_seen=self.seen,
            files_indexed=self.files_indexed,
            files_removed=self.files_removed,
            added=self.counts.added,
            updated=self.counts.updated,
            moved=self.counts.moved,
            removed=self.counts.removed,
            behind=max(self.left, 0) if self.blocked else 0,
            holder=self.holder,
            foreign_removed=self.foreign_removed,
            seconds=seconds,
            problems=problems,
            notes=(*notes, *self.notes),
        )


def _with_notes(report: SyncReport, note: str) -> SyncReport:
    from dataclasses import replace

    return replace(report, notes=(*report.notes, note))


def _number(connection: apsw.Connection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    return int(str(row[0])) if row is not None else 0


def _paths(connection: apsw.Connection) -> dict[str, int]:
    return {
        str(path): int(str(count))
        for path, count in connection.execute("SELECT path, count(*) FROM chunks GROUP BY path")
    }


def _signatures(connection: apsw.Connection) -> dict[str, tuple[int, ...]]:
    return {
        str(path): (int(str(count)), int(str(total)))
        for path, count, total in connection.execute(
            "SELECT path, count(*), sum(rowid) FROM chunks GROUP BY path"
        )
    }


def _agent_vectors(database: Database) -> bool:
    """True when the agent's vector table holds rows (its shadow table can be read without the extension)."""
    try:
        row = database.reader.execute("SELECT 1 FROM chunks_vec_rowids LIMIT 1").fetchone()
    except apsw.SQLError:
        return True
    return row is not None
