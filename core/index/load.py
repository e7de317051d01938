"""Index room: reads a file for indexing, together with the stamp of exactly the bytes that were read."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import UnreadableFile
from core.index.chunker import chunk_markdown
from core.index.model import Chunk
from core.store.entries import problem_of
from core.store.layout import printable
from core.store.model import FileEntry, Problem, stamp_numbers

INDEX_LIMIT = 32 * 1024 * 1024
"""Bytes above which a file is named and not indexed."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file cut into chunks, as it was at ``stamp`` (size, mtime_ns, inode of what was read)."""

    entry: FileEntry
    stamp: tuple[int, int, int]
    chunks: Sequence[Chunk]
    size: int

    @property
    def mtime(self) -> float:
        return self.stamp[1] / 1e9


def load(entry: FileEntry) -> Loaded | Problem:
    """Read and cut a listed file; what cannot be read, decoded or is too large comes back as a problem."""
    try:
        handle = os.open(entry.path, _FLAGS)
    except OSError as error:
        return problem_of(entry.path, error)
    try:
        status = os.fstat(handle)
        name = printable(entry.path)
        if not stat.S_ISREG(status.st_mode):
            return Problem(entry.path, "unreadable", f"{name} is not a regular file; it is not searched")
        if status.st_size > INDEX_LIMIT:
            megabytes = status.st_size / 1024 / 1024
            return Problem(
                entry.path, "too-large", f"{name} has {megabytes:.0f} MB, over the 32 MB that are searched"
            )
        pieces: list[bytes] = []
        while piece := os.read(handle, 1 << 20):
            pieces.append(piece)
    except OSError as error:
        return problem_of(entry.path, error)
    finally:
        os.close(handle)
    data = b"".join(pieces)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Problem(
            entry.path,
            "not-utf8",
            f"{name} is not UTF-8 at line {line} (byte {error.start}); the agent cannot read it and it is not searched",
        )
    stamp = stamp_numbers(status.st_size, status.st_mtime_ns, status.st_ino)
    try:
        return Loaded(entry, stamp, chunk_markdown(text), len(data))
    except UnreadableFile as error:
        return Problem(entry.path, "too-large", f"{name} is not searched: {error}")


def stamp_of(path: str) -> tuple[int, int, int] | None:
    """The stamp of a file as it is now, links followed; None when it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return stamp_numbers(status.st_size, status.st_mtime_ns, status.st_ino)
