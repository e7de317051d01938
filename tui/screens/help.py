"""Help for the pane a person is in: what it shows, and every key that works there, as the keys are now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget

from tui.actions import ACTIONS, PLACE_TITLES, Place
from tui.format import pad
from tui.screens.reading import ReadingScreen
from tui.widgets.pane import Pane
from tui.widgets.status_bar import shown_key

_KEY_CELLS = 16


class HelpScreen(ReadingScreen):
    """A reading dialogue; ``key_of`` gives the keys of a binding id as a person has set them."""

    def __init__(
        self,
        pane: Pane,
        place: Place | Literal["query"],
        focused: Widget | None,
        key_of: Callable[[str], str],
        rebound: dict[str, str],
    ) -> None:
        title = "Query" if place == "query" else PLACE_TITLES[place]
        body = Content.assemble(
            pane.HELP,
            "\n\n",
            Content("\n").join(
                [*_own_keys(focused, rebound), Content(""), *_action_keys(key_of), Content("")]
            ),
            "\n",
            Content.styled(
                "Keys are set in memdeck's config under [keys], by the names at the right; "
                "`memdeck config path` says where it is.",
                "$text-muted",
            ),
        )
        super().__init__(f"Help: {title}", body)


def _own_keys(focused: Widget | None, rebound: dict[str, str]) -> list[Content]:
    """The keys of the focused widget itself, the nearest class first."""
    lines: list[Content] = []
    seen: set[str] = set()
    for node in type(focused).__mro__ if focused is not None else ():
        for binding in vars(node).get("BINDINGS", ()):
            if not isinstance(binding, Binding) or not binding.id or binding.id in seen:
                continue
            seen.add(binding.id)
            if focused is not None and focused.check_action(binding.action.partition("(")[0], ()) is False:
                continue
            keys = rebound.get(binding.id) or binding.key
            lines.append(_line(keys, binding.tooltip or binding.description, binding.id))
    return lines


def _action_keys(key_of: Callable[[str], str]) -> list[Content]:
    return [
        Content.assemble(
            (pad(key_of(action.id) or "palette", _KEY_CELLS), "bold" if key_of(action.id) else "$text-muted"),
            action.help,
            (f"  {action.id}", "$text-muted"),
        )
        for action in ACTIONS
    ]


def _line(keys: str, text: str, binding_id: str) -> Content:
    shown = " ".join(shown_key(key) for key in keys.split(","))
    return Content.assemble((pad(shown, _KEY_CELLS), "bold"), text, (f"  {binding_id}", "$text-muted"))
