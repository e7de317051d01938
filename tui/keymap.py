"""Keys from the settings: what can be used, and for what cannot the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from textual.binding import Binding
from textual.dom import DOMNode

from tui.actions import APP_BINDINGS, MAIN_BINDINGS
from tui.screens.reading import ReadingScreen
from tui.screens.why import WhyScreen
from tui.text import clean
from tui.widgets.confirm import Confirm
from tui.widgets.jump import Jump
from tui.widgets.line_list import LineList
from tui.widgets.scopes import ScopesList
from tui.widgets.search_box import SearchBox

UNUSABLE = frozenset({"ctrl+m", "ctrl+i", "ctrl+h", "ctrl+j", "ctrl+b", "ctrl+a", "ctrl+left_square_bracket"})
"""Enter, tab, backspace, line feed, tmux's and screen's prefix, escape: many terminals send these for those."""

_OWNERS: tuple[type[DOMNode], ...] = (
    LineList,
    ScopesList,
    SearchBox,
    ReadingScreen,
    WhyScreen,
    Confirm,
    Jump,
)


def every_binding() -> Iterator[Binding]:
    """Every binding of ours, wherever it lives."""
    yield from (*APP_BINDINGS, *MAIN_BINDINGS)
    for owner in _OWNERS:
        for binding in vars(owner).get("BINDINGS", ()):
            if isinstance(binding, Binding):
                yield binding


def usable_keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Split ``wanted`` (binding id → keys) into what can be used and complaints about the rest."""
    known = {binding.id for binding in every_binding() if binding.id}
    keymap: dict[str, str] = {}
    complaints: list[str] = []
    for binding_id, keys in wanted.items():
        if binding_id not in known:
            near = get_close_matches(binding_id, known, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            complaints.append(f"There is no action {clean(binding_id)}{hint}")
            continue
        parts = [part.strip() for part in keys.split(",") if part.strip()]
        bad = [part for part in parts if part in UNUSABLE]
        if bad:
            complaints.append(f"{clean(bad[0])} for {binding_id}: terminals send another key for it.")
        good = [part for part in parts if part not in UNUSABLE]
        if good:
            keymap[binding_id] = ",".join(good)
    return keymap, complaints
