"""Store room: the trash: what was removed from a memory, whole and verified, until undone or purged."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from blake3 import blake3

from core.errors import MemdeckError
from core.store.entries import is_inside, kind_name
from core.store.layout import Root, printable
from core.store.paths import make_private_dir, root_state_dir, sync_dir, write_private

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1

_BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """One thing removed: where it lay (spelled), the name it is stored under, and what to restore with it.

    ``mode`` is the permission bits, ``mtime_ns`` nanoseconds since the epoch, ``blake3`` hex of the bytes
    (files), ``target`` what a link said (links; their targets are never touched).
    """

    path: str
    stored: str
    kind: Literal["file", "link", "folder"]
    mode: int
    mtime_ns: int
    size: int = 0
    blake3: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Thrown:
    """What went into the trash and what did not, with the reason; ``trash`` None when nothing went."""

    trash: Path | None
    done: tuple[TrashEntry, ...]
    failed: tuple[str, ...]


class _Kept(Exception):
    """A file that stays where it is, with the reason."""


def throw_away(paths: Sequence[str], *, root: Root, state: Path, now: float, action: str) -> Thrown:
    """Move files, links and whole folders (spelled paths under ``root``) into a new trash folder.

    The list of what is about to be moved is on disk before the first move, so that a crash loses nothing.
    Within one filesystem a move is a rename; across two it is copy, fsync, verify, unlink, and a file that
    changed meanwhile is kept.  Links are recorded and removed, their targets never touched.

    Raises:
        UsageError: the state folder lies inside the memory.
        MemdeckError: the trash cannot be written; nothing was removed.
    """
    planned, failed = _survey(paths, str(root.real))
    if not planned:
        return Thrown(None, (), tuple(failed))
    try:
        trash = _new_trash(root_state_dir(state, root.real) / "trash", now)
        _write_manifest(trash, root, now, action, planned)
    except OSError as error:
        raise MemdeckError(
            f"the trash in {printable(str(state))} cannot be written: {error.strerror or error}",
            hint="Make room there, or set MEMDECK_STATE to another folder.",
            data="Nothing was removed.",
        ) from None
    done: list[TrashEntry] = []
    for entry in planned:
        try:
            done.append(_move(entry, trash, str(root.real)))
        except (OSError, _Kept) as error:
            failed.append(f"{printable(entry.path)}: {_reason(error)}")
    for folder in sorted({os.path.dirname(entry.path) for entry in done}):
        sync_dir(folder)
    if not done and os.listdir(trash) == [MANIFEST]:
        (trash / MANIFEST).unlink()
        trash.rmdir()
        return Thrown(None, (), tuple(failed))
    try:
        _write_manifest(trash, root, now, action, done)
    except OSError as error:
        failed.append(f"{printable(str(trash / MANIFEST))}: could not be completed: {_reason(error)}")
    return Thrown(trash, tuple(done), tuple(failed))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}; it was kept"
    return f"{error}; it was kept"


def _survey(paths: Sequence[str], real_root: str) -> tuple[list[TrashEntry], list[str]]:
    """What is to be moved, files and links before the folders they lie in."""
    planned: list[TrashEntry] = []
    failed: list[str] = []
    for path in paths:
        try:
            _check_place(path, real_root)
            found = [
                _describe(each, f"{number:06d}") for number, each in enumerate(_tree(path), len(planned))
            ]
        except (OSError, _Kept) as error:
            failed.append(f"{printable(path)}: {_reason(error)}")
        else:
            planned += found
    return planned, failed


def _check_place(path: str, real_root: str) -> None:
    if not is_inside(real_root, os.path.realpath(os.path.dirname(path))):
        raise _Kept("its folder lies outside the memory")


def _tree(path: str) -> Iterator[str]:
    """A path and everything below it, deepest first; links are not gone into."""
    if stat.S_ISDIR(os.lstat(path).st_mode):
        with os.scandir(path) as entries:
            below = sorted(entry.path for entry in entries)
        for child in below:
            yield from _tree(child)
    yield path


def _describe(path: str, stored: str) -> TrashEntry:
    status = os.lstat(path)
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        return TrashEntry(path, "", "link", 0o777, status.st_mtime_ns, target=os.readlink(path))
    if stat.S_ISDIR(mode):
        return TrashEntry(path, "", "folder", stat.S_IMODE(mode), status.st_mtime_ns)
    if stat.S_ISREG(mode):
        return TrashEntry(path, stored, "file", stat.S_IMODE(mode), status.st_mtime_ns, status.st_size)
    raise _Kept(f"it is {kind_name(mode)}, not a file")


def _new_trash(place: Path, now: float) -> Path:
    make_private_dir(place)
    name = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    number = 1
    while True:
        folder = place / (name if number == 1 else f"{name}-{number}")
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            number += 1
            continue
        os.chmod(folder, 0o700)
        return folder


def _write_manifest(trash: Path, root: Root, now: float, action: str, entries: Sequence[TrashEntry]) -> None:
    manifest = {
        "version": MANIFEST_VERSION,
        "action": action,
        "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        "root": root.path,
        "real_root": str(root.real),
        "entries": [asdict(entry) for entry in entries],
    }
    # ASCII escapes carry file names that are not UTF-8 through JSON and back.
    write_private(trash / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=True).encode())


def _move(entry: TrashEntry, trash: Path, real_root: str) -> TrashEntry:
    _check_place(entry.path, real_root)
    if entry.kind == "folder":
        os.rmdir(entry.path)  # refuses a folder into which something new has come
        return entry
    if entry.kind == "link":
        if os.readlink(entry.path) != entry.target:
            raise _Kept("the link was changed meanwhile")
        os.unlink(entry.path)
        return entry
    stored = os.fspath(trash / entry.stored)
    try:
        os.rename(entry.path, stored)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return _copy_away(entry, stored)
    return _moved(entry, stored)


def _moved(entry: TrashEntry, stored: str) -> TrashEntry:
    """Describe what a rename really moved: it may have changed, or become a link, since the survey."""
    status = os.lstat(stored)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(stored)
        os.unlink(stored)
        return replace(entry, kind="link", stored="", size=0, target=target)
    if not stat.S_ISREG(status.st_mode):
        if not os.path.lexists(entry.path):
            os.rename(stored, entry.path)
        raise _Kept(f"it became {kind_name(status.st_mode)} meanwhile")
    try:
        digest, size = _hash_file(stored)
    except OSError:
        digest, size = "", status.st_size  # it is in the trash all the same; a hash is only for checking
    return replace(
        entry, mode=stat.S_IMODE(status.st_mode), mtime_ns=status.st_mtime_ns, size=size, blake3=digest
    )


def _copy_away(entry: TrashEntry, stored: str) -> TrashEntry:
    """Move across filesystems: copy, fsync, verify, and unlink only what is still the same file."""
    source = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        before = os.fstat(source)
        if not stat.S_ISREG(before.st_mode):
            raise _Kept(f"it became {kind_name(before.st_mode)} meanwhile")
        try:
            digest, size = _copy(source, stored)
            if _stamp(os.lstat(entry.path)) != _stamp(before) or _hash_handle(source)[0] != digest:
                raise _Kept("it changed while it was being moved")
            os.unlink(entry.path)
        except (OSError, _Kept):
            Path(stored).unlink(missing_ok=True)
            raise
        after = os.fstat(source)
        if _stamp(after) != _stamp(before):
            # Written between the last look and the unlink: the open file still has it all.
            digest, size = _copy(source, stored)
    finally:
        os.close(source)
    return replace(
        entry, mode=stat.S_IMODE(before.st_mode), mtime_ns=after.st_mtime_ns, size=size, blake3=digest
    )


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _copy(source: int, target: str) -> tuple[str, int]:
    """Copy an open file whole, make it durable and read it back; returns (hash, bytes)."""
    hasher, size = blake3(), 0
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        for block in _blocks(source):
            hasher.update(block)
            file.write(block)
            size += len(block)
        file.flush()
        os.fsync(handle)
    digest = str(hasher.hexdigest())
    if _hash_file(target) != (digest, size):
        raise _Kept("its copy in the trash could not be verified")
    return digest, size


def _blocks(handle: int) -> Iterator[bytes]:
    position = 0
    while block := os.pread(handle, _BLOCK, position):
        position += len(block)
        yield block


def _hash_handle(handle: int) -> tuple[str, int]:
    hasher, size = blake3(), 0
    for block in _blocks(handle):
        hasher.update(block)
        size += len(block)
    return str(hasher.hexdigest()), size


def _hash_file(path: str) -> tuple[str, int]:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return _hash_handle(handle)
    finally:
        os.close(handle)
