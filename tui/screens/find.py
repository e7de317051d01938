"""Find in the previewed file: one line to type what to look for."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.actions import QUIT
from tui.widgets.search_box import SearchBox


class FindScreen(ModalScreen[str | None]):
    """Answers with the text to find ("" ends finding), or None when it was left."""

    BINDINGS = [
        QUIT,
        Binding(
            "escape", "leave", "Leave", id="find.leave", tooltip="Leave what was found as it is.", show=False
        ),
    ]

    def __init__(self, before: str = "") -> None:
        super().__init__()
        self._before = before

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialogue") as box:
            box.border_title = Content("Find in this file")
            yield SearchBox(id="find-text", placeholder="any text; enter finds, n and N go on")
            yield Static(Content("Case does not matter. Nothing typed ends it."), classes="dialogue-note")

    def on_mount(self) -> None:
        box = self.query_one(SearchBox)
        box.value = self._before
        box.focus()
        box.action_select_all()  # typing replaces it, as it does in the query box

    @on(SearchBox.Accepted)
    def _accepted(self, event: SearchBox.Accepted) -> None:
        event.stop()
        self.dismiss(event.query)

    @on(SearchBox.Left)
    def _left(self, event: SearchBox.Left) -> None:
        event.stop()
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)
