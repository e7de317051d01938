"""Store room: workspace folders nobody needs any more: a report, and on request a move to the trash."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from core.errors import UsageError
from core.rust_text import is_blank
from core.store.entries import folder_link, problem_of
from core.store.layout import DREAM_LOCK, SESSIONS_DIR, Root, is_scaffold, printable
from core.store.model import GcCandidate, GcReport, Receipt
from core.store.reading import decode, read_head
from core.store.trash import throw_away

DAY = 86_400.0
TMP_DAYS = 7.0
IN_USE_DAYS = 1.0

_EMPTY_BYTES = 65_536
_DERIVED = re.compile(r"index(\.h-[a-z0-9-]*)?\.sqlite(-wal|-shm|-journal)?\Z|\.memdeck-.*\.tmp\Z", re.DOTALL)
_LITTER = frozenset({DREAM_LOCK, ".DS_Store"})


def gc(
    root: Root,
    *,
    current: str,
    now: float,
    max_age_days: float,
    remove: bool = False,
    state: Path | None = None,
) -> GcReport:
    """Say which workspace folders could go, and with ``remove`` move them to the trash in ``state``.

    The agent removes ``tmp*`` folders that are empty or older than 7 days, and others that have no logs
    and are older than ``max_age_days``; here only those of them go that hold nothing: no text but the
    template, no file we do not know, no link, no index in use.  ``current`` always stays.

    Raises:
        UsageError: ``remove`` without ``state``, or a state folder inside the memory.
        MemdeckError: the trash cannot be written; nothing was removed.
    """
    candidates = tuple(_candidates(root, current, now, max_age_days))
    if not remove:
        return GcReport(candidates)
    if state is None:
        raise UsageError("gc cannot remove without a trash", hint="Give the state folder.")
    doomed = [candidate.path for candidate in candidates if candidate.remove]
    thrown = throw_away(doomed, root=root, state=state, now=now, action="gc")
    gone = {entry.path for entry in thrown.done if entry.kind == "folder"}
    done = tuple(path for path in doomed if path in gone)
    return GcReport(
        candidates, Receipt("gc", done, thrown.failed, str(thrown.trash) if thrown.trash else None)
    )


def _candidates(root: Root, current: str, now: float, max_age_days: float) -> list[GcCandidate]:
    """Every folder directly under an ordinary root, by name; hidden ones are no workspaces."""
    if root.flat:
        return []
    try:
        names = sorted(os.listdir(root.path), key=os.fsencode)
    except OSError:
        return []
    found = []
    for name in names:
        if name.startswith("."):
            continue
        path = os.path.join(root.path, name)
        try:
            status = os.lstat(path)
        except OSError:
            continue  # gone since it was listed
        if not (stat.S_ISDIR(status.st_mode) or (stat.S_ISLNK(status.st_mode) and os.path.isdir(path))):
            continue
        age = (now - status.st_mtime) / DAY
        keep = _why_kept(path, name, status.st_mode, age, current, now, max_age_days)
        reason = keep or f"nothing in it, untouched for {max(age, 0.0):.0f} days"
        found.append(GcCandidate(name, path, keep is None, reason, age))
    return found


def _why_kept(
    path: str, name: str, mode: int, age: float, current: str, now: float, max_age_days: float
) -> str | None:
    if stat.S_ISLNK(mode):
        return folder_link(path).message
    if name == current:
        return "the current workspace"
    return _too_young(path, name, age, max_age_days) or holds(path, now)


def _too_young(path: str, name: str, age: float, max_age_days: float) -> str | None:
    """The agent's own rule: why it would keep the folder, or None if it would remove it."""
    has_logs = _has_entries(os.path.join(path, SESSIONS_DIR))
    if name.startswith("tmp"):
        if has_logs and age <= TMP_DAYS:
            return f"a temporary workspace with logs, not older than {TMP_DAYS:g} days"
        return None
    if has_logs:
        return "it has logs"
    return None if age > max_age_days else f"not older than {max_age_days:g} days"


def _has_entries(path: str) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def holds(path: str, now: float) -> str | None:
    """What a folder holds that must not be lost, in words; None when there is nothing."""
    try:
        with os.scandir(path) as entries:
            children = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        for child in children:
            reason = _held_by(child, now)
            if reason is not None:
                return reason
    except OSError as error:
        return problem_of(path, error).message
    return None


def _held_by(entry: os.DirEntry[str], now: float) -> str | None:
    name = printable(entry.name)
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        return holds(entry.path, now)
    if not stat.S_ISREG(status.st_mode):
        return f"{name} is a link or no file; such entries are never removed"
    if entry.name in _LITTER or _DERIVED.match(entry.name):
        if (now - status.st_mtime) / DAY < IN_USE_DAYS:
            return f"{name} was in use less than {IN_USE_DAYS * 24:g} hours ago"
        return None
    if not entry.name.endswith(".md"):
        return f"{name} is not a file of the memory"
    return None if _is_empty_text(entry.path, status.st_size) else f"{name} has content"


def _is_empty_text(path: str, size: int) -> bool:
    raw = read_head(path, _EMPTY_BYTES) if size <= _EMPTY_BYTES else None
    if raw is None:
        return False
    text = decode(raw)[0]
    return is_blank(text) or is_scaffold(text)
