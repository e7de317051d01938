"""A made-up memory with two workspaces, and ways to write to it, to open it and to see what was touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import apsw

from core.memory import Memory
from core.store.identity import GitAnswer, GitRunner

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC
DAY = 86_400.0
WS = "widgets-a3f7b2c9"
OTHER = "api-1f2e3d4c"

Tree = dict[str, tuple[int, int, int, bytes | str | None]]


def no_git(cwd: str) -> GitAnswer:
    return GitAnswer(None, "it is not in a git repository")


class MemoryDesk:
    """``root`` is ``home/.grok/memory``; everything of memdeck's own lies in ``state``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.root = self.home / ".grok" / "memory"
        self.state = folder / "state"
        self.cwd = folder / "project"
        self.now = NOW
        self.opened: list[Memory] = []
        (self.root / WS / "sessions").mkdir(parents=True)
        self.cwd.mkdir()

    def write(self, name: str, text: str | bytes, age_days: float = 0.0) -> Path:
        """Write a file below the root, last changed so many days ago."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        when = self.now - age_days * DAY
        os.utime(path, (when, when))
        return path

    def log(self, day: str, text: str | bytes, *, workspace: str = WS, sid: str = "00000001") -> Path:
        """Write a log of ``2025-12-``day, changed on that day at noon."""
        path = self.write(f"{workspace}/sessions/2025-12-{day}-auth-{sid}.md", text)
        when = NOW - (32 - int(day)) * DAY + DAY / 2
        os.utime(path, (when, when))
        return path

    def fill(self) -> None:
        """Global memory, two curated files and three logs; each says ``harbor`` and a word of its own."""
        self.write("MEMORY.md", "# Global\n\nharbor granite\n")
        self.write(f"{WS}/MEMORY.md", "# Widgets\n\nharbor copper lantern\n")
        self.log("30", "# Log\n\nharbor silver\n")
        self.log("31", "# Log\n\nharbor bronze\n", sid="00000002")
        self.write(f"{OTHER}/MEMORY.md", "# Api\n\nharbor marble\n")
        self.log("29", "# Log\n\nharbor quartz\n", workspace=OTHER)

    def config(self, text: str) -> None:
        (self.home / ".grok" / "config.toml").write_text(text)

    def environ(self, **more: str) -> dict[str, str]:
        return {"HOME": str(self.home), "MEMDECK_STATE": str(self.state), **more}

    def open(
        self,
        workspace: str | None = WS,
        *,
        root: str | None = None,
        cwd: str | None = None,
        run_git: GitRunner | None = no_git,
        temp_dir: str = "",
        **more: str,
    ) -> Memory:
        memory = Memory.open(
            root,
            workspace=workspace,
            cwd=cwd or str(self.cwd),
            environ=self.environ(**more),
            clock=None if "MEMDECK_NOW" in more else lambda: self.now,
            run_git=run_git,
            temp_dir=temp_dir,
        )
        self.opened.append(memory)
        return memory

    @property
    def file(self) -> Path:
        return self.root / WS / "index.sqlite"

    def sql(self, *statements: str, workspace: str = WS) -> None:
        """Change an index as another process would."""
        connection = apsw.Connection(str(self.root / workspace / "index.sqlite"))
        for statement in statements:
            connection.execute(statement)
        connection.close()

    def ask(self, question: str, workspace: str = WS) -> list[tuple[object, ...]]:
        connection = apsw.Connection(str(self.root / workspace / "index.sqlite"))
        try:
            return list(connection.execute(question))
        finally:
            connection.close()

    def hold_claim(self, pid: int = 4242, age: float = 10.0, workspace: str = WS) -> None:
        self.sql(
            f"UPDATE meta SET value='{pid}:{int(self.now - age)}' WHERE key='reindex_claim'",
            workspace=workspace,
        )


def tree(top: Path, keep: Callable[[str], bool] = lambda name: True) -> Tree:
    """Everything below a folder: kinds, modes, inodes, times, link texts and bytes."""
    found: Tree = {}
    for path in [top, *top.rglob("*")]:
        if not keep(path.name):
            continue
        status = path.lstat()
        content: bytes | str | None = None
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        # A folder's own time changes when an index is made in it; that is looked at by name.
        when = 0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
        found[str(path)] = (status.st_mode, status.st_ino, when, content)
    return found


def no_index(name: str) -> bool:
    return not name.startswith("index.sqlite")


def names(memory: Memory, query: str, **options: object) -> list[str]:
    """The file names of a search's hits."""
    return [hit.path.rsplit("/", 1)[-1] for hit in memory.search(query, **options).hits]  # type: ignore[arg-type]
