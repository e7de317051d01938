"""Search room: the profile ``tuned`` — stems, identifier parts, character pairs, headings, passages, trust marks.

What is in it measured better than without on the tuning half of the shipped evaluation set; what did not was left
out (``memdeck eval --shipped --ablate`` shows each part's share, docs/evaluation.md what else was tried).
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import apsw

from core.index.grams import UNSPACED_RUN, gram_phrase
from core.index.model import ChunkRow
from core.index.stems import identifier_parts
from core.index.vectors import nearest, nearest_passages
from core.rust_text import lower, words
from core.search.candidates import COLUMNS, passes_filters, reach, row_of, unit_pattern
from core.search.query import STOP_WORDS, Query
from core.search.scoring import CURATED, Candidate, Merged, ScoringParams
from core.search.trust import marks_of

NEAR_PAIRS = 16
"""Pairs of neighbouring words that are looked for: what a person types, not all of a pasted text."""


@dataclass(frozen=True, slots=True)
class TunedParams:
    """Weights of the parts (they are normalised by their sum), pool size, and multipliers of trust marks.

    ``near``: neighbouring words of the query count once more where at most so many words stand between them; 0
    is off.  Ages: half-life in days, and what age alone cannot push a score below.  ``plain`` searches words as they are
    written in the agent's own full-text index, and ``identifiers`` and ``pairs`` leave out parts of camelCase and
    pairs of characters: these three are there to measure what stems, parts and pairs are worth.
    """

    text: float = 1.5
    vector: float = 0.5
    passage: float = 1.5
    units: float = 0.5
    heading: float = 5.0
    near: int = 4
    pool: int = 60
    half_life_days: float | None = 90.0
    decay_floor: float = 0.8
    superseded: float = 0.1
    disputed: float = 0.5
    floor: float = 0.35
    plain: bool = False
    identifiers: bool = True
    pairs: bool = True


@dataclass(frozen=True, slots=True)
class Gathered:
    """The rows found by any arm, merged, and how many arms could run."""

    rows: dict[int, ChunkRow]
    merged: tuple[Merged, ...]
    matches: int


def scoring_params(params: ScoringParams, tuned: TunedParams, *, own_floor: bool) -> ScoringParams:
    """The common scoring with this profile's ageing; ``own_floor``: its floor too, since its scale differs."""
    half_life = None if params.half_life_days is None else tuned.half_life_days
    changed = replace(params, half_life_days=half_life, decay_floor=tuned.decay_floor)
    return replace(changed, min_score=tuned.floor) if own_floor else changed


def plain_expression(query: Query) -> str:
    """The FTS5 expression of every word but stop words, or of all when there are no others."""
    plain = [word for word in query.all_words if word not in STOP_WORDS] or query.all_words
    return " OR ".join(f'"{word}"' for word in plain)


def near_expressions(query: Query, distance: int) -> list[str]:
    """FTS5 expressions of neighbouring words of a query, stop words aside, that stand close together."""
    said = [word for word in words(lower(query.text)) if word not in STOP_WORDS][: NEAR_PAIRS + 1]
    pairs = dict.fromkeys((left, right) for left, right in itertools.pairwise(said) if left != right)
    return [f'NEAR("{left}" "{right}", {distance})' for left, right in pairs]


def stem_expression(query: Query, tuned: TunedParams) -> str:
    """The FTS5 expression over stems: the words, parts of identifiers, pairs of characters."""
    text = query.text
    plain = plain_expression(query)
    if tuned.near:
        plain = " OR ".join((plain, *near_expressions(query, tuned.near)))
    terms = [plain] if plain else []
    if tuned.identifiers:
        terms += [f'"{part.lower()}"' for part in identifier_parts(text)]
    elif terms:
        terms = [f"{{heading body}} : ({plain})"]
    for run in UNSPACED_RUN.findall(text) if tuned.pairs else ():
        terms.append(gram_phrase(run))
        terms += [gram_phrase(run[start : start + 2]) for start in range(len(run) - 1)]
    return " OR ".join(dict.fromkeys(terms))


_STEMS = (
    f"SELECT {COLUMNS}, m.b FROM (SELECT rowid AS r, bm25(memdeck_stems, :heading, 1.0, 1.0) AS b"
    " FROM memdeck_stems WHERE memdeck_stems MATCH :match ORDER BY b, rowid LIMIT :limit) m"
    " JOIN chunks c ON c.rowid = m.r JOIN memdeck_stem_rows s ON s.rowid = c.rowid AND s.hash = c.hash"
    " ORDER BY m.b, c.rowid"
)
_PLAIN = (
    f"SELECT {COLUMNS}, m.b FROM (SELECT rowid AS r, rank AS b FROM chunks_fts WHERE chunks_fts MATCH :match"
    " ORDER BY b, rowid LIMIT :limit) m JOIN chunks c ON c.rowid = m.r ORDER BY m.b, c.rowid"
)


