"""Journal room: the texts, by BLAKE3 of their bytes: compressed, one file each, never rewritten.

``objects/ab/cdef…``: a magic word, 16 bytes of BLAKE3 over the compressed bytes, and those.  The name vouches
for the text, the checksum for every byte of the file.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from blake3 import blake3

from core.errors import NotFound
from core.journal.disk import Disk
from core.journal.lines import hash_of
from core.journal.model import BadText

MAGIC = b"mdo1"
_SUM = 16
_HEAD = len(MAGIC) + _SUM
_LEVEL = 9
_FAN = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{62}")
_TEMPORARY = re.compile(r"\.memdeck-[0-9a-f]{12}\.tmp")

State = Literal["sound", "missing", "corrupt"]


def pack(data: bytes) -> bytes:
    packed = zlib.compress(data, _LEVEL)
    return MAGIC + blake3(packed).digest(_SUM) + packed


def salvage(raw: bytes) -> bytes:
    """As much of a text as can be had from its file, sound or not."""
    inflater, text = zlib.decompressobj(), b""
    # Byte by byte from where it first fails would give little more: what comes before the damage is out.
    for start in range(_HEAD, len(raw), 1024):
        try:
            text += inflater.decompress(raw[start : start + 1024])
        except zlib.error:
            break
    return text


class Objects:
    """The texts under one folder.  ``put`` and ``remove`` need the journal's lock."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.folder = folder / "objects"
        self._disk = disk
        self._unsynced: set[Path] = set()
        self._swept = False

    def place(self, ident: str) -> Path:
        return self.folder / ident[:2] / ident[2:]

    def has(self, ident: str) -> bool:
        return self.place(ident).is_file()

    def put(self, data: bytes) -> str:
        """Keep a text and return its id; its bytes are durable, its name only after ``sync``.

        Raises:
            OSError: it could not be written; nothing of it is left.
        """
        ident = hash_of(data)
        target = self.place(ident)
        if self.check(ident)[0] == "sound":
            return ident
        if not target.parent.is_dir():
            self._disk.make_folder(target.parent)
            self._unsynced.add(self.folder)
        self._disk.put(target, pack(data), self.folder)
        self._unsynced.add(target.parent)
        return ident

    def sync(self) -> None:
        """Make the names of new texts durable."""
        for folder in sorted(self._unsynced):
            self._disk.sync_folder(folder)
        self._unsynced.clear()

    def get(self, ident: str) -> bytes:
        """The bytes of a text.

        Raises:
            NotFound: it is not there, or its file no longer holds it.
        """
        state, text, why = self._load(ident)
        if text is None or hash_of(text) != ident:
            raise NotFound(
                f"the text {ident[:12]} is {state} in the journal ({why})",
                hint="memdeck doctor names every text that is missing or damaged.",
                data="Its record is still there; the Markdown itself is not touched by this.",
            )
        return text

    def check(self, ident: str) -> tuple[State, str]:
        """Whether every byte of a text's file is as it was written, and what is wrong."""
        state, _text, why = self._load(ident)
        return state, why

    def _load(self, ident: str) -> tuple[State, bytes | None, str]:
        try:
            raw = self.raw(ident)
        except FileNotFoundError:
            return "missing", None, "its file is gone"
        except OSError as error:
            return "corrupt", None, f"its file cannot be read: {error.strerror or error}"
        try:
            inflater = zlib.decompressobj()
            text = inflater.decompress(raw[_HEAD:])
            whole = inflater.eof and not inflater.unused_data
        except zlib.error:
            return "corrupt", None, "its file cannot be decompressed"
        if hash_of(text) != ident:
            return "corrupt", text, "its bytes do not match its name"
        if (
            not whole
            or raw[: len(MAGIC)] != MAGIC
            or blake3(raw[_HEAD:]).digest(_SUM) != raw[len(MAGIC) : _HEAD]
        ):
            return "corrupt", text, "its file has bytes that were not written so, though the text is whole"
        return "sound", text, ""

    def raw(self, ident: str) -> bytes:
        """The file of a text as it lies on the disk.

        Raises:
            OSError: it is not there or cannot be read.
        """
        handle = os.open(self.place(ident), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            return file.read()

    def all(self) -> Iterator[str]:
        """The ids of all texts that have a file."""
        for fan in _names(self.folder):
            if _FAN.fullmatch(fan):
                yield from (fan + rest for rest in _names(self.folder / fan) if _REST.fullmatch(rest))

    def foreign(self) -> Iterator[BadText]:
        """What lies among the texts without being one (a killed writer's temporaries are no wonder)."""
        for fan in _names(self.folder):
            if _FAN.fullmatch(fan):
                for rest in _names(self.folder / fan):
                    if not _REST.fullmatch(rest):
                        yield BadText(f"{fan}/{rest}", "no text has this name")
            elif not _TEMPORARY.fullmatch(fan):
                yield BadText(fan, "no folder of texts has this name")

    def remove(self, ident: str) -> None:
        """Unlink a text.

        Raises:
            OSError: it is still there.
        """
        target = self.place(ident)
        with contextlib.suppress(FileNotFoundError):
            self._disk.remove(target)
            self._unsynced.add(target.parent)

    def sweep(self) -> None:
        """Remove what killed writers left: nothing else writes while the lock is held."""
        for name in _names(self.folder):
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(FileNotFoundError):
                    self._disk.remove(self.folder / name)
        self._unsynced.add(self.folder)

    def sweep_once(self) -> None:
        """Sweep at the first write."""
        if not self._swept:
            self.sweep()
            self._swept = True


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
