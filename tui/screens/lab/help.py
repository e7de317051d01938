"""Help for a pane of the lab: what it shows, its own keys, and what works everywhere in the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.content import Content
from textual.widget import Widget

from tui.screens.help import key_block, own_keys
from tui.screens.lab.frame import LabPane
from tui.screens.lab.keys import LAB_ACTIONS, LAB_TITLES
from tui.screens.reading import ReadingScreen


def lab_help(
    pane: LabPane, focused: Widget | None, key_of: Callable[[str], str], rebound: Mapping[str, str]
) -> ReadingScreen:
    """The dialogue to read; ``key_of`` gives the keys of a binding as a person has set them."""
    blocks = [
        Content(pane.HELP),
        key_block("Here", own_keys(focused, rebound)),
        key_block("In the lab", [(key_of(one.id), one.verb, one.id) for one in LAB_ACTIONS]),
    ]
    return ReadingScreen(f"Help: {LAB_TITLES[pane.lab_place]}", Content("\n\n").join(blocks))
