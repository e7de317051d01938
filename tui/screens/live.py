"""Keeping in step: opening the memory after the first paint, syncing, watching, and saying how things stand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.timer import Timer

from tui.format import count
from tui.messages import (
    Failed,
    FilesChanged,
    MemoryOpened,
    OpenFailed,
    Progress,
    SessionsListed,
    Surveyed,
    Synced,
    Watching,
)
from tui.screens.deck import DeckScreen
from tui.session import as_error
from tui.text import clean
from tui.widgets.header import Header, HeaderFacts
from tui.widgets.scope_rows import origin_words
from tui.widgets.status_bar import ErrorStrip, NoteStrip

if TYPE_CHECKING:
    from core.memory import IndexStatus, Memory, Overview, Problem, SyncReport, Watcher, WorkspaceInfo

QUIET = 0.15
"""Seconds files must rest before what lies under the roots is listed again."""
RETRY = 1.0
"""Seconds between two tries while another process holds the index."""
GLANCE = 2.0
"""Seconds between two looks at how edits are noticed."""
PATIENCE = 0.5
"""Seconds of indexing after which it is said."""


class LiveScreen(DeckScreen):
    """The flow MemoryOpened → Surveyed, Synced, Watching; FilesChanged → Synced → the list refreshed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.overview: Overview | None = None
        self._surveyed_as: Overview | None = None
        self._unread: dict[tuple[str, str], tuple[Problem, ...]] = {}
        self.status: IndexStatus | None = None
        self.watcher: Watcher | None = None
        self._again = False
        self._since = 0.0
        self._progress: tuple[int, int] | None = None
        self._retry: Timer | None = None
        self._ticker: Timer | None = None
        self._error_of = ""

    def on_mount(self) -> None:
        self.query_one(Header).facts = HeaderFacts(demo=self.demo)
        self._retry = self.set_interval(RETRY, self.sync, pause=True)
        self._ticker = self.set_interval(PATIENCE, self._say_notes, pause=True)
        self.set_interval(GLANCE, self._glance)
        self.call_after_refresh(self._open)  # the first paint does not share the processor with opening

    # Opening

    @work(group="open", exit_on_error=False, description="open the memory")
    async def _open(self) -> None:
        try:
            memory = await self.session.open()
        except Exception as error:
            self.post_message(OpenFailed(as_error(error, "Opening the memory")))
        else:
            self.post_message(MemoryOpened(memory))

    def look_at(self, root: str, workspace: str) -> None:
        """Search in another workspace from now on."""
        if (root, workspace) != (self.session.memory.root, self.session.memory.workspace):
            self._look_at(root, workspace)

    @work(exclusive=True, group="look", exit_on_error=False, description="look at another workspace")
    async def _look_at(self, root: str, workspace: str) -> None:
        try:
            memory = await self.session.look_at(root, workspace)
        except Exception as error:
            self.post_message(Failed("Opening the workspace", as_error(error, "Opening the workspace")))
        else:
            self.post_message(MemoryOpened(memory, first=False))

    @on(MemoryOpened)
    def _opened(self, event: MemoryOpened) -> None:
        self.call_after_refresh(self.refresh_keys)  # the keys may be others by then
        self.status = None
        # The sync is begun first, so that the list does not wait for it but is drawn from what is indexed.
        self.sync()
        self.searching.refresh_results()
        self.survey(at_once=True)
        if event.first:
            self._watch()
        self._say_header()

    # What lies under the roots

    def survey(self, *, at_once: bool = False) -> None:
        self._survey(at_once)

    @work(exclusive=True, group="survey", exit_on_error=False, description="list the memories")
    async def _survey(self, at_once: bool) -> None:
        if not at_once:
            await asyncio.sleep(QUIET)
        try:
            overview = await asyncio.to_thread(self.session.home.overview)
            self.post_message(Surveyed(overview))
            workspace = self.session.memory.workspace
            sessions = await self.session.ask(lambda memory: memory.sessions())
            self.post_message(SessionsListed(workspace, sessions))
        except Exception as error:
            self.post_message(Failed("Listing the memory", as_error(error, "Listing the memory")))

    @on(Surveyed)
    def _surveyed(self, event: Surveyed) -> None:
        self._surveyed_as = event.overview
        self._show_overview()
        memory = self.session.memory
        opened = event.overview.roots[0] if event.overview.roots else None
        self.searching.set_absent(memory.root if opened is None or not opened.exists else "")
        self._say_header()
        self._say_notes()

    def _show_overview(self) -> None:
        """Show what was listed, with what could not be read when it was to be indexed."""
        if self._surveyed_as is None:
            return
        self.overview = with_unread(self._surveyed_as, self.unread())
        memory = self.session.memory
        selected = (memory.root, memory.workspace)
        self.scopes.show(self.overview, selected, memory.settings.dream, memory.now())
        self.logs.mark_unread(frozenset(problem.path for problem in self.unread()))

    def unread(self) -> tuple[Problem, ...]:
        """What the last sync of each workspace could not read, each file once."""
        return tuple(dict.fromkeys(problem for found in self._unread.values() for problem in found))

    @on(SessionsListed)
    def _listed(self, event: SessionsListed) -> None:
        if event.workspace == self.session.memory.workspace:
            self.logs.show(event.sessions, event.workspace)

    def selected_info(self) -> WorkspaceInfo | None:
        """What is known of the workspace that is searched."""
        if self.overview is None or not self.session.is_open:
            return None
        memory = self.session.memory
        return next(
            (
                info
                for root in self.overview.roots
                if root.path == memory.root
                for info in root.workspaces
                if info.folder == memory.workspace
            ),
            None,
        )

    # Syncing

    def sync(self, work: Callable[[Memory], SyncReport] | None = None, *, asked: bool = False) -> None:
        """Bring the index in step, off the loop; one at a time, changes meanwhile are taken in after it."""
        if not self.session.is_open:
            return
        if self.session.syncing:
            self._again = True
            return
        self.session.syncing = True
        self._again = False
        self._progress = None
        self._since = asyncio.get_running_loop().time()
        if self._ticker is not None:
            self._ticker.resume()
        self._sync(work or (lambda memory: memory.sync()), asked)

    @work(group="sync", exit_on_error=False, description="bring the index in step")
    async def _sync(self, work: Callable[[Memory], SyncReport], asked: bool) -> None:
        memory = self.session.memory
        report: SyncReport | None = None
        status: IndexStatus | None = None
        try:
            report = await asyncio.to_thread(work, memory)
            status = await asyncio.to_thread(memory.status)
        except Exception as error:
            self.post_message(Failed("The index", as_error(error, "The index")))
        finally:
            # Said even when it failed: whoever waits for the end of a sync must not wait for ever.
            self.post_message(Synced(memory.root, memory.workspace, report, status, asked))

    @on(Synced)
    def _synced(self, event: Synced) -> None:
        self.session.syncing = False
        seconds = asyncio.get_running_loop().time() - self._since
        if self._ticker is not None:
            self._ticker.pause()
        key = (event.root, event.workspace)
        if event.report is not None and event.report.problems != self._unread.get(key, ()):
            self._unread[key] = event.report.problems
            self._show_overview()
        if event.workspace == self.session.memory.workspace and event.status is not None:
            fresh = self.status is None
            self.status = event.status
            if fresh or (event.report is not None and event.report.changed):
                self.searching.refresh_results()
                self.preview.reload()
            behind = event.status.state == "behind"
            if self._retry is not None:
                (self._retry.resume if behind else self._retry.pause)()
        if self._again:
            self.sync()
        if event.asked and event.report is not None:
            self.notify(_sync_words(event.report, seconds), markup=False)
        self._say_header()
        self._say_notes()

    @on(Progress)
    def _progressed(self, event: Progress) -> None:
        self._progress = (event.done, event.total)

    # Watching

    @work(group="watch", exit_on_error=False, description="notice outside edits")
    async def _watch(self) -> None:
        def tell(event: object) -> None:
            self.post_message(FilesChanged())  # called on the watcher's thread; which files, the memory keeps

        try:
            self.post_message(Watching(await asyncio.to_thread(self.session.home.watch, tell)))
        except Exception as error:
            self.post_message(Failed("Watching for edits", as_error(error, "Watching for edits")))

    @on(Watching)
    def _watching(self, event: Watching) -> None:
        self.watcher = event.watcher
        self.session.live = event.watcher.status.mode == "live"
        self._say_header()

    @on(FilesChanged)
    def _files_changed(self) -> None:
        self.sync()
        self.survey()
        self.preview.reload()
        if self.searching.request.scope == "everywhere":
            self.searching.refresh_results()  # a sync looks at one workspace, this search at all

    def _glance(self) -> None:
        if self.watcher is not None and self.query_one(Header).facts.watch != self.watcher.status:
            self.session.live = self.watcher.status.mode == "live"
            self._say_header()

    # Saying how things stand

    def _say_header(self) -> None:
        if not self.session.is_open:
            return
        memory, last = self.session.memory, self.searching.last
        human, origin = self._called()
        mode = last.mode if last is not None and last.mode != "newest" else self.query_one(Header).facts.mode
        self.query_one(Header).facts = HeaderFacts(
            workspace=memory.workspace,
            human=human,
            origin=origin,
            watch=self.watcher.status if self.watcher is not None else None,
            status=self.status,
            mode=mode,
            profile=self.searching.request.profile,
            opening=False,
            demo=self.demo,
        )

    def _called(self) -> tuple[str, str]:
        """The human name of the workspace that is searched, and how it is known."""
        memory, info = self.session.memory, self.selected_info()
        identity = self.overview.identity if self.overview is not None else None
        if (
            identity is not None
            and identity.kind in ("remote", "path")
            and identity.folder == memory.workspace
        ):
            if memory.root == self.session.home.root:
                return identity.value, origin_words(identity.kind)
        if info is None:
            return "", ""
        return info.human or "", origin_words(info.origin)

    def _say_notes(self) -> None:
        self.query_one(NoteStrip).say("\n".join(self._notes()[:2]))

    def _notes(self) -> list[str]:
        notes: list[str] = []
        status = self.status
        if status is not None and status.state == "behind":
            notes.append(_behind_words(status, self.session.memory.now()))
        elif status is not None and status.state in ("cached", "failed") and status.reason:
            notes.append(status.reason)
        if self.session.syncing:
            seconds = asyncio.get_running_loop().time() - self._since
            if seconds >= PATIENCE:
                done = f", {self._progress[0]:,} of {self._progress[1]:,} files" if self._progress else ""
                notes.append(f"indexing{done}, {seconds:.0f} s; everything else works meanwhile")
        if self.searching.last is not None:
            notes += self.searching.last.warnings
        if self.overview is not None:
            memory, home = self.session.memory, self.session.home
            here = (memory.root, memory.workspace) == (home.root, home.workspace)
            # The notes are about the folder memdeck was started in, the banner about the whole root.
            about = (self.overview.banner, *(self.overview.notes if here else ()))
            notes += [note for note in about if note]
        return notes

    @on(Failed)
    def _failed(self, event: Failed) -> None:
        self._error_of = event.what
        self.query_one(ErrorStrip).show(event.error)

    def forgive(self, what: str) -> None:
        """Close an error about ``what``: the same thing has worked since."""
        if self._error_of == what:
            self._error_of = ""
            self.query_one(ErrorStrip).close()


