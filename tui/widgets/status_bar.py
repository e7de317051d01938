"""The bottom of the screen: what is going on, what went wrong, and the keys that work now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui.text import clean, content

if TYPE_CHECKING:
    from core.errors import MemdeckError


class NoteStrip(Static):
    """One line that says what is so: behind, indexing, which tree the agent uses.  Gone when nothing is."""

    DEFAULT_CSS = """
    NoteStrip {
        height: auto; max-height: 2; padding: 0 1; background: $surface; color: $foreground;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    _said = ""

    def on_mount(self) -> None:
        self.display = False

    def say(self, text: str) -> None:
        if text == self._said:
            return  # laying out the screen anew costs as much as painting a list
        self._said = text
        self.display = bool(text)
        self.update(Content.assemble(("· ", "$text-muted"), content(text)) if text else "")


class ErrorStrip(Static):
    """An error beside the work, never over it: what happened, what it means for the data, what to do."""

    DEFAULT_CSS = """
    ErrorStrip { height: auto; max-height: 6; padding: 0 1; background: $surface; color: $foreground;
                 border-top: solid $error; }
    """

    def on_mount(self) -> None:
        self.display = False

    def show(self, error: MemdeckError) -> None:
        lines = [Content.assemble(("✗ ", "bold $error"), content(str(error)))]
        if error.data:
            lines.append(Content.assemble("  ", content(error.data, "$text-muted")))
        said = clean(error.hint) + "  " if error.hint else ""
        lines.append(Content.assemble("  ", said, ("esc", "bold"), (" closes this", "$text-muted")))
        self.update(Content("\n").join(lines))
        self.display = True

    def close(self) -> bool:
        """Hide it; False when there was nothing to hide."""
        was = self.display
        self.display = False
        return was


@dataclass(frozen=True, slots=True)
class KeyHint:
    """One key in the footer, and the binding it belongs to."""

    key: str
    label: str
    binding_id: str


class KeyBar(Widget):
    """The last line: at most eight keys that work now, the palette at the right.  Clicks work too."""

    DEFAULT_CSS = """
    KeyBar { height: 1; padding: 0 1; background: $background; color: $text-muted; }
    """

    @dataclass
    class Chosen(Message):
        """A key in the footer was clicked."""

        binding_id: str

    hints: reactive[tuple[KeyHint, ...]] = reactive(tuple)
    palette: reactive[KeyHint | None] = reactive(None)

    def __init__(self) -> None:
        super().__init__()
        self._spans: list[tuple[int, int, str]] = []

    def render(self) -> Content:
        self._spans = []
        width = self.size.width
        right = self._hint(self.palette) if self.palette else Content("")
        room = width - right.cell_length - 2
        parts: list[Content] = []
        x = 0
        for hint in self._fitting(room):
            drawn = self._hint(hint)
            if parts:
                parts.append(Content("  "))
                x += 2
            self._spans.append((x, x + drawn.cell_length, hint.binding_id))
            parts.append(drawn)
            x += drawn.cell_length
        gap = max(0, width - x - right.cell_length)
        if self.palette:
            self._spans.append((x + gap, width, self.palette.binding_id))
        return Content.assemble(*parts, " " * gap, right)

    def _fitting(self, room: int) -> list[KeyHint]:
        """The first hints that fit; help, which tells of all others, is the last to go."""
        kept = [hint for hint in self.hints if hint.binding_id == "help"]
        room -= sum(self._hint(hint).cell_length for hint in kept)
        for hint in self.hints:
            if hint in kept:
                continue
            need = self._hint(hint).cell_length + 2
            if need > room + (0 if kept else 2):
                break
            room -= need
            kept.append(hint)
        return [hint for hint in self.hints if hint in kept]

    @staticmethod
    def _hint(hint: KeyHint) -> Content:
        return Content.assemble((hint.key, "bold $foreground"), " ", (hint.label, "$text-muted"))

    def on_click(self, event: events.Click) -> None:
        x = event.x - self.styles.padding.left
        for start, end, binding_id in self._spans:
            if start <= x < end:
                event.stop()
                self.post_message(self.Chosen(binding_id))
                return


_NAMES = {
    "question_mark": "?",
    "exclamation_mark": "!",
    "slash": "/",
    "colon": ":",
    "plus": "+",
    "minus": "-",
    "escape": "esc",
    "space": "space",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


def shown_key(key: str) -> str:
    """How one key is written in the footer and in help: ``^p``, ``esc``, ``?``."""
    key = key.strip()
    if key.startswith("ctrl+"):
        return "^" + shown_key(key.removeprefix("ctrl+"))
    return _NAMES.get(key, key)
