"""Plain values of the index room: chunks, the state of an index, what a sync did, what doctor found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.store.model import Problem, Source


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one file as the chunker cuts it: lines 0-based, end exclusive; hash = BLAKE3 hex of text."""

    text: str
    start_line: int
    end_line: int
    hash: str


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One row of ``chunks`` (times in unix seconds; lines 0-based, end exclusive, as stored)."""

    rowid: int
    id: str
    path: str
    start_line: int
    end_line: int
    text: str
    hash: str
    source: Source
    created_at: int
    updated_at: int
    access_count: int
    last_accessed: int | None

    @property
    def ordinal(self) -> int:
        return int(self.id.rsplit(":", 1)[-1])


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """Where a chunk lies in its file (1-based, inclusive) and how big it is (bytes of its text)."""

    id: str
    ordinal: int
    start_line: int
    end_line: int
    size: int
    indexed: bool


@dataclass(frozen=True, slots=True)
class ClaimHolder:
    """Who is reindexing now: process id, and since when (unix seconds)."""

    pid: int
    since: int


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of one workspace's index, for the status bar, ``doctor`` and the notes of a search.

    ``state``: ``ready`` (in step with the files), ``behind`` (``behind`` files still to index, ``holder``
    says who holds the claim), ``building`` (first indexing under way), ``cached`` (a copy of ours in the
    cache dir is used, ``reason`` says why), ``none`` (nothing indexed yet), ``failed`` (cannot be used).
    ``vectors``: what is known of sqlite-vec.
    """

    state: Literal["ready", "behind", "building", "cached", "none", "failed"]
    path: str
    chunks: int = 0
    files: int = 0
    behind: int = 0
    holder: ClaimHolder | None = None
    reason: str = ""
    journal_mode: str = ""
    vectors: str = ""
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync or reindex did (counts of files and chunks) and what it could not do."""

    files_seen: int = 0
    files_indexed: int = 0
    files_removed: int = 0
    added: int = 0
    updated: int = 0
    moved: int = 0
    removed: int = 0
    behind: int = 0
    holder: ClaimHolder | None = None
    foreign_removed: int = 0
    seconds: float = 0.0
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.files_indexed or self.files_removed or self.foreign_removed)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of ``doctor``: how bad, which thing, what is so, what it means and what to do."""

    level: Literal["ok", "info", "warning", "error"]
    topic: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    findings: tuple[Finding, ...] = field(default=())

    @property
    def healthy(self) -> bool:
        return all(finding.level in ("ok", "info") for finding in self.findings)


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """How outside edits are noticed: ``mode`` live, polling (``reason`` says why) or off."""

    mode: Literal["live", "polling", "off"]
    reason: str = ""
    restarts: int = 0
