"""Search room: why any chunk is, or is not, among the results of a query."""

from __future__ import annotations

import apsw

from core.index.model import ChunkRow
from core.search.candidates import bm25_place
from core.search.engine import SearchContext, search_index
from core.search.query import Query, fts_all
from core.search.report import Hit, SearchReport, WhyReport
from core.search.scoring import CURATED, ScoringParams


def explain(
    connection: apsw.Connection, query: Query, row: ChunkRow, params: ScoringParams, context: SearchContext
) -> WhyReport:
    """Answer for one chunk of the index; ``connection`` is inside a read transaction."""
    report = search_index(connection, query, params, context)
    hit = next((item for item in (*report.hits, *report.dropped) if item.id == row.id), None)
    place, matches, rank = bm25_place(connection, query.keywords, row.rowid)
    present, missing = _words_in(connection, query, row)
    return WhyReport(
        query=query.raw,
        chunk_id=row.id,
        path=row.path,
        start_line=row.start_line + 1,
        end_line=max(row.end_line, row.start_line + 1),
        source=row.source,
        snippet=row.text,
        verdict=_verdict(report, hit, query, row, place, matches, params, context),
        hit=hit,
        place=place,
        matches=matches,
        cut_at=params.candidate_limit,
        bm25=rank,
        present=present,
        missing=missing,
        notes=_notes(report, row),
    )


def _verdict(
    report: SearchReport,
    hit: Hit | None,
    query: Query,
    row: ChunkRow,
    place: int | None,
    matches: int,
    params: ScoringParams,
    context: SearchContext,
) -> str:
    if hit is not None and hit.rank:
        return f"found: result {hit.rank} of {len(report.hits)}, score {hit.score:.2f}"
    if hit is not None:
        return f"a candidate, but not a result: {hit.why}"
    if not query.text:
        return "there is no query to explain"
    if context.profile == "tuned":
        return (
            f"not a candidate: not among the best {context.tuned.pool} by stems, nor near enough by meaning"
        )
    if not query.keywords:
        return "not found: the agent drops every word of this query (stop words, numbers, single letters)"
    if place is None:
        return f"not found: it holds none of the words {', '.join(query.keywords)}"
    if query.filters:
        return "not found: the filters of the query leave it out"
    curated = " of either arm" if row.source in CURATED else ""
    return f"not a candidate: {_ordinal(place)} of {matches} matches by BM25, cut at {params.candidate_limit}{curated}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _words_in(
    connection: apsw.Connection, query: Query, row: ChunkRow
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    present: list[str] = []
    missing: list[str] = []
    for word in query.keywords:
        found = connection.execute(
            "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid = ?", (fts_all([word]), row.rowid)
        ).fetchone()
        (present if found is not None else missing).append(word)
    return tuple(present), tuple(missing)


def _notes(report: SearchReport, row: ChunkRow) -> tuple[str, ...]:
    other = next((item for item in report.also if item.id == row.id), None)
    if other is None:
        return ()
    return (f"memdeck finds it by {other.matched_by}; the agent does not",)
