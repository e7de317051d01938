"""Help for the pane a person is in: what it shows, and every key that works there, as the keys are now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Literal

from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget

from tui.actions import ACTIONS, PLACE_TITLES, Place
from tui.format import pad
from tui.screens.reading import ReadingScreen
from tui.widgets.pane import Pane
from tui.widgets.status_bar import shown_key

_KEY_CELLS = 14
_WHAT_CELLS = 42
_CONFIG = (
    'The names at the right are for [keys] in memdeck\'s config, for example "pane.zoom" = "f11"; '
    "`memdeck config path` says where it is.  What has no key of its own is in the palette."
)


class HelpScreen(ReadingScreen):
    """A reading dialogue; ``key_of`` gives the keys of a binding id as a person has set them."""

    def __init__(
        self,
        pane: Pane,
        place: Place | Literal["query"],
        focused: Widget | None,
        key_of: Callable[[str], str],
        rebound: Mapping[str, str],
    ) -> None:
        title = "Query" if place == "query" else PLACE_TITLES[place]
        blocks = [Content(pane.HELP), key_block("Here", own_keys(focused, rebound))]
        for area, actions in groupby(ACTIONS, key=lambda action: action.area):
            blocks.append(key_block(area, [(key_of(one.id), one.verb, one.id) for one in actions]))
        blocks.append(Content.styled(_CONFIG, "$text-muted"))
        super().__init__(f"Help: {title}", Content("\n\n").join(blocks))


def own_keys(focused: Widget | None, rebound: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The keys of the focused widget itself, the nearest class first: (keys, what they do, binding id)."""
    found: dict[str, tuple[str, str, str]] = {}
    for node in type(focused).__mro__ if focused is not None else ():
        for binding in vars(node).get("BINDINGS", ()):
            if not isinstance(binding, Binding) or not binding.id or binding.id in found or focused is None:
                continue
            if focused.check_action(binding.action.partition("(")[0], ()) is False:
                continue
            keys = rebound.get(binding.id) or binding.key
            shown = " ".join(shown_key(key) for key in keys.split(","))
            found[binding.id] = (shown, binding.tooltip or binding.description, binding.id)
    return list(found.values())


def key_block(title: str, keys: list[tuple[str, str, str]]) -> Content:
    lines = [
        Content.assemble(
            (pad(key or "palette", _KEY_CELLS), "bold" if key else "$text-muted"),
            pad(what, _WHAT_CELLS),
            (f" {binding_id}", "$text-muted"),
        )
        for key, what, binding_id in keys
    ]
    return Content("\n").join([Content.styled(title, "underline"), *lines])
