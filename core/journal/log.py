"""Journal room: the file of records: appended to in one write, read line by line, never rewritten.

What a killed writer left of a line at the end is copied to ``torn/`` before it is cut off.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.journal.disk import Disk
from core.journal.lines import GENESIS, hash_of, is_sound, link

_BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True)
class End:
    """The open end of the journal: its size in bytes and what the next record names as ``prev``."""

    handle: int
    size: int
    link: str


class Log:
    """The journal file.  Writing needs the journal's lock; reading does not."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.path = folder / "journal"
        self.torn = folder / "torn"
        self._disk = disk

    @contextlib.contextmanager
    def end(self) -> Iterator[End]:
        """Open the end for writing, after the last whole line.

        Raises:
            OSError: it cannot be opened or read, or an unfinished line cannot be set aside.
        """
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            handle = os.open(self.path, flags)
        except FileNotFoundError:
            handle = os.open(self.path, flags | os.O_CREAT, 0o600)
            self._disk.sync_folder(self.path.parent)
        try:
            size = self._mend(handle, os.fstat(handle).st_size)
            last = _last_line(handle, size)
            yield End(handle, size, link(last) if last else GENESIS)
        finally:
            os.close(handle)

    def mend(self) -> None:
        """Set aside what a killed writer left of a line, so that all there is are whole lines.

        Raises:
            OSError: that cannot be done.
        """
        if self.path.exists():
            with self.end():
                pass

    def append(self, end: End, data: bytes) -> None:
        """Write whole lines in one go and make them durable; a write that fails is taken back.

        Raises:
            OSError: nothing was added.
        """
        try:
            if self._disk.write(end.handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._disk.sync(end.handle)
        except BaseException:
            with contextlib.suppress(OSError):  # else it is an unfinished line, which the next write mends
                os.ftruncate(end.handle, end.size)
            raise

    def _mend(self, handle: int, size: int) -> int:
        start = _line_start(handle, size)
        if start == size:
            return size
        tail = _pread(handle, size - start, start)
        if is_sound(tail):  # only its end is missing
            self._disk.write(handle, b"\n")
            self._disk.sync(handle)
            return size + 1
        self._set_aside(tail)
        whole = len(tail) - 1 if is_sound(tail[:-1]) else 0
        os.ftruncate(handle, start + whole)
        if whole:  # its end was overwritten
            self._disk.write(handle, b"\n")
            whole += 1
        self._disk.sync(handle)
        return start + whole

    def _set_aside(self, tail: bytes) -> None:
        self._disk.make_folder(self.torn)
        self._disk.put(self.torn / hash_of(tail)[:16], tail, self.torn)
        self._disk.sync_folder(self.torn)

    def set_aside(self) -> tuple[str, ...]:
        """Names of the files in ``torn/``."""
        try:
            return tuple(sorted(os.listdir(self.torn)))
        except OSError:
            return ()

    @contextlib.contextmanager
    def reading(self) -> Iterator[int | None]:
        """Give a handle for reading; None when there is no journal yet.

        Raises:
            OSError: it is there and cannot be opened.
        """
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            yield None
            return
        try:
            yield handle
        finally:
            os.close(handle)


def lines(handle: int, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """(offset, line) of every line from ``start``, its end included; an unfinished last one has none."""
    with open(handle, "rb", closefd=False) as file:
        file.seek(start)
        offset = start
        for line in file:
            yield offset, line
            offset += len(line)


def line_at(handle: int, offset: int, size: int) -> bytes:
    """``size`` bytes from ``offset``, or what there is of them."""
    return _pread(handle, size, offset)


def _pread(handle: int, size: int, offset: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(handle, size, offset)):
        parts.append(part)
        size -= len(part)
        offset += len(part)
    return b"".join(parts)


def _line_start(handle: int, end: int) -> int:
    """Where the line that reaches to ``end`` begins: behind the last line feed before it."""
    position = end
    while position > 0:
        block_start = max(0, position - _BLOCK)
        found = _pread(handle, position - block_start, block_start).rfind(b"\n")
        if found >= 0:
            return block_start + found + 1
        position = block_start
    return 0


def _last_line(handle: int, size: int) -> bytes:
    if size == 0:
        return b""
    start = _line_start(handle, size - 1)
    return _pread(handle, size - start, start)
