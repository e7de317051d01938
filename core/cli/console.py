"""What every verb shares: where to look, and how to print.  Imports nothing that takes time."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from core.safetext import visible

if TYPE_CHECKING:
    from core.memory import Memory
    from core.settings import Settings


class Opener(Protocol):
    """Opens a memory: the façade's ``Memory.open``, or a made-up one."""

    def __call__(
        self, root: str | None, *, workspace: str | None, cwd: str | None, environ: Mapping[str, str]
    ) -> Memory: ...


@dataclass(slots=True)
class Course:
    """How far a command has got: which memories are open, and whether it has begun to change something."""

    opened: list[Memory] = field(default_factory=list)
    changing: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What the options accepted everywhere say, and the world the command runs in."""

    environ: Mapping[str, str]
    opener: Opener | None = None
    root: str | None = None
    workspace: str | None = None
    cwd: str | None = None
    course: Course = field(default_factory=Course)

    def at(self, root: str | None, workspace: str | None, cwd: str | None) -> State:
        """The same with options given nearer to the verb, which win."""
        return replace(
            self,
            root=self.root if root is None else root,
            workspace=self.workspace if workspace is None else workspace,
            cwd=self.cwd if cwd is None else cwd,
        )

    def memory(self) -> Memory:
        """Open the memory, silently."""
        opener = self.opener
        if opener is None:
            from core.memory import Memory

            opener = Memory.open
        return opener(self.root, workspace=self.workspace, cwd=self.cwd, environ=self.environ)

    def open(self) -> Memory:
        """Open the memory for a verb: what is wrong in the settings is said, and it is closed at the end."""
        memory = self.memory()
        self.course.opened.append(memory)
        say_problems(memory.settings)
        return memory

    def settings(self) -> Settings:
        """The settings alone, without opening a memory."""
        from core.settings import load_settings
        from core.store.layout import default_root, grok_home_of

        home = self.environ.get("HOME") or os.path.expanduser("~")
        root = self.root or default_root(self.environ, home)
        return load_settings(self.environ, grok_home=grok_home_of(root), home=home)


def out(text: str) -> None:
    """Print data on stdout.  The text has passed the gate for stored text already."""
    try:
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
    except BrokenPipeError:
        quiet_pipe()


def say(text: str) -> None:
    """Print narration on stderr; whatever it quotes is made visible first."""
    try:
        sys.stderr.write(visible(text).rstrip("\n") + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        quiet_pipe()


def quiet_pipe() -> None:
    """Whoever read our output has gone: what is still to be said goes nowhere, without an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say_problems(settings: Settings) -> None:
    """Name what is wrong in the config files; the rest of them is in use."""
    for problem in settings.problems:
        if problem.level != "note":
            say(f"memdeck: {problem}")


def width() -> int:
    """Columns to fill: the terminal's, at least 60; 100 when stdout is no terminal."""
    return max(60, shutil.get_terminal_size((100, 24)).columns)


def is_terminal() -> bool:
    """Whether a person is at both ends."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def plain_terminal() -> bool:
    """Whether there is no terminal to draw the app on."""
    return not (sys.stdin.isatty() and sys.stdout.isatty())
