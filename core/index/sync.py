"""Index room: keeps one workspace's index in step with its files, under the agent's claim, batch by batch."""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace

import apsw

from core.index import claim
from core.index.database import Database, only_text_torn
from core.index.indexer import (
    born,
    delete_path,
    drop_misnamed,
    forget_wrong_texts,
    gathering,
    grams_off,
    rebuild_text_index,
    record_file,
    repair_grams,
    write_file,
)
from core.index.indexfile import IndexFile, IndexOptions
from core.index.load import Loaded, load, stamp_of
from core.index.model import SyncReport, whole_number
from core.index.work import Plan, Work, signatures, with_notes
from core.store.entries import is_inside
from core.store.layout import classify_source, workspace_dir
from core.store.listing import list_memory, list_one
from core.store.model import FileEntry, Problem

__all__ = ["Index", "IndexOptions"]

BATCH_FILES = 1024
BATCH_BYTES = 8 * 1024 * 1024
STEP_FILES = 128
"""Files after which progress is told, within a batch too."""
MANY_FILES = 32
"""Files in a batch from which on FTS5 is let gather their words before it writes them out."""
BATCH_SECONDS = 2.0
RECENT_SECONDS = 120.0
"""Files changed this recently are compared by text when somebody else wrote to the index."""

TOLD_ALONE = 64
"""Paths a watcher tells of at once up to which only they are looked at."""

Progress = Callable[[int, int], object]
"""Called with (files done, files to do)."""


