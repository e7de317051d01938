"""A list whose rows can be marked, for what is done to several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.widgets.line_list import LineList, Row


class MultiList(LineList):
    """Marks by id: a glyph in the first cell of the row; they follow their rows and go with them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Mark", id="list.mark", show=False,
                tooltip="Mark the row, or take the mark off"),
        Binding("shift+down,J", "mark_on(1)", "Mark down", id="list.mark-down", show=False,
                tooltip="Mark the row and go on"),
        Binding("shift+up,K", "mark_on(-1)", "Mark up", id="list.mark-up", show=False,
                tooltip="Mark the row and go back"),
    ]  # fmt: skip

    @dataclass
    class MarksChanged(Message):
        """These rows are marked now, in the order of the list."""

        list: MultiList
        row_ids: tuple[str, ...]

        @property
        def control(self) -> MultiList:
            return self.list

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._marks: set[str] = set()

    @property
    def marks(self) -> tuple[str, ...]:
        """The marked rows, in the order of the list."""
        return tuple(row.id for row in self.rows if row.id in self._marks)

    def clear_marks(self) -> None:
        """Take every mark off."""
        if self._marks:
            self._marks.clear()
            self._changed()

    def is_marked(self, row_id: str) -> bool:
        return row_id in self._marks

    def set_rows(
        self, rows: Sequence[Row], *, cursor: str | None = None, lost: Literal["first", "near"] = "near"
    ) -> None:
        gone = self._marks - {row.id for row in rows}
        self._marks -= gone
        super().set_rows(rows, cursor=cursor, lost=lost)
        if gone:
            self._changed()

    def row_clicked(self, row: Row, event: events.Click) -> bool:
        if not (event.shift or event.ctrl):
            return False
        self.move_to(row.id)
        self._toggle(row.id)
        return True

    def _toggle(self, row_id: str) -> None:
        self._marks ^= {row_id}
        self._changed()

    def _changed(self) -> None:
        self.refresh()
        self.post_message(self.MarksChanged(self, self.marks))

    def action_mark(self) -> None:
        if self.cursor_id is not None:
            self._toggle(self.cursor_id)

    def action_mark_on(self, step: int) -> None:
        if self.cursor_id is not None and self.cursor_id not in self._marks:
            self._toggle(self.cursor_id)
        self.step(step)
