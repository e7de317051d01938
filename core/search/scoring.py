"""Search room: the one formula of a score, as pure functions over plain values.

The search, the explanation, the lab and the evaluation all call ``score_candidates``; there is no second
formula.  Source: the reference's fusion of BM25 and vector similarity with temporal decay, source weights
and an access boost; every constant is checked bit for bit by the recorded vectors.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from core.index.chunker import heading_level
from core.index.comments import without_comments
from core.rust_text import lines, trim
from core.search.report import Factors
from core.store.layout import is_scaffold

SECONDS_A_DAY = 86_400.0
LEGACY_RECENCY_DEFAULT = 0.95
CURATED = ("global", "workspace")
ACCESS_GAIN = 0.05
PARTS = frozenset({"text", "curated", "access", "content"})
"""What ``ScoringParams.without`` can name: the words' arm, its second pass over curated sources, the boost by
recalls, and leaving out chunks without content."""


def single(value: float) -> float:
    """Round to a 32-bit float, as the reference stores weights and floors."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


@dataclass(frozen=True, slots=True)
class ScoringParams:
    """The settings a score depends on (``[memory.search]``); weights and floor are rounded on use.

    ``half_life_days`` is the effective one: None when nothing decays; ``decay_floor`` is what age alone cannot
    push a score below (0 in the agent's formula).  ``without`` leaves parts out, to measure what each is worth
    (``PARTS``); a search that somebody asked for leaves out none.
    """

    max_results: int = 6
    min_score: float = 0.7
    text_weight: float = 0.3
    vector_weight: float = 0.7
    half_life_days: float | None = 30.0
    decay_floor: float = 0.0
    source_weights: Mapping[str, float] = field(default_factory=dict)
    mmr_enabled: bool = False
    mmr_lambda: float = 0.7
    without: frozenset[str] = frozenset()

    @property
    def floor(self) -> float:
        return single(self.min_score)

    @property
    def candidate_limit(self) -> int:
        """How many candidates each arm takes: three times the results (what SQLite can count to)."""
        return min(3 * self.max_results, 2**62)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What scoring needs of one chunk: its BM25 rank and/or L2 distance, source, birth and recalls."""

    key: int
    text: str
    source: str
    created_at: int
    access_count: int
    bm25: float | None = None
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its factors; ``content_free`` ones shaped the normalisation but never rank."""

    candidate: Candidate
    factors: Factors
    content_free: bool


def effective_half_life(
    *, decay_enabled: bool, half_life_days: float, recency_decay: float = LEGACY_RECENCY_DEFAULT
) -> float | None:
    """Return the half-life in days that applies, or None when nothing decays.

    With decay on: ``half_life_days`` if positive, else None.  With decay off, the old ``recency_decay`` (the
    factor a day) still applies when it differs from its default: −1/log2(it).
    """
    if decay_enabled:
        return half_life_days if half_life_days > 0 else None
    factor = single(recency_decay)
    if factor == single(LEGACY_RECENCY_DEFAULT) or not 0 < factor < 1:
        return None
    return -1.0 / math.log2(factor)


def decay_multiplier(source: str, created_at: float, now: float, half_life_days: float | None) -> float:
    """Return e^(−ln2 · age / half-life), 1.0 for curated sources, no half-life and the future."""
    if source in CURATED or half_life_days is None or half_life_days <= 0:
        return 1.0
    age_days = max(now - created_at, 0.0) / SECONDS_A_DAY
    return math.exp(-math.log(2.0) / half_life_days * age_days)


def access_boost(access_count: int) -> float:
    """Return 1 + 0.05 · ln(1 + accesses)."""
    return 1.0 + ACCESS_GAIN * math.log(1.0 + access_count)


def similarity(distance: float) -> float:
    """Return the similarity of an L2 distance between unit vectors: clamp(1 − L2/2, 0, 1)."""
    return min(max(1.0 - distance / 2.0, 0.0), 1.0)


