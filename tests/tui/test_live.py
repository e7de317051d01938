"""In step with the disk: the first paint comes before the memory, edits arrive by themselves, nothing is lost."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from core.errors import MemdeckError, UsageError
from core.index.model import SyncReport, WatchStatus
from core.store.model import Problem, RootInfo
from tests.tui.driving import screen, settle, told, typed, until
from tests.tui.fake_memory import ROOT, FakeMemory, failing, overview, report
from tui.app import MemdeckApp
from tui.messages import FilesChanged, Synced
from tui.screens.live import with_unread
from tui.widgets.status_bar import ErrorStrip

CHANGED = SyncReport(files_seen=38, files_indexed=1, updated=1)


async def test_the_screen_is_painted_before_the_memory_is_opened() -> None:
    gate = threading.Event()

    def slow():
        gate.wait(10)
        return FakeMemory()

    app = MemdeckApp(slow)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        text = screen(app)
        assert text.count("Opening the memory…") >= 3
        assert "opening…" in text.splitlines()[0]
        assert "as the agent" in text.splitlines()[0]
        # What is typed meanwhile is searched for as soon as it can be.
        await pilot.press("slash")
        await typed(pilot, "token")
        gate.set()
        await settle(pilot)
        assert app.screen.searching.last.query == "token"


@pytest.mark.parametrize("error", [UsageError("there is no workspace 'x'", hint="There are: a, b.")])
async def test_a_memory_that_cannot_be_opened_ends_the_app_with_its_exit_code(error) -> None:
    def factory():
        raise error

    app = MemdeckApp(factory)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app._exit)
    assert app.return_code == error.exit_code
    assert app.return_value == error.exit_code


async def test_an_edit_from_outside_refreshes_the_list_and_keeps_the_selection(app, memory, heard) -> None:
    messages, hear = heard
    async with app.run_test(size=(120, 40), message_hook=hear) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "token")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("j")
        await settle(pilot)
        kept = app.screen.searching.results.cursor_id
        old = report("token")
        memory.answers["token"] = replace(
            old, hits=(old.hits[1], replace(old.hits[0], id="new:0"), old.hits[0])
        )
        memory.synced = CHANGED
        messages.clear()
        threading.Thread(target=memory.on_change, args=(None,)).start()
        await until(pilot, lambda: any(isinstance(one, Synced) for one in messages))
        await settle(pilot)
        assert any(isinstance(one, FilesChanged) for one in messages)
        assert app.screen.searching.results.cursor_id == kept
        assert len([row for row in app.screen.searching.results.rows if row.selectable]) == 5


async def test_many_changes_while_a_sync_runs_make_one_more_sync(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        gate, calls = threading.Event(), memory.calls
        before = calls.count("sync")
        memory.sync = lambda: (calls.append("sync"), gate.wait(10), SyncReport())[-1]
        for _ in range(50):
            memory.on_change(None)
        await until(pilot, lambda: calls.count("sync") == before + 1)
        for _ in range(50):
            memory.on_change(None)
        await pilot.pause(0.05)
        assert calls.count("sync") == before + 1
        gate.set()
        await settle(pilot)
        assert before + 2 <= calls.count("sync") <= before + 3


async def test_a_search_does_not_wait_for_a_sync(app, memory) -> None:
    asked = []
    search = memory.search
    memory.search = lambda query, **options: (asked.append(options["sync"]), search(query, **options))[-1]
    gate = threading.Event()
    memory.sync = lambda: (gate.wait(10), SyncReport())[-1]
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: bool(asked))
        await until(pilot, lambda: bool(app.screen.searching.results.rows))
        assert asked == [False]
        gate.set()
        await settle(pilot)


async def test_long_indexing_says_how_far_it_is_and_for_how_long(app, memory, monkeypatch) -> None:
    monkeypatch.setattr("tui.screens.live.PATIENCE", 0.01)
    gate = threading.Event()

    def slow(rebuild=False, progress=None):
        progress(7, 38)
        gate.wait(10)
        return CHANGED

    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        memory.reindex = slow
        await pilot.press("r")
        await until(pilot, lambda: "indexing, 7 of 38 files" in screen(app))
        # The rest stays usable.
        await pilot.press("1")
        assert app.screen.place == "scopes"
        gate.set()
        await settle(pilot)
        assert "indexing," not in screen(app)
        assert "1 taken in" in told(app)


async def test_how_edits_are_noticed_stands_in_the_header(app, memory) -> None:
    memory.watcher._status = WatchStatus("polling", "network filesystem")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "polling: network filesystem" in screen(app).splitlines()[0]
        memory.watcher._status = WatchStatus("live")
        app.screen._glance()
        await settle(pilot)
        assert " live · 412 chunks" in screen(app).splitlines()[0]


async def test_a_failing_sync_is_said_and_the_rest_goes_on(app, memory) -> None:
    def broken():
        raise MemdeckError("the disk is full", data="No Markdown is touched.", hint="Make room.")

    memory.sync = broken
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "the disk is full" in screen(app)
        assert app.screen.searching.results.rows
        assert not app.session.syncing
        await pilot.press("escape")
        await settle(pilot)
        assert not app.screen.query_one(ErrorStrip).display


async def test_another_workspace_is_searched_after_enter_on_it(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1")
        scopes = app.screen.scopes.listing
        scopes.move_to(next(row.id for row in scopes.rows if "notes" in row.id))
        await pilot.press("enter")
        await settle(pilot)
        assert app.session.memory.workspace == "notes-9b8a7c6d"
        assert "notes-9b8a7c6d · mona/notes" in screen(app).splitlines()[0]
        # And back again: the memory of before is still open.
        app.screen.look_at(app.session.home.root, app.session.home.workspace)
        await settle(pilot)
        assert app.session.memory is app.session.home


async def test_no_memory_yet_is_explained_with_a_way_on(app, memory) -> None:
    main: RootInfo = replace(
        overview().roots[0], exists=False, global_memory=None, workspaces=(), problems=()
    )
    memory.survey = replace(overview(), roots=(main,))
    memory.logs = ()
    memory.answers[""] = replace(
        report(""), mode="newest", hits=(), dropped=(), also=(), empty_reason="nothing indexed"
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        text = " ".join(screen(app).split())
        assert "There is no memory at" in text
        assert "memdeck demo" in text
        assert "No memory here yet" in text


async def test_leaving_stops_what_runs_and_closes_the_memory(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+q")
        await pilot.pause()
    assert memory.calls[-1] == "close"
    assert app.return_code == 0


def test_run_returns_the_exit_code_of_a_failed_start(monkeypatch) -> None:
    from tui import app as app_module

    monkeypatch.setattr(app_module.MemdeckApp, "run", lambda self: setattr(self, "_return_code", 2))
    assert app_module.run(failing("no")) == 2


_LOG = f"{ROOT}/widgets-a3f7b2c9/sessions/2026-07-16-build-1b2c3d4e.md"
UNREAD = Problem(_LOG, "unreadable", f"{_LOG} is not UTF-8")


async def test_what_a_sync_could_not_read_is_listed_once_and_marked(app, memory) -> None:
    memory.synced = SyncReport(files_seen=38, problems=(UNREAD,))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.sync()
        app.screen.survey(at_once=True)
        await settle(pilot)
        assert [one for one in app.screen.problems() if one.path == UNREAD.path] == [UNREAD]
        text = screen(app)
        assert "! 07-16 build" in text
        assert any("widgets" in line and "!" in line.partition("││")[0] for line in text.splitlines()[3:12])
        await pilot.press("exclamation_mark")
        await settle(pilot)
        assert app.screen._body.plain.count(UNREAD.path) == 1
        assert "is not UTF-8" in screen(app)
        await pilot.press("escape")
        # A later sync reads it: the mark goes.
        memory.synced = SyncReport(files_seen=38)
        app.screen.sync()
        await settle(pilot)
        assert UNREAD not in app.screen.problems()
        assert "! 07-16 build" not in screen(app)


def test_a_problem_that_was_listed_is_not_named_again() -> None:
    known = overview().roots[0].problems[0]
    outside = Problem("/elsewhere/x.md", "unreadable", "m")
    survey = with_unread(overview(), (known, UNREAD, outside))
    assert survey.roots[0].problems == (known,)
    assert survey.roots[0].workspaces[0].problems == (UNREAD,)


async def test_a_note_about_the_start_folder_goes_with_its_workspace(app, memory) -> None:
    memory.survey = replace(overview(), notes=("The agent keeps no memory of this folder: /tmp/x.",))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "keeps no memory of this folder" in screen(app)
        app.screen.look_at(memory.root, "notes-9b8a7c6d")
        await settle(pilot)
        assert "keeps no memory of this folder" not in screen(app)
        app.screen.look_at(memory.root, "widgets-a3f7b2c9")
        await settle(pilot)
        assert "keeps no memory of this folder" in screen(app)
