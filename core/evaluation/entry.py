"""Evaluation room: measuring with a person's file, or with the shipped set in a copy of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core import evalset
from core.embed.local import HOW_TO_ADD, installed
from core.embed.provider import Cancel
from core.errors import MemdeckError, NotFound
from core.evaluation.bench import Subject
from core.evaluation.judgements import Judgements, default_file
from core.evaluation.model import EvalReport
from core.evaluation.run import Options, Progress, evaluate


@dataclass(frozen=True, slots=True)
class Shipped:
    """A copy of the shipped set: its root and workspace, what to lay over the environment, and its queries."""

    root: str
    workspace: str
    environ: Mapping[str, str]
    queries: str
    vectors: bool
    note: str


def prepare_shipped(folder: Path) -> Shipped:
    """Copy the shipped set into an empty folder, with state, settings and clock of its own.

    Vectors are made on this machine when the extra ``local`` is installed; else it is text only and ``note``
    says how to add it.

    Raises:
        MemdeckError: the set is damaged, or the folder cannot be written.
    """
    judged = evalset.load()
    evalset.copy_to(folder / "memory")
    vectors = installed()
    config = folder / "own.toml"
    try:
        config.write_text(f'[embedding]\nprovider = "{"local" if vectors else "none"}"\n', encoding="utf-8")
    except OSError as error:
        raise MemdeckError(f"{config} cannot be written: {error.strerror or error}") from None
    return Shipped(
        root=str(folder / "memory"),
        workspace=judged.workspace,
        environ={
            "HOME": str(folder),
            "GROK_HOME": str(folder),
            "MEMDECK_STATE": str(folder / "state"),
            "MEMDECK_CONFIG": str(config),
            "MEMDECK_NOW": repr(judged.now),
        },
        queries=str(evalset.FOLDER / "queries.toml"),
        vectors=vectors,
        note="" if vectors else f"text only: the extra `local` is not installed. {HOW_TO_ADD}",
    )


def evaluate_file(
    subject: Subject,
    file: str | None,
    environ: Mapping[str, str],
    options: Options | None = None,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> EvalReport:
    """Measure with a file of judgements; None for the one of the subject's workspace.

    Raises:
        NotFound: there is no such file, or it judges nothing yet.
        UsageError: the file, a variant or a sweep is wrong.
        MemdeckError: it cannot be read, nothing can be measured, or it was stopped.
    """
    path = Path(file) if file is not None else default_file(environ, subject.workspace)
    judgements = Judgements.load(path)
    if judgements.old is None and file is not None:
        raise NotFound(f"there is no file {path}", hint="`memdeck eval --shipped` measures the shipped set.")
    if not judgements.queries:
        raise NotFound(
            f"nothing is judged yet: {path} {'has no [[query]]' if judgements.old is not None else 'is not there'}",
            hint="Judge rows in the app's ranking lab with + and -, or write the file by hand "
            "(docs/evaluation.md). `memdeck eval --shipped` measures the shipped set.",
        )
    return evaluate(
        subject,
        judgements.queries,
        options,
        source=str(path),
        now=judgements.now,
        progress=progress,
        cancel=cancel,
    )
