"""Bar of memory: what a process holds at most that opens, syncs and searches 100,000 chunks."""

from __future__ import annotations

from collections.abc import Iterator

from bench.ground import ground, indexed, probe
from bench.measure import Row, alone

LIMIT_MB = 300


def resident(quick: bool) -> Iterator[Row]:
    """Peak of resident memory; without ``quick`` also while the whole index is written."""
    place = indexed(ground(100_000))
    found = probe("bench.probes.memory", place, "kept")
    size = f"{place.chunks:,} chunks"
    yield alone("memory", f"{size}: open, sync, search", "MB", [found["all"]], limit=LIMIT_MB)
    if not quick:
        found = probe("bench.probes.memory", place, "fresh")
        yield alone("memory", f"{size}: full index, then search", "MB", [found["all"]], limit=LIMIT_MB)
