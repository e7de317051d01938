"""Evaluation set room: judged queries over a made-up but realistic memory, to measure whether ranking is right."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Literal, cast, get_args

from core.errors import MemdeckError

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
Half = Literal["tuning", "held-out"]
CLASSES: tuple[QueryClass, ...] = get_args(QueryClass)
HALVES: tuple[Half, ...] = get_args(Half)

FOLDER = Path(__file__).parent
"""Holds ``memory/`` (a memory root) and ``queries.toml``."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_REQUIRED = frozenset({"id", "class", "half", "text", "find"})
_OPTIONAL = frozenset({"avoid", "as_of", "note"})


@dataclass(frozen=True, slots=True)
class Target:
    """The chunk of ``path`` (relative to the memory root) that holds the phrase ``text``; ``grade`` 1 to 3."""

    path: str
    text: str
    grade: int = 1


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """One query with what it must find and what it must not; ``as_of`` is an ISO day, None for the set's now."""

    id: str
    cls: QueryClass
    half: Half
    text: str
    find: tuple[Target, ...]
    avoid: tuple[Target, ...] = ()
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class EvalSet:
    """All queries; ``now`` is the moment they are asked (unix seconds), ``workspace`` the folder they look in."""

    now: float
    workspace: str
    queries: tuple[JudgedQuery, ...]

    def asked_at(self, query: JudgedQuery) -> float:
        """Unix seconds at which a query is asked: 12:00 UTC of its ``as_of``, else ``now``."""
        return self.now if query.as_of is None else _noon(query.as_of)


def load() -> EvalSet:
    """Read the shipped set.

    Raises:
        MemdeckError: ``queries.toml`` or the memory beside it is missing or damaged; the query's id is named.
    """
    path = FOLDER / "queries.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        folders = [entry.name for entry in (FOLDER / "memory").iterdir() if entry.is_dir()]
    except (OSError, ValueError) as error:
        raise _damaged(f"the evaluation set cannot be read: {error}") from error
    now, entries = table.get("now"), table.get("query")
    if not isinstance(now, int | float) or not isinstance(entries, list) or len(folders) != 1:
        raise _damaged(f"{path} needs now, [[query]] tables and a memory of one workspace beside it")
    queries: dict[str, JudgedQuery] = {}
    for number, entry in enumerate(entries, 1):
        query = _query(entry, f"number {number}")
        if query.id in queries:
            raise _damaged(f"query {query.id} stands twice in {path}")
        queries[query.id] = query
    return EvalSet(float(now), folders[0], tuple(queries.values()))


def copy_to(target: Path) -> None:
    """Copy the memory root to ``target``, a folder that does not exist yet, with fitting modification times.

    A log is as old as the day in its name (12:00 UTC), a curated file as the newest log.

    Raises:
        MemdeckError: ``target`` exists or cannot be written.
    """
    try:
        shutil.copytree(FOLDER / "memory", target, ignore=shutil.ignore_patterns("*.sqlite*", ".*"))
        days = {path: _DAY.match(path.name) for path in target.rglob("*.md")}
        newest = max(_noon(day.group()) for day in days.values() if day)
        for path, day in days.items():
            moment = _noon(day.group()) if day else newest
            os.utime(path, (moment, moment))
    except OSError as error:
        raise MemdeckError(
            f"the evaluation memory cannot be copied to {target}: {error}",
            hint="Name a folder that does not exist yet, on a disk with some free space.",
        ) from error


def _query(entry: object, name: str) -> JudgedQuery:
    if not isinstance(entry, dict):
        raise _damaged(f"query {name} is not a table")
    name = entry["id"] if isinstance(entry.get("id"), str) else name
    if not _REQUIRED <= entry.keys() <= _REQUIRED | _OPTIONAL:
        odd = sorted((_REQUIRED - entry.keys()) | (entry.keys() - _REQUIRED - _OPTIONAL))
        raise _damaged(f"query {name}: missing or unknown key {', '.join(odd)}")
    for key, allowed in (("class", CLASSES), ("half", HALVES)):
        if entry[key] not in allowed:
            raise _damaged(f"query {name}: {key} is {entry[key]!r}, not one of {', '.join(allowed)}")
    texts = ("id", "text", "as_of", "note")
    if any(not isinstance(entry.get(key, "x"), str) or not entry.get(key, "x") for key in texts):
        raise _damaged(f"query {name}: {', '.join(texts)} must be texts that are not empty")
    as_of = entry.get("as_of")
    if as_of is not None and not _is_day(as_of):
        raise _damaged(f"query {name}: as_of is {as_of!r}, not a day like 2026-06-28")
    find = _targets(entry["find"], name, "find")
    if not find:
        raise _damaged(f"query {name}: find names nothing")
    return JudgedQuery(
        id=name,
        cls=cast("QueryClass", entry["class"]),
        half=cast("Half", entry["half"]),
        text=entry["text"],
        find=find,
        avoid=_targets(entry.get("avoid", []), name, "avoid"),
        as_of=as_of,
    )


def _targets(entries: object, name: str, key: str) -> tuple[Target, ...]:
    if not isinstance(entries, list):
        raise _damaged(f"query {name}: {key} is not a list")
    return tuple(_target(entry, name, key) for entry in entries)


def _target(entry: object, name: str, key: str) -> Target:
    if isinstance(entry, Mapping) and {"path", "text"} <= entry.keys() <= {"path", "text", "grade"}:
        path, text, grade = entry["path"], entry["text"], entry.get("grade", 1)
        if isinstance(path, str) and isinstance(text, str) and path and text and grade in (1, 2, 3):
            return Target(path, text, int(grade))
    raise _damaged(f"query {name}: each entry of {key} needs path and text, and grade 1, 2 or 3 if any")


def _is_day(text: str) -> bool:
    try:
        return _DAY.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _noon(day: str) -> float:
    return datetime.combine(date.fromisoformat(day), time(12), UTC).timestamp()


def _damaged(message: str) -> MemdeckError:
    return MemdeckError(
        message,
        hint="Install memdeck again, or restore core/evalset.",
        data="Your own memory is not concerned.",
    )
