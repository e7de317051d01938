"""Search room: the arms of each profile — what they fetch, and how it is scored."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from core.index.model import ChunkRow
from core.index.vectors import nearest
from core.search.candidates import COLUMNS, Fetched, fetch_candidates, passes_filters, reach
from core.search.context import SearchContext, Timer
from core.search.query import Query
from core.search.scoring import CURATED, Candidate, Scored, ScoringParams, rank_merged, score_candidates
from core.search.tuned import fetch_near, fetch_stems, gather, scoring_params


@dataclass(frozen=True, slots=True)
class Found:
    """What a profile's arms found, scored: the rows by rowid, and the parameters that were used."""

    params: ScoringParams
    rows: dict[int, ChunkRow]
    scored: list[Scored]
    matches: int
    failure: str


def gather_agent(
    connection: apsw.Connection, query: Query, params: ScoringParams, context: SearchContext, timer: Timer
) -> Found:
    """The agent's arms: BM25 over the keywords, once more among curated sources, and the nearest vectors."""
    if "text" in params.without:
        timer.skip("text", "left out")
        fetched = Fetched((), 0)
    elif query.keywords:
        with timer.stage("text", "BM25 over the keywords, any of them"):
            fetched = fetch_candidates(
                connection,
                query.keywords,
                params.candidate_limit,
                () if "curated" in params.without else context.curated_paths,
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
    return Found(params, rows, scored, fetched.matches, failure)


def gather_tuned(
    connection: apsw.Connection, query: Query, params: ScoringParams, context: SearchContext, timer: Timer
) -> Found:
    """The arms of ``tuned``: stems with identifier parts and character pairs, vectors of chunks and passages."""
    tuned = context.tuned
    params = scoring_params(params, tuned, own_floor=not context.floor_given)
    with timer.stage("stems", "BM25 over stems, headings counted more"):
        stems = fetch_stems(connection, query, tuned, context.now)
    near: _Near = []
    passages: _Near = []
    failure = f"text only: {context.no_vector}" if context.vector_failed else ""
    if context.vector is None:
        timer.skip("vectors", context.no_vector)
    else:
        try:
            with timer.stage("vectors", "the nearest chunks and passages"):
                near, passages = fetch_near(connection, context.vector.blob, query, tuned, context.now)
        except apsw.InterruptError:
            raise
        except apsw.Error as error:
            timer.skip("vectors", f"failed: {error}")
            failure = f"text only: the vectors could not be searched ({error})"
    with timer.stage("score", "weighted mean of the parts × decay × source weight × access × trust"):
        gathered = gather(stems, near, passages, query, tuned, context.now)
        scored = rank_merged(gathered.merged, params, context.now)
    return Found(params, gathered.rows, scored, gathered.matches, failure)


_Near = list[tuple[ChunkRow, float]]


def _neighbours(
    connection: apsw.Connection, query: Query, params: ScoringParams, context: SearchContext, timer: Timer
) -> tuple[_Near, str]:
    """Return the nearest chunks, and what went wrong: any failure leaves the search to text alone."""
    if context.vector is None:
        timer.skip("vectors", context.no_vector)
        return [], f"text only: {context.no_vector}" if context.vector_failed else ""
    try:
        with timer.stage("vectors", f"the {params.candidate_limit} nearest"):
            limit = params.candidate_limit
            near = nearest(
                connection, context.vector.arm, context.vector.blob, reach(limit, query.filters), COLUMNS
            )
    except apsw.InterruptError:
        raise
    except apsw.Error as error:
        timer.skip("vectors", f"failed: {error}")
        return [], f"text only: the vectors could not be searched ({error})"
    return [item for item in near if passes_filters(item[0], query.filters, context.now)][:limit], ""


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
