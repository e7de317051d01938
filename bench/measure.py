"""Measuring: time ours and the peer by turns, compare round by round, and judge by a bar."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["pass", "miss", ""]


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some rounds, and the lowest and highest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    ``ours`` and ``peer`` in ``unit``; ``ratio`` is ours / peer (or peer / ours where the bar speaks of speed)
    of each round.  ``verdict`` is "" where there is no bar.
    """

    section: str
    what: str
    unit: str
    ours: Spread
    peer: Spread | None = None
    peer_name: str = ""
    ratio: Spread | None = None
    bar: str = ""
    verdict: Verdict = ""
    note: str = ""

    def plain(self) -> dict[str, Any]:
        """The row as plain values, for JSON."""
        return asdict(self)


def beside(
    section: str,
    what: str,
    unit: str,
    ours: Sequence[float],
    peer: Sequence[float],
    peer_name: str,
    *,
    bar: float | None,
    speed: bool = False,
    note: str = "",
) -> Row:
    """Compare two lists of rounds measured by turns; the bar is about the median of the rounds' ratios.

    ``speed``: the bar is a share of the peer's speed to be reached (peer / ours), else a multiple of its time
    not to be exceeded (ours / peer).
    """
    ratio = Spread.of([b / a if speed else a / b for a, b in zip(ours, peer, strict=True)])
    words = ""
    verdict: Verdict = ""
    if bar is not None:
        words = f"≥ {bar:g} × its speed" if speed else f"≤ {bar:g} ×"
        verdict = "pass" if (ratio.median >= bar if speed else ratio.median <= bar) else "miss"
    return Row(section, what, unit, Spread.of(ours), Spread.of(peer), peer_name, ratio, words, verdict, note)


def alone(
    section: str, what: str, unit: str, ours: Sequence[float], *, limit: float, bar: str = "", note: str = ""
) -> Row:
    """Judge our own number: its median must not be above ``limit``."""
    spread = Spread.of(ours)
    return Row(
        section,
        what,
        unit,
        spread,
        bar=bar or f"≤ {limit:g} {unit}",
        verdict="pass" if spread.median <= limit else "miss",
        note=note,
    )


def seconds(work: Callable[[], object]) -> float:
    """Run ``work`` once and return how long it took; garbage of the rounds before is cleared first."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def by_turns(
    rounds: int, ours: Callable[[], float], peer: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Measure both ``rounds`` times, each going first every other time; return both lists."""
    mine: list[float] = []
    theirs: list[float] = []
    for number in range(rounds):
        if number % 2:
            theirs.append(peer())
            mine.append(ours())
        else:
            mine.append(ours())
            theirs.append(peer())
    return mine, theirs


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]
