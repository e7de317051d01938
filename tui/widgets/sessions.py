"""Sessions: the dated logs of the selected workspace, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.strip import Strip

from tui.format import size
from tui.widgets.line_list import LineList, Row, RowState
from tui.widgets.line_view import Piece
from tui.widgets.pane import Pane

if TYPE_CHECKING:
    from core.memory import SessionLog

STATE_GLYPHS = {"new": "+", "stranded": "▿", "consolidated": "✓"}
UNREAD = "!"
_SIZE_CELLS = 6  # "483 B", "29 kB", "1.2 MB"
_SIZE_FROM = 40  # cells from which the size stands beside the name
_WORDS_FROM = 60  # cells from which the state is a word beside its glyph


def short_size(count: int) -> str:
    """Bytes in four cells, for a narrow column: `` 483``, ``  2k``, `` 29k``, ``1.2M``."""
    if count < 1000:
        return f"{count:>4}"
    kilo = round(count / 1000)
    if kilo < 1000:
        return f"{kilo:>3}k"
    return f"{count / 1e6:.1f}M" if count < 9.95e6 else f"{count / 1e6:>3.0f}M"


class SessionsList(LineList):
    """One log a row: state, day, slug, size, age mark; the name has what the others leave."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self.unread: frozenset[str] = frozenset()
        """Paths of logs that could not be read."""
        self.mark_cells = 0
        """Cells of the widest age mark there is."""

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        log: SessionLog = row.data
        unread = log.entry.path in self.unread
        glyph = UNREAD if unread else STATE_GLYPHS[log.state]
        if width >= _WORDS_FROM:
            glyph = f"{glyph} {'not read' if unread else log.state:<12}"
        mark = "" if log.staleness == "fresh" else log.staleness
        left: list[Piece] = [
            (f"{glyph} ", "warn" if unread or log.state == "stranded" else "muted"),
            (f"{log.day[5:] if log.day else '--  '} ", "muted"),
            (log.slug or log.entry.name, ""),
        ]
        if log.entry.link_target:
            left.append((" →", "muted"))
        right: list[Piece] = []
        if width >= _WORDS_FROM:
            right.append((f"{size(log.entry.size):>{_SIZE_CELLS}}", "muted"))
        elif width >= _SIZE_FROM:
            right.append((short_size(log.entry.size), "muted"))
        if self.mark_cells and (mark or right):
            gap = " " if right else ""
            right.append((f"{gap}{mark:<{self.mark_cells}}", "warn" if mark == "stale" else "muted"))
        return [self.line(width, left, right, row=state.row, dim=state.dim)]


class SessionsPane(Pane):
    HELP = (
        "The logs of the workspace, newest first: day, slug, size and what the agent would say of its age "
        "(verify after one day, stale after seven).  Enter shows a log.\n\n"
        "State: + new since the last dream · ▿ stranded: older than the last dream and never read by one · "
        "✓ consolidated: a dream that was applied read it · ! could not be read."
    )

    @dataclass
    class LogChosen(Message):
        """Show this log."""

        path: str

    def __init__(self) -> None:
        super().__init__("sessions")

    def compose(self) -> ComposeResult:
        yield SessionsList(id="sessions-list")

    @property
    def listing(self) -> SessionsList:
        return self.query_one(SessionsList)

    def on_mount(self) -> None:
        self.listing.set_empty("Opening the memory…")

    def show(self, sessions: tuple[SessionLog, ...], workspace: str) -> None:
        """Show these logs; the cursor stays on its log when it is still there."""
        self.set_count(f"{len(sessions):,}")
        self.listing.set_empty(
            "No session logs yet: the agent writes one when a session ends."
            if workspace
            else "No workspace is selected; choose one in Scopes.",
            "" if workspace else "1",
            "" if workspace else "goes there",
        )
        marks = [log.staleness for log in sessions if log.staleness != "fresh"]
        self.listing.mark_cells = max(map(len, marks), default=0)
        self.listing.set_rows([Row(log.entry.path, log) for log in sessions])

    def mark_unread(self, paths: frozenset[str]) -> None:
        """Mark these logs as not read."""
        if paths != self.listing.unread:
            self.listing.unread = paths
            self.listing.forget_lines()
            self.listing.refresh()

    @on(LineList.Opened)
    def _open(self, event: LineList.Opened) -> None:
        event.stop()
        self.post_message(self.LogChosen(event.row_id))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()

    @property
    def copyable(self) -> tuple[str, str] | None:
        """What ``y`` copies here: (what it is, the text)."""
        path = self.listing.cursor_id
        return None if path is None else ("the path", path)
