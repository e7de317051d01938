"""Bars of starting: first frame beside an empty Textual app, as whole processes; what must not be imported."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.corpus import WORKSPACE
from bench.ground import ground, indexed
from bench.measure import Row, Spread, beside, by_turns
from bench.terminal import first_frame

PEER = "empty Textual app"
HEAVY = ("numpy", "openai", "pydantic", "httpx", "httpx2", "mcp", "wordllama")


def first_paint(quick: bool) -> Iterator[Row]:
    """First frame of ``memdeck`` on a warm, indexed memory of 10,000 chunks, what follows, what it loaded."""
    place = indexed(ground(10_000))
    arguments = ["--root", str(place.root), "--workspace", WORKSPACE]
    memdeck = [os.path.join(os.path.dirname(sys.executable), "memdeck"), *arguments]
    empty = [sys.executable, str(Path(__file__).parent.parent / "peers" / "empty_app.py")]

    def ours(says: str = "memdeck") -> float:
        return first_frame(memdeck, place.environ, says=says).seconds * 1000

    def peer() -> float:
        return first_frame(empty, place.environ).seconds * 1000

    ours(), peer()  # byte code and page cache
    mine, theirs = by_turns(5 if quick else 11, ours, peer)
    yield beside("start", "first frame, whole process", "ms", mine, theirs, PEER, bar=1.5)
    for says, what in (
        ("Sessions", "panes drawn"),
        (f"{place.chunks:,} chunks", "memory opened and in step"),
    ):
        mine, theirs = by_turns(3 if quick else 5, lambda says=says: ours(says), peer)  # type: ignore[misc]
        yield beside("start", f"{what}, whole process", "ms", mine, theirs, PEER, bar=None)
    target = place.home / "modules.json"
    target.unlink(missing_ok=True)
    probe = [sys.executable, "-m", "bench.probes.modules", str(target), ",".join(HEAVY), *arguments]
    first_frame(probe, place.environ, says=f"{place.chunks:,} chunks")
    loaded = json.loads(target.read_text())
    yield Row(
        "start",
        "heavy modules imported by the open app",
        "",
        Spread.of([len(loaded)]),
        bar="none",
        verdict="miss" if loaded else "pass",
        note=", ".join(loaded) or f"none of {', '.join(HEAVY)}",
    )
