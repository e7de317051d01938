"""The query box: an input that never blinks, never selects by itself, and takes a pasted book calmly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.keys import KEY_NAME_REPLACEMENTS, key_to_character
from textual.message import Message
from textual.reactive import Reactive
from textual.widgets import Input

from tui.text import clean

_LONG_NAMES = {short: name for name, short in KEY_NAME_REPLACEMENTS.items()}
QUERY_LIMIT = 2000
"""Characters a query can have; what is pasted beyond is left out, and said so."""


class SearchBox(Input):
    """A one-line query.

    Posts ``Input.Changed`` on every edit as any input does; ``Accepted`` on enter and down (on to the
    results, in place of ``Input.Submitted``), ``Left`` on escape, ``Shortened`` when a paste was too long for
    a query.
    """

    BINDING_GROUP_TITLE = "Query"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "accept", "Results", id="query.results", show=False, tooltip="On to the results"),
        Binding("escape", "leave", "Leave", id="query.leave", show=False, tooltip="Leave the query box"),
    ]

    @dataclass
    class Accepted(Message):
        """The query stands: search it at once and go to the results."""

        box: SearchBox
        query: str

        @property
        def control(self) -> SearchBox:
            return self.box

    @dataclass
    class Left(Message):
        """Escape: back to where the focus came from."""

        box: SearchBox

        @property
        def control(self) -> SearchBox:
            return self.box

    @dataclass
    class Shortened(Message):
        """A paste of ``pasted`` characters was cut to ``kept``."""

        box: SearchBox
        pasted: int
        kept: int

        @property
        def control(self) -> SearchBox:
            return self.box

        @property
        def note(self) -> str:
            """What to tell the person."""
            return f"The query was cut: {self.kept:,} of {self.pasted:,} pasted characters were taken."

    # A longer query changes nothing around the box; Textual would lay out the whole screen for each key.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def __init__(
        self,
        value: str = "",
        *,
        placeholder: str = "",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(
            clean(value)[:QUERY_LIMIT],
            placeholder=clean(placeholder),
            max_length=QUERY_LIMIT,
            select_on_focus=False,
            name=name,
            id=id,
            classes=classes,
        )
        self.cursor_blink = False

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether it takes a key itself; Textual knows no character for its own short names, ``slash`` among them."""
        return super().check_consume_key(key, character or key_to_character(_LONG_NAMES.get(key, key)))

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._take(event.text)

    def action_paste(self) -> None:
        self._take(self.app.clipboard)

    def _take(self, pasted: str) -> None:
        """Put the first line with anything on it at the cursor, as far as there is room."""
        pasted = pasted.strip()
        head = pasted[: QUERY_LIMIT + 1]
        line = head.splitlines()[0] if head else ""
        start, end = sorted(self.selection)
        kept = clean(line)[: max(0, QUERY_LIMIT - len(self.value) + end - start)]
        if kept:
            self.replace(kept, start, end)
        if len(kept) < len(line) or len(line) < len(pasted):
            self.post_message(self.Shortened(self, len(pasted), len(kept)))

    def action_accept(self) -> None:
        self.post_message(self.Accepted(self, self.value))

    def action_leave(self) -> None:
        self.post_message(self.Left(self))

    async def action_submit(self) -> None:
        self.action_accept()
