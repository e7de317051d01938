"""Search room: from a query to a report — candidates, scores, floor, MMR, cut, and what fell out and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import apsw

from core.index.model import ChunkRow
from core.index.vectors import nearest
from core.search.candidates import (
    COLUMNS,
    AlsoRow,
    Fetched,
    fetch_also,
    fetch_candidates,
    fetch_newest,
    passes_filters,
)
from core.search.heading import heading_of
from core.search.mmr import mmr_order
from core.search.query import Query
from core.search.report import Also, Factors, Hit, SearchReport, Stage
from core.search.scoring import CURATED, Candidate, Scored, ScoringParams, score_candidates
from core.staleness import staleness

NEWEST_LIMIT = 50


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """The embedded query (float32, little-endian) and whose vectors it is compared with."""

    arm: Literal["agent", "ours"]
    blob: bytes


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What a search needs besides the query: whose index it is, and how its paths are told apart.

    ``vector`` is the embedded query, if there is one; else ``no_vector`` says why, and ``vector_failed``
    that embedding was tried and failed.
    """

    workspace: str
    curated_paths: tuple[str, ...]
    now: float
    profile: str = "agent"
    is_foreign: Callable[[str], bool] = field(default=lambda path: False)
    notes: tuple[str, ...] = ()
    vector: VectorQuery | None = None
    no_vector: str = "no embedding provider is configured"
    vector_failed: bool = False


class _Timer:
    def __init__(self) -> None:
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str, why: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.stages.append(Stage(name, True, why, _milliseconds(started)))

    def skip(self, name: str, why: str) -> None:
        self.stages.append(Stage(name, False, why))


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def search_index(
    connection: apsw.Connection, query: Query, params: ScoringParams, context: SearchContext
) -> SearchReport:
    """Search one index with the agent's rules, and list apart what those miss.

    ``connection`` is inside a read transaction.  The same scored candidates give hits, dropped, factors and
    reasons.
    """
    timer = _Timer()
    if not query.text and context.vector is None:
        return _newest(connection, query, context, timer)
    with timer.stage("keywords", _keywords_note(query)):
        keywords = query.keywords
    if keywords:
        with timer.stage("text", "BM25 over the keywords, any of them"):
            fetched = fetch_candidates(
                connection,
                keywords,
                params.candidate_limit,
                context.curated_paths,
                query.filters,
                context.now,
            )
    else:
        timer.skip("text", "no keyword is left of the query")
        fetched = Fetched((), 0)
    near, failure = _neighbours(connection, query, params, context, timer)
    with timer.stage("score", "merge × decay × source weight × access"):
        rows = {row.rowid: row for row, _ in (*fetched.rows, *near)}
        scored = score_candidates(_candidates(fetched, near), params, context.now)
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
    with timer.stage("also", "units as written, CJK and Thai inner words, queries of stop words"):
        also = fetch_also(connection, query, frozenset(rows), fetched.matches, context.now)
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
    return report if hits else replace(report, empty_reason=_empty_reason(connection, query, report, fetched))


_Near = list[tuple[ChunkRow, float]]


def _neighbours(
    connection: apsw.Connection, query: Query, params: ScoringParams, context: SearchContext, timer: _Timer
) -> tuple[_Near, str]:
    """Return the nearest chunks, and what went wrong: any failure leaves the search to text alone."""
    if context.vector is None:
        timer.skip("vectors", context.no_vector)
        return [], f"text only: {context.no_vector}" if context.vector_failed else ""
    try:
        with timer.stage("vectors", f"the {params.candidate_limit} nearest"):
            near = nearest(
                connection, context.vector.arm, context.vector.blob, params.candidate_limit, COLUMNS
            )
    except apsw.InterruptError:
        raise
    except apsw.Error as error:
        timer.skip("vectors", f"failed: {error}")
        return [], f"text only: the vectors could not be searched ({error})"
    return [item for item in near if passes_filters(item[0], query.filters, context.now)], ""


def _candidates(fetched: Fetched, near: _Near) -> list[Candidate]:
    ranks = {row.rowid: rank for row, rank in fetched.rows}
    distances = {row.rowid: distance for row, distance in near}
    rows = {row.rowid: row for row, _ in (*fetched.rows, *near)}
    # Equal scores are ordered here, once: curated first, then path, then ordinal.
    ordered = sorted(rows.values(), key=lambda row: (row.source not in CURATED, row.path, row.ordinal))
    return [
        Candidate(
            key=row.rowid,
            text=row.text,
            source=row.source,
            created_at=row.created_at,
            access_count=row.access_count,
            bm25=ranks.get(row.rowid),
            distance=distances.get(row.rowid),
        )
        for row in ordered
    ]


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
    losses = {
        "text": factors.merged if factors.text is None else factors.text,
        "decay": factors.decay,
        "source weight": factors.source_weight,
    }
    name, value = min(losses.items(), key=lambda item: item[1])
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


def _newest(connection: apsw.Connection, query: Query, context: SearchContext, timer: _Timer) -> SearchReport:
    with timer.stage("newest", "no query: the newest chunks"):
        rows = fetch_newest(connection, NEWEST_LIMIT, context.curated_paths, query.filters, context.now)
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


def _empty_reason(connection: apsw.Connection, query: Query, report: SearchReport, fetched: Fetched) -> str:
    if connection.execute("SELECT 1 FROM chunks LIMIT 1").fetchone() is None:
        return "nothing indexed"
    if not query.keywords:
        return "only stop words"
    if not report.dropped:
        return "no match"
    if all(hit.reason == "content_free" for hit in report.dropped):
        return "only headings and templates"
    return "all below the floor"
