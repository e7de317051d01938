"""A dialogue to read: problems, findings, receipts, help.  Nothing in it changes anything."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.text import clean


class ReadingScreen(ModalScreen[None]):
    """Shows ``body`` (already through the gate) under a title; ``esc`` closes."""

    BINDINGS = [
        Binding("escape,q,question_mark", "close", "Close", id="reading.close", tooltip="Back to where you were."),
        Binding("j,down", "scroll(1)", "Down", id="reading.down", tooltip="One line down."),
        Binding("k,up", "scroll(-1)", "Up", id="reading.up", tooltip="One line up."),
        Binding("pagedown,space", "page(1)", "Page down", id="reading.pagedown", tooltip="One page down."),
        Binding("pageup", "page(-1)", "Page up", id="reading.pageup", tooltip="One page up."),
        Binding("g,home", "end(-1)", "Top", id="reading.top", tooltip="To the top."),
        Binding("G,end", "end(1)", "Bottom", id="reading.bottom", tooltip="To the bottom."),
    ]

    def __init__(self, title: str, body: Content) -> None:
        super().__init__()
        self._title = title
        self._body = body

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialogue") as box:
            box.border_title = Content(clean(self._title))  # type: ignore[assignment]
            box.border_subtitle = Content("esc closes")  # type: ignore[assignment]
            with VerticalScroll(classes="dialogue-body"):
                yield Static(self._body, classes="reading")

    @property
    def _scroll(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        self._scroll.scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        self._scroll.scroll_relative(y=pages * max(1, self._scroll.size.height - 1), animate=False)

    def action_end(self, end: int) -> None:
        if end < 0:
            self._scroll.scroll_home(animate=False)
        else:
            self._scroll.scroll_end(animate=False)
