"""What the watcher tells, and the plain parts of it: which names matter, their spelling, when to speak."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Outside edits since the last event.

    ``paths``: spelled paths of ``*.md`` files that were created, changed, deleted or moved (both ends of a
    move).  ``rescan``: something changed that no list of files describes (a folder came or went, events
    were lost), so everything must be compared again.  ``reason``: one phrase for the status bar and logs.
    """

    paths: frozenset[str]
    rescan: bool
    reason: str


class Sink(Protocol):
    """Where an event source delivers.  Callable from any thread, quick, and never raises."""

    def file_changed(self, path: str) -> None:
        """A file (real path) was created, changed, deleted or is one end of a move."""

    def folder_changed(self, path: str, *, readable: bool = False) -> None:
        """A folder came, went or moved; ``readable``: only its permissions changed."""

    def overflowed(self) -> None:
        """The kernel dropped events: which ones is unknown."""

    def failed(self, error: BaseException) -> None:
        """The source can no longer be trusted to report everything."""


def limit_reached(error: BaseException) -> str:
    """Return what to do about ``error`` when it says that a kernel limit is reached, else an empty string."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "inotify watch limit reached: raise the sysctl fs.inotify.max_user_watches"
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return "inotify instance limit reached: raise the sysctl fs.inotify.max_user_instances (or ulimit -n)"
    return ""


def is_memory_file(name: str) -> bool:
    """Tell whether a file of this name can be part of a memory (only ``*.md`` is)."""
    return name.endswith(".md")


def is_hidden(rest: str) -> bool:
    """Tell whether a path below a root lies in a dot folder (``.git`` and the like are no memory)."""
    return any(part.startswith(".") for part in rest.split("/")[:-1])


class Spelling:
    """Maps real paths, as the kernel reports them, to the spellings the index uses.

    ``roots``: (spelled, real) folders.  ``targets``: spelled path of a linked file -> real path of its
    target.
    """

    def __init__(self, roots: Iterable[tuple[str, str]], targets: Mapping[str, str]) -> None:
        self._roots = tuple((spelled.rstrip("/"), real.rstrip("/") + "/") for spelled, real in roots)
        self._links: dict[str, list[str]] = {}
        for link, target in targets.items():
            self._links.setdefault(target, []).append(link)

    def files(self, path: str) -> list[str]:
        """Return the spelled names of the memory file at ``path`` (none when it is no memory file)."""
        found = list(self._links.get(path, ()))
        if is_memory_file(path):
            found += [f"{spelled}/{rest}" for spelled, rest in self._below(path)]
        return found

    def holds(self, path: str) -> bool:
        """Tell whether ``path`` is one of the roots or a folder below one that can hold memory files."""
        return any(not is_hidden(rest + "/") for _, rest in self._below(path))

    def _below(self, path: str) -> list[tuple[str, str]]:
        found = []
        for spelled, real in self._roots:
            if path.startswith(real):
                rest = path[len(real) :]
                if not is_hidden(rest):
                    found.append((spelled, rest))
            elif path + "/" == real:
                found.append((spelled, ""))
        return found


@dataclass(slots=True)
class Pending:
    """Collects changes until it is time to speak: after a quiet moment, or when the first waited too long.

    ``debounce`` and ``patience`` in seconds.  Not thread-safe: the watcher guards it with its lock.
    """

    debounce: float
    patience: float
    _paths: set[str] = field(default_factory=set)
    _reasons: dict[str, None] = field(default_factory=dict)
    _first: float | None = None
    _last: float = 0.0

    def add(self, paths: Iterable[str], now: float) -> None:
        named = list(paths)
        if named:
            self._paths.update(named)
            self._touch(now)

    def rescan(self, reason: str, now: float) -> None:
        self._reasons[reason] = None
        self._touch(now)

    def due(self) -> float | None:
        """Return the monotonic time at which to speak, None when there is nothing to say."""
        if self._first is None:
            return None
        return min(self._last + self.debounce, self._first + self.patience)

    def take(self) -> WatchEvent:
        """Return what was collected as one event and start anew."""
        count = len(self._paths)
        changed = [f"{count} file{'s' if count != 1 else ''} changed"] if count else []
        event = WatchEvent(frozenset(self._paths), bool(self._reasons), "; ".join([*self._reasons, *changed]))
        self._paths, self._reasons, self._first = set(), {}, None
        return event

    def _touch(self, now: float) -> None:
        self._last = now
        if self._first is None:
            self._first = now


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to watch, known by what it is on disk, so that a re-created one is another place."""

    path: str
    recursive: bool
    device: int
    inode: int

    @classmethod
    def at(cls, path: str, *, recursive: bool) -> Place | None:
        """Return the folder that ``path`` leads to now (links resolved), None when there is none."""
        try:
            real = os.path.realpath(path, strict=True)
            info = Path(real).stat()
        except (OSError, ValueError):
            return None
        if not stat.S_ISDIR(info.st_mode):
            return None
        return cls(real, recursive, info.st_dev, info.st_ino)

    def is_still_there(self) -> bool:
        return Place.at(self.path, recursive=self.recursive) == self
