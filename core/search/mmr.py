"""Search room: maximal marginal relevance, pure; the same order as the reference in O(n²)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.rust_text import lower, words

_EPSILON = 2.220446049250313e-16  # f64::EPSILON: a relevance range below it counts as no range


@dataclass(frozen=True, slots=True)
class MmrPick:
    """One chosen item: its index in the input, its MMR value, and the index it was most similar to."""

    index: int
    value: float
    against: int | None


def token_set(text: str) -> frozenset[str]:
    """The set of lower-cased words of a text (alphanumerics and ``_``)."""
    return frozenset(words(lower(text)))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """|A ∩ B| / |A ∪ B|; two empty sets are identical (1.0)."""
    if not left and not right:
        return 1.0
    if not left or not right:
        return 0.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)


def mmr_order(texts: Sequence[str], relevance: Sequence[float], lam: float) -> list[MmrPick]:
    """Order items greedily by λ·relevance − (1−λ)·max Jaccard to those chosen.

    Relevance is normalised to 0..1 over the items (no range: all 1).  λ is clamped to 0..1.  Ties go to the
    higher relevance, then to the earlier item.  Instead of measuring each item against all chosen ones in
    every round (O(n³)), each keeps its running maximum.
    """
    lam = min(max(lam, 0.0), 1.0)
    if not texts:
        return []
    low, high = min(relevance), max(relevance)
    spread = high - low
    normalised = [1.0 if spread < _EPSILON else (value - low) / spread for value in relevance]
    sets = [token_set(text) for text in texts]
    closest = [0.0] * len(texts)
    against: list[int | None] = [None] * len(texts)
    left = list(range(len(texts)))
    picks: list[MmrPick] = []
    while left:
        best = left[0]
        best_value = -float("inf")
        for index in left:
            value = lam * normalised[index] - (1.0 - lam) * closest[index]
            if value > best_value or (value == best_value and relevance[index] > relevance[best]):
                best, best_value = index, value
        left.remove(best)
        picks.append(MmrPick(best, best_value, against[best]))
        for index in left:
            overlap = jaccard(sets[index], sets[best])
            if overlap > closest[index] or against[index] is None:
                closest[index] = max(overlap, closest[index])
                against[index] = best
    return picks
