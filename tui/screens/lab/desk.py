"""The lab's layout: controls beside two lists over the factors, fewer at a time where it is narrow; its keys."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Generic, Literal, TypeVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

import styles
from tui.actions import FOOTER_MAX, Action
from tui.clipboard import OSC52_LIMIT, copy_natively, routes_in_words
from tui.messages import Failed
from tui.screens.lab.controls import Trial
from tui.screens.lab.factors import FactorsPane
from tui.screens.lab.frame import LabPane
from tui.screens.lab.help import lab_help
from tui.screens.lab.keys import FOOTERS, LAB_ACTIONS, LAB_BINDINGS, LAB_PLACES, LabPlace
from tui.screens.lab.knobs import ControlsPane, ValueBox
from tui.screens.lab.lists import SidePane
from tui.session import PROFILE_TITLES
from tui.widgets.header import Header, HeaderFacts
from tui.widgets.pane import Pane
from tui.widgets.search_box import SearchBox
from tui.widgets.status_bar import ErrorStrip, KeyBar, KeyHint, NoteStrip, shown_key

T = TypeVar("T")

Arrangement = Literal["tiny", "single", "tabbed", "wide"]
MIN_WIDTH, MIN_HEIGHT = 40, 10
TABBED_FROM, WIDE_FROM = 80, 120


class LabHeader(Header):
    """The main screen's top line, with the word that says where one is."""

    @staticmethod
    def _left(facts: HeaderFacts, level: int) -> Content:
        return Content.assemble(("lab", "bold underline"), "  ", Header._left(facts, level))


