"""Opening the app, on the person's memory or on the demo; loads no command-line library on the way."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from core.cli.console import State, out, plain_terminal, say
from core.errors import UsageError

if TYPE_CHECKING:
    from core.demo import DemoPaths
    from core.memory import Memory

_DEMO = "memdeck-demo-"
_PLACES = {"--root": "root", "--workspace": "workspace", "--cwd": "cwd"}


def plain_start(argv: Sequence[str], state: State) -> tuple[State, bool] | None:
    """Read a command line that only opens the app: ``[--root DIR] [--workspace NAME] [--cwd DIR] [demo]``.

    Returns where to look and whether it is the demo, or None when the line says more than that: the
    command line proper then reads it.  Typer and what it loads cost as much as the app's own start.
    """
    place: dict[str, str | None] = dict.fromkeys(_PLACES.values())
    demo = False
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "demo" and not demo:
            demo = True
            continue
        if name not in _PLACES or demo:
            return None
        given = value if equals else next(words, "")
        if not given or given.startswith("-"):
            return None
        place[_PLACES[name]] = given
    return state.at(place["root"], place["workspace"], place["cwd"]), demo


def _demo_state(state: State, made: DemoPaths) -> State:
    environ: Mapping[str, str] = {**state.environ, **made.environ}
    return State(environ, state.opener, made.root, made.workspace, str(made.cwd))


def _indexed(state: State) -> Memory:
    """Open a demo memory and index all of it, as its agent would have done."""
    memory = state.memory()
    memory.sync_everywhere()
    return memory


def open_app(state: State, *, demo: bool = False, indexed: bool = False) -> int:
    """Run the app until the person leaves; returns the exit code.

    Raises:
        UsageError: there is no terminal to draw on.
    """
    if plain_terminal():
        raise UsageError(
            "the app needs a terminal",
            hint='Without one, use a verb: `memdeck search "…"`, `memdeck ls`; `memdeck --help` lists them.',
        )
    from tui.app import run

    return run(partial(_indexed, state) if indexed else state.memory, demo=demo)


def open_demo(state: State) -> int:
    """Run the app on a throwaway copy of the demo memory, which is gone afterwards.

    Raises:
        UsageError: there is no terminal to draw on.
    """
    from core.clock import clock_from
    from core.demo import prepare

    if plain_terminal():
        raise UsageError(
            "the demo needs a terminal", hint="`memdeck demo --keep DIR` only writes the memory."
        )
    remove_left_demos(Path(tempfile.gettempdir()))
    home = Path(tempfile.mkdtemp(prefix=f"{_DEMO}{os.getpid()}-"))
    # A closed terminal window ends the app by a signal: that too must not leave the copy behind.
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        made = prepare(home, clock_from(state.environ)())
        return open_app(_demo_state(state, made), demo=True, indexed=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def remove_left_demos(folder: Path) -> None:
    """Remove throwaway copies whose process was killed before it could; others' and living ones stay."""
    for left in folder.glob(f"{_DEMO}*-*"):
        owner = left.name.removeprefix(_DEMO).partition("-")[0]
        if owner.isdecimal() and _is_ours(left) and _has_ended(int(owner)):
            shutil.rmtree(left, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _has_ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False  # somebody else's process has that number now, or none can
    return False


def keep_demo(state: State, target: Path) -> int:
    """Write the demo memory to a folder and print its root.

    Raises:
        UsageError: the folder is not empty.
    """
    from shlex import quote

    from core.clock import clock_from
    from core.demo import prepare

    made = prepare(target, clock_from(state.environ)())
    memory = _indexed(_demo_state(State(state.environ), made))
    memory.fill_vectors()
    memory.close()
    out(made.root)
    # The demo's own home stays out of this: a shell keeps the person's.
    exports = (f"{name}={quote(value)}" for name, value in made.environ.items() if name != "HOME")
    say("A demo memory. In a shell of its own:")
    say(f"  cd {quote(str(made.cwd))}")
    say(f"  export {' '.join(exports)}")
    say("  memdeck")
    say("  memdeck search --profile tuned how do we log people in")
    return 0
