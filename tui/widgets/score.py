"""The score pane: why the selected chunk ranks where it does, or why it is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual.strip import Strip

from tui import format as fmt
from tui.widgets.line_view import ScrollPane
from tui.widgets.waterfall import Line, also_lines, hit_lines, why_lines

if TYPE_CHECKING:
    from core.memory import Also, Hit, SearchReport, WhyReport

Weights = tuple[float, float]
"""(text, vector), as set."""


class ScorePane(ScrollPane):
    """Shows one explanation, laid out anew for each width."""

    BINDING_GROUP_TITLE = "Score"
    NOTHING = "Select a hit to see why it ranks where it does."

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._write: Callable[[int], list[Line]] = self._nothing
        self._lines: list[Line] = []
        self._laid_out_for = -1

    def show(
        self, item: Hit | Also | None, report: SearchReport | None = None, weights: Weights | None = None
    ) -> None:
        """Explain a row of the result list, from the report it came with; None: nothing is selected."""
        if item is None or report is None:
            self._explain(self._nothing)
        elif hasattr(item, "matched_by"):
            also = cast("Also", item)
            self._explain(lambda width: also_lines(also, width))
        else:
            hit = item
            self._explain(lambda width: hit_lines(hit, report, width, weights))

    def show_why(
        self, why: WhyReport, report: SearchReport | None = None, weights: Weights | None = None
    ) -> None:
        """Answer *why, or why not, this chunk*; ``report`` (the search it was asked beside) names the stages."""
        self._explain(lambda width: why_lines(why, report, width, weights))

    @property
    def plain(self) -> str:
        """The explanation as text, for copying."""
        return "\n".join(self.draw_line(y, self.line_width).text.rstrip() for y in range(self.line_count))

    def _explain(self, write: Callable[[int], list[Line]]) -> None:
        self._write = write
        self._laid_out_for = -1
        self.relayout()
        self.scroll_to(y=0, animate=False, immediate=True)

    def _nothing(self, width: int) -> list[Line]:
        rows = fmt.wrap(self.NOTHING, max(4, width - 2))
        return [Line(), *(Line(((" ", ""), (row, "muted"))) for row in rows)]

    def _layout(self) -> list[Line]:
        width = self.line_width
        if width != self._laid_out_for:
            self._lines = self._write(width)
            self._laid_out_for = width
        return self._lines

    @property
    def line_count(self) -> int:
        return len(self._layout())

    def draw_line(self, y: int, width: int) -> Strip:
        line = self._layout()[y]
        if line.rule:
            return self.rule(line.rule, width)
        return self.line(width, line.left, line.right)