class DeskScreen(Screen[T], Generic[T], inherit_bindings=False):
    """Lays out the panes and keeps where the person is (``place``)."""

    CSS_PATH = Path(styles.__file__).parent / "lab.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*LAB_BINDINGS]
    BINDING_GROUP_TITLE = "Ranking lab"
    AUTO_FOCUS = ""

    def __init__(self, facts: HeaderFacts) -> None:
        super().__init__()
        self.actions: tuple[Action, ...] = LAB_ACTIONS
        """What the palette lists here."""
        self.place: LabPlace = "controls"
        self.tab: LabPlace = "trial"
        self.zoomed = False
        self._facts = facts
        self._error_of = ""

    def compose(self) -> ComposeResult:
        yield LabHeader(id="lab-header")
        with Horizontal(id="lab-query"):
            yield Static(Content("›"), id="lab-prompt")
            yield SearchBox(placeholder="What would your agent ask?", id="lab-query-box")
        with Horizontal(id="lab-deck"):
            yield ControlsPane()
            with Vertical(id="lab-right"):
                with Horizontal(id="lab-lists"):
                    yield SidePane("saved")
                    yield SidePane("trial")
                yield FactorsPane()
        yield Static(
            Content(f"The lab needs {MIN_WIDTH} × {MIN_HEIGHT} cells.\nMake the window larger, or esc."),
            id="lab-too-small",
        )
        yield ErrorStrip(id="lab-error")
        yield NoteStrip(id="lab-note")
        yield KeyBar()

    # The parts

    @property
    def box(self) -> SearchBox:
        return self.query_one("#lab-query-box", SearchBox)

    @property
    def controls(self) -> ControlsPane:
        return self.query_one(ControlsPane)

    @property
    def saved_side(self) -> SidePane:
        return self.query_one("#saved", SidePane)

    @property
    def trial_side(self) -> SidePane:
        return self.query_one("#trial", SidePane)

    @property
    def factors(self) -> FactorsPane:
        return self.query_one(FactorsPane)

    def pane(self, place: LabPlace) -> LabPane:
        return self.query_one(f"#{place}", LabPane)

    def target(self, place: LabPlace) -> Widget:
        """What takes the focus in a pane."""
        return self.query_one(f"#{place}-list, #{place}-view")

    # Arranging

    @property
    def arrangement(self) -> Arrangement:
        width, height = self.app.size
        if width < MIN_WIDTH or height < MIN_HEIGHT:
            return "tiny"
        if width < TABBED_FROM or self.zoomed:
            return "single"
        return "tabbed" if width < WIDE_FROM else "wide"

    def lay_out(self) -> None:
        """Show the panes that this width, zoom and place call for."""
        arrangement = self.arrangement
        tiny = arrangement == "tiny"
        for name in ("single", "tabbed", "wide"):
            self.set_class(arrangement == name, f"-{name}")
        for name in ("#lab-deck", "#lab-query"):
            self.query_one(name).display = not tiny
        self.query_one("#lab-too-small").display = tiny
        if tiny:
            return
        shown: tuple[LabPlace, ...] = LAB_PLACES
        strip: tuple[LabPlace, ...] = ()
        if arrangement == "single":
            shown, strip = (self.place,), LAB_PLACES
        elif arrangement == "tabbed":
            shown, strip = ("controls", self.tab), ("saved", "trial", "factors")
        for place in LAB_PLACES:
            pane = self.pane(place)
            pane.display = place in shown
            pane.show_tabs(strip)
        self.query_one("#lab-lists").display = bool({"saved", "trial"} & set(shown))
        self.query_one("#lab-right").display = bool({"saved", "trial", "factors"} & set(shown))
        self.refresh_keys()

    def on_mount(self) -> None:
        self.query_one(LabHeader).facts = self._facts

    def on_resize(self) -> None:
        self.lay_out()

    # Moving

    def go(self, place: LabPlace) -> None:
        """Go to a pane, showing it if it is not."""
        self._settle(place)
        if self.arrangement != "tiny":
            self.set_focus(self.target(place))

    def _settle(self, place: LabPlace) -> None:
        self.place = place
        if place != "controls":
            self.tab = place
        self.lay_out()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors_with_self if isinstance(node, LabPane)), None)
        if pane is not None and pane.lab_place != self.place:
            self._settle(pane.lab_place)
        else:
            self.refresh_keys()

    @on(Pane.TabChosen)
    def _tab_chosen(self, event: Pane.TabChosen) -> None:
        self.go(cast("LabPlace", event.place))

    @on(SearchBox.Left)
    def _query_left(self) -> None:
        self.go(self.place)

    def action_pane(self, place: LabPlace) -> None:
        self.go(place)

    def action_step_pane(self, step: int) -> None:
        if isinstance(self.focused, SearchBox):
            self.go(self.place)
            return
        self.go(LAB_PLACES[(LAB_PLACES.index(self.place) + step) % len(LAB_PLACES)])

    def action_focus_query(self) -> None:
        self.set_focus(self.box)
        self.box.action_select_all()

    def action_zoom(self) -> None:
        if self.app.size.width < TABBED_FROM:
            self.notify("One pane at a time already; a wider window shows more.", markup=False)
            return
        self.zoomed = not self.zoomed
        self.go(self.place)

    def action_leave(self) -> None:
        if isinstance(self.focused, SearchBox):
            self.go(self.place)
        elif self.query_one(ErrorStrip).close():
            self._error_of = ""
        elif self.zoomed:
            self.action_zoom()
        else:
            self.dismiss(self.outcome())

    def outcome(self) -> T:
        """What the main screen is told when the person leaves."""
        raise NotImplementedError

    # Saying

    def say(self, text: str) -> None:
        self.query_one(NoteStrip).say(text)

    def say_profiles(self, trial: Trial, mode: str) -> None:
        """The trial's profile stands in the header; where the saved one is another, both stand in the frames."""
        names = [PROFILE_TITLES.get(name, name) for name in (trial.saved_profile, trial.profile)]
        differs = names[0] != names[1]
        self.saved_side.say_title(names[0] if differs else "")
        self.trial_side.say_title(names[1] if differs else "")
        header = self.query_one(LabHeader)
        header.facts = replace(header.facts, profile=trial.profile, mode=mode or header.facts.mode)

    @on(Failed)
    def _failed(self, event: Failed) -> None:
        self._error_of = event.what
        self.query_one(ErrorStrip).show(event.error)

    def forgive(self, what: str) -> None:
        """Close an error about ``what``: the same thing has worked since."""
        if self._error_of == what:
            self._error_of = ""
            self.query_one(ErrorStrip).close()

    # Keys

    def key_of(self, binding_id: str) -> str:
        """The keys of a binding as they are now, as they are written on the screen."""
        action = next((one for one in LAB_ACTIONS if one.id == binding_id), None)
        keys = self.rebound.get(binding_id) or (action.keys if action else "")
        return " ".join(shown_key(key) for key in keys.split(",")) if keys else ""

    @property
    def rebound(self) -> dict[str, str]:
        return getattr(self.app, "rebound", {})

    def refresh_keys(self) -> None:
        """Draw the footer again: what works at this place and moment."""
        bar = self.query_one(KeyBar)
        where: LabPlace | Literal["query", "value"] = self.place
        if isinstance(self.focused, SearchBox | ValueBox):
            where = "query" if isinstance(self.focused, SearchBox) else "value"
        working: dict[str, str] = {}
        for key, active in self.active_bindings.items():
            if active.binding.id and active.enabled:
                working.setdefault(active.binding.id, shown_key(key))
        hints = [
            KeyHint(" ".join(working[binding_id] for binding_id in ids), label, ids[-1])
            for ids, label in FOOTERS[where]
            if all(binding_id in working and self.applies(binding_id) for binding_id in ids)
        ]
        bar.hints = tuple(hints[:FOOTER_MAX])
        palette = working.get("app.palette")
        bar.palette = KeyHint(palette, "palette", "app.palette") if palette else None

    def applies(self, binding_id: str) -> bool:
        """Whether an action has something to act on now; the lab itself knows."""
        return True

    @on(KeyBar.Chosen)
    async def _key_chosen(self, event: KeyBar.Chosen) -> None:
        for active in self.active_bindings.values():
            if active.binding.id == event.binding_id:
                await self.app.run_action(active.binding.action, active.node)
                return

    def action_help(self) -> None:
        pane = self.pane(self.place)
        self.app.push_screen(lab_help(pane, self.focused, self.key_of, self.rebound))

    def action_theme(self) -> None:
        self.app.search_themes()

    @work(exclusive=True, group="copy", exit_on_error=False, description="copy")
    async def action_copy(self) -> None:
        text = self.factors.view.plain
        by_terminal = len(text.encode("utf-8", "replace")) <= OSC52_LIMIT
        if by_terminal:
            self.app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        tool = await asyncio.to_thread(copy_natively, text, os.environ)
        ways = routes_in_words(by_terminal, tool)
        said = f"the factors: {ways}" if ways else "there is no way to the clipboard here"
        self.notify(said, title="Copied" if ways else "Not copied", markup=False, timeout=3)
