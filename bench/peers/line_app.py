"""Peer of searching as you type: one input over a list of fifty lines that all change with the query."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from rich.segment import Segment
from textual import on, work
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

LINES = 50


class Lines(ScrollView, can_focus=True):
    """Draws rows line by line."""

    DEFAULT_CSS = "Lines { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.query_text = ""
        self._rows: list[str] = []

    def show(self, query: str, rows: list[str]) -> None:
        self.query_text = query
        self._rows = rows
        self.virtual_size = Size(self.size.width, len(rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        if line >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        text = self._rows[line]
        return Strip([Segment(text, self.rich_style)], len(text)).adjust_cell_length(
            self.size.width, self.rich_style
        )


class LineApp(App[None]):
    """The shortest app that does it right: wait for a pause, make the rows in a thread, draw them."""

    @dataclass
    class Made(Message):
        """The rows for a query are there."""

        query: str
        rows: list[str]

    def __init__(self, debounce: float) -> None:
        super().__init__()
        self._debounce = debounce

    def compose(self) -> ComposeResult:
        yield Input()
        yield Lines()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._search(event.value)

    @work(exclusive=True)
    async def _search(self, query: str) -> None:
        await asyncio.sleep(self._debounce)
        rows = await asyncio.to_thread(
            lambda: [f"{number:>4}  {query} {number * 7919}" for number in range(LINES)]
        )
        self.post_message(self.Made(query, rows))

    @on(Made)
    def _made(self, event: Made) -> None:
        self.query_one(Lines).show(event.query, event.rows)
