"""The main screen: panes speak to each other through it, and every user action is carried out here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from textual import events, on, work

from tui.actions import Place
from tui.clipboard import OSC52_LIMIT, copy_natively, routes_in_words
from tui.format import count, size
from tui.messages import Failed, Progress, Shown
from tui.screens.find import FindScreen
from tui.screens.help import HelpScreen
from tui.screens.reading import ReadingScreen, findings_body, gc_lines, problems_body, receipt_body
from tui.screens.vectors import VectorsScreen
from tui.screens.why import WhyScreen
from tui.session import PROFILES, as_error
from tui.text import clean
from tui.widgets.confirm import Confirm
from tui.widgets.header import Header
from tui.widgets.preview import PreviewPane
from tui.widgets.scopes import ScopesPane
from tui.widgets.search_box import SearchBox
from tui.widgets.search_pane import SearchPane
from tui.widgets.sessions import SessionsPane
from tui.widgets.status_bar import ErrorStrip

if TYPE_CHECKING:
    from core.memory import Memory, Problem, Receipt, SyncReport
    from tui.screens.lab.messages import Left

What = Literal["workspace", "global", "all"]
T = TypeVar("T")


class MainScreen(VectorsScreen):
    """Routing and actions; layout is the deck's, keeping in step is the live screen's."""

    _shown: tuple[str, str] = ("", "")
    _found: str = ""

    # From pane to pane

    def reveal(self, place: Place) -> None:
        """Let a pane be seen; the focus follows only where one pane is shown at a time."""
        if self.arrangement == "single":
            self.go(place)
        else:
            self.tab = place
            self.lay_out()

    @on(ScopesPane.WorkspaceChosen)
    def _workspace_chosen(self, event: ScopesPane.WorkspaceChosen) -> None:
        self.look_at(event.root, event.workspace)
        self.reveal("results")

    @on(ScopesPane.SessionsChosen)
    def _sessions_chosen(self, event: ScopesPane.SessionsChosen) -> None:
        self.look_at(event.root, event.workspace)
        self.go("sessions")

    @on(ScopesPane.FileChosen)
    @on(SessionsPane.LogChosen)
    def _file_chosen(self, event: ScopesPane.FileChosen | SessionsPane.LogChosen) -> None:
        self.preview.open(event.path)
        self.reveal("preview")

    @on(ScopesPane.ProblemsChosen)
    def _problems_chosen(self) -> None:
        self.action_problems()

    @on(SearchPane.Selected)
    def _selected(self, event: SearchPane.Selected) -> None:
        search = self.session.memory.settings.search
        self.score.show(event.item, event.report, (search.text_weight, search.vector_weight))
        if event.item is None or event.report is None:
            return
        # A refresh selects the same chunk again; a file opened by hand meanwhile is left where it is.
        shown = (event.item.id, event.report.query)
        if shown != self._shown:
            self._shown = shown
            self.preview.open_item(event.item)

    @on(events.DescendantFocus)
    def _search_focused(self, event: events.DescendantFocus) -> None:
        if self.searching in event.widget.ancestors:
            self._show_selected()

    def _show_selected(self) -> None:
        """Preview the selected row again when a file opened by hand was shown meanwhile."""
        item = self.searching.results.selected
        if item is not None and self.preview.chunk_id != item.id:
            self.preview.open_item(item)

    @on(SearchPane.OpenChosen)
    def _open_chosen(self) -> None:
        self._show_selected()
        self.go("preview")

    @on(SearchBox.Left)
    @on(SearchBox.Accepted)
    def _query_left(self) -> None:
        self.go("results")

    @on(Shown)
    def _results_shown(self, event: Shown) -> None:
        self.forgive("The search")
        if event.report.query.strip():
            self.show_score()
        self._say_header()
        self._say_notes()
        self.refresh_keys()
        if self.app.screen is not self and hasattr(self.app.screen, "results_changed"):
            self.app.screen.results_changed()

    # Searching

    def action_focus_query(self) -> None:
        if self.place == "preview":
            self._find()
            return
        self.go("results", query=True)
        self.searching.box.action_select_all()

    def _find(self) -> None:
        def wanted(text: str | None) -> None:
            if text is not None:
                self._found = text
                self.preview.view.find(text)

        self.app.push_screen(FindScreen(self._found), wanted)

    @on(PreviewPane.Found)
    def _told_of_matches(self) -> None:
        self.refresh_keys()

    def action_clear_query(self) -> None:
        self.searching.box.value = ""

    def action_cycle_scope(self) -> None:
        self.searching.ask(self.searching.request.next_scope(), at_once=True)

    def action_cycle_profile(self) -> None:
        request = self.searching.request
        following = PROFILES[(PROFILES.index(request.profile) + 1) % len(PROFILES)]
        self.searching.ask(replace(request, profile=following), at_once=True)
        self._say_header()

    def action_why(self) -> None:
        query = self.searching.request.query.strip()
        if not query:
            self.notify("Type a query first (/), then ask why a chunk is or is not found.", markup=False)
            return
        item = self.searching.results.selected if self.place in ("results", "score") else None
        if item is not None and item.path != self.preview.shown_path:
            self._why_of(query, item.path, item.id)  # a file opened by hand is shown, or this one still read
            return
        if self.preview.file is None:
            self.notify("Show a file first: a hit, a log or a MEMORY.md.", markup=False)
            return
        chunk = self.preview.chunk_id if item is None else item.id
        self.app.push_screen(WhyScreen(self.session, query, self.preview.file, self.preview.spans, chunk))

    @work(exclusive=True, group="why-file", exit_on_error=False, description="read the file to explain")
    async def _why_of(self, query: str, path: str, chunk: str) -> None:
        try:
            text, spans = await self.session.ask(lambda memory: (memory.read(path), memory.spans(path)))
        except Exception as error:
            self.post_message(Failed("Reading the file", as_error(error, "Reading the file")))
            return
        if self.app.screen is self:
            self.app.push_screen(WhyScreen(self.session, query, text, spans, chunk))

    def action_lab(self) -> None:
        from tui.screens.lab.screen import LabScreen  # loaded when it is first opened

        facts = self.query_one(Header).facts
        self.app.push_screen(LabScreen(self.session, self.searching.request, facts), self._lab_left)

    def _lab_left(self, left: Left | None) -> None:
        """Go on with the query and profile of the lab, and search anew when other settings were saved."""
        if left is None:
            return
        request = replace(
            self.searching.request, query=left.query, entered=left.entered, profile=left.profile
        )
        if request != self.searching.request or left.saved:
            self.searching.box.value = left.query
            self.searching.ask(request, at_once=True)

    # Copying

    def action_copy(self) -> None:
        found = self.pane_copyable()
        if found is None:
            self.notify("Nothing is selected here.", markup=False)
            return
        self._copy(*found)

    def pane_copyable(self) -> tuple[str, str] | None:
        pane = self.pane(self.place)
        copyable: tuple[str, str] | None = getattr(pane, "copyable", None)
        return copyable

    def action_copy_selection(self) -> None:
        text = self.get_selected_text()
        if text:
            self._copy("the marked text", text)
        else:
            self.notify(f"Nothing is marked; {self.key_of('app.quit')} quits.", markup=False)

    @work(exclusive=True, group="copy", exit_on_error=False, description="copy")
    async def _copy(self, what: str, text: str) -> None:
        length = len(text.encode("utf-8", "surrogateescape"))
        by_terminal = length <= OSC52_LIMIT
        if by_terminal:
            self.app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        tool = await asyncio.to_thread(copy_natively, text, os.environ)
        ways = routes_in_words(by_terminal, tool)
        if ways:
            self.notify(f"{clean(what)}, {size(length)}: {ways}", title="Copied", markup=False, timeout=3)
        else:
            self.notify(
                f"{clean(what)} has {size(length)}, more than terminals take, and there is no wl-copy, xclip, "
                "xsel or pbcopy to give it to. `memdeck show PATH` prints it.",
                title="Not copied",
                severity="warning",
                markup=False,
                timeout=8,
            )

    # Index

    def action_rescan(self) -> None:
        self._reindex(rebuild=False)

    def action_rebuild(self) -> None:
        self._reindex(rebuild=True)

    def _reindex(self, *, rebuild: bool) -> None:
        if self.session.syncing:
            self.notify("An indexing is under way already.", markup=False)
            return

        def progressed(done: int, total: int) -> None:
            self.post_message(Progress(done, total))  # called on the thread that indexes

        def work(memory: Memory) -> SyncReport:
            return memory.reindex(rebuild, progressed)

        self.sync(work, asked=True)
        self.survey()

    @work(exclusive=True, group="doctor", exit_on_error=False, description="doctor")
    async def action_doctor(self) -> None:
        try:
            report = await self.session.ask(lambda memory: memory.doctor())
        except Exception as error:
            self.post_message(Failed("The doctor", as_error(error, "The doctor")))
            return
        self.app.clear_notifications()  # the dialogue lists what they told, and they would cover it
        title = "Doctor: all is well" if report.healthy else "Doctor: something is wrong"
        self.app.push_screen(ReadingScreen(title, findings_body(report)))

    # Memory

    def problems(self) -> list[Problem]:
        """Everything that could not be read, of every root and workspace."""
        if self.overview is None:
            return []
        return [
            problem
            for root in self.overview.roots
            for problem in (*root.problems, *(p for info in root.workspaces for p in info.problems))
        ]

    def action_problems(self) -> None:
        found = self.problems()
        if found:
            self.app.clear_notifications()
            self.app.push_screen(ReadingScreen(count(len(found), "problem"), problems_body(found)))
        else:
            self.notify("Everything could be read.", markup=False)

    def action_gc(self) -> None:
        self._confirmed(
            "Remove unused workspaces?",
            lambda memory: memory.gc(),
            gc_lines,
            "remove them",
            lambda memory: memory.gc(remove=True).receipt,
        )

    def action_clear(self, what: What) -> None:
        named = {
            "workspace": f"Clear {clean(self.session.memory.workspace)}?",
            "global": "Clear global memory?",
        }
        self._confirmed(
            named.get(what, "Clear everything?"),
            lambda memory: memory.clear_preview(what),
            list,
            "clear",
            lambda memory: memory.clear(what),
        )

    @work(exclusive=True, group="clear", exit_on_error=False, description="remove, after asking")
    async def _confirmed(
        self,
        question: str,
        look: Callable[[Memory], T],
        lines: Callable[[T], list[str]],
        verb: str,
        do: Callable[[Memory], Receipt | None],
    ) -> None:
        try:
            listed = lines(await self.session.ask(look))
            if not listed:
                self.notify("There is nothing to remove.", markup=False)
                return
            consequence = (
                "It goes to the trash and can be brought back from there; every index is cleared of it."
            )
            if not await self.app.push_screen_wait(Confirm(question, listed, consequence, verb)):
                return
            receipt = await self.session.ask(do)
        except Exception as error:
            self.post_message(Failed(question, as_error(error, question)))
            return
        if receipt is not None:
            self.app.push_screen(ReadingScreen("Receipt", receipt_body(receipt)))
        self.sync()
        self.survey(at_once=True)
        # The indexes are in step already, so the sync finds nothing to tell of.
        self.searching.refresh_results()
        self.preview.reload()

    # Looks and help

    def action_theme(self) -> None:
        self.app.search_themes()

    def action_help(self) -> None:
        place: Place | Literal["query"] = "query" if isinstance(self.focused, SearchBox) else self.place
        self.app.push_screen(
            HelpScreen(self.pane(self.place), place, self.focused, self.key_of, self.app_keymap)
        )

    def action_leave(self) -> None:
        if isinstance(self.focused, SearchBox):
            self.go("results")
        elif self.query_one(ErrorStrip).close():
            self._error_of = ""
        elif self.zoomed:
            self.action_zoom()
        elif self.place != "results":
            self.go("results")

    def workspaces_to_go(self) -> list[tuple[str, Callable[[], object]]]:
        """Every workspace by name and the way there, for the palette."""
        if self.overview is None:
            return []
        return [
            (
                f"{info.folder}  {info.human}" if info.human else info.folder,
                partial(self.look_at, root.path, info.folder),
            )
            for root in self.overview.roots
            for info in root.workspaces
        ]

    # What applies

    def applies(self, binding_id: str) -> bool:
        match binding_id:
            case "search.why":
                shown = self.preview.file is not None or self.searching.results.selected is not None
                return bool(self.searching.request.query.strip()) and shown
            case "memory.problems":
                return bool(self.problems())
            case "copy":
                return self.pane_copyable() is not None
            case "pane.zoom":
                return self.zoomed or self.arrangement != "single"
            case _:
                return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Until the memory is open nothing can be asked of it; where nothing is drawn, no key works unseen."""
        if self.arrangement == "tiny":
            return False
        waits = action in ("cycle_scope", "lab", "why", "rescan", "rebuild", "doctor", "gc", "clear")
        return self.session.is_open if waits else True
