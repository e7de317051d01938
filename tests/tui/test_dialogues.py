"""Dialogues: nothing goes before a yes, the chunk picker answers for any chunk, copying says by which way."""

from __future__ import annotations

from dataclasses import replace

from textual.content import Content

from core.errors import MemdeckError
from core.index.model import DoctorReport, Finding
from core.store.model import GcReport
from tests.tui.driving import screen, settle, told, typed
from tests.tui.fake_memory import ROOT, FakeMemory
from tui.screens.main import MainScreen
from tui.screens.reading import MAX_LINES, ReadingScreen
from tui.screens.why import WhyScreen
from tui.widgets.confirm import Confirm
from tui.widgets.folded import fold


async def test_clear_lists_what_goes_and_cancel_is_focused(app, memory: FakeMemory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.action_clear("workspace")
        await settle_modal(pilot)
        assert isinstance(app.screen, Confirm)
        text = screen(app)
        assert "Clear widgets-a3f7b2c9?" in text
        assert "sessions (12 logs)" in text
        assert "trash" in text
        assert app.focused.id == "no"
        await pilot.press("enter")
        await settle(pilot)
        assert not any(call.startswith("clear") for call in memory.calls)


async def settle_modal(pilot) -> None:
    """A worker waits for the answer to a question, so it cannot be waited for."""
    for _ in range(20):
        await pilot.pause(0.01)


async def test_yes_clears_and_shows_the_receipt(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.action_clear("global")
        await settle_modal(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert "clear global" in memory.calls
        assert isinstance(app.screen, ReadingScreen)
        assert "in the trash: /home/mona/.local/state/memdeck/trash/1" in screen(app)


async def test_n_and_escape_leave_everything_as_it_is(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for key in ("n", "escape"):
            app.screen.action_clear("all")
            await settle_modal(pilot)
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(app.screen, MainScreen)
        assert not any(call.startswith("clear") for call in memory.calls)


async def test_the_arrows_move_between_the_answers(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.action_gc()
        await settle_modal(pilot)
        assert "goes   widgets-77c01d2e: empty for 31 days" in screen(app)
        await pilot.press("right")
        assert app.focused.id == "yes"
        await pilot.press("enter")
        await settle(pilot)
        assert "Receipt" in screen(app)


async def test_nothing_to_remove_asks_nothing(app, memory) -> None:
    memory.gc = lambda remove=False: GcReport()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.action_gc()
        await settle(pilot)
        assert "nothing to remove" in told(app)


async def test_a_clear_that_fails_is_an_error_beside_the_work(app, memory) -> None:
    def broken(what):
        raise MemdeckError("the trash is not writable", data="Nothing was removed.")

    memory.clear = broken
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.action_clear("all")
        await settle_modal(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert "the trash is not writable" in screen(app)
        assert "Nothing was removed." in screen(app)


async def test_why_tells_what_is_indexed_now_not_when_the_file_was_read(app, memory) -> None:
    spans = memory.spans
    memory.spans = lambda path: tuple(replace(span, indexed=False) for span in spans(path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "token")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("w")
        await settle(pilot)
        assert "not indexed" in screen(app)
        await pilot.press("escape")
        await settle(pilot)
        memory.spans = spans  # the index caught up; nothing else changed
        await pilot.press("w")
        await settle(pilot)
        assert isinstance(app.screen, WhyScreen)
        assert "not indexed" not in screen(app)
        assert "160 B" in screen(app)


async def test_why_asks_for_any_chunk_of_the_file(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("w")
        assert "Type a query first" in told(app)
        await pilot.press("slash")
        await typed(pilot, "token")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("w")
        await settle(pilot)
        assert isinstance(app.screen, WhyScreen)
        text = screen(app)
        assert "57 of 210 matches, the first 18 are taken" in text
        assert "lacks    refresh, token, rotation" in text
        assert "9–11" in text
        memory.why = lambda query, chunk: (_ for _ in ()).throw(MemdeckError("no such chunk", hint="Rescan."))
        await pilot.press("j")
        await settle(pilot)
        assert "✗ no such chunk" in screen(app)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MainScreen)


async def test_the_doctor_lists_the_worst_first(app, memory) -> None:
    memory.doctor = lambda: DoctorReport(
        (
            Finding("ok", "journal", "wal"),
            Finding("error", "index", "is damaged", "Rebuild it."),
            Finding("warning", "chunks", "two are above 6,400 bytes"),
        )
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await app.screen.run_action("doctor")
        await settle(pilot)
        text = screen(app)
        assert "something is wrong" in text
        assert text.index("is damaged") < text.index("6,400 bytes") < text.index("wal")
        assert "Rebuild it." in text


async def test_a_thousand_problems_are_cut_and_said_so(app, memory) -> None:
    first = memory.survey.roots[0]
    memory.survey = replace(memory.survey, roots=(replace(first, problems=first.problems * 1_000),))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("exclamation_mark")
        await settle(pilot)
        assert f"and {1_000 - MAX_LINES} more: memdeck doctor" in app.screen._body.plain
        await pilot.press("G")
        await settle(pilot)
        assert "more: memdeck doctor" in screen(app)


async def test_copy_says_what_and_by_which_way(app, memory, monkeypatch) -> None:
    given: list[str] = []

    def tool(text, environ):
        given.append(text)
        return "wl-copy"

    monkeypatch.setattr("tui.screens.main.copy_natively", tool)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert given == [app.clipboard] == [app.screen.searching.results.selected.snippet]
        assert "MEMORY.md:5–7, 258 B: sent to the terminal (OSC 52) and given to wl-copy" in told(app)
        await pilot.press("2", "y")
        await settle(pilot)
        assert given[-1] == memory.logs[0].entry.path
        await pilot.press("1", "y")
        await settle(pilot)
        assert given[-1].endswith("/widgets-a3f7b2c9/MEMORY.md")


async def test_too_long_for_the_terminal_and_no_tool_is_said_honestly(app, monkeypatch) -> None:
    monkeypatch.setattr("tui.screens.main.copy_natively", lambda text, environ: "")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen._copy("the chunk", "x" * 80_000)
        await settle(pilot)
        assert "Not copied" in told(app)
        assert app.clipboard == ""


async def test_the_doctor_takes_away_the_messages_it_repeats(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.notify("ui.theme is wrong", markup=False)
        await app.screen.run_action("doctor")
        await settle(pilot)
        assert isinstance(app.screen, ReadingScreen)
        assert told(app) == ""


async def test_long_paths_are_broken_between_their_names(app, memory) -> None:
    long = f"{ROOT}/widgets-a3f7b2c9/sessions/2026-07-12-starting-over/with-release-notes.md"
    memory.clear_preview = lambda what: (long,)
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        app.screen.action_clear("workspace")
        await settle_modal(pilot)
        lines = [line.partition("│")[2].rpartition("│")[0].strip(" │") for line in screen(app).splitlines()]
        first = next(index for index, line in enumerate(lines) if line.startswith(ROOT))
        assert lines[first][-1] in "/-"
        assert lines[first] + lines[first + 1] == long


def test_what_has_no_place_to_break_is_broken_at_the_edge() -> None:
    assert [row.plain for row in fold(Content("abcdef\n\nx --y"), 4)] == ["abcd", "ef", "", "x", "--y"]


async def test_the_chunks_of_why_do_not_show_comments(app, memory) -> None:
    path = f"{ROOT}/widgets-a3f7b2c9/MEMORY.md"
    memory.texts[path] = "\n<!-- memdeck: made -->\n## Access tokens <!-- memdeck: verified from=x -->\n"
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"token", "enter")
        await settle(pilot)
        await pilot.press("w")
        await settle(pilot)
        assert isinstance(app.screen, WhyScreen)
        text = screen(app)
        assert "## Access tokens" in text
        assert "verified from" not in text
