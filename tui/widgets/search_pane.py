"""Search: the query box over the results.  Each key asks anew, the newest answer wins, old rows wait dimmed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from tui.messages import Failed, Searched, SearchFailed, Shown, Submitted
from tui.session import SCOPE_TITLES, SearchRequest, Session, as_error, text_first
from tui.widgets.line_list import LineList
from tui.widgets.pane import Pane
from tui.widgets.results import ResultsList, prepare
from tui.widgets.search_box import SearchBox

if TYPE_CHECKING:
    from core.memory import Also, Hit, SearchReport

DEBOUNCE = 0.1
"""Seconds without a key before the list changes; Enter does not wait."""
LATE = 0.05
"""Seconds after an answer was due at which it counts as late."""
REST = 0.03
"""Seconds the cursor rests on a row before Score and Preview follow it."""
HEAD_START = 0.05
"""Seconds before the end of that pause at which the search begins, so that its answer is there in time."""


class SearchPane(Pane):
    """Owns the request and the chain Submitted → Searched → Shown (or SearchFailed)."""

    DEFAULT_CSS = """
    SearchPane {
        #query-line { height: 2; border-bottom: solid $border-blurred; }
        #query-prompt { width: 3; padding: 0 1; color: $text-muted; &:ansi { text-style: dim; } }
        #query-line:focus-within > #query-prompt { color: $accent; text-style: bold; }
        SearchBox {
            height: 1; width: 1fr; padding: 0; border: none; background: $background; color: $foreground;
            &:focus { border: none; }
            & > .input--placeholder { color: $text-muted; &:ansi { text-style: dim; } }
        }
    }
    """
    HELP = (
        "Type, and the list follows.  It holds what the agent would get, with rank, score and source "
        "(G global, W workspace memory, S session log); below a rule, dimmed, the candidates that fell out, each "
        "with its reason; below that what the agent's rules miss.\n\n"
        'In the box: source:session, age:<7d and path:auth narrow the search; "…" keeps words together.'
    )

    @dataclass
    class Selected(Message):
        """The cursor is on this item (None: on nothing)."""

        item: Hit | Also | None
        report: SearchReport | None

    class OpenChosen(Message):
        """Go on to the file of the selected item."""

    def __init__(self, session: Session) -> None:
        super().__init__("results")
        self.session = session
        self.request = SearchRequest()
        self.last: SearchReport | None = None
        self._waiting = False
        self._absent = ""
        self._dimming: Timer | None = None
        self._telling: Timer | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="query-line"):
            yield Static(Content("›"), id="query-prompt")
            yield SearchBox(id="query", placeholder="Search this memory")
        yield ResultsList(id="results-list")

    @property
    def box(self) -> SearchBox:
        return self.query_one(SearchBox)

    @property
    def results(self) -> ResultsList:
        return self.query_one(ResultsList)

    def on_mount(self) -> None:
        self.results.set_empty("Opening the memory…")

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _typing_or_not(self) -> None:
        self.results.set_typing(self.box.has_focus)

    # Asking

    def ask(self, request: SearchRequest, *, at_once: bool = False) -> None:
        """Search for something else; an answer still on its way will be stale."""
        changed = request != self.request
        self.request = request
        scope = "" if request.scope == "agent" else f" · {SCOPE_TITLES[request.scope]}"
        self.set_title(f"Search{scope}")
        if not self.session.is_open:
            return  # asked again when the memory is open
        generation = self.session.supersede()
        self._waiting = True
        if changed:
            self._dim_soon(at_once)
        self.post_message(Submitted(request, generation, at_once))

    def _dim_soon(self, at_once: bool) -> None:
        """Dim the old rows when their successors are due and not there; before that it would only flicker."""
        if self._dimming is not None:
            self._dimming.stop()
        self._dimming = self.set_timer(LATE if at_once else DEBOUNCE + LATE, self._dim)

    def _dim(self) -> None:
        if self._waiting:
            self.results.set_pending(True)

    def refresh_results(self) -> None:
        """Ask the same again: files or index changed."""
        self.ask(self.request, at_once=True)

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.request.query:
            self.ask(replace(self.request, query=event.value, entered=False))

    @on(SearchBox.Accepted)
    def _accepted(self, event: SearchBox.Accepted) -> None:
        # The newest answer may be on the screen already; otherwise Enter does not wait for the pause.
        fresh = self.last is None or self.last.query != event.query or self._waiting
        if fresh or not (self.request.entered or self.session.embeds_as_you_type):
            self.ask(replace(self.request, query=event.query, entered=True), at_once=True)

    @on(SearchBox.Shortened)
    def _shortened(self, event: SearchBox.Shortened) -> None:
        event.stop()
        self.notify(event.note, markup=False)

    @on(Submitted)
    def _submitted(self, event: Submitted) -> None:
        if event.generation == self.session.generation:
            self._search(event.request, event.generation, event.at_once)

    @work(exclusive=True, group="search", exit_on_error=False, description="search")
    async def _search(self, request: SearchRequest, generation: int, at_once: bool) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + (0 if at_once else DEBOUNCE)
        if not at_once:
            await asyncio.sleep(max(0, DEBOUNCE - HEAD_START))
        # An endpoint is asked on Enter, not on each key; what is made on this machine comes with each.
        answers = text_first(
            lambda embed: self.session.search(request, prepare, embed=embed),
            embed=request.entered or self.session.embeds_as_you_type,
            profiles=(request.profile,),
        )
        try:
            async with aclosing(answers):
                async for prepared in answers:
                    await asyncio.sleep(max(0, due - loop.time()))
                    self.post_message(Searched(prepared, generation))
        except Exception as error:
            self.post_message(SearchFailed(as_error(error, "The search"), generation))

    # Answering

    def set_absent(self, root: str) -> None:
        """Say that there is no memory at ``root`` at all ("" : there is one)."""
        self._absent = root
        self._say_absent()

    def _say_absent(self) -> None:
        if self._absent and not self.results.rows:
            self.results.set_empty(
                f"There is no memory at {self._absent} yet. Your coding agent makes it with its first session; "
                "it shows up here by itself.",
                "memdeck demo",
                "opens a made-up one, memdeck --root DIR another",
            )

    @on(Searched)
    def _searched(self, event: Searched) -> None:
        if event.generation != self.session.generation:
            return  # a newer query is on its way
        self._waiting = False
        report = event.prepared.report
        self.last = report
        self.results.show(event.prepared)
        self._say_absent()
        summary = event.prepared.summary
        # The mode stands in the header too, so in a narrow frame it goes first, then the time.
        full = summary if report.mode == "newest" else f"{report.mode} · {summary}"
        self.set_count(full, summary, summary.partition(" · ")[0])
        self.post_message(Shown(report, event.generation))

    @on(SearchFailed)
    def _failed(self, event: SearchFailed) -> None:
        if event.generation != self.session.generation:
            return
        self._waiting = False
        self.last = None
        self.results.show_failure(event.error)
        self.set_count("failed")
        self.post_message(Failed("The search", event.error))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        # The list is painted first; Score and Preview follow when the cursor rests.
        if self._telling is not None:
            self._telling.stop()
        self._telling = self.set_timer(REST, self._tell)

    def _tell(self) -> None:
        self.post_message(self.Selected(self.results.selected, self.results.report))

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.post_message(self.OpenChosen())

    @property
    def copyable(self) -> tuple[str, str] | None:
        """What ``y`` copies here: (what it is, the text)."""
        item = self.results.selected
        if item is None:
            return None
        name = item.path.rsplit("/", 1)[-1]
        return (f"{name}:{item.start_line}–{item.end_line}", item.snippet)
