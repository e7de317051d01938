"""Search room: fetches what a query matches — the agent's candidates, and what its rules miss."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import apsw

from core.index.grams import gram_phrase, script_name
from core.index.model import ChunkRow, whole_number
from core.search.query import Filters, Query, fts_all, fts_any
from core.search.trust import passes_marks

COLUMNS = (
    "c.rowid, c.id, c.path, c.start_line, c.end_line, c.text, c.hash, c.source, c.created_at, c.updated_at,"
    " c.access_count, c.last_accessed"
)
ALSO_LIMIT = 20
_SECONDS_A_DAY = 86_400
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_RELATIVE = (
    "CASE WHEN substr(c.path, 1, length(:under)) = :under"
    " THEN substr(c.path, length(:under) + 1) ELSE c.path END"
)

# One pass over the matches serves both arms: BM25 is computed once for each matching row, and the order of
# equal ranks is the rowid's, as FTS5 itself gives it.
_CANDIDATES = """
WITH m AS MATERIALIZED (SELECT rowid AS r, rank AS b FROM chunks_fts WHERE chunks_fts MATCH :match),
top AS (SELECT r, b FROM m {where} ORDER BY b, r LIMIT :limit),
curated AS (
  SELECT r, b FROM m WHERE r IN (SELECT c.rowid FROM chunks c WHERE {curated}) {narrow} ORDER BY b, r LIMIT :limit
)
SELECT {columns}, t.b, (SELECT count(*) FROM m)
FROM (SELECT r, b FROM top UNION SELECT r, b FROM curated) t JOIN chunks c ON c.rowid = t.r
"""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The agent's candidates with their BM25 ranks, and how many rows matched in all."""

    rows: tuple[tuple[ChunkRow, float], ...]
    matches: int


@dataclass(frozen=True, slots=True)
class AlsoRow:
    """A row the agent's rules miss, and the path that matched."""

    row: ChunkRow
    matched_by: str
    matched: tuple[str, ...]


def row_of(values: Sequence[object]) -> ChunkRow:
    """Make a ``ChunkRow`` of the twelve selected columns."""
    return ChunkRow.of(values)


def fetch_candidates(
    connection: apsw.Connection,
    keywords: Sequence[str],
    limit: int,
    curated_paths: Sequence[str],
    filters: Filters,
    now: float,
) -> Fetched:
    """Return ``limit`` matches by BM25 rank, and as many again from curated sources alone.

    ``curated_paths``: the paths of the index whose rows are global or workspace memory.
    """
    if not keywords or limit <= 0:
        return Fetched((), 0)
    condition, values = filter_sql(filters, now)
    narrow = f"r IN (SELECT c.rowid FROM chunks c WHERE {condition})" if condition else ""
    names = {f"p{number}": path for number, path in enumerate(curated_paths)}
    sql = _CANDIDATES.format(
        columns=COLUMNS,
        where=f"WHERE {narrow}" if narrow else "",
        narrow=f"AND {narrow}" if narrow else "",
        curated=f"c.path IN ({', '.join(':' + name for name in names)})" if names else "0",
    )
    rows: list[tuple[ChunkRow, float]] = []
    matches = 0
    bindings = {"match": fts_any(tuple(keywords)), "limit": limit, **names, **values}
    for found in connection.execute(sql, bindings):
        rows.append((row_of(found), cast("float", found[12])))
        matches = cast("int", found[13])
    rows.sort(key=lambda item: (item[1], item[0].rowid))  # here, since SQL would carry every text through it
    if filters.trust or filters.valid:
        rows = [item for item in rows if passes_marks(item[0].text, filters.trust, filters.valid, now)]
    return Fetched(tuple(rows), matches)


