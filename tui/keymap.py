"""Keys from the settings: what can be used, and for what cannot the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import _character_to_key

from tui.actions import APP_BINDINGS, MAIN_BINDINGS
from tui.screens.find import FindScreen
from tui.screens.lab.keys import LAB_BINDINGS
from tui.screens.lab.knobs import ControlList, ValueBox
from tui.screens.lab.lists import LabResults
from tui.screens.lab.measure import MeasureScreen
from tui.screens.reading import ReadingScreen
from tui.screens.why import WhyScreen
from tui.text import clean
from tui.widgets.confirm import Confirm
from tui.widgets.jump import Jump
from tui.widgets.line_list import LineList
from tui.widgets.line_view import ScrollPane
from tui.widgets.preview import PreviewPane
from tui.widgets.scopes import ScopesList
from tui.widgets.search_box import SearchBox

UNUSABLE = frozenset({"ctrl+m", "ctrl+i", "ctrl+h", "ctrl+j", "ctrl+b", "ctrl+a", "ctrl+left_square_bracket"})
"""Enter, tab, backspace, line feed, tmux's and screen's prefix, escape: many terminals send these for those."""

_KEY = re.compile(r"(?:(?:ctrl|shift|alt|super|meta|hyper)\+)*(?:[a-z0-9_]+|[A-Z]|[!-/:-@\[-`{-~])")
"""``f5``, ``ctrl+o``, ``question_mark``, ``G``, ``?``: what Textual calls a key."""

# Bindings that can act at the same time: a key must not mean two things within one of these groups.
_MAIN: tuple[type[DOMNode], ...] = (LineList, ScopesList, ScrollPane, PreviewPane)
_LAB: tuple[type[DOMNode], ...] = (ControlList, LabResults)
_APART: tuple[type[DOMNode], ...] = (
    SearchBox,
    ValueBox,
    MeasureScreen,
    ReadingScreen,
    WhyScreen,
    FindScreen,
    Confirm,
    Jump,
)


def _of(owner: type[DOMNode]) -> Iterator[Binding]:
    for binding in vars(owner).get("BINDINGS", ()):
        if isinstance(binding, Binding):
            yield binding


def every_binding() -> Iterator[Binding]:
    """Every binding of ours, wherever it lives."""
    yield from (*APP_BINDINGS, *MAIN_BINDINGS, *LAB_BINDINGS)
    for owner in (*_MAIN, *_LAB, *_APART):
        yield from _of(owner)


def usable_keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Split ``wanted`` (binding id → keys) into what can be used and complaints about the rest."""
    known = {binding.id for binding in every_binding() if binding.id}
    keymap: dict[str, str] = {}
    complaints: list[str] = []
    for binding_id, keys in wanted.items():
        if binding_id not in known:
            near = get_close_matches(binding_id, known, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            complaints.append(f"keys.{clean(binding_id)}: there is no such action{hint}")
            continue
        parts = [part.strip() for part in keys.split(",") if part.strip()]
        for part in parts:
            if part in UNUSABLE:
                complaints.append(f"keys.{binding_id}: for {part} terminals send another key.")
            elif not _KEY.fullmatch(part):
                complaints.append(f"keys.{binding_id}: {clean(part)} is no key.")
        good = [part for part in parts if part not in UNUSABLE and _KEY.fullmatch(part)]
        if good:
            keymap[binding_id] = ",".join(good)
    return keymap, [*complaints, *_clashes(keymap)]


def _clashes(keymap: Mapping[str, str]) -> Iterator[str]:
    """Keys that mean two things once ``keymap`` holds; lists and panes to read never have the focus together."""
    in_lists = [*APP_BINDINGS, *MAIN_BINDINGS, *_of(LineList), *_of(ScopesList)]
    in_texts = [*APP_BINDINGS, *MAIN_BINDINGS, *_of(ScrollPane), *_of(PreviewPane)]
    in_lab = [[*APP_BINDINGS, *LAB_BINDINGS, *_of(LineList), *_of(owner)] for owner in _LAB]
    said: set[tuple[str, str]] = set()
    for group in (in_lists, in_texts, *in_lab, *(list(_of(owner)) for owner in _APART)):
        taken: dict[str, str] = {}
        for binding in group:
            assert binding.id is not None
            for key in (keymap.get(binding.id) or binding.key).split(","):
                name = _character_name(key.strip())
                other = taken.setdefault(name, binding.id)
                pair = (min(other, binding.id), max(other, binding.id))
                if other != binding.id and pair not in said:
                    said.add(pair)
                    named = binding.id if binding.id in keymap else other
                    yield f"keys.{named}: {clean(key.strip())} is both {other} and {binding.id}; only one of them answers."


def _character_name(key: str) -> str:
    """One name for one key: ``?`` and ``question_mark`` are the same."""
    return _character_to_key(key) if len(key) == 1 else key
