"""A small memory with an index, clocks and options that tests control."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.index.sync import Index, IndexOptions
from core.store.layout import open_root

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC
WS = "widgets-a3f7b2c9"


class Desk:
    """A root on disk and ways to write to it and to open indexes over it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "grok" / "memory"
        self.cache = folder / "cache"
        self.now = NOW
        self.opened: list[Index] = []
        (self.root / WS / "sessions").mkdir(parents=True)

    def write(self, name: str, text: str | bytes, mtime: float = NOW) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (mtime, mtime))
        return path

    def options(self) -> IndexOptions:
        return IndexOptions(cache_dir=str(self.cache), clock=lambda: self.now, host="box", dimensions=4)

    def index(self, folder: str = WS, root: Path | None = None, **changes: object) -> Index:
        options = replace(self.options(), **changes)  # type: ignore[arg-type]
        index = Index(open_root(str(root or self.root)), folder, options)
        self.opened.append(index)
        return index

    @property
    def file(self) -> Path:
        return self.root / WS / "index.sqlite"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    for index in desk.opened:
        index.close()


Rows = Callable[[Index], list[tuple[object, ...]]]


@pytest.fixture
def rows() -> Rows:
    """The chunks of an index: (file name:ordinal, source, created_at, access_count)."""

    def take(index: Index) -> list[tuple[object, ...]]:
        database = index.database()
        assert database is not None
        return [
            (str(row[0]).rsplit("/", 1)[-1], *row[1:])
            for row in database.reader.execute(
                "SELECT id, source, created_at, access_count FROM chunks ORDER BY path, rowid"
            )
        ]

    return take
