"""The first paint: what there is to see before anything else is even loaded."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static


class OpeningScreen(Screen[None], inherit_bindings=False):
    """Says that the memory is being opened, and keeps the keys pressed meanwhile for the main screen."""

    CSS = """
    OpeningScreen {
        #opening-header { height: 1; padding: 0 1; }
        #opening-text { height: 1fr; content-align: center middle; color: $text-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.pressed: list[events.Key] = []

    def compose(self) -> ComposeResult:
        yield Static(
            Content.assemble(("memdeck", "bold"), ("  opening…", "$text-muted")), id="opening-header"
        )
        yield Static(Content("Opening the memory…"), id="opening-text")

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.pressed.append(event)