def normalise_ranks(ranks: Sequence[float]) -> list[float]:
    """Map BM25 ranks (lower is better) to 1 − (rank − min)/(max − min); all equal (or one): 1.0."""
    if not ranks:
        return []
    low, high = min(ranks), max(ranks)
    spread = high - low
    if spread <= 0:
        return [1.0] * len(ranks)
    return [1.0 - (rank - low) / spread for rank in ranks]


def score_candidates(candidates: Sequence[Candidate], params: ScoringParams, now: float) -> list[Scored]:
    """Score candidates and order them: raw product first, then curated before sessions, path, ordinal.

    The order of ties is the caller's order of ``candidates`` (they come sorted that way).
    """
    text_scores = _text_scores(candidates)
    weight_text, weight_vector = single(params.text_weight), single(params.vector_weight)
    merged: list[Merged] = []
    for candidate in candidates:
        text = text_scores.get(candidate.key)
        vector = similarity(candidate.distance) if candidate.distance is not None else None
        if text is not None and vector is not None:
            value = max(weight_text * text + weight_vector * vector, text)
        elif text is not None:
            value = text
        else:
            value = weight_vector * (vector or 0.0)
        merged.append(Merged(candidate, value, text, vector))
    return rank_merged(merged, params, now)


@dataclass(frozen=True, slots=True)
class Merged:
    """A candidate whose text and vector were merged, before age, source and recalls count.

    ``extras``: further parts of a profile by name, already in ``value``; ``trust``: multiplier of its marks.
    """

    candidate: Candidate
    value: float
    text: float | None
    vector: float | None
    extras: tuple[tuple[str, float], ...] = ()
    trust: float = 1.0


def rank_merged(merged: Sequence[Merged], params: ScoringParams, now: float) -> list[Scored]:
    """Multiply merged values by decay, source weight, access boost (and trust), and order by the product."""
    floor = params.floor
    scored: list[Scored] = []
    for item in merged:
        candidate = item.candidate
        decay = decay_multiplier(candidate.source, candidate.created_at, now, params.half_life_days)
        decay = params.decay_floor + (1.0 - params.decay_floor) * decay if params.decay_floor else decay
        weight = single(params.source_weights.get(candidate.source, 1.0))
        boost = 1.0 if "access" in params.without else access_boost(candidate.access_count)
        raw = item.value * decay * weight * boost
        if item.trust != 1.0:
            raw *= item.trust
        factors = Factors(
            bm25=candidate.bm25,
            text=item.text,
            vector=item.vector,
            merged=item.value,
            decay=decay,
            age_days=max(now - candidate.created_at, 0.0) / SECONDS_A_DAY,
            half_life_days=params.half_life_days,
            source_weight=weight,
            access=boost,
            access_count=candidate.access_count,
            raw=raw,
            score=min(max(raw, 0.0), 1.0),
            floor=floor,
            extras=item.extras,
            trust=item.trust,
        )
        empty = "content" not in params.without and is_content_free(candidate.text, candidate.source)
        scored.append(Scored(candidate, factors, empty))
    scored.sort(key=lambda item: -item.factors.raw)
    return scored


def _text_scores(candidates: Iterable[Candidate]) -> dict[int, float]:
    matched = [(candidate.key, candidate.bm25) for candidate in candidates if candidate.bm25 is not None]
    return dict(zip([key for key, _ in matched], normalise_ranks([rank for _, rank in matched]), strict=True))


@lru_cache(2_048)  # while a person types, the same chunks come back with every key
def is_content_free(text: str, source: str) -> bool:
    """True for a chunk of only headings, blanks and HTML comments, or a scaffold in a curated source.

    A comment that is not closed counts as text.  A context prefix counts as text too (kept on purpose).
    """
    if source in CURATED and is_scaffold(text):
        return True
    if "<!--" in text:
        text = without_comments(text)
    elif any("$" <= line[0] <= "~" for line in text.split("\n", 4)[:4] if line):
        return False  # nearly every chunk: one of its first lines begins neither like a heading nor blank
    return not any(trim(line) and heading_level(line) is None for line in lines(text))
