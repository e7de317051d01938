"""Store room: contained reads: nothing outside the root, regular files only, sizes bounded."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from dataclasses import dataclass

from core.errors import MemdeckError, NotFound, OutsideRoot, UnreadableFile, UsageError
from core.rust_text import lines as split_lines
from core.store.entries import is_inside, kind_name, link_problem, problem_of
from core.store.layout import MEMORY_FILE, SESSIONS_DIR, Root, is_log_name, printable, workspace_dir
from core.store.model import FileText, Problem

READ_LIMIT = 8 * 1024 * 1024
"""Bytes of a file that are read at most."""

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0)
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Located:
    """A file that may be read: ``path`` as the index spells it, ``real`` without links.

    ``link_target`` is set for a linked file; ``outside`` when that leads out of the root, in which case
    the file may be read and shown, marked, but is not part of the memory.
    """

    path: str
    real: str
    link_target: str | None = None
    outside: bool = False


@dataclass(frozen=True, slots=True)
class FileBytes:
    """The bytes read of a file, its whole size in bytes, its mtime (unix seconds), and whether it was cut."""

    data: bytes
    size: int
    mtime: float
    truncated: bool


def resolve(root: Root, workspace: str, path: str, *, listed_links: bool = True) -> Located:
    """Find the file a person or an agent means: absolute, else below the workspace, else below the root.

    Both sides are canonicalised.  With ``listed_links`` a linked file that a listing shows (MEMORY.md, a
    log) may lead out of the root; without, as for an agent's tools, nothing may.

    Raises:
        NotFound: nothing of that name is there.
        OutsideRoot: it lies, or leads, outside the root.
        UnreadableFile: it is a dangling or looping link, or something other than a file.
    """
    if not path or "\0" in path:
        raise UsageError("an empty path names no file", hint="Give a path such as MEMORY.md.")
    refused: MemdeckError | None = None
    for candidate in _candidates(root, workspace, path):
        if not is_inside(root.path, candidate):
            refused = refused or _outside(root, candidate)
        elif os.path.lexists(candidate):
            return _locate(root, workspace, candidate, listed_links)
    raise refused or NotFound(
        f"{printable(path)} is not in this memory",
        hint="Paths are absolute, or relative to the workspace or to the root; `memdeck ls --files` lists them.",
    )


def _candidates(root: Root, workspace: str, path: str) -> list[str]:
    if os.path.isabs(path):
        return [_respelled(root, os.path.normpath(path))]
    folder = workspace_dir(root, workspace)
    bases = [folder, root.path] if folder is not None and folder != root.path else [root.path]
    return [os.path.normpath(os.path.join(base, path)) for base in bases]


def _respelled(root: Root, path: str) -> str:
    """An absolute path that leads into the root, spelled as the index spells it; others as they are."""
    if is_inside(root.path, path):
        return path
    real = str(root.real)
    folder, name = os.path.split(path)
    # The folder's links are resolved but not the file's own, so that a linked file keeps its place.
    for spelling in (path, os.path.join(os.path.realpath(folder), name), os.path.realpath(path)):
        if is_inside(real, spelling):
            return root.path + spelling[len(real) :]
    return path


def _outside(root: Root, path: str) -> OutsideRoot:
    return OutsideRoot(
        f"{printable(path)} is outside the memory {printable(root.path)}",
        hint="Only files of the opened memory can be read.",
    )


def _locate(root: Root, workspace: str, path: str, listed_links: bool) -> Located:
    try:
        real = os.path.realpath(path, strict=True)
        mode = os.stat(real).st_mode
    except OSError as error:
        raise _unreadable(link_problem(path, error)) from None
    linked = os.path.islink(path)
    inside = is_inside(str(root.real), real)
    if not inside and not (listed_links and linked and _is_listed(root, workspace, path)):
        raise _outside(root, path)
    if not stat.S_ISREG(mode):
        raise UnreadableFile(
            f"{printable(path)} is {kind_name(mode)}, not a file", hint="Only Markdown files can be shown."
        )
    return Located(path, real, real if linked else None, not inside)


def _is_listed(root: Root, workspace: str, path: str) -> bool:
    """Whether a path stands where listings look, in folders that really lie inside the root."""
    folder, name = os.path.split(path)
    real_folder = os.path.realpath(folder)
    if not is_inside(str(root.real), real_folder):
        return False
    depth = [part for part in os.path.relpath(folder, root.path).split("/") if part != "."]
    if name == MEMORY_FILE:
        return len(depth) <= 1
    return is_log_name(name) and len(depth) in (1, 2) and depth[-1] == SESSIONS_DIR


def _unreadable(problem: Problem) -> MemdeckError:
    if problem.kind == "vanished":
        return NotFound(
            problem.message.replace("while the folder was being listed", "meanwhile"),
            hint="Look at the list again.",
        )
    hints = {
        "dangling-link": "Restore the link's target or remove the link.",
        "link-loop": "Remove the link.",
    }
    return UnreadableFile(
        problem.message, hint=hints.get(problem.kind, "Check its permissions."), data="Nothing was changed."
    )


def read_bytes(located: Located, *, limit: int = READ_LIMIT) -> FileBytes:
    """Read a located file, at most ``limit`` bytes; FIFOs and devices are never waited for.

    Raises:
        NotFound: the file is gone.
        UnreadableFile: it cannot be read, is no regular file, or was exchanged for a link meanwhile.
    """
    try:
        handle = os.open(located.real, _OPEN | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV):
            raise UnreadableFile(f"{printable(located.path)} is not a file") from None
        raise _unreadable(problem_of(located.path, error)) from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(
                f"{printable(located.path)} is {kind_name(status.st_mode)}, not a file; it was not read"
            )
        if os.path.realpath(located.real) != located.real:
            # A folder on the way became a link after the path was checked.
            raise UnreadableFile(f"{printable(located.path)} was moved while it was being opened")
        data = _read_up_to(handle, limit)
    except OSError as error:
        raise _unreadable(problem_of(located.path, error)) from None
    finally:
        os.close(handle)
    size = max(status.st_size, len(data))
    return FileBytes(data, size, status.st_mtime_ns / 1e9, size > len(data))


def _read_up_to(handle: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    left = limit
    while left > 0:
        piece = os.read(handle, min(left, _MB))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def read_head(path: str, limit: int) -> bytes | None:
    """The first ``limit`` bytes of a regular file, links followed; None when it cannot be read."""
    try:
        handle = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        return _read_up_to(handle, limit) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(handle)


def decode(data: bytes, *, cut: bool = False) -> tuple[str, bool]:
    """Decode UTF-8; returns (text, whether bytes had to be replaced by U+FFFD).

    ``cut``: the bytes were cut off somewhere, so a character torn at the very end is dropped silently.
    """
    try:
        return _decode(data, "strict", cut), False
    except UnicodeDecodeError:
        return _decode(data, "replace", cut), True


def _decode(data: bytes, errors: str, cut: bool) -> str:
    return codecs.getincrementaldecoder("utf-8")(errors).decode(data, final=not cut)


def read_text(
    located: Located, first: int = 1, lines: int | None = None, *, limit: int = READ_LIMIT
) -> FileText:
    """Read lines ``first`` … (1-based) of a located file, at most ``lines`` of them (None: to the end).

    Lines end at LF, a CR before it is dropped.  What had to be replaced or left out is in ``problem``;
    ``total`` counts the lines of what was read.

    Raises:
        UsageError: ``first`` is below 1 or ``lines`` below 0.
        NotFound, UnreadableFile: as ``read_bytes``.
    """
    if first < 1 or (lines is not None and lines < 0):
        raise UsageError(
            f"there is no line {first}" if first < 1 else f"{lines} is not a number of lines",
            hint="Lines are counted from 1; their number is 0 or more.",
        )
    content = read_bytes(located, limit=limit)
    text, replaced = decode(content.data, cut=content.truncated)
    every = split_lines(text)
    last = None if lines is None else first - 1 + lines
    return FileText(
        path=located.path,
        real=located.real,
        first=first,
        lines=tuple(every[first - 1 : last]),
        total=len(every),
        size=content.size,
        mtime=content.mtime,
        truncated=content.truncated,
        link_target=located.link_target,
        problem=_text_problem(located, content, replaced),
    )


def _text_problem(located: Located, content: FileBytes, replaced: bool) -> Problem | None:
    path = printable(located.path)
    note = " Bytes that are not UTF-8 are shown as U+FFFD." if replaced else ""
    if content.truncated:
        shown = f"only the first {len(content.data) / _MB:.1f} of {content.size / _MB:.1f} MB are shown"
        return Problem(located.path, "too-large", f"{path} is too large: {shown}.{note}")
    if replaced:
        return Problem(located.path, "not-utf8", f"{path} is not UTF-8.{note}")
    if located.outside:
        message = f"{path} is a link to {printable(located.real)}, outside the memory: shown, never written."
        return Problem(located.path, "outside-root", message)
    return None
