"""Bars of the open app: key to painted results, stalls of the loop, processor time when nothing happens."""

from __future__ import annotations

from collections.abc import Iterator

from bench.ground import ground, indexed, probe
from bench.measure import Row, alone, beside, percentile

PEER = "Input + 50 lines"


def keys(quick: bool) -> Iterator[Row]:
    """Queries typed letter by letter over 10,000 chunks, the debounce of both apart."""
    place = indexed(ground(10_000))
    found = probe("bench.probes.keys", place, "2" if quick else "5")
    yield from stroke_rows("keys", f"{place.chunks:,} chunks", found)


def stroke_rows(section: str, size: str, found: dict[str, list[dict[str, list[float]]]]) -> Iterator[Row]:
    """The rows of what ``bench.probes.keys`` measured."""
    for measure, what in (
        ("paint", "key to painted results"),
        ("stall", "longest stall of the loop per key"),
    ):
        for share, bar in ((0.5, None), (0.95, 1.5)):
            yield beside(
                section,
                f"{size}: {what}, p{share * 100:.0f}",
                "ms",
                [percentile(strokes[measure], share) for strokes in found["ours"]],
                [percentile(strokes[measure], share) for strokes in found["peer"]],
                PEER,
                bar=bar,
            )


def idle(quick: bool) -> Iterator[Row]:
    """The app with a live watcher, untouched."""
    place = indexed(ground(10_000))
    rounds, seconds = ("1", "5") if quick else ("2", "15")
    found = probe("bench.probes.idle", place, rounds, seconds)
    yield alone(
        "idle", f"processor time, {place.chunks:,} chunks, live", "%", found, limit=1.0, bar="< 1 % of a core"
    )
