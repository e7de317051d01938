"""The command line put together: the verbs in the order of the help; without one the app opens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.cli.app import keep_demo, open_app, open_demo
from core.cli.config import config
from core.cli.console import out
from core.cli.evaluate import evaluate
from core.cli.options import Cwd, Root, Workspace, located
from core.cli.reading import ls, search, show, why
from core.cli.tending import clear, doctor, gc, reindex

EXIT_CODES = """\b
Exit codes:
  0    done; a search that finds nothing says why on stderr and is done too
  1    failed, declined, or (doctor) not healthy
  2    the command line, a setting or the place asked for is wrong
  3    there is no such path, chunk or line
  70   a defect in memdeck
  130  interrupted

Data goes to stdout, everything else to stderr. --root, --workspace and --cwd are taken before and after a
verb. json.md in the project's docs/ describes what --json prints."""

app = typer.Typer(
    name="memdeck",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=False,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        out(f"memdeck {version('memdeck')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    root: Root = None,
    workspace: Workspace = None,
    cwd: Cwd = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """See, search and understand the Markdown memory a coding agent keeps.

    \b
    memdeck                               open the app on the memory of this folder
    memdeck demo                          try it on a made-up memory
    memdeck search "token refresh"        what the agent would find
    memdeck search --explain auth retry   and why it ranks so
    memdeck why "auth retry" --chunk MEMORY.md#3
    memdeck ls --root ~/.grok/memory
    memdeck doctor                        what is wrong, and what to do
    memdeck eval --shipped                whether the ranking is right

    Without a verb the app opens.
    """
    ctx.obj = ctx.obj.at(root, workspace, cwd)
    if ctx.invoked_subcommand is None:
        code = open_app(ctx.obj)
        if code:
            raise typer.Exit(code)


for verb in (ls, show, search, why, reindex, doctor, clear, gc):
    app.command()(located(verb))


@app.command()
def demo(
    ctx: typer.Context,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Write it to DIR instead, and do not open it."),
    ] = None,
) -> None:
    """Open a made-up memory, in a throwaway copy.

    \b
    memdeck demo
    memdeck demo --keep /tmp/try

    Nothing of yours is touched; no key and no network is needed.
    """
    code = open_demo(ctx.obj) if keep is None else keep_demo(ctx.obj, keep)
    if code:
        raise typer.Exit(code)


app.command(name="eval")(located(evaluate))
app.add_typer(config, name="config")
