"""The preview: a file of any size with line numbers, the borders of its chunks and the words of the query."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from tui import format as fmt
from tui.text import clean
from tui.widgets.document import (
    CODE,
    COMMENT,
    DREAM_RULE,
    HEADING,
    Document,
    Layout,
    PreparedPreview,
    lay_out,
    matches_in,
    prepare_preview,
    select_chunk,
)
from tui.widgets.line_view import Piece, ScrollPane
from tui.widgets.marked import Span, painted, spans_in

if TYPE_CHECKING:
    from textual.selection import Selection

    from core.errors import MemdeckError
    from core.memory import ChunkSpan

__all__ = ["PreparedPreview", "PreviewPane", "prepare_preview"]

_INLINE_CODE = re.compile(r"`[^`\n]+`")
_LOOKS = {HEADING: "strong", CODE: "muted", COMMENT: "muted"}
_LIGHT = ("╭", "│", "╰", "╶")
_HEAVY = ("┏", "┃", "┗", "╺")
"""First, middle and last line of a chunk, and a chunk of one line; heavy for the selected one."""
_AT_ONCE = 4_000
"""Lines up to which a new width is laid out on the loop; more go to a thread."""
_WINDOW = 400
"""Characters around a row of a very long line in which its marks are looked for."""
_ABOVE = 2
"""Lines kept in sight above the one that is gone to."""


class PreviewPane(ScrollPane):
    """Shows one prepared file.

    ``prepare_preview`` does the work in the worker; ``show`` only draws what is in sight.  ``find`` looks for
    text in the file; ``Found`` says how many places there are and which one is in sight.
    """

    BINDING_GROUP_TITLE = "Preview"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "find(1)", "Next match", id="preview.find-next", show=False,
                tooltip="The next place of what was looked for in the file"),
        Binding("N", "find(-1)", "Match before", id="preview.find-previous", show=False,
                tooltip="The place before of what was looked for in the file"),
    ]  # fmt: skip
    COMPONENT_CLASSES = {"line--chunk", "line--found", "line--current"}
    DEFAULT_CSS = """
    PreviewPane {
        & > .line--chunk { background: $block-cursor-blurred-background; }
        & > .line--found { text-style: underline; }
        & > .line--current { text-style: bold reverse; }
    }
    """
    ALLOW_SELECT = True

    @dataclass
    class Found(Message):
        """``total`` places have the text (at most ``document.MATCH_LIMIT`` are counted); ``current`` of them is in sight."""

        pane: PreviewPane
        text: str
        current: int
        total: int

        @property
        def control(self) -> PreviewPane:
            return self.pane

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._document: Document | None = None
        self._layout: Layout | None = None
        self._empty = ("", "", "")
        self._sought = ""
        self._sought_pattern: re.Pattern[str] | None = None
        self._matches: list[tuple[int, int, int]] = []  # (line index, start, end)
        self._current = -1

    # What is shown

    @property
    def document(self) -> Document | None:
        return self._document

    def show(self, prepared: PreparedPreview, line: int | None = None) -> None:
        """Show a file and go to ``line`` (1-based), else to its selected chunk.

        The same file with the same chunk, and no line given, stays where it is scrolled to.
        """
        before, document = self._document, prepared.document
        stays = before is not None and (before.path, before.chunk and before.chunk.id) == (
            document.path,
            document.chunk and document.chunk.id,
        )
        top = self._top_line() if stays and line is None else None
        self._document, self._layout = document, prepared.layout
        self._sought, self._sought_pattern, self._matches, self._current = "", None, [], -1
        self.refresh_bindings()
        self.relayout()
        self._fit_width()
        if top is not None:
            self._scroll_to_top(top)
        elif line is not None:
            self.scroll_to_line(line)
        elif document.chunk is not None:
            self.scroll_to_line(document.chunk.start_line)
        else:
            self.scroll_to(y=0, animate=False, immediate=True)

    def select(self, chunk: str | None, matched: Iterable[str] = ()) -> None:
        """Select another chunk of the file that is shown, with its words, and go to it; nothing is read again."""
        if self._document is not None:
            self._document = select_chunk(self._document, chunk, matched)
            self.refresh()
            if self._document.chunk is not None:
                self.scroll_to_line(self._document.chunk.start_line)

    def show_failure(self, error: MemdeckError) -> None:
        """Say that the file could not be read, what that means for the data and what to do."""
        self.clear("\n".join(line for line in (f"✗ {error}", error.data, error.hint) if line))

    def clear(self, sentence: str = "", key: str = "", leads: str = "") -> None:
        """Show no file but a sentence, and below it what ``key`` does."""
        self._document = self._layout = None
        self._matches, self._current = [], -1
        self._empty = (sentence, key, leads)
        self.relayout()
        self.scroll_to(y=0, animate=False, immediate=True)

    def scroll_to_line(self, line: int) -> None:
        """Bring a line of the file (1-based) near the top."""
        if self._document is not None:
            index = line - self._document.first - _ABOVE
            self._scroll_to_top(max(0, min(index, len(self._document.lines) - 1)))

    def _top_line(self) -> int | None:
        """The index of the line at the top, None while the banner is in sight."""
        if self._layout is None or self.scroll_offset.y < len(self._layout.banner):
            return None
        return self._layout.line_at(min(self.scroll_offset.y, self._layout.rows - 1))[0]

    def _scroll_to_top(self, index: int) -> None:
        assert self._layout is not None
        row = self._layout.tops[min(index, len(self._layout.tops) - 1)] if index > 0 else 0
        self.scroll_to(y=row, animate=False, immediate=True)

    # Width

    def on_resize(self) -> None:
        super().on_resize()
        self._fit_width()

    def _fit_width(self) -> None:
        """Wrap anew when the document was laid out for another width."""
        if self._document is None or self._layout is None or not self.line_width:
            return
        if self._layout.width == self.line_width:
            return
        if len(self._document.lines) <= _AT_ONCE:
            self._take_layout(lay_out(self._document, self.line_width))
        else:
            self.run_worker(
                self._lay_out_in_thread(self._document, self.line_width),
                group="layout",
                exclusive=True,
                exit_on_error=False,
                description="wrapping a long file",
            )

    async def _lay_out_in_thread(self, document: Document, width: int) -> None:
        layout = await asyncio.to_thread(lay_out, document, width)
        if document is self._document and width == self.line_width:
            self._take_layout(layout)

    def _take_layout(self, layout: Layout) -> None:
        top = self._top_line()
        self._layout = layout
        self.relayout()
        if top is not None:
            self._scroll_to_top(top)

    # Drawing

    @property
    def line_count(self) -> int:
        if self._layout is None:
            return len(self._empty_lines(self.line_width))
        return self._layout.rows

    def _empty_lines(self, width: int) -> list[list[Piece]]:
        sentence, key, leads = self._empty
        if not sentence:
            return []
        lines: list[list[Piece]] = [[]]
        for part in sentence.split("\n"):
            look = "bad" if part.startswith("✗") else "muted"
            lines += [[(" ", ""), (row, look)] for row in fmt.wrap(clean(part), max(4, width - 2))]
        if key:
            lines.append([(" ", ""), (key, "strong"), (f" {leads}", "muted")])
        return lines

    def draw_line(self, y: int, width: int) -> Strip:
        if self._document is None or self._layout is None:
            return self.line(width, self._empty_lines(width)[y])
        document, layout = self._document, self._layout
        if y < len(layout.banner):
            return self.line(width, [(" ", ""), (layout.banner[y], "warn")])
        index, part = layout.line_at(y)
        text = document.lines[index]
        number = document.first + index
        last = y + 1 == layout.tops[index + 1]
        if last and index == document.limit:
            return self.rule(DREAM_RULE, width)
        start, end = layout.slice_of(index, part, len(text))
        end = start + len(
            text[start:end].rstrip(" ")
        )  # a blank at the edge of a wrapped row is not cut with …
        span = document.span_at(number)
        row = "chunk" if span is not None and span is document.chunk else ""
        # A wrapped line carries its number and the corner of its chunk on one row only.
        ends = last or (index == document.limit and y + 2 == layout.tops[index + 1])
        left = self._gutter(number if part == 0 else None, span, part == 0, ends, number)
        gutter = self.line(layout.gutter, left, row=row)
        body = self.line(max(0, width - layout.gutter), self._body(index, start, end), row=row)
        body = self._with_selection(body, y, end - start).apply_offsets(0, y)
        return Strip([*gutter, *body], width)

    def _gutter(
        self, shown: int | None, span: ChunkSpan | None, begins: bool, ends: bool, number: int
    ) -> list[Piece]:
        assert self._layout is not None and self._document is not None
        layout = self._layout
        label = "" if shown is None else str(shown)
        pieces: list[Piece] = [(f" {label:>{layout.numbers}} ", "muted")]
        if span is None:
            return pieces
        glyphs = _HEAVY if span is self._document.chunk else _LIGHT
        look = "strong" if span is self._document.chunk else "muted"
        first, last = number == span.start_line and begins, number == span.end_line and ends
        glyph = glyphs[3] if first and last else glyphs[0] if first else glyphs[2] if last else glyphs[1]
        ordinal = str(span.ordinal) if first and layout.ordinals else ""
        return [*pieces, (glyph, look), (f"{ordinal:<{layout.ordinals}} ", look)]

    def _body(self, index: int, start: int, end: int) -> list[Piece]:
        """The text of one row, styled: what the line is, code in it, matched words, what is looked for."""
        assert self._document is not None
        document = self._document
        text = document.lines[index]
        low, high = (0, len(text)) if len(text) <= 10 * _WINDOW else (start - _WINDOW, end + _WINDOW)
        low = max(0, low)
        window = text[low:high]
        kind = document.kinds[index]
        layers: list[tuple[tuple[Span, ...], str]] = []
        if "`" in window and kind != CODE:
            layers.append((tuple(match.span() for match in _INLINE_CODE.finditer(window)), "muted"))
        layers.append((spans_in(window, document.pattern), "mark"))
        layers.append((spans_in(window, self._sought_pattern), "found"))
        if 0 <= self._current < len(self._matches) and self._matches[self._current][0] == index:
            _, left, right = self._matches[self._current]
            layers.append((((left - low, right - low),), "current"))
        return painted(text, low, start, end, _LOOKS.get(kind, ""), layers)

    # Marking with the mouse

    def _with_selection(self, body: Strip, row: int, length: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(row) if selection is not None else None
        if not span:
            return body
        start, end = span
        start, end = min(start, length), length if end == -1 else min(end, length)
        left, right = body.index_to_cell_position(start), body.index_to_cell_position(end)
        parts = body.divide([left, right, body.cell_length])
        style = self.selection_style
        chosen = Strip(
            [Segment(text, (old or self.look()) + style) for text, old, _ in parts[1]], right - left
        )
        return Strip.join([parts[0], chosen, parts[2]])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if self._document is None or self._layout is None:
            return None
        document, layout = self._document, self._layout
        first = selection.start.y if selection.start is not None else len(layout.banner)
        last = selection.end.y if selection.end is not None else layout.rows - 1
        out: list[str] = []
        for row in range(max(first, len(layout.banner)), min(last, layout.rows - 1) + 1):
            span = selection.get_span(row)
            index, part = layout.line_at(row)
            start, end = layout.slice_of(index, part, len(document.lines[index]))
            if not span or (start == end and part > 0):
                continue
            left, right = span
            piece = document.lines[index][start:end][left : None if right == -1 else right]
            out.append(piece if part or not out else "\n" + piece)
        return "".join(out), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    # Finding

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "find" and not self._matches:
            return False
        return super().check_action(action, parameters)

    @property
    def found(self) -> tuple[str, int, int]:
        """What is looked for, which place is in sight (from 1, 0: none) and how many there are."""
        return self._sought, self._current + 1, len(self._matches)

    def find(self, text: str) -> None:
        """Mark every place that has ``text`` (any case) and go to the first from the top on; "" ends it."""
        self._sought = clean(text)
        self._sought_pattern = re.compile(re.escape(self._sought), re.IGNORECASE) if text else None
        self._matches, self._current = [], -1
        document, pattern = self._document, self._sought_pattern
        if document is None or pattern is None:
            self._finish_find()
        elif len(document.lines) <= _AT_ONCE:
            self._matches = matches_in(document, pattern)
            self._finish_find()
        else:
            self.run_worker(
                self._find_in_thread(document, pattern),
                group="find",
                exclusive=True,
                exit_on_error=False,
                description="looking through a long file",
            )

    async def _find_in_thread(self, document: Document, pattern: re.Pattern[str]) -> None:
        matches = await asyncio.to_thread(matches_in, document, pattern)
        if document is self._document and pattern is self._sought_pattern:
            self._matches = matches
            self._finish_find()

    def _finish_find(self) -> None:
        if self._matches:
            top = self._top_line() or 0
            self._current = bisect_left(self._matches, (top, 0, 0)) % len(self._matches)
            self._reveal_match()
        self.refresh()
        self.refresh_bindings()
        self.post_message(self.Found(self, *self.found))

    def action_find(self, step: int) -> None:
        if self._matches:
            self._current = (self._current + step) % len(self._matches)
            self._reveal_match()
            self.refresh()
            self.post_message(self.Found(self, *self.found))

    def _reveal_match(self) -> None:
        assert self._layout is not None
        index, start, _ = self._matches[self._current]
        breaks = self._layout.breaks.get(index, (0,))
        row = self._layout.tops[index] + sum(1 for at in breaks[1:] if at <= start)
        if not self.scroll_offset.y <= row < self.scroll_offset.y + self.size.height:
            self.scroll_to(y=max(0, row - self.size.height // 3), animate=False, immediate=True)