def fetch_stems(
    connection: apsw.Connection, query: Query, tuned: TunedParams, now: float
) -> list[tuple[ChunkRow, float]]:
    """Return the best matches over stems by weighted BM25; rows rewritten since are left out."""
    expression = plain_expression(query) if tuned.plain else stem_expression(query, tuned)
    if not expression:
        return []
    found = connection.execute(
        _PLAIN if tuned.plain else _STEMS,
        {"heading": tuned.heading, "match": expression, "limit": reach(tuned.pool, query.filters)},
    )
    return _passing(((row_of(row), float(str(row[12]))) for row in found), query, tuned.pool, now)


def _passing(
    found: Iterable[tuple[ChunkRow, float]], query: Query, limit: int, now: float
) -> list[tuple[ChunkRow, float]]:
    return [item for item in found if passes_filters(item[0], query.filters, now)][:limit]


def gather(
    stems: Sequence[tuple[ChunkRow, float]],
    near: Sequence[tuple[ChunkRow, float]],
    passages: Sequence[tuple[ChunkRow, float]],
    query: Query,
    tuned: TunedParams,
    now: float,
) -> Gathered:
    """Merge the arms (pure): each part scaled to 0..1 over its own list, then a weighted mean.

    ``stems``: BM25 ranks, lower is better; ``near`` and ``passages``: L2 distances of unit vectors.
    """
    rows = {row.rowid: row for row, _ in (*stems, *near, *passages)}
    ranks = {row.rowid: rank for row, rank in stems}
    text = _by_best(ranks)
    whole, best = _cosines(near), _cosines(passages)
    if best:  # a chunk of one passage has no vectors of passages: its own stands for them
        best = {**best, **{key: max(cosine, best.get(key, cosine)) for key, cosine in whole.items()}}
    vector, passage = _by_spread(whole), _by_spread(best)
    weights = tuned.text + (tuned.vector if near else 0.0) + (tuned.passage if passages else 0.0)
    patterns = [unit_pattern(unit) for kind, unit in query.units if kind != "number"]
    distances = {row.rowid: distance for row, distance in near}
    ordered = sorted(rows.values(), key=lambda row: (row.source not in CURATED, row.path, row.ordinal))
    merged: list[Merged] = []
    for row in ordered:
        key = row.rowid
        value = (
            tuned.text * text.get(key, 0.0)
            + tuned.vector * vector.get(key, 0.0)
            + tuned.passage * passage.get(key, 0.0)
        ) / max(weights, 1e-9)
        unit = sum(1 for pattern in patterns if pattern.search(row.text)) / len(patterns) if patterns else 0.0
        extras = [("passage", passage[key])] if key in passage else []
        if patterns:
            extras.append(("units", unit))
        merged.append(
            Merged(
                Candidate(
                    key=key,
                    text=row.text,
                    source=row.source,
                    created_at=row.created_at,
                    access_count=row.access_count,
                    bm25=ranks.get(key),
                    distance=distances.get(key),
                ),
                value=min(1.0, value + tuned.units * unit),
                text=text.get(key),
                vector=vector.get(key),
                extras=tuple(extras),
                trust=trust_factor(row.text, tuned, now),
            )
        )
    return Gathered(rows, tuple(merged), len(stems))


def _by_best(ranks: dict[int, float]) -> dict[int, float]:
    """BM25 as a share of the best match's, 0..1."""
    best = min(ranks.values(), default=0.0)
    return {key: rank / best for key, rank in ranks.items()} if best < 0 else dict.fromkeys(ranks, 1.0)


def _cosines(near: Sequence[tuple[ChunkRow, float]]) -> dict[int, float]:
    """The cosines of unit vectors at these L2 distances: 1 − L2²/2."""
    return {row.rowid: 1.0 - distance * distance / 2.0 for row, distance in near}


def _by_spread(cosines: dict[int, float]) -> dict[int, float]:
    """Similarities stretched to 0..1 over the list."""
    if not cosines:
        return {}
    low, high = min(cosines.values()), max(cosines.values())
    spread = high - low
    return {key: (value - low) / spread if spread > 1e-9 else 1.0 for key, value in cosines.items()}


def trust_factor(text: str, tuned: TunedParams, now: float) -> float:
    """The multiplier of a chunk's trust marks: superseded and expired ones sink, disputed ones fall behind."""
    marks = marks_of(text)
    if not marks:
        return 1.0
    day = dt.datetime.fromtimestamp(now, dt.UTC).date().isoformat()
    factor = 1.0
    for mark in marks:
        if not mark.holds_on(day) and not (mark.since is not None and day < mark.since):
            factor = min(factor, tuned.superseded)
        elif mark.state == "disputed":
            factor = min(factor, tuned.disputed)
    return factor


def fetch_near(
    connection: apsw.Connection, blob: bytes, query: Query, tuned: TunedParams, now: float
) -> tuple[list[tuple[ChunkRow, float]], list[tuple[ChunkRow, float]]]:
    """Return the nearest chunks by their own vector, and by their best passage."""
    chunks, passages = reach(tuned.pool, query.filters), reach(2 * tuned.pool, query.filters)
    near = nearest(connection, "ours", blob, chunks, COLUMNS) if tuned.vector or tuned.passage else []
    best = nearest_passages(connection, blob, passages, COLUMNS) if tuned.passage else []
    return _passing(near, query, tuned.pool, now), _passing(best, query, 2 * tuned.pool, now)
