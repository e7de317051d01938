"""Evaluation room: judged queries, and reading them from TOML that a person wrote (pure)."""

from __future__ import annotations

import difflib
import tomllib
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Literal, cast

from core.clock import FIRST_SECOND, LAST_SECOND
from core.errors import UsageError

Half = Literal["tuning", "held-out"]
Scope = Literal["agent", "everywhere", "global", "workspace", "session"]

HALVES: tuple[Half, ...] = ("tuning", "held-out")
SCOPES: tuple[Scope, ...] = ("agent", "everywhere", "global", "workspace", "session")
HINT = "docs/evaluation.md shows how a file of judgements is written."
_TOP = ("now", "query")
_QUERY = ("text", "find", "avoid", "scope", "as_of", "id", "class", "half", "note")
_TARGET = ("path", "text", "id", "grade")


@dataclass(frozen=True, slots=True)
class Target:
    """A chunk, as a judgement names it: the one of ``path`` that holds the phrase ``text``.

    ``path`` is absolute, else relative to the workspace, else to the root.  Without a phrase it is the chunk
    number ``ordinal`` of the file, which moves when the file is edited.  ``grade`` is 1 to 3.
    """

    path: str
    text: str
    grade: int = 1
    ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """One query with what it must find and what it must not.

    ``as_of`` is an ISO day (the query is asked at 12:00 UTC of it, and what is newer is hidden), None for now;
    ``scope``: what the agent sees, every workspace, or one source alone; ``cls`` groups queries in a report.
    """

    id: str
    cls: str
    half: Half
    text: str
    find: tuple[Target, ...]
    avoid: tuple[Target, ...] = ()
    as_of: str | None = None
    scope: Scope = "agent"

    def asked_at(self, now: float) -> float:
        """Unix seconds at which it is asked."""
        return now if self.as_of is None else noon(self.as_of)


def noon(day: str) -> float:
    """12:00 UTC of an ISO day, in unix seconds."""
    return datetime.combine(date.fromisoformat(day), time(12), UTC).timestamp()


def parse(text: str, name: str) -> tuple[float | None, tuple[JudgedQuery, ...]]:
    """Read a file of judgements; ``name`` is what its errors call it.  Returns (its ``now`` if any, queries).

    Raises:
        UsageError: it is not TOML, or a query is wrong: file, query and key are named.
    """
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not valid TOML: {str(error)[:200]}", hint=HINT) from None
    _known(table, _TOP, name)
    entries = table.get("query", [])
    if not isinstance(entries, list):
        raise _wrong(name, "query is not a list of [[query]] tables")
    queries: dict[str, JudgedQuery] = {}
    for number, entry in enumerate(entries, 1):
        query = _query(entry, number, name)
        if query.id in queries:
            raise _wrong(name, f"query {query.id} stands twice: id must be its own")
        queries[query.id] = query
    return _moment(table.get("now"), name), tuple(queries.values())


def _moment(value: object, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not FIRST_SECOND <= value <= LAST_SECOND:  # also false for what is no number
            raise _wrong(name, "now must be unix seconds of the years 1 to 9999, a day or a time")
        return float(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    day = _day(value)
    if day is None:
        raise _wrong(name, "now must be unix seconds, a day or a time")
    return noon(day)


def _query(entry: object, number: int, name: str) -> JudgedQuery:
    where = f"{name}: query number {number}"
    if not isinstance(entry, Mapping):
        raise _wrong(where, "is not a table")
    own = entry.get("id")
    if isinstance(own, str) and own:
        where = f"{name}: query {own}"
    _known(entry, _QUERY, where)
    text = _text(entry, "text", where)
    if text is None:
        raise _wrong(where, "text is missing: what is asked")
    day = None if "as_of" not in entry else _day(entry["as_of"])
    if "as_of" in entry and day is None:
        raise _wrong(where, f"as_of is {entry['as_of']!r}, not a day like 2026-06-28")
    _text(entry, "note", where)
    find, avoid = _targets(entry, "find", where), _targets(entry, "avoid", where)
    if not find and not avoid:
        raise _wrong(where, "find and avoid are both empty, so there is nothing to measure")
    half = _one_of(entry, "half", HALVES, where)
    return JudgedQuery(
        id=_text(entry, "id", where) or f"#{number}",
        cls=_text(entry, "class", where) or "other",
        # Not by its place: adding or removing one query must not move the others to the other half.
        half=cast("Half", half or HALVES[zlib.crc32(text.encode()) % 2]),
        text=text,
        find=find,
        avoid=avoid,
        as_of=day,
        scope=cast("Scope", _one_of(entry, "scope", SCOPES, where) or "agent"),
    )


def _text(entry: Mapping[str, Any], key: str, where: str) -> str | None:
    value = entry.get(key)
    if key in entry and (not isinstance(value, str) or not value.strip()):
        raise _wrong(where, f"{key} must be a text that is not empty")
    return value


def _one_of(entry: Mapping[str, Any], key: str, allowed: tuple[str, ...], where: str) -> str | None:
    value = entry.get(key)
    if key in entry and value not in allowed:
        raise _wrong(where, f"{key} is {value!r}, not one of {', '.join(allowed)}")
    return value


def _targets(entry: Mapping[str, Any], key: str, where: str) -> tuple[Target, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise _wrong(where, f'{key} must be a list of tables such as {{ path = "…", text = "…" }}')
    return tuple(_target(item, f"{where}: {key}") for item in value)


def _target(item: object, where: str) -> Target:
    if not isinstance(item, Mapping):
        raise _wrong(where, 'each entry is a table such as { path = "…", text = "…" }')
    _known(item, _TARGET, where)
    path, phrase, own = (_text(item, key, where) for key in ("path", "text", "id"))
    grade = item.get("grade", 1)
    if isinstance(grade, bool) or grade not in (1, 2, 3):
        raise _wrong(where, f"grade is {grade!r}, not 1, 2 or 3")
    if own is not None and path is None and phrase is None:
        path, mark, number = own.rpartition("#" if "#" in own else ":")
        if not mark or not path or not (number.isascii() and number.isdecimal()) or len(number) > 9:
            raise _wrong(where, f"id is {own!r}, not a chunk such as MEMORY.md#3")
        return Target(path, "", int(grade), int(number))
    if path is None or phrase is None or own is not None:
        raise _wrong(where, "each entry needs path and text, or id alone")
    return Target(path, phrase, int(grade))


def _day(value: object) -> str | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        ok = isinstance(value, str) and len(value) == 10 and bool(date.fromisoformat(value))
    except ValueError:
        return None
    return cast("str", value) if ok else None


def _known(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise _wrong(where, f"{key} is not a key; {meant}")


def _wrong(where: str, what: str) -> UsageError:
    return UsageError(f"{where}: {what}", hint=HINT, data="Nothing was measured and nothing was written.")
