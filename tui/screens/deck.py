"""The deck: five panes side by side, as tabs or one at a time, by the width of the terminal; moving among them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

import styles
from tui.actions import BY_ID, FOOTER_MAX, FOOTERS, MAIN_BINDINGS, PLACES, Place
from tui.session import Session
from tui.widgets.framed import PreviewFrame, ScoreFrame
from tui.widgets.header import Header
from tui.widgets.jump import Jump
from tui.widgets.pane import Pane
from tui.widgets.scopes import ScopesPane
from tui.widgets.search_box import SearchBox
from tui.widgets.search_pane import SearchPane
from tui.widgets.sessions import SessionsPane
from tui.widgets.status_bar import ErrorStrip, KeyBar, KeyHint, NoteStrip, shown_key

Arrangement = Literal["tiny", "single", "tabbed", "wide"]

_STYLES = Path(styles.__file__).parent
MIN_WIDTH, MIN_HEIGHT = 40, 10
TABBED_FROM, WIDE_FROM = 80, 120


class DeckScreen(Screen[None], inherit_bindings=False):
    """Lays out the panes and keeps where the person is (``place``)."""

    CSS_PATH = [_STYLES / "main.tcss", _STYLES / "dialogues.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [*MAIN_BINDINGS]
    BINDING_GROUP_TITLE = "Everywhere"
    AUTO_FOCUS = "#results-list"
    HORIZONTAL_BREAKPOINTS = [
        (0, "-single"),
        (TABBED_FROM, "-tabbed"),
        (WIDE_FROM, "-wide"),
    ]

    def __init__(self, session: Session, *, demo: bool = False) -> None:
        super().__init__()
        self.session = session
        self.demo = demo
        self.place: Place = "results"
        self.tab: Place = "results"
        self.zoomed = False
        self.scored = False

    def compose(self) -> ComposeResult:
        yield Header(id="header")
        with Horizontal(id="deck"):
            with Vertical(id="left"):
                yield ScopesPane()
                yield SessionsPane()
            with Vertical(id="middle"):
                yield SearchPane(self.session)
            with Vertical(id="right"):
                yield ScoreFrame()
                yield PreviewFrame(self.session)
        yield Static(
            Content(f"memdeck needs {MIN_WIDTH} × {MIN_HEIGHT} cells.\nMake the window larger, or ctrl+q."),
            id="too-small",
        )
        yield ErrorStrip(id="error")
        yield NoteStrip(id="note")
        yield KeyBar()

    # The parts

    @property
    def scopes(self) -> ScopesPane:
        return self.query_one(ScopesPane)

    @property
    def logs(self) -> SessionsPane:
        return self.query_one(SessionsPane)

    @property
    def searching(self) -> SearchPane:
        return self.query_one(SearchPane)

    @property
    def score(self) -> ScoreFrame:
        return self.query_one(ScoreFrame)

    @property
    def preview(self) -> PreviewFrame:
        return self.query_one(PreviewFrame)

    def pane(self, place: Place) -> Pane:
        return self.query_one(f"#{place}", Pane)

    def target(self, place: Place) -> Widget:
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

    @property
    def places(self) -> tuple[Place, ...]:
        """The panes there are now; Score comes with the first query."""
        return PLACES if self.scored else tuple(place for place in PLACES if place != "score")

    def lay_out(self) -> None:
        """Show the panes that this width, zoom and place call for."""
        arrangement = self.arrangement
        self.set_class(self.zoomed, "-zoomed")
        tiny = arrangement == "tiny"
        self.query_one("#deck").display = not tiny
        self.query_one("#too-small").display = tiny
        if tiny:
            return
        tabs = tuple(place for place in self.places if place in ("results", "score", "preview"))
        if arrangement == "single":
            shown: tuple[Place, ...] = (self.place,)
            strip = self.places
        elif arrangement == "tabbed":
            shown = ("scopes", "sessions", self.tab)
            strip = tabs
        else:
            shown = self.places
            strip = ()
        for place in PLACES:
            pane = self.pane(place)
            pane.display = place in shown
            pane.set_tabs(strip if place in strip else ())
        for column in ("left", "middle", "right"):
            box = self.query_one(f"#{column}")
            box.display = any(pane.display for pane in box.query(Pane))
        self.refresh_keys()

    def on_resize(self) -> None:
        self.lay_out()

    def show_score(self) -> None:
        """From the first query on there is a Score pane."""
        if not self.scored:
            self.scored = True
            self.lay_out()

    def go(self, place: Place, *, query: bool = False) -> None:
        """Go to a pane (or, with ``query``, to the query box), showing it if it is not."""
        if place not in self.places:
            self.notify("Score comes with the first query: / types one.", markup=False)
            return
        self._settle(place)
        if self.arrangement != "tiny":
            self.set_focus(self.query_one(SearchBox) if query else self.target(place))

    def _settle(self, place: Place) -> None:
        self.place = place
        if place in ("results", "score", "preview"):
            self.tab = place
        self.lay_out()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors_with_self if isinstance(node, Pane)), None)
        if pane is not None and pane.place != self.place:
            self._settle(pane.place)
        else:
            self.refresh_keys()

    @on(Pane.TabChosen)
    def _tab_chosen(self, event: Pane.TabChosen) -> None:
        self.go(event.place)

    # Moving

    def action_pane(self, place: Place) -> None:
        self.go(place)

    def action_next_pane(self) -> None:
        self._step(1)

    def action_previous_pane(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        places = self.places
        if isinstance(self.focused, SearchBox):
            # The box stands between Sessions and the results.
            self.go("results" if step > 0 else "sessions")
            return
        self.go(places[(places.index(self.place) + step) % len(places)])

    def action_zoom(self) -> None:
        if self.app.size.width < TABBED_FROM:
            self.notify("One pane at a time already; a wider window shows more.", markup=False)
            return
        self.zoomed = not self.zoomed
        self.go(self.place)

    def action_jump(self) -> None:
        targets = [self.target(place) for place in self.places if self.pane(place).display]
        if self.searching.display:
            targets.append(self.query_one(SearchBox))
        self.app.push_screen(Jump(targets), self._jumped)

    def _jumped(self, target: Widget | None) -> None:
        if target is not None:
            self.set_focus(target)

    # Keys

    def key_of(self, binding_id: str) -> str:
        """The keys of a binding as they are now, as they are written on the screen; "" when it has none."""
        action = BY_ID.get(binding_id)
        keys = self.app_keymap.get(binding_id) or (action.keys if action else "")
        return " ".join(shown_key(key) for key in keys.split(",")) if keys else ""

    @property
    def app_keymap(self) -> dict[str, str]:
        return getattr(self.app, "rebound", {})

    def refresh_keys(self) -> None:
        """Draw the footer again: what works at this place and moment."""
        bar = self.query_one(KeyBar)
        place: Place | Literal["query"] = "query" if isinstance(self.focused, SearchBox) else self.place
        working: dict[str, KeyHint] = {}
        for key, active in self.active_bindings.items():
            binding_id = active.binding.id
            if binding_id and active.enabled and binding_id not in working:
                working[binding_id] = KeyHint(shown_key(key), "", active.binding.action)
        hints = [
            KeyHint(working[binding_id].key, label, binding_id)
            for binding_id, label in FOOTERS[place]
            if binding_id in working and self.applies(binding_id)
        ]
        bar.hints = tuple(hints[:FOOTER_MAX])
        palette = working.get("app.palette")
        bar.palette = KeyHint(palette.key, "palette", "app.palette") if palette else None

    def applies(self, binding_id: str) -> bool:
        """Whether an action has something to act on now; the main screen knows."""
        return True

    @on(KeyBar.Chosen)
    async def _key_chosen(self, event: KeyBar.Chosen) -> None:
        for active in self.active_bindings.values():
            if active.binding.id == event.binding_id:
                await self.app.run_action(active.binding.action, active.node)
                return
