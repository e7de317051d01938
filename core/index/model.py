"""Plain values of the index room: chunks, the state of an index, what a sync did, what doctor found."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
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


def whole_number(value: object) -> int:
    """A value of a number column, 0 for what is no number."""
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and math.isfinite(value) else 0


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


_ORDINAL = re.compile(r".*:([0-9]{1,18})\Z", re.DOTALL)


def ordinal_of(chunk_id: str) -> int:
    """The number at the end of a chunk's id, ``path:number``; -1 for an id of any other shape."""
    match = _ORDINAL.match(chunk_id)
    return int(match.group(1)) if match is not None else -1


# The types of a row as the agent and we write it, never recalled and recalled: nearly every row.
_USUAL = {(int, str, str, int, int, str, str, str, int, int, int, last) for last in (int, type(None))}


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
        return ordinal_of(self.id)

    @classmethod
    def of(cls, values: Sequence[object]) -> ChunkRow:
        """Make a row of the twelve columns in the order of the fields.

        SQLite keeps any value in any column, whatever its declared type, and others write to these tables
        too: what is no number counts as 0, bytes as the text they are.
        """
        values = values[:12]
        if tuple(map(type, values)) in _USUAL and values[3] >= 0 and values[4] >= 0 and values[10] >= 0:  # type: ignore[operator]
            return cls(*values)  # type: ignore[arg-type]
        rowid, chunk_id, path, start, end, text, digest, source, created, updated, count, accessed = values
        return cls(
            rowid=whole_number(rowid),
            id=_text(chunk_id),
            path=_text(path),
            start_line=max(whole_number(start), 0),
            end_line=max(whole_number(end), 0),
            text=_text(text),
            hash=_text(digest),
            source=_text(source),  # type: ignore[arg-type]
            created_at=whole_number(created),
            updated_at=whole_number(updated),
            access_count=max(whole_number(count), 0),
            last_accessed=None if accessed is None else whole_number(accessed),
        )


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
    says who holds the claim, or ``behind_why`` what kept it from being written), ``building`` (first indexing under way), ``cached`` (a copy of ours in the
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
    behind_why: str = ""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync or reindex did (counts of files and chunks) and what it could not do.

    ``rebuilt``: the full-text index was written anew; ``failed``: why the index could not be used at all ("" when it could); nothing was looked at then.
    """

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
    behind_why: str = ""
    failed: str = ""
    rebuilt: bool = False

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
