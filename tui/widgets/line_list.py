"""The list panes are made of: rows with an id, a cursor that survives new rows, only lines in sight drawn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Literal

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from tui.format import width_of, wrap
from tui.text import clean
from tui.widgets.line_view import LineView, Piece

_KEPT_ROWS = 1024
_EDGES = {(False, False): " ", (True, False): "▌", (False, True): "●", (True, True): "◉"}
"""By (cursor, marked)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: an id unique in its list, whatever the subclass draws from, its height in lines.

    Rules, headings and notes are not ``selectable``: the cursor passes over them.
    """

    id: str
    data: Any = None
    height: int = 1
    selectable: bool = True


@dataclass(frozen=True, slots=True)
class RowState:
    """How a row is to be drawn: under the cursor, in a focused list, marked, dimmed."""

    cursor: bool = False
    focused: bool = False
    marked: bool = False
    dim: bool = False

    @property
    def row(self) -> str:
        """The look of the whole row, for ``LineView.line(row=…)``."""
        return "cursor" if self.cursor else ""


class LineList(LineView):
    """A list of rows, each of fixed height, of any length.

    A subclass overrides ``render_row``.  ``Highlighted`` is posted when the cursor reached another row and
    after ``set_rows``, since the row under the cursor may say something new; ``Opened`` on Enter and on a
    click on the row under the cursor.
    """

    BINDING_GROUP_TITLE = "List"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor_down", "Down", id="list.down", show=False, tooltip="The next row"),
        Binding("up,k", "cursor_up", "Up", id="list.up", show=False, tooltip="The row before"),
        Binding("pagedown,ctrl+d", "page_down", "Page down", id="list.page-down", show=False,
                tooltip="A page on"),
        Binding("pageup,ctrl+u", "page_up", "Page up", id="list.page-up", show=False,
                tooltip="A page back"),
        Binding("g,home", "first", "First", id="list.first", show=False, tooltip="The first row"),
        Binding("G,end", "last", "Last", id="list.last", show=False, tooltip="The last row"),
        Binding("enter", "open", "Open", id="list.open", show=False, tooltip="Open the row under the cursor"),
    ]  # fmt: skip

    @dataclass
    class Highlighted(Message):
        """The cursor is on this row (None: on no row)."""

        list: LineList
        row_id: str | None

        @property
        def control(self) -> LineList:
            return self.list

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LineList.Highlighted) and message.list is self.list

    @dataclass
    class Opened(Message):
        """The row is to be opened."""

        list: LineList
        row_id: str

        @property
        def control(self) -> LineList:
            return self.list

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._rows: Sequence[Row] = ()
        self._tops: list[int] = [0]
        self._index: dict[str, int] = {}
        self._cursor: int | None = None
        self._dim = False
        self._click_opens = False  # the click that brings the focus only puts the cursor there
        self._empty = ("", "", "", "muted")
        self._kept: dict[tuple[str, int, RowState], list[Strip]] = {}

    # Rows

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    @property
    def cursor(self) -> Row | None:
        """The row under the cursor."""
        return None if self._cursor is None else self._rows[self._cursor]

    @property
    def cursor_id(self) -> str | None:
        return None if self._cursor is None else self._rows[self._cursor].id

    def set_rows(
        self, rows: Sequence[Row], *, cursor: str | None = None, lost: Literal["first", "near"] = "near"
    ) -> None:
        """Show other rows; the cursor stays on the id it was on, or goes to ``cursor`` if given and there.

        ``lost`` says where it goes when its row is gone: to the first row, or to what is now in its place.
        """
        before, old_index = self.cursor_id, self._cursor
        self._rows = rows
        self._tops = [0, *accumulate(row.height for row in rows)]
        self._index = {row.id: index for index, row in enumerate(rows)}
        wanted = self._index.get(cursor) if cursor is not None else None
        if wanted is None and before is not None:
            wanted = self._index.get(before)
        moved = wanted is None or cursor is not None
        if wanted is None:
            wanted = old_index if lost == "near" and old_index is not None else 0
        self._cursor = self._selectable_from(min(wanted, len(rows) - 1))
        self.relayout()
        if moved:
            if self._cursor is None or lost == "first":
                self.scroll_to(y=0, animate=False, immediate=True)
            self._reveal()
        self.post_message(self.Highlighted(self, self.cursor_id))

    def set_empty(self, sentence: str, key: str = "", leads: str = "", *, look: str = "muted") -> None:
        """What to say when there is no row: a sentence in ``look``, below it what ``key`` does.

        Further lines of the sentence are quieter.
        """
        self._empty = (sentence, key, leads, look)
        if not self._rows:
            self.relayout()

    def empty_parts(self) -> tuple[str, str, str, str]:
        """What an empty list says: the sentence, the key, what it does, and the look of the sentence."""
        return self._empty

    def set_dim(self, dim: bool) -> None:
        """Dim every row while newer ones are on their way."""
        if dim != self._dim:
            self._dim = dim
            self.refresh()

    def move_to(self, row_id: str) -> bool:
        """Put the cursor on a row; False when it is not there or not selectable."""
        index = self._index.get(row_id)
        if index is None or not self._rows[index].selectable:
            return False
        self._go(index)
        return True

    def row_at(self, line: int) -> int | None:
        """The index of the row that covers a line of the whole list."""
        if not 0 <= line < self._tops[-1]:
            return None
        return bisect_right(self._tops, line) - 1

    def _selectable_from(self, index: int, step: int = 1) -> int | None:
        """The nearest selectable row from ``index`` on in the direction of ``step``, else the other way."""
        if not self._rows or index < 0:
            index = 0
        for direction in (step, -step):
            at = index
            while 0 <= at < len(self._rows):
                if self._rows[at].selectable:
                    return at
                at += direction
        return None

    def is_marked(self, row_id: str) -> bool:
        """Whether a row is drawn as marked."""
        return False

    # Drawing

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        """Draw a row as ``row.height`` strips of exactly ``width`` cells (see ``LineView.line``).

        The list itself draws the cell to the left of it: cursor and mark.
        """
        raise NotImplementedError

    @property
    def line_count(self) -> int:
        return self._tops[-1] or len(self._empty_lines(self.line_width))

    def draw_line(self, y: int, width: int) -> Strip:
        index = self.row_at(y)
        if index is None:
            return self._empty_lines(width)[y]
        row = self._rows[index]
        state = RowState(index == self._cursor, self.has_focus, self.is_marked(row.id), self._dim)
        key = (row.id, width, state)
        strips = self._kept.get(key)
        if strips is None:
            if len(self._kept) >= _KEPT_ROWS:
                self._kept.clear()
            edge = self._edge(state)
            strips = [Strip([edge, *strip], width) for strip in self.render_row(row, width - 1, state)]
            self._kept[key] = strips
        return strips[y - self._tops[index]]

    def _edge(self, state: RowState) -> Segment:
        """The first cell of every line of a row, which says in a glyph what its ground says in colour."""
        glyph = _EDGES[state.cursor, state.marked]
        return Segment(glyph, self.look("accent" if glyph != " " else "", state.row, state.dim))

    def _empty_lines(self, width: int) -> list[Strip]:
        sentence, key, leads, look = self.empty_parts()
        if not sentence or width <= 4:
            return []
        rows: list[list[Piece]] = []
        for part in sentence.split("\n"):
            quiet = "muted" if rows else look
            rows += [[(line, quiet)] for line in wrap(clean(part), width - 4)]
        if key:
            rows.append([(key, "strong"), (f" {leads}", "muted")])
        above = max(1, (self.size.height - len(rows)) // 3)
        blank = self.line(width, ())
        return [blank] * above + [
            self.line(
                width, [(" " * max(2, (width - sum(width_of(text) for text, _ in row)) // 2), ""), *row]
            )
            for row in rows
        ]

    def forget_lines(self) -> None:
        self._kept.clear()

    # Moving

    def _go(self, index: int | None) -> None:
        if index is None or index == self._cursor:
            self._reveal()
            return
        old, self._cursor = self._cursor, index
        for at in (old, index):
            if at is not None:
                self.refresh_lines(self._tops[at], self._rows[at].height)
        self._reveal()
        self.post_message(self.Highlighted(self, self.cursor_id))

    def _reveal(self) -> None:
        if self._cursor is None:
            return
        top, bottom = self._tops[self._cursor], self._tops[self._cursor + 1]
        if self._selectable_from(0) == self._cursor:
            top = 0  # headings above the first row come into sight with it
        self.scroll_to_region(
            Region(0, top, 1, min(bottom - top, max(1, self.size.height))), animate=False, immediate=True
        )

    def step(self, step: int) -> None:
        """Put the cursor on the next selectable row in the direction of ``step``, if there is one."""
        if self._cursor is None:
            self._go(self._selectable_from(0))
            return
        at = self._cursor + step
        while 0 <= at < len(self._rows) and not self._rows[at].selectable:
            at += step
        self._go(at if 0 <= at < len(self._rows) else self._cursor)

    def _page(self, direction: int) -> None:
        if self._cursor is None:
            self.step(direction)
            return
        line = self._tops[self._cursor] + direction * max(1, self.size.height - 1)
        line = max(0, min(self._tops[-1] - 1, line))
        self._go(self._selectable_from(self.row_at(line) or 0, -direction))

    def action_cursor_down(self) -> None:
        self.step(1)

    def action_cursor_up(self) -> None:
        self.step(-1)

    def action_page_down(self) -> None:
        self._page(1)

    def action_page_up(self) -> None:
        self._page(-1)

    def action_first(self) -> None:
        self._go(self._selectable_from(0))

    def action_last(self) -> None:
        self._go(self._selectable_from(len(self._rows) - 1, -1))

    def action_open(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Opened(self, self.cursor_id))

    # Mouse

    def on_focus(self) -> None:
        self._click_opens = False

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        index = None if offset is None else self.row_at(offset.y + self.scroll_offset.y)
        opens, self._click_opens = self._click_opens, True
        if index is None or not self._rows[index].selectable:
            return
        event.stop()
        if self.row_clicked(self._rows[index], event):
            return
        if index == self._cursor and opens:
            self.action_open()
        else:
            self._go(index)

    def row_clicked(self, row: Row, event: events.Click) -> bool:
        """Do something else for a click on a row than highlight or open it; False: nothing else."""
        return False
