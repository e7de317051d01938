"""Store room: single entries of a memory, files and links, and the words for what is wrong with one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from core.store.layout import (
    MEMORY_FILE,
    SESSIONS_DIR,
    Root,
    is_log_name,
    is_text_name,
    printable,
)
from core.store.model import FileEntry, Problem, ProblemKind, Source


@dataclass(frozen=True, slots=True)
class Part:
    """What one place of a memory holds: its curated file, or its logs by name."""

    files: tuple[FileEntry, ...] = ()
    problems: tuple[Problem, ...] = ()


def curated(root: Root, folder: str, source: Source) -> Part:
    """The MEMORY.md of one folder, if there is one."""
    path = os.path.join(folder, MEMORY_FILE)
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Part()
    except OSError as error:
        return Part((), (problem_of(path, error),))
    file, problem = _file(root, path, source, status)
    return Part((file,) if file else (), (problem,) if problem else ())


def logs(root: Root, folder: str) -> Part:
    """The logs of one workspace folder, by name (byte order, as the agent sorts)."""
    sessions = os.path.join(folder, SESSIONS_DIR)
    broken = folder_problem(sessions)
    if broken is not None:
        return Part((), (broken,))
    files: list[FileEntry] = []
    problems: list[Problem] = []
    prefix = sessions + "/"
    try:
        with os.scandir(sessions) as entries:
            for entry in entries:
                name = entry.name
                if not is_log_name(name):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError as error:
                    problems.append(problem_of(prefix + name, error))
                    continue
                file, problem = _file(root, prefix + name, "session", status)
                if file is not None:
                    files.append(file)
                if problem is not None:
                    problems.append(problem)
    except FileNotFoundError:
        return Part()
    except OSError as error:
        problems.append(problem_of(sessions, error))
    files.sort(key=lambda file: file.path)
    problems.sort(key=lambda problem: os.fsencode(problem.path))
    return Part(tuple(files), tuple(problems))


def log(root: Root, path: str) -> Part:
    """One log, given by its path in a ``sessions/`` folder; nothing when it is no log or not there."""
    folder, name = os.path.split(path)
    if not is_log_name(name) or folder_problem(folder) is not None:
        return Part()
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Part()
    except OSError as error:
        return Part((), (problem_of(path, error),))
    file, problem = _file(root, path, "session", status)
    return Part((file,) if file else (), (problem,) if problem else ())


def folder_problem(path: str) -> Problem | None:
    """Why a folder is not gone into (a link, not a folder, out of reach); None also when it is missing."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return problem_of(path, error)
    if stat.S_ISLNK(status.st_mode):
        return folder_link(path)
    if not stat.S_ISDIR(status.st_mode):
        return Problem(path, "unreadable", f"{printable(path)} is {kind_name(status.st_mode)}, not a folder")
    return None


def folder_link(path: str) -> Problem:
    """The problem of a link that stands where a folder should."""
    target = printable(_link_text(path))
    return Problem(
        path, "folder-link", f"{printable(path)} is a link to {target}; folder links are not followed"
    )


def _file(
    root: Root, path: str, source: Source, status: os.stat_result
) -> tuple[FileEntry | None, Problem | None]:
    mode = status.st_mode
    if not path.isascii() and not is_text_name(path):
        message = f"{printable(path)}: the name is not UTF-8, so it can be neither indexed nor opened here"
        return None, Problem(path, "not-utf8", message)
    if stat.S_ISREG(mode):
        entry = FileEntry(path, source, status.st_size, status.st_mtime_ns, status.st_ino)
        return entry, _permission_problem(path, status)
    if stat.S_ISLNK(mode):
        return _linked_file(root, path, source)
    message = f"{printable(path)} is {kind_name(mode)}, not a file; it is not opened"
    return None, Problem(path, "unreadable", message)


def _linked_file(root: Root, path: str, source: Source) -> tuple[FileEntry | None, Problem | None]:
    try:
        status = os.stat(path)
        real = os.path.realpath(path, strict=True)
    except OSError as error:
        return None, link_problem(path, error)
    if stat.S_ISDIR(status.st_mode):
        return None, folder_link(path)
    if not stat.S_ISREG(status.st_mode):
        what = f"{printable(path)} is a link to {printable(real)}, which is {kind_name(status.st_mode)}"
        return None, Problem(path, "unreadable", f"{what}, not a file; it is not opened")
    entry = FileEntry(
        path,
        source,
        status.st_size,
        status.st_mtime_ns,
        status.st_ino,
        link_target=real,
        outside=not is_inside(str(root.real), real),
    )
    return entry, _permission_problem(path, status)


def is_inside(folder: str, path: str) -> bool:
    """Whether a canonical path is ``folder`` (canonical as well) or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _permission_problem(path: str, status: os.stat_result) -> Problem | None:
    # Only a file whose owner bit does not settle it costs a further system call: lists stay fast.
    if status.st_mode & stat.S_IRUSR and status.st_uid == _effective_user():
        return None
    if os.access(path, os.R_OK):
        return None
    return Problem(path, "unreadable", f"{printable(path)} cannot be read: permission denied")


_effective_user: Callable[[], int] = getattr(os, "geteuid", lambda: 0)

_REASONS: dict[int, tuple[ProblemKind, str]] = {
    errno.ENOENT: ("vanished", "is gone: it was removed while the folder was being listed"),
    errno.ENOTDIR: ("unreadable", "is not a folder"),
    errno.ELOOP: ("link-loop", "is a link that leads back to itself"),
    errno.EACCES: ("unreadable", "cannot be read: permission denied"),
    errno.EPERM: ("unreadable", "cannot be read: permission denied"),
    errno.ENAMETOOLONG: ("unreadable", "has too long a name"),
    errno.EIO: ("unreadable", "cannot be read: the disk reports an input/output error"),
    errno.ESTALE: ("unreadable", "cannot be read: the network file handle is stale"),
}


def problem_of(path: str, error: OSError) -> Problem:
    """Name an entry that an operating system error kept from being listed or read."""
    fallback: tuple[ProblemKind, str] = ("unreadable", f"cannot be read: {error.strerror or error}")
    kind, reason = _REASONS.get(error.errno or 0, fallback)
    return Problem(path, kind, f"{printable(path)} {reason}")


def link_problem(path: str, error: OSError) -> Problem:
    """Name a link that cannot be followed: dangling, looping, or unreadable on the way."""
    target = _link_text(path)
    if error.errno == errno.ENOENT:
        if not target and not os.path.lexists(path):
            return problem_of(path, error)
        message = f"{printable(path)} is a link to {printable(target)}, which is not there"
        return Problem(path, "dangling-link", message)
    return problem_of(path, error)


def _link_text(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def kind_name(mode: int) -> str:
    """What a file mode is, in words with an article: ``a folder``, ``a FIFO`` …"""
    for test, words in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISREG, "a file"),
    ):
        if test(mode):
            return words
    return "of an unknown kind"
