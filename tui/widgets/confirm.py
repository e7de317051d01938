"""The question before something goes: lists exactly what, cancel is focused, y, n and esc answer."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tui.actions import QUIT
from tui.text import clean, content
from tui.widgets.folded import Folded

MAX_LISTED = 200


class Confirm(ModalScreen[bool]):
    """Answers True only for ``y`` or the confirming button."""

    BINDINGS = [
        QUIT,
        Binding("y", "answer(True)", "Yes", id="confirm.yes", tooltip="Do it."),
        Binding("n,escape", "answer(False)", "No", id="confirm.no", tooltip="Leave everything as it is."),
        Binding(
            "left,right,tab,shift+tab",
            "other",
            "Other answer",
            id="confirm.other",
            tooltip="Move between the answers.",
        ),
        Binding("down,j", "scroll_list(1)", "Down", id="confirm.down", tooltip="Read on in the list."),
        Binding("up,k", "scroll_list(-1)", "Up", id="confirm.up", tooltip="Back in the list."),
        Binding("pagedown", "scroll_list(10)", "Page down", id="confirm.page-down", tooltip="A page on."),
        Binding("pageup", "scroll_list(-10)", "Page up", id="confirm.page-up", tooltip="A page back."),
    ]

    def __init__(self, question: str, listed: Sequence[str], consequence: str, verb: str) -> None:
        super().__init__()
        self._question = question
        self._listed = listed
        self._consequence = consequence
        self._verb = verb

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialogue") as box:
            box.border_title = Content(clean(self._question))
            with VerticalScroll(classes="dialogue-body", can_focus=False):
                yield Folded(content("\n".join(self._lines())))
            yield Static(content(self._consequence), classes="dialogue-note")
            with Horizontal(classes="dialogue-answers"):
                yield Button(Content("No, keep  n"), id="no", compact=True)
                yield Button(Content(f"Yes, {self._verb}  y"), id="yes", compact=True)

    def _lines(self) -> list[str]:
        shown = [clean(line) for line in self._listed[:MAX_LISTED]]
        more = len(self._listed) - len(shown)
        return [*shown, f"… and {more} more"] if more else shown

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_scroll_list(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_other(self) -> None:
        other = "#no" if self.query_one("#yes", Button).has_focus else "#yes"
        self.query_one(other, Button).focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "yes")
