"""Jump mode: a letter on everything that can be reached; pressing it goes there."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Offset, Region
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from tui.actions import QUIT
from tui.widgets.pane import Pane

LETTERS = "asdfgqwertzxcvb"


class Jump(ModalScreen[Widget | None]):
    """Shows letters over ``targets`` and answers with the widget chosen, or None."""

    BINDINGS = [
        QUIT,
        Binding("escape", "leave", "Leave", id="jump.leave", tooltip="Stay where you are."),
    ]

    def __init__(self, targets: Sequence[Widget]) -> None:
        super().__init__()
        self._targets = dict(zip(LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        for letter, spot in self._spots().items():
            label = Static(Content(f" {letter} "), classes="jump-letter")
            label.styles.offset = spot
            label.styles.position = "absolute"
            yield label
        yield Static(Content("Press a letter to go there, esc to stay"), classes="jump-hint")

    def _spots(self) -> dict[str, Offset]:
        """Where the letters stand: on the frame of a pane, before its title; a second one in it on its own place."""
        spots: dict[str, Offset] = {}
        for letter, target in self._targets.items():
            pane = next((node for node in target.ancestors if isinstance(node, Pane)), None)
            spot = target.region.offset if pane is None else pane.region.offset
            spots[letter] = target.region.offset if spot in spots.values() else spot
        return spots

    def on_key(self, event: events.Key) -> None:
        if not event.is_printable:
            return
        event.stop()
        event.prevent_default()
        if event.key in self._targets:
            self.dismiss(self._targets[event.key])

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for letter, spot in self._spots().items():
            if Region(spot.x, spot.y, 3, 1).contains(*event.screen_offset):
                self.dismiss(self._targets[letter])
                return
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
