"""Verbs that tend: reindex, doctor, clear, gc."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from core.cli.console import State, out, say
from core.cli.options import AsJson, Yes, confirmed
from core.cli.words import clearable


def reindex(
    state: State,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="From nothing; access counts and dates are carried over.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the index in step with the files.

    \b
    memdeck reindex
    memdeck reindex --rebuild

    Exits 1 when another process holds the index and files are still to do.
    """
    from core.cli import jsonout, render

    report = state.open().reindex(rebuild=rebuild, progress=_progress())
    out(jsonout.dumps(jsonout.sync(report)) if as_json else render.sync(report))
    for problem in report.problems:
        say(f"{problem.path}: {problem.message}")
    for note in report.notes:
        say(note)
    if report.behind:
        who = f"; process {report.holder.pid} is indexing" if report.holder else ""
        say(f"the index is behind by {render.plural(report.behind, 'file')}{who}")
        raise typer.Exit(1)


def _progress() -> Callable[[int, int], None] | None:
    if not sys.stderr.isatty():
        return None

    def told(done: int, total: int) -> None:
        sys.stderr.write(f"\r{done:,} of {total:,} files" + ("\n" if done >= total else ""))
        sys.stderr.flush()

    return told


def doctor(state: State, as_json: AsJson = False) -> None:
    """Name what is wrong or could surprise.

    \b
    memdeck doctor
    memdeck doctor --json | jq '.findings[] | select(.level == "error")'

    Exits 1 when something is wrong.
    """
    from core.cli import jsonout, render

    report = state.open().doctor()
    out(jsonout.dumps(jsonout.doctor(report)) if as_json else render.doctor(report))
    if not report.healthy:
        raise typer.Exit(1)


def clear(
    state: State,
    what: Annotated[str, typer.Argument(metavar="workspace|global|all", hidden=True)],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Clear workspace or global memory, or both.

    \b
    memdeck clear workspace
    memdeck clear global --yes

    Lists what goes and asks; what went lies in the trash, the receipt says where.
    """
    from core.cli import jsonout, render
    from core.store.model import Receipt

    chosen = clearable(what)
    memory = state.open()
    going = memory.clear_preview(chosen)
    if not going:
        say("There is nothing to clear.")
        if as_json:
            out(jsonout.dumps(jsonout.receipt(Receipt(f"clear {chosen}", ()))))
        return
    if not confirmed(f"Clear {what}?", going, yes=yes):
        say("Nothing was cleared.")
        raise typer.Exit(1)
    state.course.changing = True
    state.course.changing = True
    receipt = memory.clear(chosen)
    out(jsonout.dumps(jsonout.receipt(receipt)) if as_json else render.receipt(receipt))
    if receipt.failed:
        raise typer.Exit(1)


def gc(
    state: State,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove what is listed; else only report.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Report workspaces that hold nothing.

    \b
    memdeck gc
    memdeck gc --remove

    Nothing is removed without --remove, and nothing that has content ever.
    """
    from core.cli import jsonout, render

    memory = state.open()
    report = memory.gc()
    going = [f"{item.path}: {item.reason}" for item in report.candidates if item.remove]
    if remove and going:
        if not confirmed(f"Remove {render.plural(len(going), 'folder')}?", going, yes=yes):
            say("Nothing was removed.")
            raise typer.Exit(1)
        state.course.changing = True
        state.course.changing = True
        report = memory.gc(remove=True)
    out(jsonout.dumps(jsonout.gc(report)) if as_json else render.gc(report))
    if going and not remove:
        say(f"{render.plural(len(going), 'folder')} could go: memdeck gc --remove")
    if report.receipt is not None and report.receipt.failed:
        raise typer.Exit(1)