class Index(IndexFile):
    """An index file that can be brought in step with the Markdown it copies."""

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
                return self._unusable(started)
            told = None if only is None else set(only)
            if told == set() and not (force or drop_foreign) and self._unchanged(database):
                # Nothing was told of and nobody wrote to the index: there is nothing to look at.
                return SyncReport(
                    problems=self._problems, notes=self.notes, seconds=time.perf_counter() - started
                )
            work = Work()
            damage = ""
            try:
                plan = self._plan(database, told, force, drop_foreign)
                self._run(database, plan, work, progress)
            except (apsw.BusyError, apsw.LockedError, apsw.InterruptError):
                work.blocked = True
            except (apsw.CorruptError, apsw.NotADBError) as error:
                # Statements referenced from the traceback would keep the damaged file open, and locked.
                traceback.clear_frames(error.__traceback__)
                damage = str(error)
            except (apsw.Error, OSError) as error:
                work.notes.append(f"the index could not be written ({error}); the files are untouched")
                work.blocked = True
                work.why = str(error)
            if damage:
                return self._after_damage(database, damage, started)
            self._heals = 0
            self.swapped = False
            if work.blocked:  # whatever was to be looked at is still to be looked at
                work.left = max(work.left, len(told or ()), 1)
            self._behind = work.left if work.blocked else 0
            self._behind_why = work.why
            self._holder = work.holder if work.blocked else None
            if only is None:
                self._problems = tuple(dict.fromkeys((*work.listing_problems, *work.problems)))
            else:
                self._problems = tuple(dict.fromkeys((*self._problems, *work.problems)))
            return work.report(self._problems, self.notes, time.perf_counter() - started)

    def _unusable(self, started: float) -> SyncReport:
        return SyncReport(notes=(self._failure,), failed=self._failure, seconds=time.perf_counter() - started)

    def _unchanged(self, database: Database) -> bool:
        try:
            return database.foreign_version() == self._seen_version
        except apsw.Error:
            return False

    def rebuild(self, *, progress: Progress | None = None) -> SyncReport:
        """Compare every text, drop foreign rows and write the full-text index anew; counters are kept."""
        with self._lock:
            report = self._under_claim(forget_wrong_texts, "the texts could not be compared")
            if report is None:
                report = self.sync(progress=progress, drop_foreign=True, force=True)
            if self.database() is None or report.behind:
                return report
            late = self._under_claim(rebuild_text_index, "the full-text index could not be rebuilt")
            return replace(report, rebuilt=True) if late is None else with_notes(report, *late.notes)

    def _under_claim(self, change: Callable[[apsw.Connection], object], failed: str) -> SyncReport | None:
        """Make a change in one transaction under the claim; None when it was made, else what came of it."""
        database = self.database()
        if database is None:
            return self._unusable(time.perf_counter())
        try:
            mine = self._take_claim(database)
            if mine is None:
                return SyncReport(behind=1, notes=(f"{failed}: another process holds the claim",))
            with database.writing() as writer:
                change(writer)
                claim.release(writer, mine)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            traceback.clear_frames(error.__traceback__)
            return self._after_damage(database, str(error), time.perf_counter())
        except apsw.Error as error:
            return SyncReport(behind=1, notes=(f"{failed} ({error})",))
        return None

    def heal(self, database: Database, damage: str) -> SyncReport:
        """Mend an index that a reader found damaged, and bring it in step.

        Where only the full-text or pair index is torn, that is written anew; else the whole file is dealt
        with as damaged.
        """
        with self._lock:
            if self._database is not database:
                return self.sync()  # another thread has mended it
            if not self._only_text_torn(database):
                return self._after_damage(database, damage, time.perf_counter())
            report = self._under_claim(rebuild_text_index, "the full-text index is damaged")
            if report is None:
                self._notes["torn"] = "the full-text index was damaged and was written anew"
                report = self.sync()
            return report

    @staticmethod
    def _only_text_torn(database: Database) -> bool:
        try:
            return only_text_torn(database)
        except apsw.Error as error:
            traceback.clear_frames(error.__traceback__)
            return False

    def _after_damage(self, database: Database, damage: str, started: float) -> SyncReport:
        place = database.place
        database.close()
        self._database = self._open_damaged(place, damage)
        self._seen_version = -1
        if self._database is None:
            return self._unusable(started)
        return self.sync()

    def _plan(self, database: Database, only: set[str] | None, force: bool, drop_foreign: bool) -> Plan:
        version = database.foreign_version()
        foreign_write = version != self._seen_version
        plan = Plan(version=version, repair=foreign_write)
        if only is not None and not foreign_write and len(only) <= TOLD_ALONE:
            return self._plan_told(database, only, plan)
        # Somebody else wrote to the index, or a great deal was told of: look at everything.
        listing = list_memory(self.root, self.folder)
        plan.problems = list(listing.problems)
        with database.reading() as reader:
            known = {
                str(row[0]): tuple(map(whole_number, row[1:]))
                for row in reader.execute(
                    "SELECT path, size, mtime_ns, inode, chunks, rowids FROM memdeck_files"
                )
            }
            rows = signatures(reader) if foreign_write or force or drop_foreign else None
        entries = {self.to_index(entry.path): entry for entry in listing.files}
        for path in rows if rows is not None else known:
            if path not in entries and not self.is_foreign(path):
                self._add_unlisted(path, entries, plan)
        plan.seen = len(entries)
        now = self.options.clock()
        for path, entry in entries.items():
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

    def _plan_told(self, database: Database, only: set[str], plan: Plan) -> Plan:
        """What to do about a few paths that a watcher told of, without looking at the others.

        They are compared by text: a write of the same size within one clock tick leaves no trace in a stamp.
        """
        sql = "SELECT size, mtime_ns, inode, chunks, rowids FROM memdeck_files WHERE path=?"
        for told in sorted(only):
            disk = self.to_disk(told)
            path = self.to_index(disk)
            if self.is_foreign(path):
                continue
            listed = list_one(self.root, self.folder, disk)
            plan.problems += listed.problems
            entries = {self.to_index(entry.path): entry for entry in listed.files}
            with database.reading() as reader:
                known = reader.execute(sql, (path,)).fetchone()
                rows = reader.execute("SELECT 1 FROM chunks WHERE path=? LIMIT 1", (path,)).fetchone()
            if known is not None:
                plan.known[path] = tuple(map(whole_number, known))
            if path not in entries and (known is not None or rows is not None):
                self._add_unlisted(path, entries, plan)
            plan.seen += len(entries)
            plan.dirty += entries.items()
        return plan

    def _add_unlisted(self, path: str, entries: dict[str, FileEntry], plan: Plan) -> None:
        """A row whose file is not listed: gone, or one of those that only the agent's watcher takes up."""
        disk = self.to_disk(path)
        stamp = stamp_of(disk)
        if stamp is None:
            if not os.path.lexists(disk):
                plan.gone.append(path)
            return
        if os.path.normpath(disk) != disk:
            plan.gone.append(path)  # no listing and no watcher spells a path so
            return
        if not is_inside(str(self.root.real), os.path.realpath(os.path.dirname(disk))):
            return
        if os.path.islink(os.path.dirname(disk)):
            return
        directory = workspace_dir(self.root, self.folder)
        source = classify_source(self.root.path, directory, disk)
        entries[path] = FileEntry(disk, source, *stamp)

    def _take_claim(self, database: Database) -> str | None:
        now = int(self.options.clock())
        with database.write_lock:
            if self._kept_claim:  # one of ours that could not be given back
                claim.release(database.writer, self._kept_claim)
                self._kept_claim = ""
            return claim.take(database.writer, self.options.pid, now, self.options.stale_claim_secs)

    def _run(self, database: Database, plan: Plan, work: Work, progress: Progress | None) -> None:
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
                if progress is not None and position % STEP_FILES == 0:
                    progress(position, total)
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
            batch = self._differing(database, plan, batch, work)
            if batch or gone or foreign or (repair and self._pairs_off(database)):
                if not self._write(database, batch, gone, foreign, repair, work):
                    return
            if progress is not None:
                progress(min(position, total), total)
        # As it was before anything was read: what others wrote since then is looked at next time.
        self._seen_version = plan.version

    def _differing(
        self, database: Database, plan: Plan, batch: list[tuple[str, Loaded]], work: Work
    ) -> list[tuple[str, Loaded]]:
        """Leave out the files whose stamp is known and whose rows are already right (compared by hash)."""
        out: list[tuple[str, Loaded]] = []
        with database.reading() as reader:
            for path, loaded in batch:
                known = plan.known.get(path)
                if known is not None and known[:3] == loaded.stamp and _rows_are(reader, path, loaded, known):
                    work.left -= 1
                else:
                    out.append((path, loaded))
        return out

    def _write(
        self,
        database: Database,
        batch: list[tuple[str, Loaded]],
        gone: list[str],
        foreign: list[str],
        repair: bool,
        work: Work,
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
        try:
            try:
                self._write_batch(database, batch, gone, foreign, repair, work, mine)
            except apsw.ConstraintError:
                # Rows of other files have taken the ids; they are nobody's chunks.
                with database.writing() as writer:
                    if not drop_misnamed(writer, vectors=self._has_vectors(database)):
                        raise
                self._write_batch(database, batch, gone, foreign, repair, work, mine)
        except BaseException:
            self._kept_claim = mine
            with contextlib.suppress(apsw.Error), database.write_lock:
                claim.release(database.writer, mine)
                self._kept_claim = ""
            raise
        work.left -= len(batch)
        return True

    @staticmethod
    def _pairs_off(database: Database) -> bool:
        with database.reading() as reader:
            return grams_off(reader)

    @staticmethod
    def _has_vectors(database: Database) -> bool:
        """True when the agent's vectors can be changed along with their chunks."""
        return database.has_vectors and not database.vector_problem

    def _write_batch(
        self,
        database: Database,
        batch: list[tuple[str, Loaded]],
        gone: list[str],
        foreign: list[str],
        repair: bool,
        work: Work,
        mine: str,
    ) -> None:
        now = int(self.options.clock())
        vectors = self._has_vectors(database)
        done = Work()
        many = len(batch) > MANY_FILES
        with database.writing() as writer, gathering(writer) if many else contextlib.nullcontext():
            for path in gone:
                done.counts.removed += delete_path(writer, path, vectors=vectors)
                done.files_removed += 1
            for path in foreign:
                done.foreign_removed += delete_path(writer, path, vectors=vectors)
            for path, loaded in batch:
                self._write_one(writer, path, loaded, now, vectors, done)
            if repair:
                repair_grams(writer)
            # Given back with the commit itself, so nobody waits for a claim that is no longer needed.
            claim.release(writer, mine)
        work.add(done)

    def _write_one(
        self, writer: apsw.Connection, path: str, loaded: Loaded, now: int, vectors: bool, work: Work
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


def _rows_are(reader: apsw.Connection, path: str, loaded: Loaded, known: tuple[int, ...]) -> bool:
    rows = list(reader.execute("SELECT rowid, id, hash, source FROM chunks WHERE path=?", (path,)))
    source = loaded.entry.source  # always the path's: the agent also stores where a text came from
    return (
        len(rows) == len(loaded.chunks)
        and (len(rows), sum(whole_number(row[0]) for row in rows)) == known[3:]
        and {row[1:] for row in rows}
        == {(f"{path}:{ordinal}", chunk.hash, source) for ordinal, chunk in enumerate(loaded.chunks)}
    )
