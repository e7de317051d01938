"""Plain values of the store room: roots, workspaces, files, and what was wrong with an entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Source = Literal["global", "workspace", "session"]
ProblemKind = Literal[
    "dangling-link",
    "link-loop",
    "folder-link",
    "outside-root",
    "unreadable",
    "not-utf8",
    "too-large",
    "vanished",
]
RootKind = Literal["main", "agent-user", "agent-project", "agent-local"]


@dataclass(frozen=True, slots=True)
class Problem:
    """An entry that is named instead of loaded (or loaded with a mark), and why."""

    path: str
    kind: ProblemKind
    message: str


_INT64 = 2**63 - 1


def stamp_numbers(size: int, mtime_ns: int, inode: int) -> tuple[int, int, int]:
    """A stamp as a 64-bit column can hold it.

    Clocks can be set to times whose nanoseconds do not fit (from the year 2262), and some filesystems
    number their inodes up to 2^64.
    """
    return min(size, _INT64), max(min(mtime_ns, _INT64), -_INT64), inode & _INT64


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One Markdown file of a memory.

    ``path`` is spelled as the index spells it (unresolved root plus the rest); ``size`` is in bytes,
    ``mtime_ns`` in nanoseconds since the epoch.  ``link_target`` is where a linked file really lies;
    ``outside`` marks a link that leads out of the root.
    """

    path: str
    source: Source
    size: int
    mtime_ns: int
    inode: int
    link_target: str | None = None
    outside: bool = False

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def stamp(self) -> tuple[int, int, int]:
        """What a scan compares: (size, mtime_ns, inode), each as a 64-bit column can hold it."""
        return stamp_numbers(self.size, self.mtime_ns, self.inode)


@dataclass(frozen=True, slots=True)
class Identity:
    """Why a folder belongs to a workspace: its git remote, or its path."""

    kind: Literal["remote", "path", "chosen", "flat", "none"]
    value: str
    folder: str
    reason: str


@dataclass(frozen=True, slots=True)
class WorkspaceInfo:
    """One workspace folder under a root, as listed in Scopes.

    ``folder`` is the name on disk (``widgets-a3f7b2c9``), ``path`` its spelled path, ``human`` the path or
    ``org/repo`` it was derived from (None: origin unknown) and ``origin`` how that is known.
    ``stranded`` counts logs older than the last dream that the agent's gate never lists again;
    ``last_dream`` is the lock file's mtime (unix seconds) or None; ``fresh_logs`` counts logs newer than it.
    """

    folder: str
    path: str
    human: str | None
    origin: Literal["remote", "path", "template", "session-summary", "started-here", "flat", "unknown"]
    memory: FileEntry | None
    sessions: int
    session_bytes: int
    fresh_logs: int = 0
    stranded: int = 0
    last_dream: float | None = None
    current: bool = False
    exists: bool = True
    ephemeral: bool = False
    scaffold_only: bool = False
    past_dream_limit: bool = False
    near_duplicates: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class RootInfo:
    """One memory root with everything under it that can be listed without reading texts.

    ``flat``: the root is its own workspace (project and local agent memories).
    """

    kind: RootKind
    name: str
    path: str
    real: Path
    flat: bool
    exists: bool
    global_memory: FileEntry | None
    workspaces: tuple[WorkspaceInfo, ...]
    problems: tuple[Problem, ...] = ()
    read_only: bool = False
    global_scaffold: bool = False
    global_past_dream_limit: bool = False


@dataclass(frozen=True, slots=True)
class Overview:
    """All roots (the opened one first, then agent memories) and what a person should know about them."""

    roots: tuple[RootInfo, ...]
    banner: str | None = None  # which tree the agent uses, when it is not this one (v2)
    identity: Identity | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionLog:
    """One dated log: ``sessions/YYYY-MM-DD-slug-sid8.md``.

    ``day`` is ``YYYY-MM-DD`` or None when the name has no date; ``age_days`` counts from its mtime;
    ``staleness`` is the level of the agent's own note; ``state``: newer than the last dream, stranded
    (older, not read by any dream we know of), or consolidated.
    """

    entry: FileEntry
    day: str | None
    slug: str
    session_id: str
    age_days: float
    staleness: Literal["fresh", "verify", "stale"]
    state: Literal["new", "stranded", "consolidated"] = "new"


@dataclass(frozen=True, slots=True)
class FileText:
    """Lines of a file, 1-based.

    ``lines`` holds lines ``first`` … ``first + len(lines) - 1`` of ``total``, without line ends.
    Bytes that are not UTF-8 were replaced by U+FFFD and ``problem`` says so.
    """

    path: str
    real: str
    first: int
    lines: tuple[str, ...]
    total: int
    size: int
    mtime: float
    truncated: bool = False
    link_target: str | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an action removed or changed, place by place: reached, and not reached with the reason."""

    action: str
    done: tuple[str, ...]
    failed: tuple[str, ...] = ()
    trash: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GcCandidate:
    """A workspace folder gc would remove (``remove``) or keeps, with the reason."""

    folder: str
    path: str
    remove: bool
    reason: str
    age_days: float


@dataclass(frozen=True, slots=True)
class GcReport:
    candidates: tuple[GcCandidate, ...] = field(default=())
    receipt: Receipt | None = None
