"""Verbs that look: ls, show, search, why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from core.cli.console import State, out, say, width
from core.cli.options import AsJson
from core.cli.words import age_days, chosen_sources, chunk_name, finite, path_and_number
from core.errors import MemdeckError, NotFound
from core.wording import plural

if TYPE_CHECKING:
    from core.memory import Memory
    from core.store.model import FileEntry


def ls(
    state: State,
    files: Annotated[bool, typer.Option("--files", help="List the files of the workspace too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List roots and workspaces.

    \b
    memdeck ls
    memdeck ls --files --workspace acme/widgets

    Human names, marks, how many logs there are and the size of MEMORY.md and all logs together; * is the
    workspace of this folder.
    """
    from core.cli import jsonout, render

    memory = state.open()
    report = memory.overview()
    listed = _files(memory) if files else {}
    if as_json:
        out(jsonout.dumps(jsonout.overview(report, memory.workspace, listed if files else None)))
        return
    out(render.overview(report, listed))
    for note in (report.banner, *report.notes):
        if note:
            say(note)
    if report.identity is not None:
        say(f"* {report.identity.reason}")
    if not any(root.exists for root in report.roots):
        say("There is no memory here yet; `memdeck demo` shows one.")
    if files and not any(listed.values()):
        name = memory.workspace
        say(f"{name} holds no files yet." if name else "No workspace is selected, so no files are listed.")
        say("  --workspace NAME lists those of another one.")


def _files(memory: Memory) -> Mapping[str, Sequence[FileEntry]]:
    for root in memory.overview().roots:
        for space in root.workspaces:
            if space.folder == memory.workspace and root.path == memory.root:
                logs = [log.entry for log in memory.sessions()]
                return {space.path: [*([space.memory] if space.memory else []), *logs]}
    return {}


def show(
    state: State,
    path: Annotated[str, typer.Argument(metavar="PATH", hidden=True)],
    first: Annotated[int, typer.Option("--from", min=1, metavar="N", help="First line.")] = 1,
    lines: Annotated[int | None, typer.Option("--lines", min=1, metavar="N", help="How many lines.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a file with its line numbers.

    \b
    memdeck show MEMORY.md
    memdeck show sessions/2026-07-17-auth-1a2b3c4d.md --from 20 --lines 10

    PATH is absolute, or relative to the workspace, or to the root. Exits 3 when there is no such file, or when
    it ends before line N of --from.
    """
    from core.cli import jsonout, render

    try:
        text = state.open().read(path, first, lines)
    except NotFound as error:
        hint = (
            "PATH is absolute, or relative to the workspace or to the root; `memdeck ls --files` lists them."
        )
        raise NotFound(str(error), hint=hint, data=error.data) from None
    if not text.lines and first > 1:
        raise NotFound(
            f"{path} has {plural(text.total, 'line')}, none from {first} on",
            hint="Only the beginning of it is read: it is very large." if text.truncated else "",
        )
    if as_json:
        out(jsonout.dumps(jsonout.show(text)))
        return
    out(render.show(text))
    if text.problem is not None:
        say(render.problem(text.problem))
    if text.link_target is not None:
        say(f"a link to {text.link_target}")
    if not text.lines:
        say("the file is empty")
    elif text.truncated:
        say("only the beginning is shown: the file is very large")


def search(
    state: State,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", hidden=True)],
    explain: Annotated[
        bool, typer.Option("--explain", help="Every factor, what fell out, each stage.")
    ] = False,
    as_json: AsJson = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            metavar="N",
            help="At most N hits. It is the agent's max_results: 3 × N candidates are taken and scored beside each "
            "other, so that another N can change scores and order.",
        ),
    ] = None,
    min_score: Annotated[float | None, typer.Option("--min-score", metavar="X", help="The floor.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="S", help="global, workspace or session; may repeat."),
    ] = None,
    max_age: Annotated[
        str | None, typer.Option("--max-age", metavar="D", help="Days, or with a unit: 12h, 7d, 2w.")
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", metavar="P", help="Whose rules rank.")] = None,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="Every workspace, by rank.")] = False,
) -> None:
    """Search as the agent would.

    \b
    memdeck search token refresh
    memdeck search --explain --limit 3 "token refresh"
    memdeck search "source:session age:<7d deploy"
    memdeck search --json auth | jq '.hits[0].path'

    What the agent would not find stands apart, below. An empty QUERY ('') lists the newest.
    """
    from core.cli import hits, jsonout

    memory = state.open()
    report = memory.search(
        " ".join(query),
        profile=profile,
        everywhere=everywhere,
        limit=limit,
        min_score=finite("--min-score", min_score),
        sources=chosen_sources(source or []),
        max_age_days=age_days(max_age),
    )
    failed = report.empty_reason.startswith("failed")
    if as_json:
        out(jsonout.dumps(jsonout.search(report)))
        if failed:
            raise typer.Exit(1)
        return
    where = hits.Where(memory.root, memory.workspace, everywhere=report.everywhere)
    out(hits.search(report, where, width(), explain=explain))
    say(hits.summary(report))
    if not report.hits and report.mode != "newest":
        say(hits.nothing(report))
    if report.dropped and not explain:
        say(f"{len(report.dropped)} fell out; --explain says why")
    for note in report.notes:
        if report.hits or note != report.empty_reason:  # that was just said
            say(note)
    if failed:
        raise typer.Exit(1)


def why(
    state: State,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", hidden=True)],
    chunk: Annotated[
        str, typer.Option("--chunk", metavar="ID", help="PATH#N, a chunk's id, or as search prints it.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say why a chunk is, or is not, a hit.

    \b
    memdeck why "token refresh" --chunk MEMORY.md#3

    For any chunk of any file: its place among all matches, and the words it lacks.
    """
    from core.cli import hits, jsonout

    memory = state.open()
    name = chunk_name(chunk)
    try:
        report = memory.why(" ".join(query), name)
    except NotFound as error:
        raise NotFound(str(error), hint=_numbers(memory, name) or error.hint, data=error.data) from None
    if as_json:
        out(jsonout.dumps(jsonout.why(report)))
        return
    out(hits.why(report, hits.Where(memory.root, memory.workspace)))
    for note in report.notes:
        say(note)


def _numbers(memory: Memory, chunk: str) -> str:
    """How many chunks the file has that was asked for; nothing when the number is among them."""
    path, number = path_and_number(chunk)
    if number is None:
        return ""
    try:
        count = len(memory.spans(path))
    except MemdeckError:
        return "`memdeck ls --files` lists the files."
    if number < count:
        return ""
    held = f"{plural(count, 'chunk')}, #0 to #{count - 1}" if count else "no chunks: it is empty"
    return f"{path} has {held}."
