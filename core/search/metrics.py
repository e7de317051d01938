"""Search room: retrieval metrics over judged queries, and paired bootstrap intervals (pure)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CUTS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one query came out.

    ``recall`` maps a cut k to the share of relevant items among the first k; ``reciprocal_rank`` is 1/rank of
    the first relevant one (0: none in the list); ``ndcg`` is nDCG@10; ``forbidden`` counts items that must
    not be found among the first ``FORBIDDEN_CUT``; ``milliseconds`` is the search itself.
    """

    recall: Mapping[int, float]
    reciprocal_rank: float
    ndcg: float
    forbidden: int
    milliseconds: float = 0.0


FORBIDDEN_CUT = 5


def judge(
    ranked: Sequence[str], relevant: Mapping[str, int], forbidden: frozenset[str], milliseconds: float = 0.0
) -> Outcome:
    """Compare a ranked list of ids with what is relevant (id → grade ≥ 1) and what must not be found."""
    return Outcome(
        recall={cut: recall(ranked, relevant, cut) for cut in CUTS},
        reciprocal_rank=reciprocal_rank(ranked, relevant),
        ndcg=ndcg(ranked, relevant, 10),
        forbidden=sum(1 for item in ranked[:FORBIDDEN_CUT] if item in forbidden),
        milliseconds=milliseconds,
    )


def recall(ranked: Sequence[str], relevant: Mapping[str, int], cut: int) -> float:
    """|relevant ∩ first k| / |relevant|; 1.0 when nothing is relevant."""
    if not relevant:
        return 1.0
    return len(relevant.keys() & set(ranked[:cut])) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, int]) -> float:
    """1 / rank of the first relevant item, 0.0 when none is in the list."""
    return next((1.0 / rank for rank, item in enumerate(ranked, 1) if item in relevant), 0.0)


def ndcg(ranked: Sequence[str], relevant: Mapping[str, int], cut: int) -> float:
    """Normalised discounted cumulative gain with gains 2^grade − 1 (Järvelin and Kekäläinen, 2002)."""

    def gain(grades: Sequence[int]) -> float:
        return sum((2.0**grade - 1.0) / math.log2(place + 2) for place, grade in enumerate(grades))

    ideal = gain(sorted(relevant.values(), reverse=True)[:cut])
    if ideal == 0:
        return 1.0
    return gain([relevant.get(item, 0) for item in ranked[:cut]]) / ideal


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over queries, forbidden hits in all, and latency percentiles in milliseconds."""

    queries: int
    recall: Mapping[int, float]
    mrr: float
    ndcg: float
    forbidden: int
    p50_ms: float
    p95_ms: float


def summarise(outcomes: Sequence[Outcome]) -> Summary:
    """Average outcomes; an empty list gives zeros."""
    count = max(len(outcomes), 1)
    times = sorted(outcome.milliseconds for outcome in outcomes)
    return Summary(
        queries=len(outcomes),
        recall={cut: sum(outcome.recall[cut] for outcome in outcomes) / count for cut in CUTS},
        mrr=sum(outcome.reciprocal_rank for outcome in outcomes) / count,
        ndcg=sum(outcome.ndcg for outcome in outcomes) / count,
        forbidden=sum(outcome.forbidden for outcome in outcomes),
        p50_ms=percentile(times, 0.50),
        p95_ms=percentile(times, 0.95),
    )


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of sorted values, 0.0 of none."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and its bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        return self.low > 0


def paired_bootstrap(
    left: Sequence[float], right: Sequence[float], *, rounds: int = 2_000, level: float = 0.95, seed: int = 7
) -> Interval:
    """Return the mean of left − right over paired queries with a percentile bootstrap interval (Efron, 1979).

    Raises:
        ValueError: the lists differ in length.
    """
    differences = [a - b for a, b in zip(left, right, strict=True)]
    if not differences:
        return Interval(0.0, 0.0, 0.0)
    rng = random.Random(seed)
    count = len(differences)
    means = sorted(sum(rng.choices(differences, k=count)) / count for _ in range(rounds))
    tail = (1.0 - level) / 2
    return Interval(
        sum(differences) / count,
        means[max(0, int(tail * rounds))],
        means[min(rounds - 1, int((1.0 - tail) * rounds))],
    )
