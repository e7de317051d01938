"""Evaluation room: what an evaluation found out, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.evaluation.judged import JudgedQuery
from core.search.metrics import Interval, Outcome, Summary

Share = Literal["all", "tuning", "held-out"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one arm ranked for one query (chunk ids, best first) and how good that was."""

    query: JudgedQuery
    ranked: tuple[str, ...]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm over all queries.

    ``shares``: means over all queries, and over each half that was asked; ``against``: the difference of
    recall@5 to the arm ``agent`` with its 95 % interval (paired bootstrap), by the same keys; ``classes``:
    recall@5 by class of query and share.
    """

    name: str
    what: str
    answers: tuple[Answer, ...]
    shares: Mapping[Share, Summary]
    against: Mapping[Share, Interval]
    classes: Mapping[str, Mapping[Share, float]]


@dataclass(frozen=True, slots=True)
class Miss:
    """A chunk that should have been among the first five of an arm, and the stage that lost it.

    ``stage``: ``rank`` (found, but lower), ``superseded`` (its marks sank it), ``cut``, ``floor``, ``content``,
    ``bm25`` (a match, beyond those taken), ``near`` (not near enough), ``words`` (shares no word with the query),
    ``stop words`` (no word is left of the query), ``hidden`` (newer than the day asked for), ``substring``.
    """

    query: str
    arm: str
    chunk: str
    stage: str
    why: str


@dataclass(frozen=True, slots=True)
class Ablation:
    """What one stage of a formula adds: recall@5 with and without it, and the difference (with − without)."""

    formula: str
    stage: str
    what: str
    recall: Mapping[Share, float]
    adds: Mapping[Share, Interval]
    ndcg: Mapping[Share, float]
    forbidden: int


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One value of a sweep and how it did on each half."""

    value: str
    tuning: Summary
    held_out: Summary


@dataclass(frozen=True, slots=True)
class Sweep:
    """A parameter tried over values: chosen on the tuning half alone, reported on the held-out half.

    ``gain``: recall@5 of the chosen value minus the current one on the held-out half, with its interval.
    """

    key: str
    profile: str
    current: str
    chosen: str
    rows: tuple[SweepRow, ...]
    gain: Interval


@dataclass(frozen=True, slots=True)
class EvalReport:
    """One evaluation.  ``embedding``: milliseconds to embed one query, (p50, p95), None without vectors."""

    source: str
    workspace: str
    half: Share
    queries: int
    arms: tuple[ArmResult, ...]
    misses: tuple[Miss, ...] = ()
    ablation: tuple[Ablation, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    embedding: tuple[float, float] | None = None
    notes: tuple[str, ...] = field(default=())

    def arm(self, name: str) -> ArmResult:
        """One arm by its name; KeyError when it did not run."""
        for item in self.arms:
            if item.name == name:
                return item
        raise KeyError(name)
