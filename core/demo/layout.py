"""Where the demo's files go: checkouts, workspaces under the names the agent gives them, agent memories."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from core.demo.shift import Shift, second_written
from core.store.identity import canonical, folder_of, lossy


@dataclass(frozen=True, slots=True)
class Project:
    """One made-up project.

    ``remote`` is the checkout's origin and ``identity`` what the agent makes of it; without a remote the
    identity is the checkout's canonical path.  ``dreamed`` is the base day and second of its last dream.
    """

    name: str
    remote: str | None = None
    identity: str | None = None
    dreamed: tuple[date, int] | None = None


CURRENT = "widgets"
PROJECTS = (
    # Ten logs wait since its last dream: ready for the next one.
    Project(
        "widgets",
        remote="git@git.example.test:acme/widgets.git",
        identity="acme/widgets",
        dreamed=(date(2026, 6, 17), 3 * 3600 + 12 * 60 + 40),
    ),
    # A dream ran after its newest log, but could not fit them all: the rest is stranded.
    Project(
        "larder",
        remote="https://git.example.test/oakmoor/larder.git",
        identity="oakmoor/larder",
        dreamed=(date(2026, 6, 28), 22 * 3600 + 41 * 60),
    ),
    # Never published, so it is known by its path; never dreamed either.
    Project("tsubame"),
)

# One log was renamed by hand.  It is so only in the copy: not every installer unpacks such names.
_RENAMED = ("deploy-settings", "部署配置")
# A workspace that never got a log: the experiment it belonged to is long gone.
_LEFTOVER = folder_of("/home/guest/spikes/yaml-loader")
_LEFT = date(2026, 4, 2)
_HOUR = 3600
_EDITED = {  # curated files: when a person or a dream last wrote them
    "global/MEMORY.md": (date(2026, 6, 21), 9 * _HOUR + 41 * 60),
    "widgets/MEMORY.md": (date(2026, 6, 29), 17 * _HOUR + 25 * 60),
    "larder/MEMORY.md": (date(2026, 6, 28), 22 * _HOUR + 41 * 60),
    "tsubame/MEMORY.md": (date(2026, 6, 16), 3 * _HOUR + 5 * 60),
    "agents/reviewer/MEMORY.md": (date(2026, 6, 19), 10 * _HOUR),
    "agents/reviewer/widgets/MEMORY.md": (date(2026, 6, 27), 15 * _HOUR + 30 * 60),
    "agents/release-notes/MEMORY.md": (date(2026, 6, 26), 16 * _HOUR + 2 * 60),
    "config.toml": (date(2026, 6, 10), 8 * _HOUR),
}
STARTED = (date(2026, 2, 3), 9 * _HOUR)


def folder_name(project: Project, checkout: Path) -> str:
    """The workspace folder the agent uses for a checkout."""
    return folder_of(project.identity or canonical(str(checkout)))


def _renamed(name: str) -> str:
    """The log's name in the copy; as it is where the file system's encoding cannot spell the new one."""
    new = name.replace(*_RENAMED)
    try:
        os.fsencode(new)
    except UnicodeEncodeError:
        return name
    return new


class Layout:
    """Writes the demo's files under ``home`` and keeps their times."""

    def __init__(self, home: Path, shift: Shift, texts: Path) -> None:
        self.home = home
        self.shift = shift
        self.texts = texts
        self.grok_home = home / ".grok"
        self.root = self.grok_home / "memory"

    def checkout(self, project: Project) -> Path:
        return self.home / "projects" / project.name

    def put(self, path: Path, text: str, day: date, second: int) -> None:
        """Write one file as given; its modification time is ``second`` of the base ``day``, moved."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        self.touch(path, day, second)

    def touch(self, path: Path, day: date, second: int) -> None:
        moment = self.shift.moment(day, second)
        os.utime(path, (moment, moment))

    def write_projects(self) -> None:
        """Checkouts with just enough of a repository for ``git remote get-url origin``."""
        for project in PROJECTS:
            checkout = self.checkout(project)
            config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
            if project.remote is not None:
                config += f'[remote "origin"]\n\turl = {project.remote}\n'
                config += "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
            # A checkout without a remote gets its repository too: else git would go on to the folders
            # above and could find someone's real one.
            self.put(checkout / ".git" / "HEAD", "ref: refs/heads/main\n", *STARTED)
            self.put(checkout / ".git" / "config", config, *STARTED)
            for name in ("objects", "refs"):
                (checkout / ".git" / name).mkdir()
            self.put(checkout / "README.md", self.read(f"readme/{project.name}.md"), *STARTED)

    def write_memory(self) -> None:
        """The agent's settings, the global file and one folder a project, and one folder left over."""
        self._curated("config.toml", self.grok_home / "config.toml")
        self._curated("global/MEMORY.md", self.root / "MEMORY.md")
        for project in PROJECTS:
            checkout = self.checkout(project)
            folder = self.root / folder_name(project, checkout)
            self._workspace(project.name, folder, checkout)
            if project.dreamed is not None:
                self.put(folder / ".dream-lock", "", *project.dreamed)
        (self.root / _LEFTOVER / "sessions").mkdir(parents=True)

    def write_agent_memories(self) -> None:
        """One agent memory of the person's (with a workspace folder) and a flat one inside a project."""
        widgets = next(project for project in PROJECTS if project.name == CURRENT)
        checkout = self.checkout(widgets)
        reviewer = self.grok_home / "agent-memory" / "reviewer"
        self._curated("agents/reviewer/MEMORY.md", reviewer / "MEMORY.md")
        self._workspace("agents/reviewer/widgets", reviewer / folder_name(widgets, checkout), checkout)
        flat = checkout / ".grok" / "agent-memory" / "release-notes"
        self._workspace("agents/release-notes", flat, checkout)

    def settle_folders(self) -> None:
        """Give every folder the time of the newest entry in it, bottom up."""
        empty = self.root / _LEFTOVER / "sessions"
        self.touch(empty, _LEFT, 12 * _HOUR)
        for name, folders, files in os.walk(self.home, topdown=False):
            folder = Path(name)
            newest = max(
                (folder.joinpath(entry).stat().st_mtime for entry in (*folders, *files)), default=None
            )
            if newest is not None:
                os.utime(folder, (newest, newest))
            elif folder != empty:
                self.touch(folder, *STARTED)

    def read(self, name: str) -> str:
        """A text of the demo, its dates moved; paths are filled in later, since they may hold dates too."""
        return self.shift.text((self.texts / name).read_bytes().decode())

    def _curated(self, name: str, path: Path, checkout: Path | None = None) -> None:
        text = self.read(name)
        if checkout is not None:
            text = text.replace("{path}", lossy(canonical(str(checkout))))
        self.put(path, text, *_EDITED[name])

    def _workspace(self, name: str, folder: Path, checkout: Path) -> None:
        self._curated(f"{name}/MEMORY.md", folder / "MEMORY.md", checkout)
        for log in sorted((self.texts / name / "sessions").iterdir()):
            text = self.read(f"{name}/sessions/{log.name}")
            day = date.fromisoformat(log.name[:10])
            moved = _renamed(self.shift.text(log.name))
            self.put(folder / "sessions" / moved, text, day, second_written(log.name, text))
