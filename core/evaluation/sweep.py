"""Evaluation room: one parameter over several values — chosen on one half of the queries, reported on the other."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import MemdeckError, UsageError
from core.evaluation.arms import Arm, value_of, with_value
from core.evaluation.bench import Bench
from core.evaluation.model import Answer, Sweep, SweepRow
from core.evaluation.run import Asked, Course, difference, of_share, ranked_by
from core.search.metrics import summarise
from core.settings import Settings, find_key

_CUTTING = ("memory.search.min_score", "memory.search.max_results")
_VECTORS = ("memory.search.vector_weight", "memory.search.text_weight")
MAX_VALUES = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep to be run: the key, the value it has now, and an arm for each value (the current one included)."""

    key: str
    current: str
    arms: tuple[tuple[str, Arm], ...]


def parse_sweep(text: str, settings: Settings) -> Plan:
    """Read ``KEY=v1,v2,…``.

    Ranking alone is compared (ten results, no floor), except for a sweep of the floor or of the number of
    results.  A ``tuned.*`` key is swept in that profile, the weights of the fusion in ``hybrid``, else in ``agent``.

    Raises:
        UsageError: not of this form, or too many values.
        SettingsError: an unknown setting or a wrong value.
    """
    key, equals, rest = text.partition("=")
    values = [value.strip() for value in rest.split(",") if value.strip()]
    if not key.strip() or not equals or not values:
        raise UsageError(
            f"--sweep {text!r} is not of the form KEY=v1,v2,…",
            hint="Such as: --sweep tuned.text=0.5,1,1.5,2",
        )
    if len(values) > MAX_VALUES:
        raise UsageError(f"--sweep {key} has {len(values)} values; {MAX_VALUES} are enough")
    key = key.strip()
    whole = key if key.startswith("tuned.") or key == "profile" else find_key(key).key
    profile = "tuned" if key.startswith("tuned.") else "hybrid" if whole in _VECTORS else "agent"
    base = Arm("sweep", "", settings, profile)
    if whole in _CUTTING:
        base = Arm("sweep", "", settings, profile, limit=None, floor=None)
    current = value_of(base, key)
    arms = {value_of(arm, key): arm for value in values for arm in [with_value(base, key, value)]}
    arms.setdefault(current, base)
    return Plan(key, current, tuple(arms.items()))


def sweep(bench: Bench, plan: Plan, asked: Asked, now: float, course: Course | None = None) -> Sweep:
    """Run a sweep over both halves.

    The choice is the best recall@5 on the tuning half; then nDCG; the current value wins a draw.

    Raises:
        MemdeckError: one of the halves has no queries.
    """
    if len({query.half for query, _ in asked}) < 2:
        raise MemdeckError(
            "a sweep needs queries in both halves: one to choose on, one to report on",
            hint="Judge more queries.",
        )
    answers: dict[str, list[Answer]] = {value: [] for value, _ in plan.arms}
    for one in asked:
        for value, arm in plan.arms:
            answers[value] += ranked_by(bench, arm, [one], now)
        if course is not None:
            course.step()
    rows = tuple(
        SweepRow(value, summarise(of_share(found, "tuning")), summarise(of_share(found, "held-out")))
        for value, found in answers.items()
    )
    best = max(
        rows,
        key=lambda row: (
            round(row.tuning.recall[5], 9),
            round(row.tuning.ndcg, 9),
            row.value == plan.current,
        ),
    )
    return Sweep(
        key=plan.key,
        profile=plan.arms[0][1].profile,
        current=plan.current,
        chosen=best.value,
        rows=rows,
        gain=difference(answers[best.value], answers[plan.current], "held-out"),
    )
