"""Watching by looking: cheap scans of a memory's folders, for places that send no events."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.index.watch_events import is_memory_file

DEPTH = 3
"""Folders below a root that are looked into: a workspace, its ``sessions/``, and one more to be safe."""

SHARE = 200
"""A scan that took one unit of processor time is followed by this many units of rest (0.5 % of a core)."""

LONGEST = 30.0
"""Seconds between two scans, at most, however large the memory is."""

Stamp = tuple[int, int, int, int]
"""What tells two states of a file apart: size, mtime_ns, ctime_ns, inode."""

GONE: Stamp = (-1, 0, 0, 0)


@dataclass(slots=True)
class Snapshot:
    """The Markdown files (path -> stamp) and the folders seen in one scan, paths spelled."""

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)


def stamp(path: str) -> Stamp:
    """Return the stamp of a file, its target's when it is a link (its own when it leads nowhere)."""
    for look in (os.stat, os.lstat):
        try:
            info = look(path)
        except (OSError, ValueError):
            continue
        return (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
    return GONE


def scan(spelled: str, real: str, before: Snapshot) -> Snapshot:
    """Look through the folder ``real`` and return what is there under the spelling ``spelled``.

    A folder that cannot be read for another reason than being gone (a share that does not answer, a lost
    permission) keeps what ``before`` knew of it: an outage is no deletion.  Folder links are not followed.
    """
    seen = Snapshot()
    todo = [(spelled, real, 0)]
    while todo:
        name, place, depth = todo.pop()
        seen.folders.add(name)
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    path = f"{name}/{entry.name}"
                    try:
                        folder = entry.is_dir(follow_symlinks=False)
                    except OSError:
                        continue
                    if folder:
                        if depth < DEPTH and not entry.name.startswith("."):
                            todo.append((path, entry.path, depth + 1))
                    elif is_memory_file(entry.name):
                        seen.files[path] = stamp(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            seen.folders.discard(name)
        except OSError:
            _keep(seen, before, name)
    return seen


def _keep(seen: Snapshot, before: Snapshot, name: str) -> None:
    prefix = name + "/"
    seen.files.update({path: mark for path, mark in before.files.items() if path.startswith(prefix)})
    seen.folders.update(path for path in before.folders if path.startswith(prefix))


def differences(before: Snapshot, after: Snapshot) -> tuple[set[str], set[str]]:
    """Return the (files, folders) that are new, gone or different in ``after``."""
    files = {path for path, mark in after.files.items() if before.files.get(path) != mark}
    files.update(path for path in before.files if path not in after.files)
    return files, before.folders ^ after.folders


class Poller:
    """Compares folders and linked files with what they were at the last look.

    ``interval`` in seconds; large memories are looked at less often so that looking stays cheap.  A change is
    told once more at the next look, for who acted on it may have read too early: a write within the same tick
    of the file system's clock (up to 2 s) leaves no trace in the stamp, nor does a folder moved there and back.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        self._stamps: dict[str, Stamp] = {}
        self._fresh: tuple[set[str], set[str]] = (set(), set())
        self._next = 0.0

    def due(self) -> float | None:
        """Return the monotonic time of the next look, None when nothing is looked at."""
        return self._next if self._snapshots or self._stamps else None

    def look(
        self, roots: Iterable[tuple[str, str]], links: Mapping[str, str], now: float
    ) -> tuple[set[str], set[str]]:
        """Return the (files, folders), spelled, that changed since the last look.

        ``roots``: (spelled, real) folders; ``links``: spelled path of a linked file -> its target.  What was
        not among them last time is only remembered now; what is no longer among them is forgotten.
        """
        wanted = set(roots)
        new = wanted - self._snapshots.keys() or links.keys() - self._stamps.keys()
        for known in self._snapshots.keys() - wanted:
            del self._snapshots[known]
        for link in self._stamps.keys() - links.keys():
            del self._stamps[link]
        if not new and now < self._next:
            return set(), set()
        started = time.thread_time()
        files: set[str] = set()
        folders: set[str] = set()
        for spelled, real in wanted:
            before = self._snapshots.get((spelled, real))
            after = scan(spelled, real, before or Snapshot())
            if before is not None:
                changed, moved = differences(before, after)
                files |= changed
                folders |= moved
            self._snapshots[spelled, real] = after
        for link, target in links.items():
            mark = stamp(target)
            if self._stamps.get(link, mark) != mark:
                files.add(link)
            self._stamps[link] = mark
        rest = min(SHARE * (time.thread_time() - started), LONGEST)
        self._next = now + max(self._interval, rest)
        again, self._fresh = self._fresh, (files, folders)
        return files | again[0], folders | again[1]
