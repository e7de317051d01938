"""What stands where nothing is: one sentence, and one key that leads on."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tui.text import clean, content


class Empty(Static):
    """A quiet message in the middle of a pane."""

    DEFAULT_CSS = """
    Empty {
        width: 1fr; height: 1fr; padding: 1 2;
        content-align: center middle; text-align: center; color: $text-muted;
        &:ansi { text-style: dim; }
    }
    """

    def say(self, sentence: str, key: str = "", leads: str = "") -> None:
        """Show ``sentence`` (may hold stored text) and, under it, what ``key`` does."""
        parts: list[Content] = [content(sentence)]
        if key:
            parts.append(Content.assemble("\n", (clean(key), "bold $foreground"), f" {leads}"))
        self.update(Content.assemble(*parts))
