"""Between façade and evaluation: settings on trial measured beside the saved ones, by whatever judgements there are."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.embed.provider import Cancel
from core.errors import NotFound
from core.evaluation.entry import prepare_shipped
from core.evaluation.model import EvalReport
from core.evaluation.run import Options
from core.settings import Settings, key_table

if TYPE_CHECKING:
    from core.memory import Memory

TRIAL = "trial"
"""The arm that the values on trial get."""
SHIPPED = "the shipped set"
Progress = Callable[[int, int], object]


def measure(
    memory: Memory,
    values: Mapping[str, object],
    profile: str,
    environ: Mapping[str, str],
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> EvalReport:
    """Measure the person's judgements, or the shipped set where nothing is judged yet; changes nothing.

    ``values``: settings on trial by dotted key.  In the shipped set the arm ``saved`` has the person's settings.

    Raises:
        MemdeckError: the judgements are wrong, nothing can be measured, or it was stopped.
    """
    pairs = {"profile": profile, **{key: _typed(value) for key, value in values.items()}}
    options = Options(
        variants=(f"{TRIAL}=" + ",".join(f"{key}={value}" for key, value in pairs.items()),), misses=False
    )
    try:
        return memory.evaluate(None, options, progress=progress, cancel=cancel)
    except NotFound:
        return _measure_shipped(memory.settings, environ, options, progress, cancel)


def _measure_shipped(
    settings: Settings,
    environ: Mapping[str, str],
    options: Options,
    progress: Progress | None,
    cancel: Cancel | None,
) -> EvalReport:
    from core.memory import Memory  # which is above this room

    home = Path(tempfile.mkdtemp(prefix="memdeck-eval-"))
    try:
        made = prepare_shipped(home)
        memory = Memory.open(
            made.root,
            workspace=made.workspace,
            cwd=str(home),
            environ={**environ, **made.environ},
            home=str(home),
            flags={
                spec.key: _typed(spec.value_in(settings))
                for spec in key_table()
                if spec.key.startswith("memory.search.")
            },
        )
        try:
            memory.sync()
            notes = [made.note] if made.note else []
            if made.vectors:
                filled = memory.fill_vectors(cancel=cancel)
                notes += [f"text only: {filled.error}"] if filled.error else []
            report = memory.evaluate(made.queries, options, progress=progress, cancel=cancel)
        finally:
            memory.close()
        return replace(report, source=SHIPPED, notes=(*notes, *report.notes))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
