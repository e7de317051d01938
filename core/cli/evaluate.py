"""``memdeck eval``: whether the ranking is right, measured with judged queries."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.cli.console import State, out, say, width
from core.cli.options import AsJson
from core.errors import UsageError

if TYPE_CHECKING:
    from core.evaluation.model import EvalReport
    from core.evaluation.run import Options

_HALVES = ("all", "tuning", "held-out")
Many = list[str]


def evaluate(
    state: State,
    file: Annotated[str | None, typer.Argument(metavar="FILE", hidden=True)] = None,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Measure the set that comes with memdeck, in a throwaway copy.")
    ] = False,
    variant: Annotated[
        Many | None,
        typer.Option(
            "--variant", metavar="NAME=KEY=VALUE,…", help="Other settings, measured as one would get them."
        ),
    ] = None,
    ablate: Annotated[bool, typer.Option("--ablate", help="What each stage of each formula adds.")] = False,
    sweep: Annotated[
        Many | None,
        typer.Option(
            "--sweep", metavar="KEY=V1,V2,…", help="Choose a value on one half, report it on the other."
        ),
    ] = None,
    half: Annotated[str, typer.Option("--half", metavar="NAME", help="tuning, held-out or all.")] = "all",
    limit_queries: Annotated[
        int | None,
        typer.Option("--limit-queries", metavar="N", min=1, help="At most N, spread over the file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the ranking with judged queries.

    \b
    memdeck eval
    memdeck eval --shipped --ablate
    memdeck eval mine.toml --variant low=search.min_score=0.4
    memdeck eval --shipped --sweep tuned.text=0.5,1,1.5,2

    Without FILE: what was judged in the app for this workspace. Prints recall, MRR, nDCG, forbidden hits and
    time of each arm, and below them what each column means; evaluation.md in the project's docs/ describes
    the file, the arms and the measures.
    """
    from core.cli import evaljson, evalout, jsonout
    from core.evaluation.run import Options

    if half not in _HALVES:
        raise UsageError(f"--half {half!r} is no half", hint=f"One of: {', '.join(_HALVES)}.")
    if shipped and file is not None:
        raise UsageError("--shipped has queries of its own", hint="Leave out the file, or --shipped.")
    options = Options(
        variants=tuple(variant or ()),
        ablate=ablate,
        sweeps=tuple(sweep or ()),
        half=half,  # type: ignore[arg-type]  # one of the three, see above
        limit=limit_queries,
    )
    if shipped:
        report = _shipped(state, options)
    else:
        report = state.open().evaluate(file, options, progress=_progress())
    out(jsonout.dumps(evaljson.evaluation(report)) if as_json else evalout.evaluation(report, width()))
    for note in report.notes:
        say(note)
    if report.embedding is not None:
        p50, p95 = report.embedding
        say(f"Embedding one query took p50 {p50:.1f}, p95 {p95:.1f} ms, which is in no arm's time.")
    say("[…] 95 % intervals of the difference: paired bootstrap over the queries, 2,000 rounds.")


def _shipped(state: State, options: Options) -> EvalReport:
    """Measure the shipped set in a folder that is gone afterwards."""
    from core.evaluation.entry import prepare_shipped

    home = Path(tempfile.mkdtemp(prefix="memdeck-eval-"))
    try:
        made = prepare_shipped(home)
        if made.note:
            say(made.note)
        there = State({**state.environ, **made.environ}, state.opener, made.root, made.workspace, str(home))
        memory = there.memory()
        try:
            memory.sync()
            if made.vectors:
                filled = memory.fill_vectors()
                if filled.error:
                    say(f"text only: {filled.error}")
            report = memory.evaluate(made.queries, options, progress=_progress())
        finally:
            memory.close()
        return replace(report, source="the shipped set")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _progress() -> Callable[[int, int], None] | None:
    if not sys.stderr.isatty():
        return None

    def told(done: int, total: int) -> None:
        sys.stderr.write(f"\r{done:,} of {total:,} queries" + ("\n" if done >= total else ""))
        sys.stderr.flush()

    return told
