"""Verbs that tend: reindex, doctor, clear, gc."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from core.cli.console import State, out, say, width
from core.cli.options import AsJson, Yes, confirmed
from core.cli.words import clearable
from core.errors import UsageError
from core.wording import plural

if TYPE_CHECKING:
    from core.memory import Memory


def reindex(
    state: State,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="From nothing; access counts and dates are carried over.")
    ] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Then embed what has no vector yet ([embedding] provider).")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="With --vectors: start over, for another model.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Bring the index in step with the files.

    \b
    memdeck reindex
    memdeck reindex --rebuild
    memdeck reindex --vectors

    Before anything is sent to an endpoint you are shown what, where to and how much, and asked. Exits 1 when
    another process holds the index and files are still to do, or when vectors are still missing.
    """
    from core.cli import jsonout, render

    memory = state.open()
    if again and not vectors:
        raise UsageError("--again goes with --vectors", hint="`memdeck reindex --vectors --again`")
    report = memory.reindex(rebuild=rebuild, progress=_progress())
    anew = memory.status() if report.rebuilt else None
    if as_json:
        out(jsonout.dumps(jsonout.sync(report)))
    else:
        out(render.sync(report, anew))
    for problem in report.problems:
        say(render.problem(problem))
    for note in report.notes:
        say(note)
    if report.failed:
        say("memdeck: nothing was indexed")
        raise typer.Exit(1)
    if report.behind:
        who = f"; process {report.holder.pid} is indexing" if report.holder else ""
        say(f"the index is behind by {plural(report.behind, 'file')}{who}")
        raise typer.Exit(1)
    if vectors and not _embed(memory, again=again, yes=yes):
        raise typer.Exit(1)


def _embed(memory: Memory, *, again: bool, yes: bool) -> bool:
    """Fill in missing vectors, after what would leave the machine was shown and confirmed; True when all is done."""
    shown = memory.embedding_disclosure()
    if shown is not None and memory.embedding().state == "unconfirmed":
        what = (
            f"to {shown.endpoint}, model {shown.model}",
            f"{plural(shown.chunks, 'chunk')}, {shown.bytes:,} bytes, about {shown.tokens:,} tokens",
            *(() if shown.encrypted else ("not encrypted on the way",)),
        )
        if not confirmed("Send the texts of this memory there?", what, yes=yes):
            say("nothing was sent")
            return False
        memory.allow_embedding(shown)
    done = memory.fill_vectors(again=again, progress=_progress("texts"))
    begun = bool(done.stored or done.skipped or done.missing)
    if begun or not done.error:
        count = plural(done.stored, "text")
        say(f"{count} embedded, {done.skipped} without a vector, {done.missing} missing")
    if done.error:
        say(f"stopped: {done.error}" if begun else f"memdeck: {done.error}")
        if done.hint:
            say(f"  {done.hint}")
    return not done.error and not done.missing


def _progress(what: str = "files") -> Callable[[int, int], None] | None:
    if not sys.stderr.isatty():
        return None

    def told(done: int, total: int) -> None:
        sys.stderr.write(f"\r{done:,} of {total:,} {what}" + ("\n" if done >= total else ""))
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
    out(jsonout.dumps(jsonout.doctor(report)) if as_json else render.doctor(report, width(80)))
    if not report.healthy:
        raise typer.Exit(1)


def clear(
    state: State,
    what: Annotated[str, typer.Argument(metavar="workspace|global|all", hidden=True)] = "",
    undo: Annotated[
        str, typer.Option("--undo", metavar="DIR", help="Bring back what went to this trash folder.")
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Clear the workspace's memory, the global one, or all of it.

    \b
    memdeck clear workspace
    memdeck clear global --yes
    memdeck clear --undo DIR

    Lists what goes and asks; what went lies in the trash, the receipt says where and how to bring it back.
    """
    from core.cli import jsonout, render
    from core.store.model import Receipt

    if undo and what:
        raise UsageError(
            f"--undo brings something back, {what} would clear something: give one of them",
            data="Nothing was done.",
        )
    if undo:
        state.course.changing = True
        receipt = state.open().restore(undo)
        out(jsonout.dumps(jsonout.receipt(receipt)) if as_json else render.receipt(receipt))
        if receipt.failed:
            raise typer.Exit(1)
        return
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
    receipt = memory.clear(chosen)
    out(jsonout.dumps(jsonout.receipt(receipt)) if as_json else render.receipt(receipt))
    if receipt.trash:
        say(f"To bring it back: memdeck clear --undo {receipt.trash}")
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
        if not confirmed(f"Remove {plural(len(going), 'folder')}?", going, yes=yes):
            say("Nothing was removed.")
            raise typer.Exit(1)
        state.course.changing = True
        report = memory.gc(remove=True)
    out(jsonout.dumps(jsonout.gc(report)) if as_json else render.gc(report))
    if going and not remove:
        say(f"{plural(len(going), 'folder')} could go: memdeck gc --remove")
    if report.receipt is not None and report.receipt.failed:
        raise typer.Exit(1)
