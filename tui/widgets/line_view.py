"""What every pane that draws line by line shares: named looks, lines of exact width, nothing unclean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.format import ELLIPSIS, fit, width_of
from tui.text import clean

Piece = tuple[str, str]
"""Text and the names of its looks, space-separated ("" : plain): ``("stale", "warn")``."""

_DIM = Style(dim=True)
_REVERSE = Style(reverse=True)


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolling pane that draws only the lines in sight.

    A subclass says how many lines there are (``line_count``) and draws one (``draw_line``); it calls
    ``relayout`` when the count changed.  Looks are component classes ``line--NAME``, so that a theme or a
    style sheet decides on them; every text goes through the gate, whatever the caller did before.
    """

    COMPONENT_CLASSES = {
        "line--plain",
        "line--muted",
        "line--strong",
        "line--mark",
        "line--good",
        "line--warn",
        "line--bad",
        "line--rule",
        "line--bar",
        "line--accent",
        "line--cursor",
    }

    DEFAULT_CSS = """
    LineView {
        overflow-x: hidden;
        overflow-y: scroll;  /* coming and going, the scrollbar would lay out the whole screen */
        scrollbar-size-vertical: 1;
        scrollbar-background: $background 0%;
        scrollbar-background-hover: $background 0%;
        scrollbar-background-active: $background 0%;
        & > .line--muted { color: $text-muted; &:ansi { text-style: dim; } }
        & > .line--strong { text-style: bold; }
        & > .line--mark { color: $foreground; text-style: bold underline; }
        & > .line--good { color: $text-success; }
        & > .line--warn { color: $text-warning; }
        & > .line--bad { color: $text-error; }
        & > .line--rule { color: $text-muted; &:ansi { text-style: dim; } }
        & > .line--bar { color: $text; }
        & > .line--accent { color: $text-muted; }
        & > .line--cursor { background: $block-cursor-blurred-background; }
        &:focus > .line--accent { color: $accent; }
        &:focus > .line--cursor {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
    }
    """

    ALLOW_SELECT = False

    # More or fewer lines change nothing but the scrollbar; Textual would lay out the whole screen for it.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._looks: dict[tuple[str, str, bool], Style] = {}
        self._width = 0

    # What a subclass says about itself

    @property
    def line_count(self) -> int:
        """How many lines there are in all."""
        raise NotImplementedError

    def draw_line(self, y: int, width: int) -> Strip:
        """Draw line ``y`` (0 ≤ y < ``line_count``) in exactly ``width`` cells."""
        raise NotImplementedError

    def forget_lines(self) -> None:
        """Drop whatever was drawn and kept; a subclass that keeps strips extends this."""

    @property
    def allow_vertical_scroll(self) -> bool:
        """Also while the scrollbar of a text just taken in is still to come, or going to its chunk would fail."""
        return self.is_scrollable and not self.disabled

    # Drawing

    def relayout(self) -> None:
        """Take in a new number of lines and draw again."""
        self.forget_lines()
        self.virtual_size = Size(self.line_width, self.line_count)
        self._scroll_update(self.virtual_size)
        self.refresh()

    def _scroll_update(self, virtual_size: Size) -> None:
        """Fit the scrollbar to the lines; unlike Textual's it is drawn only when something of it changed."""
        self._refresh_scrollbars()
        if self.show_vertical_scrollbar:
            window = self.container_size.height
            self.vertical_scrollbar.window_virtual_size = max(window, virtual_size.height)  # equal: no thumb
            self.vertical_scrollbar.window_size = window
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    @property
    def line_width(self) -> int:
        """Cells a line has: the pane without its frame and the column kept for the scrollbar."""
        return max(0, self.scrollable_content_region.width)

    def look(self, names: str = "", row: str = "", dim: bool = False) -> Style:
        """The Rich style of the named looks, laid over the look of the row they stand in."""
        key = (names, row, dim)
        style = self._looks.get(key)
        if style is None:
            classes = [f"line--{name}" for name in (*row.split(), *names.split())]
            # Visual styles are laid over one another; Rich ones of several classes would be the last one's.
            style = self.get_visual_style(*classes).rich_style
            if any(self.get_component_styles(name).text_style.reverse for name in classes):
                style += _REVERSE  # which visual styles do not carry
            if row == "cursor" and names and names != "accent" and self.has_focus:
                # On the focused row one colour fits its ground in every theme; only weight and line differ.
                style += Style(color=self.get_component_rich_style(f"line--{row}").color)
            if dim:
                style += _DIM
            for line_filter in super().get_line_filters():
                if isinstance(line_filter, ANSIToTruecolor):
                    style = line_filter.truecolor_style(style, self.background_colors[1].rich_color)
            self._looks[key] = style
        return style

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without the one that ``look`` applies once for all, which would look at every piece of every line."""
        return [
            line_filter
            for line_filter in super().get_line_filters()
            if not isinstance(line_filter, ANSIToTruecolor)
        ]

    def line(
        self,
        width: int,
        left: Iterable[Piece],
        right: Sequence[Piece] = (),
        *,
        row: str = "",
        dim: bool = False,
    ) -> Strip:
        """Draw pieces from the left edge and pieces up to the right edge, in exactly ``width`` cells.

        When both do not fit, the left side is cut with ``…``; the right side is cut only when alone too wide.
        """
        tail, tail_width = self._segments(right, width, row, dim)
        room = width - tail_width - (1 if tail_width and tail_width < width else 0)
        segments, used = self._segments(left, room, row, dim)
        if used + tail_width < width:
            segments.append(Segment(" " * (width - used - tail_width), self.look("", row, dim)))
        segments.extend(tail)
        return Strip(segments, width)

    def rule(self, title: str, width: int, *, dim: bool = False) -> Strip:
        """A horizontal rule that carries a title: ``── below the floor .70 ─────``."""
        text = fit(f"── {clean(title)} ", width)
        return self.line(width, [(text + "─" * (width - width_of(text)), "rule")], dim=dim)

    def _segments(self, pieces: Iterable[Piece], room: int, row: str, dim: bool) -> tuple[list[Segment], int]:
        segments: list[Segment] = []
        used = 0
        for text, names in pieces:
            text = clean(text)
            if not text:
                continue
            cells = width_of(text)
            cut = used + cells > room
            if cut:
                if used >= room:
                    if segments and segments[-1].text[-1:] != ELLIPSIS:
                        last = segments.pop()
                        shorter = fit(last.text + " ", last.cell_length)
                        segments.append(Segment(shorter, last.style))
                        used += width_of(shorter) - last.cell_length
                    break
                text = fit(text, room - used)
                cells = width_of(text)
            segments.append(Segment(text, self.look(names, row, dim)))
            used += cells
            if cut:
                break
        return segments, used

    def render_lines(self, crop: Region) -> list[Strip]:
        self._width = self.line_width  # asked once for all lines: it costs as much as drawing one
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self._width
        line = y + self.scroll_offset.y
        if line >= self.line_count or not width:
            return Strip.blank(width, self.look())
        return self.draw_line(line, width)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()
        self.forget_lines()

    def on_resize(self) -> None:
        self.relayout()


class ScrollPane(LineView):
    """A pane to read: no cursor, the keys scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll(1)", "Down", id="scroll.down", show=False, tooltip="A line on"),
        Binding("up,k", "scroll(-1)", "Up", id="scroll.up", show=False, tooltip="A line back"),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", id="scroll.page-down", show=False,
                tooltip="A page on"),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", id="scroll.page-up", show=False,
                tooltip="A page back"),
        Binding("g,home", "top", "Top", id="scroll.top", show=False, tooltip="The first line"),
        Binding("G,end", "bottom", "Bottom", id="scroll.bottom", show=False, tooltip="The last line"),
    ]  # fmt: skip

    def action_scroll(self, lines: int) -> None:
        self.scroll_relative(y=lines, animate=False, immediate=True)

    def action_page(self, pages: int) -> None:
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False, immediate=True)

    def action_top(self) -> None:
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_bottom(self) -> None:
        self.scroll_to(y=self.line_count, animate=False, immediate=True)
