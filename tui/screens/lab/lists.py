"""The results of one side: the main screen's list with the move of each row and how a person judged it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from tui.screens.lab.frame import LabPane
from tui.screens.lab.moves import Move
from tui.widgets.line_list import LineList, Row, RowState
from tui.widgets.prepared import Entry, PreparedReport
from tui.widgets.results import ResultsList

if TYPE_CHECKING:
    from core.memory import Also, Hit

_MOVE_CELLS = 5
_MARK_CELLS = 2
_LOOKS = {"up": "good", "down": "warn", "new": "good strong", "gone": "bad strong", "same": "muted"}


class LabResults(ResultsList):
    """``dress`` says what stands beside the rows; ``show`` draws them."""

    BINDING_GROUP_TITLE = "Results"
    KEYS: ClassVar[Mapping[str, str]] = {"search.focus": "/"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus", "judge(True)", "Good", id="lab.good", show=False,
                tooltip="Right for this query; the same again takes it back"),
        Binding("minus", "judge(False)", "Bad", id="lab.bad", show=False,
                tooltip="Wrong for this query; the same again takes it back"),
    ]  # fmt: skip

    @dataclass
    class Judged(Message):
        """A row is good or bad for the query, or (None) neither any more."""

        item: Hit | Also
        good: bool | None

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._moves: Mapping[str, Move] = {}
        self._marks: Mapping[str, bool] = {}

    def dress(self, moves: Mapping[str, Move], marks: Mapping[str, bool]) -> None:
        """What stands at the right of each row, by chunk id."""
        self._moves, self._marks = moves, marks
        self.forget_lines()
        self.refresh()

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        entry: Entry = row.data
        cells = _MOVE_CELLS + (_MARK_CELLS if self._marks else 0)
        if entry.item is None or width < 4 * cells:
            return super().render_row(row, width, state)
        move = self._moves.get(entry.item.id)
        mark = self._marks.get(entry.item.id)
        pieces = [(f"{move or ''!s:>{_MOVE_CELLS}}", _LOOKS[move.kind] if move else "")]
        if mark is not None:
            pieces.append((" +" if mark else " −", "good strong" if mark else "bad strong"))
        beside = self.line(cells, pieces, row=state.row, dim=state.dim)
        below = self.line(cells, (), row=state.row, dim=state.dim)
        drawn = super().render_row(row, width - cells, state)
        return [Strip([*strip, *(below if number else beside)], width) for number, strip in enumerate(drawn)]

    def action_judge(self, good: bool) -> None:
        item = self.selected
        if item is not None:
            self.post_message(self.Judged(item, None if self._marks.get(item.id) is good else good))


class SidePane(LabPane):
    """One side in its frame."""

    HELP = (
        "What the agent would get, as on the main screen: in one list under the saved settings, in the other under "
        "those on trial.  At the right how a row moves from saved to trial: ↑2 two places up, ↓1 one down, = stays, "
        "new comes in, gone falls out.  + and - judge a row right or wrong for this query; E measures with that."
    )

    @dataclass
    class Pointed(Message):
        """The cursor of this side is on another row."""

        side: SidePane
        chunk: str | None

    @dataclass
    class Opened(Message):
        """The factors of a row are wanted."""

        side: SidePane

    def compose(self) -> ComposeResult:
        yield LabResults(id=f"{self.lab_place}-list")

    @property
    def results(self) -> LabResults:
        return self.query_one(LabResults)

    def show(self, prepared: PreparedReport, moves: Mapping[str, Move], marks: Mapping[str, bool]) -> None:
        self.results.dress(moves, marks)
        self.results.show(prepared)

    def point_to(self, chunk: str) -> None:
        """Put the cursor on a chunk, where this side has it."""
        self.results.move_to(chunk)

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        item = self.results.selected
        self.post_message(self.Pointed(self, item.id if item is not None else None))

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.post_message(self.Opened(self))
