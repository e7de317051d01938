"""Evaluation room: which stage lost a chunk that should have been found — by the search's own explanation."""

from __future__ import annotations

from core.errors import IndexUnavailable, NotFound
from core.evaluation.arms import Arm
from core.evaluation.bench import Asked, Bench, Wanted, on_disk, request_for, searcher_for
from core.evaluation.judged import JudgedQuery
from core.evaluation.model import Miss
from core.search.engine import sunk_by
from core.search.query import parse_query
from core.search.report import Hit, SearchReport, WhyReport

CUT = 5
"""A chunk below this place is a miss."""


def misses_of(
    bench: Bench, arm: Arm, query: JudgedQuery, wanted: Wanted, asked: Asked, *, now: float
) -> list[Miss]:
    """Name the stage for each chunk that an arm should have among its first five and has not."""
    ranked = [wanted.same.get(chunk, chunk) for chunk in asked.ranked]
    lost = [chunk for chunk in wanted.relevant if chunk not in ranked[:CUT]]
    found = []
    for chunk in lost:
        stage, why = _stage(bench, arm, query, chunk, ranked, asked.report, now=now)
        found.append(Miss(query.id, arm.name, chunk, stage, why))
    return found


def _stage(
    bench: Bench,
    arm: Arm,
    query: JudgedQuery,
    chunk: str,
    ranked: list[str],
    report: SearchReport | None,
    *,
    now: float,
) -> tuple[str, str]:
    if bench.hides(query, chunk, now=now):
        return "hidden", "newer than the day asked about, or of another source"
    if report is None:
        place = (
            f"place {ranked.index(chunk) + 1}" if chunk in ranked else "holds fewer of the words than others"
        )
        return ("rank" if chunk in ranked else "substring"), place
    index = bench.subject.index
    hit = next((item for item in (*report.hits, *report.dropped) if on_disk(index, item.id) == chunk), None)
    if hit is not None:
        return _stage_of_hit(hit, arm)
    if query.scope == "everywhere":
        return "words", "no index had it among its candidates"
    try:
        searcher = searcher_for(arm, bench.subject, query.asked_at(now))
        path, _, number = chunk.rpartition(":")
        why = searcher.why(index, request_for(arm, query), f"{index.to_index(path)}:{number}", sync=False)
    except (NotFound, IndexUnavailable) as error:
        return "hidden", str(error)
    return _stage_outside(why, arm, query)


def _stage_of_hit(hit: Hit, arm: Arm) -> tuple[str, str]:
    sunk = sunk_by(hit.factors)
    if hit.factors.trust < 1.0:
        return "superseded", f"its marks × {hit.factors.trust:.2f}; {hit.why or f'place {hit.rank}'}"
    if hit.rank:
        return "rank", f"place {hit.rank}; {sunk}"
    return hit.stage, hit.why if arm.profile == "agent" and hit.stage != "cut" else f"{hit.why}; {sunk}"


def _stage_outside(why: WhyReport, arm: Arm, query: JudgedQuery) -> tuple[str, str]:
    if "text" in arm.without:
        return "near", "not near enough to be a candidate"
    if not parse_query(query.text).keywords and arm.profile != "tuned":
        return "stop words", why.verdict
    if not why.present:
        return "words", why.verdict
    return "bm25", why.verdict
