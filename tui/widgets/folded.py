"""Text to read in a dialogue, broken after blanks, slashes and hyphens, so that paths and names stay whole."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from tui.format import wrap_offsets


class Folded(Widget):
    """Shows content that is through the gate, folded to the width there is."""

    DEFAULT_CSS = "Folded { width: 1fr; height: auto; }"

    def __init__(
        self,
        content: Content | None = None,
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._content = content or Content("")
        self._folded: tuple[int, Content, int] | None = None

    def update(self, content: Content) -> None:
        self._content = content
        self._folded = None
        self.refresh(layout=True)

    def _fold(self, width: int) -> tuple[int, Content, int]:
        if self._folded is None or self._folded[0] != width:
            rows = fold(self._content, width)
            self._folded = (width, Content("\n").join(rows), len(rows))
        return self._folded

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._fold(width)[2]

    def render(self) -> Content:
        return self._fold(self.content_size.width)[1]


def fold(content: Content, width: int) -> list[Content]:
    """Rows of at most ``width`` cells, without trailing blanks."""
    rows: list[Content] = []
    for line in content.split("\n", allow_blank=True):
        starts = wrap_offsets(line.plain, width, paths=True)
        rows += [part.rstrip() for part in line.divide(starts[1:])]
    return rows
