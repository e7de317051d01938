"""Bars of a search call: p50 and p95 for specific and frequent words, beside the bare SQL it must run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.corpus import frequent_queries, specific_queries
from bench.ground import Ground, ground, indexed
from bench.measure import Row, alone, beside, percentile
from bench.peers.sql import BareSql
from bench.sections.index import LOGS

REFERENCE = {"specific": (8.0, 12.0), "frequent": (36.0, 57.0)}
"""Milliseconds a search at p50 took through the reference's back end on 2,000 logs: fastest and slowest."""
PEER = "bare SQL"


def small(quick: bool) -> Iterator[Row]:
    """On 2,000 logs, beside the reference's times too."""
    yield from _section(ground(logs=LOGS), f"{LOGS:,} logs", 12 if quick else 30, 3 if quick else 5, True)


def medium(quick: bool) -> Iterator[Row]:
    """On 10,000 chunks."""
    yield from _section(ground(10_000), "10,000 chunks", 12 if quick else 30, 3 if quick else 5, False)


def large(quick: bool) -> Iterator[Row]:
    """On 100,000 chunks."""
    yield from _section(ground(100_000), "100,000 chunks", 5 if quick else 12, 3, False)


def _section(place: Ground, size: str, count: int, rounds: int, reference: bool) -> Iterator[Row]:
    indexed(place)
    memory, watched = place.open(), place.open()
    peer = BareSql(place.index)
    try:
        watched.watch(lambda event: None)
        watched.sync()
        runs: dict[str, Callable[[str], object]] = {
            "search": lambda query: memory.search(query, sync=False),
            "search, watched": watched.search,
            PEER: peer.search,
        }
        for kind, queries in (("specific", specific_queries(count)), ("frequent", frequent_queries(count))):
            times = measure(runs, queries, rounds)
            for name in ("search", "search, watched"):
                for share in (0.5, 0.95):
                    yield beside(
                        "search",
                        f"{size}: {name}, {kind} words, p{share * 100:.0f}",
                        "ms",
                        [percentile(found, share) for found in times[name]],
                        [percentile(found, share) for found in times[PEER]],
                        PEER,
                        bar=None if reference else 1.5,  # there the reference is the bar
                    )
            if reference:
                low, high = REFERENCE[kind]
                mine = [percentile(found, 0.5) for found in times["search"]]
                what = f"{size}: search, {kind} words, p50"
                yield alone("search", what, "ms", mine, limit=low, bar=f"< {low:g}–{high:g} ms (reference)")
    finally:
        peer.close()
        watched.close()
        memory.close()


def measure(
    runs: Mapping[str, Callable[[str], object]], queries: Sequence[str], rounds: int
) -> dict[str, list[list[float]]]:
    """Run every query through every way by turns; return for each way the milliseconds of each round."""
    for run in runs.values():
        run(queries[0])
    times: defaultdict[str, list[list[float]]] = defaultdict(list)
    names = list(runs)
    for _ in range(rounds):
        found: dict[str, list[float]] = {name: [] for name in names}
        for number, query in enumerate(queries):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                started = time.perf_counter()
                runs[name](query)
                found[name].append((time.perf_counter() - started) * 1000)
        for name in names:
            times[name].append(found[name])
    return times
