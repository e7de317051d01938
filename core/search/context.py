"""Search room: what a search needs besides the query, and the record of its stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from core.search.report import Stage
from core.search.tuned import TunedParams


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """The embedded query (float32, little-endian) and whose vectors it is compared with."""

    arm: Literal["agent", "ours"]
    blob: bytes


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What a search needs besides the query: whose index it is, and how its paths are told apart.

    ``vector`` is the embedded query, if there is one; else ``no_vector`` says why, and ``vector_failed``
    that embedding was tried and failed.  ``floor_given``, ``limit_given``: floor and number of results are
    the person's own for this search.
    """

    workspace: str
    curated_paths: tuple[str, ...]
    now: float
    profile: str = "agent"
    is_foreign: Callable[[str], bool] = field(default=lambda path: False)
    notes: tuple[str, ...] = ()
    vector: VectorQuery | None = None
    no_vector: str = "no embedding provider is configured"
    vector_failed: bool = False
    tuned: TunedParams = field(default_factory=TunedParams)
    floor_given: bool = False
    limit_given: bool = False


class Timer:
    """Collects the stages of one search with their times."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str, why: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.stages.append(Stage(name, True, why, _milliseconds(started)))

    def skip(self, name: str, why: str) -> None:
        self.stages.append(Stage(name, False, why))


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
