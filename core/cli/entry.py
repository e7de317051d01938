"""The way in: runs a verb and turns every kind of ending into an exit code and a few plain lines."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from core.cli.app import open_app, open_demo, plain_start
from core.cli.console import Opener, State, Unwritable, quiet_pipe, say
from core.errors import MemdeckError

INTERNAL = 70  # EX_SOFTWARE
INTERRUPTED = 130  # 128 + SIGINT


def main(
    argv: Sequence[str] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    opener: Opener | None = None,
) -> int:
    """Run one command line and return its exit code.

    ``argv`` is without the program's name (default: the process's own); ``opener`` opens the memory
    (default: the façade).
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that is not UTF-8 gets escapes instead of an error.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv), State(environ, opener))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        quiet_pipe()
        return 0
    except (Unwritable, OSError) as error:
        say(f"memdeck: what was to be printed cannot be written: {getattr(error, 'strerror', None) or error}")
        _give_up_stdout()
        return 1
    return code


def _unwritable(error: BaseException) -> bool:
    """Whether it was standard output that failed, as it does when typer prints help to a full disk."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name == "echo":
            return True
        step = step.tb_next
    return False


def _give_up_stdout() -> None:
    """Nothing more goes to standard output, or Python itself would complain about it at the end."""
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _run(argv: list[str], state: State) -> int:
    try:
        return _call(argv, state)
    except KeyboardInterrupt:
        say("memdeck: interrupted")
        return INTERRUPTED
    except MemdeckError as error:
        tell(error)
        return error.exit_code
    except (BrokenPipeError, Unwritable):
        raise
    except Exception as error:
        if isinstance(error, OSError) and _unwritable(error):
            raise Unwritable(error.strerror) from None
        return _internal(error, state)
    finally:
        state.course.end()


def _call(argv: list[str], state: State) -> int:
    start = plain_start(argv, state)
    if start is not None:
        place, demo = start
        return open_demo(place) if demo else open_app(place)
    import typer
    from typer.main import get_command

    from core.cli.commands import app

    try:
        code = get_command(app).main(args=argv, prog_name="memdeck", standalone_mode=False, obj=state)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        # typer's own usage errors (their class is not public) word what was wrong with the command line
        if callable(getattr(error, "format_message", None)):
            return _usage(error)
        raise
    return code if isinstance(code, int) else 0  # a verb that just returns gives None


def tell(error: MemdeckError) -> None:
    """Say what happened, what it means for the data, and what to do, on stderr."""
    say(f"memdeck: {error}")
    for line in (error.data, error.hint):
        if line:
            say(f"  {line}")


def _usage(error: Any) -> int:
    context = getattr(error, "ctx", None)
    say(f"memdeck: {error.format_message()}")
    if context is not None:
        say(f"  `{context.command_path} --help` shows how.")
    return int(error.exit_code)


def _internal(error: Exception, state: State) -> int:
    written = "a change had begun, see `memdeck doctor`" if state.course.changing else "nothing was written"
    say(f"memdeck: internal error ({type(error).__name__}: {error}), {written}; please report")
    if state.environ.get("MEMDECK_DEBUG") == "1":
        import traceback

        say("".join(traceback.format_exception(error)))
    else:
        say("  MEMDECK_DEBUG=1 shows where.")
    return INTERNAL
