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

HEAVY = ("numpy", "openai", "pydantic", "httpx", "mcp", "wordllama")


def first_paint(quick: bool) -> Iterator[Row]:
    """First frame of ``memdeck`` on a warm, indexed memory of 10,000 chunks, and the modules it loaded."""
    place = indexed(ground(10_000))
    arguments = ["--root", str(place.root), "--workspace", WORKSPACE]
    memdeck = [os.path.join(os.path.dirname(sys.executable), "memdeck"), *arguments]
    empty = [sys.executable, str(Path(__file__).parent.parent / "peers" / "empty_app.py")]

    def ours() -> float:
        return first_frame(memdeck, place.environ, says="memdeck").seconds * 1000

    def peer() -> float:
        return first_frame(empty, place.environ).seconds * 1000

    ours(), peer()  # byte code and page cache
    mine, theirs = by_turns(5 if quick else 11, ours, peer)
    yield beside("start", "first frame, whole process", "ms", mine, theirs, "empty Textual app", bar=1.5)
    target = place.home / "modules.json"
    target.unlink(missing_ok=True)
    probe = [sys.executable, "-m", "bench.probes.modules", str(target), ",".join(HEAVY), *arguments]
    first_frame(probe, place.environ, says="memdeck")
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
