"""What every verb shares: where to look, and how to print.  Imports nothing that takes time."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from core.errors import UsageError
from core.safetext import visible

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from core.memory import Memory
    from core.settings import Settings


class Opener(Protocol):
    """Opens a memory: the façade's ``Memory.open``, or a made-up one."""

    def __call__(
        self, root: str | None, *, workspace: str | None, cwd: str | None, environ: Mapping[str, str]
    ) -> Memory: ...


@dataclass(slots=True)
class Course:
    """How far a command has got: which memories are open, and whether it has begun to change something.

    ``aside``: a folder that is gone at the end, for what a memory that is not there would leave behind.
    """

    opened: list[Memory] = field(default_factory=list)
    changing: bool = False
    aside: TemporaryDirectory[str] | None = None

    def end(self) -> None:
        """Close what is open and remove what was put aside."""
        for memory in self.opened:
            memory.close()
        if self.aside is not None:
            self.aside.cleanup()


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
        """Open the memory for a verb: what is wrong in the settings is said, and it is closed at the end.

        Raises:
            UsageError: ``--root`` or ``--cwd`` names no folder.
        """
        _check_folder("--root", self.root)
        _check_folder("--cwd", self.cwd)
        memory = self._leaving_nothing().memory()
        self.course.opened.append(memory)
        say_problems(memory.settings)
        return memory

    def settings(self) -> Settings:
        """The settings alone, without opening a memory."""
        from core.settings import load_settings
        from core.store.layout import grok_home_of

        root = self.root or self._default_root()
        return load_settings(self.environ, grok_home=grok_home_of(root), home=self._home())

    def _home(self) -> str:
        return self.environ.get("HOME") or os.path.expanduser("~")

    def _default_root(self) -> str:
        from core.store.layout import default_root

        return default_root(self.environ, self._home())

    def _leaving_nothing(self) -> State:
        """The same; while the agent has no memory yet, with a state folder that is gone at the end.

        Every search opens an index, and where there is no memory it would lie in the cache for good.
        """
        if self.root is not None or os.path.isdir(self._default_root()):
            return self
        from tempfile import TemporaryDirectory

        try:
            self.course.aside = TemporaryDirectory(prefix="memdeck-", ignore_cleanup_errors=True)
        except OSError:
            return self
        return replace(self, environ={**self.environ, "MEMDECK_STATE": self.course.aside.name})


def _check_folder(option: str, path: str | None) -> None:
    if path is None or os.path.isdir(path):
        return
    what = "is not a folder" if os.path.exists(path) else "is not there"
    raise UsageError(
        f"{option} {path} {what}",
        data="Nothing was done.",
        hint=f"Give a folder that exists, or leave out {option}.",
    )


class Unwritable(Exception):
    """Standard output cannot take what is to be printed: a full disk, or it is closed."""


def out(text: str) -> None:
    """Print data on stdout.  The text has passed the gate for stored text already.

    Raises:
        Unwritable: it cannot be written there; a pipe whose reader has gone is no error.
    """
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        quiet_pipe()
    except OSError as error:
        raise Unwritable(error.strerror) from None


def say(text: str) -> None:
    """Print narration on stderr; whatever it quotes is made visible first."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(visible(text).rstrip("\n") + "\n")
            sys.stderr.flush()
    except BrokenPipeError:
        quiet_pipe()
    except OSError:
        pass  # there is nowhere left to complain


def quiet_pipe() -> None:
    """Whoever read our output has gone: what is still to be said goes nowhere, without an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
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


def width(elsewhere: int = 100) -> int:
    """Columns to fill: the terminal's, at least 60; ``elsewhere`` when stdout is no terminal."""
    return max(60, shutil.get_terminal_size((elsewhere, 24)).columns)


def is_terminal() -> bool:
    """Whether a person is at both ends."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def plain_terminal() -> bool:
    """Whether there is no terminal to draw the app on, which is what standard error goes to as well."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return not all(stream is not None and stream.isatty() for stream in streams)
