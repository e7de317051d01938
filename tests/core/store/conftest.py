"""A small memory on disk, and a way to tell whether anything under a folder was touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from core.store.layout import Root, open_root

NOW = 1_767_225_600.0
WS = "widgets-a3f7b2c9"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A root with global memory and one workspace of three logs."""
    root = tmp_path / "grok" / "memory"
    sessions = root / WS / "sessions"
    sessions.mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Global\n\nPrefers tabs.\n")
    (root / WS / "MEMORY.md").write_text("# Widgets\n\nTokens rotate.\n")
    for number, day in enumerate(["2025-12-30", "2025-12-01", "2025-12-31"]):
        log = sessions / f"{day}-auth-0000000{number}.md"
        log.write_text(f"# Log {number}\n")
        when = NOW - (2 - number) * 86_400
        os.utime(log, (when, when))
    return root


@pytest.fixture
def root(memory: Path) -> Root:
    return open_root(str(memory))


@pytest.fixture
def snapshot() -> Callable[[Path], dict[str, tuple[object, ...]]]:
    """Everything below a folder: names, kinds, modes, times, link texts and bytes."""

    def take(top: Path) -> dict[str, tuple[object, ...]]:
        found: dict[str, tuple[object, ...]] = {}
        for path in [top, *top.rglob("*")]:
            status = path.lstat()
            content: object = None
            if stat.S_ISREG(status.st_mode):
                content = path.read_bytes()
            elif stat.S_ISLNK(status.st_mode):
                content = str(path.readlink())
            found[str(path)] = (status.st_mode, status.st_ino, status.st_mtime_ns, content)
        return found

    return take
