"""The options accepted everywhere, and asking before something is changed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from core.cli.console import is_terminal, say
from core.errors import UsageError
from core.safetext import visible_line

Root = Annotated[
    str | None, typer.Option("--root", metavar="DIR", help="Memory folder (default: $GROK_HOME/memory).")
]
Workspace = Annotated[
    str | None,
    typer.Option("--workspace", metavar="NAME", help="Folder name, unique beginning of it, or org/repo."),
]
Cwd = Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="Take the workspace of this folder.")]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print JSON for a program; json.md in the project's docs/ describes it."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def located(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options accepted everywhere; its first parameter becomes the :class:`State`."""
    shared = {"root": Root, "workspace": Workspace, "cwd": Cwd}

    @functools.wraps(verb)
    def command(ctx: typer.Context, **given: Any) -> None:
        place = {name: given.pop(name) for name in shared}
        verb(ctx.obj.at(**place), **given)

    parameters = list(inspect.signature(verb, eval_str=True).parameters.values())[1:]
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in shared.items()
    ]
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    keyword = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters]
    command.__signature__ = inspect.Signature([context, *keyword, *extra])  # type: ignore[attr-defined]
    return command


def confirmed(question: str, what: Sequence[str], *, yes: bool) -> bool:
    """Show what would happen and ask; ``--yes`` answers beforehand.

    Raises:
        UsageError: there is nobody to ask and ``--yes`` was not given.
    """
    if yes:
        return True
    for line in what:
        say(f"  {visible_line(line)}")
    if not is_terminal():
        raise UsageError(
            f"{question} There is no terminal to ask at.",
            data="Nothing was changed.",
            hint="Give --yes to do it without asking.",
        )
    return typer.confirm(question, err=True)
