"""Types into a headless app and takes the time from each key to the list painted for the new query."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from textual import events
from textual.app import App
from textual.widget import Widget

BEAT = 0.001
"""Seconds between two beats by which a stall of the event loop is seen."""
CALM = 0.12
"""Seconds after a paint in which what follows from it (previews, counts) may still stall the loop."""
PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """One key: milliseconds until the list was painted for it, and the longest stall until calm."""

    paint_ms: float
    stall_ms: float


class Typist:
    """Watches one list of an app: ``shown()`` says for which query its rows are.

    A paint counts when the list was drawn for the query and the update with it was turned into the bytes
    a terminal would get.
    """

    def __init__(self, app: App[Any], target: Widget, shown: Callable[[], str]) -> None:
        self._app = app
        self._drawn: str | None = None
        self._painted: str | None = None
        self._painted_at = 0.0
        self._paint = asyncio.Event()
        self._stall = 0.0
        draw, display = target.render_lines, app._display

        def render_lines(crop: Any) -> Any:
            self._drawn = shown()
            return draw(crop)

        def paint(screen: Any, renderable: Any) -> None:
            if hasattr(renderable, "render_segments"):
                renderable.render_segments(app.console)
            display(screen, renderable)
            if self._drawn is not None and self._drawn != self._painted:
                self._painted, self._painted_at = self._drawn, time.perf_counter()
                self._paint.set()

        target.render_lines = render_lines  # type: ignore[method-assign]
        app._display = paint  # type: ignore[method-assign]

    async def type(self, text: str, debounce: float) -> list[Stroke]:
        """Type ``text`` into the focused, empty input, each key after the paint of the one before."""
        beating = asyncio.create_task(self._beat())
        try:
            return [
                await self._stroke(text[end - 1], text[:end], debounce) for end in range(1, len(text) + 1)
            ]
        finally:
            beating.cancel()

    async def _stroke(self, character: str, wanted: str, debounce: float) -> Stroke:
        driver = self._app._driver
        assert driver is not None
        self._stall = 0.0
        key = "space" if character == " " else character
        event = events.Key(key, character)
        event.set_sender(self._app)
        started = time.perf_counter()
        driver.send_message(event)
        while self._painted != wanted:
            self._paint.clear()
            await asyncio.wait_for(self._paint.wait(), PATIENCE)
        paint = (self._painted_at - started - debounce) * 1000
        await asyncio.sleep(CALM)
        return Stroke(paint, self._stall * 1000)

    async def _beat(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(BEAT)
            now = time.perf_counter()
            self._stall = max(self._stall, now - last - BEAT)
            last = now


def as_plain(strokes: Sequence[Stroke]) -> dict[str, list[float]]:
    """The strokes as plain lists, for JSON."""
    return {
        "paint": [stroke.paint_ms for stroke in strokes],
        "stall": [stroke.stall_ms for stroke in strokes],
    }
