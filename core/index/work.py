"""Index room: what one sync has to do, and what it did so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import apsw

from core.index.indexer import Counts
from core.index.model import ClaimHolder, SyncReport
from core.store.model import FileEntry, Problem


@dataclass(slots=True)
class Plan:
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
class Work:
    """What one sync did so far."""

    counts: Counts = field(default_factory=Counts)
    seen: int = 0
    files_indexed: int = 0
    files_removed: int = 0
    foreign_removed: int = 0
    left: int = 0
    blocked: bool = False
    why: str = ""
    holder: ClaimHolder | None = None
    problems: list[Problem] = field(default_factory=list)
    listing_problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Work) -> None:
        """Count what one batch wrote, once it is committed."""
        self.counts.add(other.counts)
        self.files_indexed += other.files_indexed
        self.files_removed += other.files_removed
        self.foreign_removed += other.foreign_removed

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
            behind_why=self.why,
        )


def with_notes(report: SyncReport, *notes: str) -> SyncReport:
    return replace(report, notes=(*report.notes, *notes))


def signatures(connection: apsw.Connection) -> dict[str, tuple[int, ...]]:
    return {
        str(path): (int(str(count)), int(str(total)))
        for path, count, total in connection.execute(
            "SELECT path, count(*), sum(rowid) FROM chunks GROUP BY path"
        )
    }