def filter_sql(filters: Filters, now: float) -> tuple[str, dict[str, object]]:
    """Return the SQL condition of the filters that columns can answer, and its bindings."""
    parts: list[str] = []
    values: dict[str, object] = {}
    if filters.sources:
        names = {f"s{number}": source for number, source in enumerate(filters.sources)}
        values.update(names)
        parts.append(f"c.source IN ({', '.join(':' + name for name in names)})")
    for number, path in enumerate(filters.paths):
        values.update({f"path{number}": _lower(path), "under": filters.under})
        parts.append(f"instr(lower({_RELATIVE}), :path{number}) > 0")
    if filters.max_age_days is not None:
        values["youngest"] = now - filters.max_age_days * _SECONDS_A_DAY
        parts.append("c.created_at >= :youngest")
    if filters.min_age_days is not None:
        values["oldest"] = now - filters.min_age_days * _SECONDS_A_DAY
        parts.append("c.created_at < :oldest")
    return " AND ".join(parts), values


def _lower(path: str) -> str:
    """As SQLite's ``lower`` does: letters of ASCII alone."""
    return path.translate(_ASCII_LOWER)


def passes_filters(row: ChunkRow, filters: Filters, now: float) -> bool:
    """The filters for a row that was found by other means than SQL (same rules as ``filter_sql``)."""
    if not filters:
        return True
    age = (now - row.created_at) / _SECONDS_A_DAY
    return (
        (not filters.sources or row.source in filters.sources)
        and all(_lower(path) in _lower(row.path.removeprefix(filters.under)) for path in filters.paths)
        and (filters.max_age_days is None or age <= filters.max_age_days)
        and (filters.min_age_days is None or age > filters.min_age_days)
        and passes_marks(row.text, filters.trust, filters.valid, now)
    )


def reach(limit: int, filters: Filters) -> int:
    """How many rows to ask an arm for that cannot filter by itself, so that ``limit`` are left (a KNN takes 4,096)."""
    return min(8 * limit if filters else limit, 4_096)


def fetch_newest(
    connection: apsw.Connection, limit: int, curated_paths: Sequence[str], filters: Filters, now: float
) -> tuple[ChunkRow, ...]:
    """Return the newest chunks, newest first, without a sort over the table.

    Rowids grow with time, so only the end of the table is read, and the curated files.  A log's chunks are
    as old as ``created_at`` says, a curated file's as its last change.
    """
    condition, values = filter_sql(filters, now)
    where = f"AND {condition}" if condition else ""
    window = {**values, "limit": limit * 2}
    rows = {
        row.rowid: row
        for row in map(
            row_of,
            connection.execute(
                f"SELECT {COLUMNS} FROM chunks c WHERE 1 {where} ORDER BY c.rowid DESC LIMIT :limit", window
            ),
        )
    }
    changed: dict[str, float] = {}
    for path in curated_paths:
        for found in connection.execute(
            f"SELECT {COLUMNS} FROM chunks c WHERE c.path = :path {where} ORDER BY c.rowid DESC LIMIT :limit",
            {**window, "path": path},
        ):
            row = row_of(found)
            rows[row.rowid] = row
        stamp = connection.execute("SELECT mtime_ns FROM memdeck_files WHERE path=?", (path,)).fetchone()
        if stamp is not None:
            changed[path] = whole_number(stamp[0]) / 1e9
    found_rows = list(rows.values())
    if filters.trust or filters.valid:
        found_rows = [row for row in found_rows if passes_marks(row.text, filters.trust, filters.valid, now)]
    found_rows.sort(key=lambda row: (-changed.get(row.path, row.created_at), row.path, row.ordinal))
    return tuple(found_rows[:limit])


