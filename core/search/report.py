"""The frozen answer of a search: hits, what fell out and why, what else exists, and which stages ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.index.model import IndexStatus
from core.store.model import Source

Mode = Literal["text only", "text+vectors", "text after an embedding failure", "newest"]
Reason = Literal["content_free", "below_floor", "cut"]


@dataclass(frozen=True, slots=True)
class Factors:
    """Every factor of one candidate's score, in the order they apply (formula: scoring.py).

    ``bm25``: FTS5 rank, lower is better, None when text did not match.  ``text``: normalised over the
    candidates to 0..1.  ``vector``: similarity 0..1 or None.  ``merged``: text and vector together.
    ``decay``: multiplier by age (1.0 for curated sources), from ``age_days`` and ``half_life_days``
    (None: off).  ``source_weight``; ``access``: 1 + 0.05·ln(1 + ``access_count``).  ``raw``: the product, what ranks;
    ``score``: raw clamped to 0..1, what is shown and compared with ``floor``.
    ``mmr``/``mmr_against``: the MMR value and the chunk id it was measured against, when MMR ran.
    ``extras``: further parts of ``merged`` by name, of profiles that have them; ``trust``: multiplier of marks.
    """

    bm25: float | None
    text: float | None
    vector: float | None
    merged: float
    decay: float
    age_days: float
    half_life_days: float | None
    source_weight: float
    access: float
    access_count: int
    raw: float
    score: float
    floor: float
    mmr: float | None = None
    mmr_against: str | None = None
    extras: tuple[tuple[str, float], ...] = ()
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One candidate, kept (rank ≥ 1) or dropped (rank 0, ``reason`` and ``stage`` say why).

    Lines are 1-based inclusive.  ``snippet`` is the whole chunk text; ``heading`` its nearest heading
    without marks ("" if none); ``matched`` the words of the query (lower case) this chunk contains.
    ``workspace`` names the folder it was found in; ``foreign`` marks rows of another workspace.
    """

    rank: int
    id: str
    path: str
    start_line: int
    end_line: int
    source: Source
    heading: str
    snippet: str
    created_at: int
    access_count: int
    factors: Factors
    matched: tuple[str, ...] = ()
    reason: Reason | None = None
    stage: str = ""
    why: str = ""  # the reason as a sentence with its numbers
    workspace: str = ""
    foreign: bool = False
    staleness: Literal["fresh", "verify", "stale"] = "fresh"
    age: str = ""

    @property
    def score(self) -> float:
        return self.factors.score

    @property
    def raw_score(self) -> float:
        return self.factors.raw


@dataclass(frozen=True, slots=True)
class Also:
    """A chunk the agent's rules miss but a person would want: no score, the path that matched instead."""

    id: str
    path: str
    start_line: int
    end_line: int
    source: Source
    heading: str
    snippet: str
    created_at: int
    access_count: int
    matched_by: str
    matched: tuple[str, ...] = ()
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the pipeline: whether it ran, why (or why not), and its time in milliseconds."""

    name: str
    ran: bool
    why: str
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchReport:
    """Everything one search found out.  ``ms`` is the whole call, sync included."""

    query: str
    profile: str
    mode: Mode
    workspace: str
    hits: tuple[Hit, ...] = ()
    dropped: tuple[Hit, ...] = ()
    also: tuple[Also, ...] = ()
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    empty_reason: str = ""  # set when there are no hits: which of the reasons it was
    everywhere: bool = False
    status: IndexStatus | None = None
    ms: float = 0.0
    warnings: tuple[str, ...] = ()  # what of the query was not understood and left out

    @property
    def candidates(self) -> int:
        return len(self.hits) + len(self.dropped)


@dataclass(frozen=True, slots=True)
class WhyReport:
    """Why one chunk is, or is not, among the results of a query.

    ``place``/``matches``: its BM25 place among all matches (57th of 210), ``cut_at`` how many were taken.
    ``missing``: the words of the query it lacks; ``hit`` is set when it was a candidate.
    """

    query: str
    chunk_id: str
    path: str
    start_line: int
    end_line: int
    source: Source
    snippet: str
    verdict: str
    hit: Hit | None = None
    place: int | None = None
    matches: int = 0
    cut_at: int = 0
    bm25: float | None = None
    present: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
