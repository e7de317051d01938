"""Types queries into the app and into the peer by turns; prints key-to-paint and stalls of every key."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from textual.widgets import Input

from bench.corpus import queries
from bench.ground import Ground
from bench.peers.line_app import LineApp, Lines
from bench.typing_harness import Stroke, Typist, as_plain
from tui.app import MemdeckApp
from tui.session import SearchRequest
from tui.widgets.search_box import SearchBox
from tui.widgets.search_pane import DEBOUNCE, SearchPane

SIZE = (120, 40)


async def ready(app: MemdeckApp, chunks: int) -> SearchPane:
    """Wait until the app has opened its memory, synced and watches it."""
    for _ in range(600):
        await asyncio.sleep(0.1)
        screen = app.screen
        status = getattr(screen, "status", None)
        if status is not None and status.chunks == chunks and app.session.live and not app.session.syncing:
            return screen.query_one(SearchPane)
    raise RuntimeError("the app did not come to rest")


async def ours(ground: Ground, texts: Sequence[str], profile: str) -> list[Stroke]:
    app = MemdeckApp(ground.open)
    async with app.run_test(size=SIZE):
        pane = await ready(app, ground.chunks)
        typist = Typist(app, pane.results, lambda: pane.results.report.query if pane.results.report else "")
        pane.query_one(SearchBox).focus()
        strokes: list[Stroke] = []
        if profile != "agent":
            await warm(pane, profile)
        for text in texts:
            pane.query_one(SearchBox).value = ""
            await asyncio.sleep(DEBOUNCE + 0.4)
            strokes += await typist.type(text, DEBOUNCE)
    return strokes


async def warm(pane: SearchPane, profile: str) -> None:
    """Choose the profile and wait until the model is loaded and vectors are searched."""
    pane.ask(SearchRequest("harbor", profile=profile, entered=True), at_once=True)
    for _ in range(300):
        await asyncio.sleep(0.1)
        if pane.last is not None and pane.last.mode == "text+vectors":
            return
    raise RuntimeError("no search by vectors came back")


async def peer(texts: Sequence[str]) -> list[Stroke]:
    app = LineApp(DEBOUNCE)
    async with app.run_test(size=SIZE):
        lines = app.query_one(Lines)
        typist = Typist(app, lines, lambda: lines.query_text)
        app.query_one(Input).cursor_blink = False
        strokes: list[Stroke] = []
        for text in texts:
            app.query_one(Input).value = ""
            await asyncio.sleep(DEBOUNCE + 0.4)
            strokes += await typist.type(text, DEBOUNCE)
    return strokes


def main() -> None:
    ground = Ground(Path(sys.argv[1]), int(sys.argv[2]))
    rounds = int(sys.argv[3])
    profile = sys.argv[4] if len(sys.argv) > 4 else "agent"
    found: dict[str, list[dict[str, list[float]]]] = {"ours": [], "peer": []}
    typed = [
        [specific, frequent]
        for specific, frequent in zip(queries(rounds, 1_000, 15_000), queries(rounds, 5, 60), strict=True)
    ]
    for number, texts in enumerate(typed):
        for name in ("ours", "peer") if number % 2 == 0 else ("peer", "ours"):
            strokes = asyncio.run(ours(ground, texts, profile) if name == "ours" else peer(texts))
            found[name].append(as_plain(strokes))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