def fetch_also(
    connection: apsw.Connection, query: Query, taken: frozenset[int], matches: int, now: float
) -> tuple[AlsoRow, ...]:
    """Return what the agent's rules miss: units as written, inner words of CJK and Thai, all-stop-word queries.

    ``taken``: rowids that are candidates already; ``matches``: how many rows the agent's keywords matched.
    """
    found: dict[int, AlsoRow] = {}
    condition, values = filter_sql(query.filters, now)

    def add(rows: Sequence[ChunkRow], matched_by: str, matched: str, pattern: re.Pattern[str] | None) -> None:
        for row in rows:
            if row.rowid in taken or (pattern is not None and not pattern.search(row.text)):
                continue
            before = found.get(row.rowid)
            if before is None:
                found[row.rowid] = AlsoRow(row, matched_by, (matched,))
            elif matched not in before.matched:
                found[row.rowid] = AlsoRow(row, before.matched_by, (*before.matched, matched))

    for kind, unit in query.units:
        rows = _by_expression(connection, fts_all([unit]), condition, values)
        add(rows, kind, unit, unit_pattern(unit))
    for run in query.unspaced:
        add(
            _by_grams(connection, gram_phrase(run), condition, values),
            f"{script_name(run)} words",
            run,
            re.compile(re.escape(run)),
        )
    if not query.keywords and query.all_words and not query.units:
        rows = _by_expression(connection, fts_all(query.all_words), condition, values)
        add(rows, "all words", " ".join(query.all_words), None)
    if not found and not matches and query.keywords and len(query.keywords[-1]) >= 3:
        # Still typing: the last word may be the beginning of one.
        last = query.keywords[-1]
        rows = _by_expression(connection, fts_any([last]) + "*", condition, values)
        add(rows, "word beginning", last, None)
    items = list(found.values())
    if query.filters.trust or query.filters.valid:
        items = [
            item
            for item in items
            if passes_marks(item.row.text, query.filters.trust, query.filters.valid, now)
        ]
    items.sort(
        key=lambda item: (
            -len(item.matched),
            item.row.source == "session",
            -item.row.created_at,
            item.row.path,
            item.row.ordinal,
        )
    )
    return tuple(items[:ALSO_LIMIT])


def unit_pattern(unit: str) -> re.Pattern[str]:
    """A unit as written, case aside, blanks as any blanks, not inside a longer word."""
    body = r"\s+".join(re.escape(part) for part in unit.split())
    left = r"(?<!\w)" if unit[:1].isalnum() else ""
    right = r"(?!\w)" if unit[-1:].isalnum() else ""
    return re.compile(left + body + right, re.IGNORECASE)


_ALSO_POOL = 200


def _by_expression(
    connection: apsw.Connection, expression: str, condition: str, values: dict[str, object]
) -> list[ChunkRow]:
    where = f"AND {condition}" if condition else ""
    sql = (
        f"SELECT {COLUMNS} FROM (SELECT rowid AS r FROM chunks_fts WHERE chunks_fts MATCH :match"
        f" ORDER BY rowid DESC) m JOIN chunks c ON c.rowid = m.r WHERE 1 {where} LIMIT {_ALSO_POOL}"
    )
    return [row_of(row) for row in connection.execute(sql, {**values, "match": expression})]


def _by_grams(
    connection: apsw.Connection, expression: str, condition: str, values: dict[str, object]
) -> list[ChunkRow]:
    # Joined on rowid and hash: a row the agent rewrote since is not taken for what it was.
    where = f"AND {condition}" if condition else ""
    sql = (
        f"SELECT {COLUMNS} FROM (SELECT rowid AS r FROM memdeck_grams WHERE memdeck_grams MATCH :match"
        " ORDER BY rowid DESC) m JOIN chunks c ON c.rowid = m.r"
        " JOIN memdeck_gram_rows g ON g.rowid = c.rowid AND g.hash = c.hash"
        f" WHERE 1 {where} LIMIT {_ALSO_POOL}"
    )
    return [row_of(row) for row in connection.execute(sql, {**values, "match": expression})]


def bm25_place(
    connection: apsw.Connection, keywords: Sequence[str], rowid: int
) -> tuple[int | None, int, float | None]:
    """Return (1-based BM25 place of a row among all matches, how many match, its rank)."""
    if not keywords:
        return None, 0, None
    expression = fts_any(tuple(keywords))
    row = connection.execute(
        "WITH m AS MATERIALIZED (SELECT rowid AS r, rank AS b FROM chunks_fts WHERE chunks_fts MATCH ?1),"
        " mine AS (SELECT r, b FROM m WHERE r = ?2)"
        " SELECT (SELECT count(*) FROM m), (SELECT b FROM mine),"
        " (SELECT count(*) FROM m, mine WHERE m.b < mine.b OR (m.b = mine.b AND m.r < mine.r))",
        (expression, rowid),
    ).fetchone()
    if row is None or row[1] is None:
        return None, int(str(row[0])) if row else 0, None
    return int(str(row[2])) + 1, int(str(row[0])), float(str(row[1]))
