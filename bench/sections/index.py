"""Bars of indexing: everything anew beside bare inserts, and a second look when nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator

from bench.ground import Ground, ground, indexed, probe
from bench.measure import Row, alone, beside, by_turns, seconds
from bench.peers.inserts import insert, rows_of
from core.memory import Memory

LOGS = 2_000
REFERENCE_FULL = (3.6, 5.9)
REFERENCE_UNCHANGED = (160, 240)
"""What the reference took on such a memory, fastest and slowest run: seconds, and milliseconds."""


def full(quick: bool) -> Iterator[Row]:
    """A full index of 2,000 logs of 4 kB, beside the bare inserts of the same rows."""
    place = indexed(ground(logs=LOGS))
    rows = rows_of(place.index)

    def ours() -> float:
        place.drop_index()
        memory = place.open()
        took = seconds(memory.sync)
        memory.close()
        return took

    def peer() -> float:
        opened = []
        took = seconds(lambda: opened.append(insert(place.home / "peer.sqlite", rows)))
        opened[0].close()
        return took

    mine, theirs = by_turns(3 if quick else 5, ours, peer)
    what = f"full index, {LOGS:,} logs, {place.chunks:,} chunks"
    yield beside("index", what, "s", mine, theirs, "bare inserts", bar=0.6, speed=True)
    low, high = REFERENCE_FULL
    yield alone("index", what, "s", mine, limit=low, bar=f"< {low:g}–{high:g} s (reference)")


def unchanged(quick: bool) -> Iterator[Row]:
    """A look at a memory in which nothing changed: by stamps, and by every text."""
    place = indexed(ground(logs=LOGS))
    rounds = 3 if quick else 7
    low, high = REFERENCE_UNCHANGED
    bar = f"< {low:g}–{high:g} ms (reference)"
    cold = [_cold(place) for _ in range(rounds)]
    yield alone("unchanged", "open and sync, fresh process, nothing changed", "ms", cold, limit=low, bar=bar)
    memory = place.open()
    try:
        memory.sync()
        yield alone("unchanged", "sync again", "ms", _again(memory, rounds), limit=low, bar=bar)
        every = [seconds(memory.reindex) * 1000 for _ in range(rounds)]
        yield alone("unchanged", "reindex, every text compared", "ms", every, limit=low, bar=bar)
    finally:
        memory.close()


def _cold(place: Ground) -> float:
    found = probe("bench.probes.sync", place)
    if found["changed"]:
        raise RuntimeError("the memory changed while it was measured")
    return float(found["open"] + found["sync"]) * 1000


def _again(memory: Memory, rounds: int) -> list[float]:
    return [seconds(memory.sync) * 1000 for _ in range(rounds)]
