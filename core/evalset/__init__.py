"""Evaluation set room: judged queries over a made-up but realistic memory, to measure whether ranking is right."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from core.errors import MemdeckError, UsageError
from core.evaluation.judged import HALVES, Half, JudgedQuery, Target, noon, parse

__all__ = [
    "CLASSES",
    "FOLDER",
    "HALVES",
    "EvalSet",
    "Half",
    "JudgedQuery",
    "QueryClass",
    "Target",
    "copy_to",
    "load",
]

QueryClass = Literal[
    "keyword", "paraphrase", "identifier", "error", "question", "cjk", "multi", "time", "correction"
]
CLASSES: tuple[QueryClass, ...] = get_args(QueryClass)

FOLDER = Path(__file__).parent
"""Holds ``memory/`` (a memory root) and ``queries.toml``."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_REQUIRED = frozenset({"id", "class", "half", "text", "find"})


@dataclass(frozen=True, slots=True)
class EvalSet:
    """All queries; ``now`` is the moment they are asked (unix seconds), ``workspace`` the folder they look in."""

    now: float
    workspace: str
    queries: tuple[JudgedQuery, ...]

    def asked_at(self, query: JudgedQuery) -> float:
        """Unix seconds at which a query is asked: 12:00 UTC of its ``as_of``, else ``now``."""
        return query.asked_at(self.now)


def load() -> EvalSet:
    """Read the shipped set.

    Raises:
        MemdeckError: ``queries.toml`` or the memory beside it is missing or damaged; the query's id is named.
    """
    path = FOLDER / "queries.toml"
    try:
        text = path.read_text(encoding="utf-8")
        folders = [entry.name for entry in (FOLDER / "memory").iterdir() if entry.is_dir()]
        tables = tomllib.loads(text).get("query", ())
        now, queries = parse(text, "the evaluation set")
    except (OSError, ValueError) as error:
        raise _damaged(f"the evaluation set cannot be read: {error}") from error
    except UsageError as error:
        raise _damaged(str(error)) from error
    if now is None or not queries or len(folders) != 1:
        raise _damaged(f"{path} needs now, [[query]] tables and a memory of one workspace beside it")
    for number, (query, keys) in enumerate(zip(queries, (table.keys() for table in tables), strict=True), 1):
        name = query.id if "id" in keys else f"number {number}"
        if not keys >= _REQUIRED:
            raise _damaged(f"query {name}: missing key {', '.join(sorted(_REQUIRED - keys))}")
        if query.cls not in CLASSES or not query.find:
            raise _damaged(f"query {name}: class is not one of {', '.join(CLASSES)}, or find names nothing")
    return EvalSet(now, folders[0], queries)


def copy_to(target: Path) -> None:
    """Copy the memory root to ``target``, a folder that does not exist yet, with fitting modification times.

    A log is as old as the day in its name (12:00 UTC), a curated file as the newest log.

    Raises:
        MemdeckError: ``target`` exists or cannot be written.
    """
    try:
        shutil.copytree(FOLDER / "memory", target, ignore=shutil.ignore_patterns("*.sqlite*", ".*"))
        days = {path: _DAY.match(path.name) for path in target.rglob("*.md")}
        newest = max(noon(day.group()) for day in days.values() if day)
        for path, day in days.items():
            moment = noon(day.group()) if day else newest
            os.utime(path, (moment, moment))
    except OSError as error:
        raise MemdeckError(
            f"the evaluation memory cannot be copied to {target}: {error}",
            hint="Name a folder that does not exist yet, on a disk with some free space.",
        ) from error


def _damaged(message: str) -> MemdeckError:
    return MemdeckError(
        message,
        hint="Install memdeck again, or restore core/evalset.",
        data="Your own memory is not concerned.",
    )
