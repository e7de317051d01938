"""The result list: what the agent gets, what fell out and why, and what its rules do not find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.strip import Strip

from tui.format import BAR_CELLS, bar, fit, wrap
from tui.widgets.line_list import LineList, Row, RowState
from tui.widgets.line_view import Piece
from tui.widgets.marked import around, marked
from tui.widgets.prepared import Entry, PreparedReport, prepare

if TYPE_CHECKING:
    from core.errors import MemdeckError
    from core.memory import Also, Hit, SearchReport

__all__ = ["PreparedReport", "ResultsList", "prepare"]

_NARROW = 45
"""Below this width the age moves to the second line and the bar goes."""


class ResultsList(LineList):
    """Draws a prepared report: two lines a hit, one line a dropped candidate or an ``also`` row.

    ``prepare(report)`` does the work and is called in the worker; ``show`` only draws.
    """

    BINDING_GROUP_TITLE = "Results"
    KEYS: ClassVar[Mapping[str, str]] = {"search.focus": "/", "search.scope": "s", "index.rescan": "r"}
    """The key that stands for an action in an empty state, where the app has set no other in ``keys``."""

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.keys: dict[str, str] = dict(self.KEYS)
        self._typing = False
        self._prepared: PreparedReport | None = None

    @property
    def prepared(self) -> PreparedReport | None:
        return self._prepared

    @property
    def report(self) -> SearchReport | None:
        return self._prepared.report if self._prepared is not None else None

    @property
    def selected(self) -> Hit | Also | None:
        """What the cursor is on: a hit (kept or dropped), an ``also`` row, or nothing."""
        row = self.cursor
        return row.data.item if row is not None else None

    def show(self, report: SearchReport | PreparedReport) -> None:
        """Show a report; the cursor stays on its chunk when the query is the one shown before."""
        prepared = report if isinstance(report, PreparedReport) else prepare(report)
        before = self._prepared
        self._prepared = prepared
        first = next((row.id for row in prepared.rows if row.selectable), None)
        same = before is not None and before.asked == prepared.asked
        self.set_pending(False)
        if prepared.empty is not None:
            sentence, action, leads = prepared.empty
            self.set_empty(sentence, self.keys.get(action, ""), leads)
        self.set_rows(prepared.rows, cursor=None if same else first, lost="first")

    def show_failure(self, error: MemdeckError) -> None:
        """Say that the search failed, what that means for the data and what to do; no row stays."""
        self._prepared = None
        self.set_pending(False)
        lines = [f"✗ The search failed: {error}", error.data, error.hint]
        self.set_empty("\n".join(line for line in lines if line), look="bad")
        self.set_rows(())

    def set_typing(self, typing: bool) -> None:
        """Whether keys are typed into the query now: then an empty list names no key that would be typed too."""
        if typing != self._typing:
            self._typing = typing
            if not self.rows:
                self.refresh()

    def empty_parts(self) -> tuple[str, str, str, str]:
        sentence, key, leads, look = super().empty_parts()
        if self._typing and key in self.keys.values():
            key = "typing on" if key == self.keys.get("search.focus") else f"esc, then {key}"
        return sentence, key, leads, look

    def set_pending(self, pending: bool) -> None:
        """Dim the old rows while a newer answer is on its way."""
        self.set_dim(pending)

    # Drawing

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        entry: Entry = row.data
        if entry.kind == "rule":
            return [self.rule(entry.heading, width, dim=state.dim)]
        if entry.kind == "note":
            return self._note(entry, width, state)
        lines = [self._first_line(entry, width, state)]
        if entry.kind == "hit":
            lines.append(self._second_line(entry, width, state))
        return lines

    def _note(self, entry: Entry, width: int, state: RowState) -> list[Strip]:
        lines = [*wrap(entry.heading, max(2, width - 1), limit=2), ""][:2]
        return [self.line(width, [(line, "")], dim=state.dim) for line in lines]

    def _first_line(self, entry: Entry, width: int, state: RowState) -> Strip:
        assert self._prepared is not None
        columns = self._prepared.columns
        low = "" if entry.kind == "hit" else "muted"
        left: list[Piece] = [(f"{entry.rank:>{columns.rank}} ", "muted")]
        if columns.scored and entry.kind != "also":  # no score: the place and the heading have the room
            # Where the workspaces are named, the place needs the room more than the bar.
            if width >= _NARROW + (columns.workspace and columns.workspace + 1):
                left.append((bar(entry.bar) if entry.bar is not None else " " * BAR_CELLS, low or "bar"))
                left.append((" ", ""))
            left.append((f"{entry.score:>4} ", low))
        left.append((f"{entry.letter} ", low or "strong"))
        if columns.workspace:
            left.append((f"{entry.workspace:<{columns.workspace}} ", "muted"))
        left.append((entry.place, low or "strong"))
        if entry.heading:
            left += [("  ", ""), *marked(entry.heading, entry.heading_marks, low)]
        if entry.kind != "hit":
            reason = fit(entry.reason, width // 2)
            return self.line(width, left, [(reason, "muted")], row=state.row, dim=state.dim)
        right = self._age(entry) if width >= _NARROW else []
        return self.line(width, left, right, row=state.row, dim=state.dim)

    def _second_line(self, entry: Entry, width: int, state: RowState) -> Strip:
        assert self._prepared is not None
        indent = self._prepared.columns.rank + 1
        right = self._age(entry) if width < _NARROW else []
        room = width - indent - sum(len(text) for text, _ in right)
        text, spans = around(entry.line, entry.marks, room)
        left = [(" " * indent, ""), *marked(text, spans, "muted")]
        return self.line(width, left, right, row=state.row, dim=state.dim)

    def _age(self, entry: Entry) -> list[Piece]:
        assert self._prepared is not None
        columns = self._prepared.columns
        if not (entry.age or entry.mark):
            return []
        pieces = [(f"{entry.age:>{columns.age}}", "muted")]
        if columns.mark:
            look = "muted" if entry.mark == "verify" else "warn"
            pieces.append((f"  {entry.mark:<{columns.mark}}", look))
        return pieces