def with_unread(overview: Overview, unread: Sequence[Problem]) -> Overview:
    """The overview with further problems, each at the workspace it lies in, else at its root."""
    roots = []
    for root in overview.roots:
        named = {problem.path for problem in root.problems}
        named |= {problem.path for info in root.workspaces for problem in info.problems}
        rest = [one for one in unread if one.path not in named and one.path.startswith(f"{root.path}/")]
        workspaces = []
        for info in root.workspaces:
            inside = tuple(one for one in rest if one.path.startswith(f"{info.path}/"))
            rest = [one for one in rest if one not in inside]
            workspaces.append(replace(info, problems=(*info.problems, *inside)) if inside else info)
        roots.append(replace(root, workspaces=tuple(workspaces), problems=(*root.problems, *rest)))
    return replace(overview, roots=tuple(roots))


def _behind_words(status: IndexStatus, now: float) -> str:
    who = ""
    if status.holder is not None:
        who = f" (pid {status.holder.pid} has been indexing for {max(0, int(now - status.holder.since))} s)"
    return f"index behind by {count(status.behind, 'file')}{who}; the results are older, trying again each second"


def _sync_words(report: SyncReport, seconds: float) -> str:
    taken = (
        f"{report.files_indexed:,} taken in, {report.files_removed:,} gone"
        if report.changed
        else "all in step"
    )
    notes = "".join(f"\n{clean(note)}" for note in report.notes)
    return f"{count(report.files_seen, 'file')}: {taken} ({seconds:.1f} s){notes}"
