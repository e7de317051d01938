"""Journal room: the seam to the disk, the lock between processes, and what an error there means."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from core.journal.model import JournalError
from core.safetext import visible_line
from core.store.paths import make_private_dir, sync_dir

LOCK_SECONDS = 30.0
_FOLDER_IN_THE_WAY = {errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP}


class Disk:
    """Every call that puts something on the disk; tests pass one that fails."""

    def write(self, handle: int, data: bytes) -> int:
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def sync_folder(self, folder: Path) -> None:
        sync_dir(folder)

    def make_folder(self, folder: Path) -> None:
        make_private_dir(folder)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def put(self, target: Path, data: bytes, temporaries: Path) -> None:
        """Write a whole file: 0600 temporary, fsync, rename.  The folder is the caller's to sync."""
        temporary = temporaries / f".memdeck-{secrets.token_hex(6)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        handle = os.open(temporary, flags, 0o600)
        try:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[self.write(handle, bytes(rest)) :]
                self.sync(handle)
            finally:
                os.close(handle)
            self.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def shown(path: str | Path) -> str:
    """A path for a message, bytes that are not UTF-8 included."""
    name = os.fspath(path)
    try:
        raw = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # nothing can be named so, but it can be asked for
        raw = name.encode("utf-8", "backslashreplace")
    return visible_line(raw.decode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def refusing(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses into the error a person can act on."""
    try:
        yield
    except OSError as error:
        raise cannot_write(folder, error) from None


def cannot_write(folder: Path, error: OSError) -> JournalError:
    if isinstance(error, TimeoutError):
        hint = "Wait until it is done, or end it; then try again."
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Make room on that disk, or set MEMDECK_STATE to a folder on another one."
    elif error.errno in _FOLDER_IN_THE_WAY:
        hint = "Move away what lies where the folder should be, or set MEMDECK_STATE to another folder."
    else:
        hint = "Make that folder writable, or set MEMDECK_STATE to another folder."
    return JournalError(
        f"the journal in {shown(folder)} cannot be written: {error.strerror or error}",
        hint=hint,
        data="Nothing was changed: memdeck makes no change that it could not undo.",
    )


class Lock:
    """One writer at a time, among threads and processes; may be taken again by the thread that holds it."""

    def __init__(self, path: Path, disk: Disk, *, seconds: float = LOCK_SECONDS) -> None:
        self._path = path
        self._disk = disk
        self._seconds = seconds
        self._threads = threading.RLock()
        self._depth = 0
        self._handle = -1

    @contextlib.contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the lock; the value is True when this call took it, False when it was held already.

        Raises:
            OSError: the lock file cannot be made or locked; TimeoutError after 30 seconds.
        """
        with self._threads:
            first = self._depth == 0
            if first:
                self._handle = self._take()
            self._depth += 1
            try:
                yield first
            finally:
                self._depth -= 1
                if self._depth == 0:
                    os.close(self._handle)

    def _take(self) -> int:
        self._disk.make_folder(self._path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(self._path, flags, 0o600)
        try:
            deadline, pause = time.monotonic() + self._seconds, 0.0005
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return handle
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TimeoutError(errno.ETIMEDOUT, "another memdeck process holds it") from None
                time.sleep(pause)
                pause = min(pause * 1.5, 0.02)
        except BaseException:
            os.close(handle)
            raise
