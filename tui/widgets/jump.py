"""Jump mode: a letter on everything that can be reached; pressing it goes there."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

LETTERS = "asdfgqwertzxcvb"


class Jump(ModalScreen[Widget | None]):
    """Shows letters over ``targets`` and answers with the widget chosen, or None."""

    BINDINGS = [
        Binding("escape", "leave", "Leave", id="jump.leave", tooltip="Stay where you are."),
    ]

    def __init__(self, targets: Sequence[Widget]) -> None:
        super().__init__()
        self._targets = dict(zip(LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        for letter, target in self._targets.items():
            label = Static(Content(f" {letter} "), classes="jump-letter")
            label.styles.offset = (target.region.x, target.region.y)
            label.styles.position = "absolute"
            yield label
        yield Static(Content("Press a letter to go there, esc to stay"), classes="jump-hint")

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        if event.key in self._targets:
            self.dismiss(self._targets[event.key])

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for target in self._targets.values():
            if target.region.contains(*event.screen_offset):
                self.dismiss(target)
                return
        self.dismiss(None)

    def on_resize(self, event: events.Resize) -> None:
        # The letters would stand in the wrong places.
        if event.size != self.app.size:
            self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)
