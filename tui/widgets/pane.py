"""A framed part of the main screen: title left, count right, tabs in the frame when panes share one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message

from tui.actions import PLACE_TITLES, PLACES, Place
from tui.text import content


class Pane(Vertical):
    """One pane.  ``place`` is its name among :data:`tui.actions.PLACES`.

    The frame's top line is drawn by the title itself: Textual puts one text there, and a title at the left
    with a count at the right needs the line between them.
    """

    DEFAULT_CSS = """
    Pane {
        border: round $border-blurred;
        border-title-color: $foreground;
        border-title-style: none;
        padding: 0;
        height: 1fr;
        min-height: 3;
        &:focus-within { border: round $border; }
    }
    """
    FRAME = 6  # at each end the corner, one cell of line and a blank

    @dataclass
    class TabChosen(Message):
        """A tab in the frame was clicked."""

        place: Place

    HELP: ClassVar[str] = ""
    TITLES: ClassVar[Mapping[Place, str]] = PLACE_TITLES
    ORDER: ClassVar[tuple[Place, ...]] = PLACES

    def __init__(self, place: Place, title: str = "") -> None:
        super().__init__(id=place)
        self.place = place
        self._title = title or self.TITLES[place]
        self._counts: tuple[str, ...] = ()
        self._tabs: tuple[Place, ...] = ()
        self._spans: list[tuple[int, int, Place]] = []

    def set_title(self, title: str) -> None:
        """Name the pane; ``title`` may be stored text."""
        if title != self._title:
            self._title = title
            self._draw_frame()

    def set_count(self, *counts: str) -> None:
        """Say how many: the first of ``counts`` that fits beside the title; none says nothing."""
        if counts != self._counts:
            self._counts = counts
            self._draw_frame()

    def set_tabs(self, tabs: tuple[Place, ...]) -> None:
        """Show these panes as tabs in the frame, this one lit; () shows the plain title."""
        if tabs != self._tabs:
            self._tabs = tabs
            self._draw_frame()

    def _draw_frame(self) -> None:
        room = self.outer_size.width - self.FRAME
        if room <= 0:
            return
        title = self._draw_tabs(room) if self._tabs else Content.styled(self._title_text(), "bold")
        line = "$border" if self.has_pseudo_class("focus-within") else "$border-blurred"
        for words in self._counts:
            count = content(words, "$text-muted")
            gap = room - title.cell_length - count.cell_length - 2
            if gap >= 1:
                self._paint_top(Content.assemble(title, " ", Content.styled("─" * gap, line), " ", count))
                return
        self._paint_top(title)

    def _paint_top(self, title: Content) -> None:
        """Draw the top line and only that; setting ``border_title`` would draw the whole pane, on each key."""
        if title != self._border_title:
            self._border_title = title
            corner = self.content_offset
            self.refresh(Region(-corner.x, -corner.y, self.outer_size.width, 1))

    def _title_text(self) -> str:
        return content(self._title).plain

    def _draw_tabs(self, room: int) -> Content:
        self._spans = []
        names = [self._title_text() if place == self.place else self.TITLES[place] for place in self._tabs]
        if sum(len(name) + 3 for name in names) - 3 > room:
            names = [
                name if place == self.place else str(self.ORDER.index(place) + 1)
                for name, place in zip(names, self._tabs, strict=True)
            ]
        parts: list[Content] = []
        x = 2 + 1  # corner, line, blank
        for place, name in zip(self._tabs, names, strict=True):
            if parts:
                parts.append(Content.styled(" │ ", "$text-muted"))
                x += 3
            style = "bold underline" if place == self.place else "$text-muted"
            parts.append(Content.styled(name, style))
            self._spans.append((x, x + parts[-1].cell_length, place))
            x += parts[-1].cell_length
        return Content.assemble(*parts)

    @on(events.Resize)
    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _frame_changed(self) -> None:
        # Focus classes are updated after these events; the frame takes its colour from them.
        self.call_after_refresh(self._draw_frame)

    def on_click(self, event: events.Click) -> None:
        if event.y != 0 or not self._tabs:
            return
        for start, end, place in self._spans:
            if start <= event.x < end:
                event.stop()
                self.post_message(self.TabChosen(place))
