"""Search room: from a query to a report — candidates, scores, floor, MMR, cut, and what fell out and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import apsw

from core.index.headings import heading_of
from core.index.model import ChunkRow
from core.search.arms import gather_agent, gather_tuned
from core.search.candidates import AlsoRow, fetch_also, fetch_newest
from core.search.context import SearchContext, Timer, VectorQuery
from core.search.mmr import mmr_order
from core.search.query import Query
from core.search.report import Also, Factors, Hit, SearchReport
from core.search.scoring import CURATED, Scored, ScoringParams
from core.staleness import staleness

__all__ = ["SearchContext", "VectorQuery", "search_index"]

NEWEST_LIMIT = 50


def search_index(
    connection: apsw.Connection, query: Query, params: ScoringParams, context: SearchContext
) -> SearchReport:
    """Search one index with the agent's rules, and list apart what those miss.

    ``connection`` is inside a read transaction.  The same scored candidates give hits, dropped, factors and
    reasons.
    """
    timer = Timer()
    if not query.text and context.vector is None:
        return _newest(
            connection, query, context, timer, limit=params.max_results if context.limit_given else None
        )
    with timer.stage("keywords", _keywords_note(query)):
        keywords = query.keywords
    if context.profile == "tuned":
        found = gather_tuned(connection, query, params, context, timer)
    else:
        found = gather_agent(connection, query, params, context, timer)
    params, rows, scored, failure = found.params, found.rows, found.scored, found.failure
    if params.half_life_days is None:
        timer.skip("decay", "temporal decay is off")
    kept, content_free, below = _sieve(scored, params)
    if params.mmr_enabled:
        with timer.stage("mmr", f"λ {params.mmr_lambda:g}"):
            kept = _rerank(kept, params, rows)
    else:
        timer.skip("mmr", "search.mmr.enabled is false")
    hits = [
        _hit(item, rows[item.candidate.key], query, context, rank=rank)
        for rank, item in enumerate(kept[: params.max_results], 1)
    ]
    dropped = [
        *(
            _hit(item, rows[item.candidate.key], query, context, reason="cut", params=params, place=place)
            for place, item in enumerate(kept[params.max_results :], params.max_results + 1)
        ),
        *(
            _hit(item, rows[item.candidate.key], query, context, reason="below_floor", params=params)
            for item in below
        ),
        *(
            _hit(item, rows[item.candidate.key], query, context, reason="content_free", params=params)
            for item in content_free
        ),
    ]
    also: tuple[AlsoRow, ...] = ()
    if context.profile == "tuned":
        timer.skip("also", "in this profile they compete")
    else:
        with timer.stage("also", "units as written, CJK and Thai inner words, queries of stop words"):
            also = fetch_also(connection, query, frozenset(rows), found.matches, context.now)
    report = SearchReport(
        query=query.raw,
        profile=context.profile,
        mode="text after an embedding failure"
        if failure
        else ("text+vectors" if context.vector else "text only"),
        workspace=context.workspace,
        hits=tuple(hits),
        dropped=tuple(dropped),
        also=tuple(_also(item, context) for item in also),
        stages=tuple(timer.stages),
        notes=(*context.notes, *query.warnings, *_filter_note(query), *([failure] if failure else [])),
        keywords=tuple(keywords),
    )
    return report if hits else replace(report, empty_reason=_empty_reason(connection, query, report))


def _sieve(
    scored: Sequence[Scored], params: ScoringParams
) -> tuple[list[Scored], list[Scored], list[Scored]]:
    kept: list[Scored] = []
    content_free: list[Scored] = []
    below: list[Scored] = []
    for item in scored:
        if item.content_free:
            content_free.append(item)
        elif item.factors.score >= params.floor:
            kept.append(item)
        else:
            below.append(item)
    return kept, content_free, below


def _rerank(kept: list[Scored], params: ScoringParams, rows: dict[int, ChunkRow]) -> list[Scored]:
    picks = mmr_order(
        [item.candidate.text for item in kept], [item.factors.raw for item in kept], params.mmr_lambda
    )
    out: list[Scored] = []
    for pick in picks:
        item = kept[pick.index]
        against = rows[kept[pick.against].candidate.key].id if pick.against is not None else None
        out.append(replace(item, factors=replace(item.factors, mmr=pick.value, mmr_against=against)))
    return out


def _hit(
    item: Scored,
    row: ChunkRow,
    query: Query,
    context: SearchContext,
    *,
    rank: int = 0,
    reason: str | None = None,
    params: ScoringParams | None = None,
    place: int = 0,
) -> Hit:
    level, age = staleness(row.source, row.created_at, context.now)
    stage, why = _why(reason, item.factors, row, params, place)
    return Hit(
        rank=rank,
        id=row.id,
        path=row.path,
        start_line=row.start_line + 1,
        end_line=max(row.end_line, row.start_line + 1),
        source=row.source,
        heading=heading_of(row.text),
        snippet=row.text,
        created_at=row.created_at,
        access_count=row.access_count,
        factors=item.factors,
        matched=matched_words(row.text, query.keywords),
        reason=reason,  # type: ignore[arg-type]
        stage=stage,
        why=why,
        workspace=context.workspace,
        foreign=context.is_foreign(row.path),
        staleness=level,
        age=age,
    )


def _why(
    reason: str | None, factors: Factors, row: ChunkRow, params: ScoringParams | None, place: int
) -> tuple[str, str]:
    if reason == "content_free":
        if row.source in CURATED and "<!--" not in row.text and len(row.text) < 500:
            return "content", "holds the agent's template text, so the agent treats it as empty"
        return "content", "only headings, blanks and comments, or the agent's template"
    if reason == "below_floor":
        return (
            "floor",
            f"score {factors.score:.2f} is below the floor {factors.floor:.2f}; {sunk_by(factors)}",
        )
    if reason == "cut" and params is not None:
        return "cut", f"place {place}, after the {params.max_results} results that are shown"
    return "", ""


def sunk_by(factors: Factors) -> str:
    """Name the factor that took most of a score."""
    name, value = "text", factors.merged if factors.text is None else factors.text
    if factors.decay < value:
        name, value = "decay", factors.decay
    if factors.source_weight < value:
        name, value = "source weight", factors.source_weight
    if name == "text":
        return f"text match {value:.2f} of the best"
    if name == "decay":
        return f"decay × {value:.2f} at {factors.age_days:.0f} days"
    return f"source weight × {value:.2f}"


def matched_words(text: str, keywords: Sequence[str]) -> tuple[str, ...]:
    """The keywords that stand in a text (case aside), for marking; FTS5 itself decides what matches."""
    lowered = text.lower()
    return tuple(word for word in keywords if word in lowered)


def _also(item: AlsoRow, context: SearchContext) -> Also:
    row = item.row
    return Also(
        id=row.id,
        path=row.path,
        start_line=row.start_line + 1,
        end_line=max(row.end_line, row.start_line + 1),
        source=row.source,
        heading=heading_of(row.text),
        snippet=row.text,
        created_at=row.created_at,
        access_count=row.access_count,
        matched_by=item.matched_by,
        matched=item.matched,
        workspace=context.workspace,
    )


def _newest(
    connection: apsw.Connection, query: Query, context: SearchContext, timer: Timer, *, limit: int | None
) -> SearchReport:
    with timer.stage("newest", "no query: the newest chunks"):
        most = NEWEST_LIMIT if limit is None else max(limit, NEWEST_LIMIT)
        rows = fetch_newest(connection, most, context.curated_paths, query.filters, context.now)[:limit]
    # The agent finds nothing for an empty query, so these are no hits.
    also = tuple(_also(AlsoRow(row, "newest", ()), context) for row in rows)
    return SearchReport(
        query=query.raw,
        profile=context.profile,
        mode="newest",
        workspace=context.workspace,
        also=also,
        stages=tuple(timer.stages),
        notes=(*context.notes, *query.warnings),
        empty_reason="" if also else "nothing indexed",
    )


def _keywords_note(query: Query) -> str:
    return (
        ", ".join(query.keywords) if query.keywords else "none left: stop words, numbers and single letters"
    )


def _filter_note(query: Query) -> tuple[str, ...]:
    return ("filtered: your agent searches without filters",) if query.filters else ()


def _empty_reason(connection: apsw.Connection, query: Query, report: SearchReport) -> str:
    if connection.execute("SELECT 1 FROM chunks LIMIT 1").fetchone() is None:
        return "nothing indexed"
    if not report.dropped:
        return "no match" if query.keywords else "only stop words"
    if all(hit.reason == "content_free" for hit in report.dropped):
        return "only headings and templates"
    return "all below the floor"
