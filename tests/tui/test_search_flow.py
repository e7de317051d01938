"""Typing, and what comes of it: the chain of messages, the newest query wins, failures are told apart."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from core.errors import MemdeckError
from core.index.model import ClaimHolder
from core.settings import Settings
from tests.tui.driving import screen, settle, typed, until
from tests.tui.fake_memory import STATUS, FakeMemory, report
from tui.app import MemdeckApp
from tui.messages import Searched, SearchFailed, Shown, Submitted
from tui.widgets import search_pane
from tui.widgets.results import ResultsList
from tui.widgets.status_bar import ErrorStrip


async def test_a_query_goes_from_submitted_over_searched_to_shown(app, heard) -> None:
    messages, hear = heard
    async with app.run_test(size=(120, 40), message_hook=hear) as pilot:
        await settle(pilot)
        messages.clear()
        await pilot.press("slash")
        await typed(pilot, "token")
        await settle(pilot)
        chain = [
            type(one) for one in messages if isinstance(one, Submitted | Searched | Shown | SearchFailed)
        ]
        assert chain == [Submitted] * 5 + [Searched, Shown]
        assert messages[-1].report.query == "token" if isinstance(messages[-1], Shown) else True
        assert app.screen.searching.last.query == "token"


async def test_an_empty_query_lists_the_newest(app: MemdeckApp, memory: FakeMemory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "search " in memory.calls
        assert "newest 2" in screen(app)


async def test_an_answer_that_comes_too_late_is_not_shown(app, memory, heard, monkeypatch) -> None:
    messages, hear = heard
    monkeypatch.setattr(search_pane, "DEBOUNCE", 0.0)
    async with app.run_test(size=(120, 40), message_hook=hear) as pilot:
        await settle(pilot)
        gate = threading.Event()

        def slow():
            gate.wait(10)
            return report("a")

        memory.answers["a"] = slow
        await pilot.press("slash", "a")
        await until(pilot, lambda: "search a" in memory.calls)
        await pilot.press("b")
        await until(pilot, lambda: "search ab" in memory.calls)
        gate.set()
        await settle(pilot)
        shown = [one.report.query for one in messages if isinstance(one, Shown)]
        assert shown[-1] == "ab"
        assert "a" not in shown
        assert "interrupt" in memory.calls


async def test_a_stale_generation_is_discarded(app: MemdeckApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        pane = app.screen.searching
        before = pane.last
        prepared = search_pane.prepare(report("yesterday's question"))
        pane.post_message(Searched(prepared, app.session.generation - 1))
        await settle(pilot)
        assert pane.last is before


async def test_enter_does_not_wait_for_the_pause(app, memory, monkeypatch) -> None:
    monkeypatch.setattr(search_pane, "DEBOUNCE", 3600.0)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "token")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.searching.last.query == "token")
        assert isinstance(app.focused, ResultsList)


async def test_old_rows_wait_dimmed(app, memory, monkeypatch) -> None:
    monkeypatch.setattr(search_pane, "DEBOUNCE", 0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        gate = threading.Event()

        def slow():
            gate.wait(10)
            return report("a")

        memory.answers["a"] = slow
        results = app.screen.searching.results
        await pilot.press("slash", "a")
        await until(pilot, lambda: "search a" in memory.calls)
        await until(pilot, lambda: results._dim)
        assert results.rows
        gate.set()
        await settle(pilot)
        assert not results._dim


async def test_what_is_typed_right_behind_the_slash_lands_in_the_box(app: MemdeckApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        from textual import events

        for key, char in (("slash", "/"), ("t", "t"), ("q", "q")):
            app.post_message(events.Key(key, char))
        await settle(pilot)
        assert app.screen.searching.box.value == "tq"


async def test_a_failed_search_says_so_in_the_list_and_beside_it(app, memory) -> None:
    memory.answers["bad"] = MemdeckError(
        "the index is damaged", data="The Markdown is untouched.", hint="Rebuild it from the palette."
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "bad")
        await settle(pilot)
        text = screen(app)
        assert "The search failed: the index is damaged" in text
        assert app.screen.query_one(ErrorStrip).display
        for part in ("the index is damaged", "The Markdown is untouched.", "Rebuild it from the palette."):
            assert text.count(part) >= 2
        # The next one that works takes the message away.
        await typed(pilot, "x")
        await settle(pilot)
        assert not app.screen.query_one(ErrorStrip).display


async def test_a_defect_of_ours_is_a_message_not_a_traceback(app, memory) -> None:
    memory.answers["bad"] = KeyError("oops")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "bad")
        await settle(pilot)
        assert "KeyError" in screen(app)
        assert "defect in memdeck" in screen(app)


EMPTY = replace(report("nothing"), hits=(), dropped=(), also=())


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("no match", "No chunk has any of these words"),
        ("only stop words", "Only stop words"),
        ("nothing indexed", "Nothing is indexed"),
        ("index behind by 3 files", "Index behind by 3 files"),
    ],
)
async def test_nothing_found_says_why(app, memory, reason, said) -> None:
    memory.answers["x"] = replace(EMPTY, empty_reason=reason)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash", "x")
        await settle(pilot)
        assert said in screen(app)
        assert "failed" not in screen(app)


async def test_an_index_that_is_behind_is_tried_again_until_it_is_not(app, memory, monkeypatch) -> None:
    monkeypatch.setattr("tui.screens.live.RETRY", 0.02)
    memory.index = replace(STATUS, state="behind", behind=3, holder=ClaimHolder(4242, int(memory.now()) - 7))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "index behind by 3 files (pid 4242 has been indexing for 7 s)" in screen(app)
        assert "behind by 3" in screen(app).splitlines()[0]
        tries = memory.calls.count("sync")
        await until(pilot, lambda: memory.calls.count("sync") > tries + 1)
        memory.index = STATUS
        await until(pilot, lambda: "behind" not in screen(app))
        await settle(pilot)
        tries = memory.calls.count("sync")
        await pilot.pause(0.2)
        assert memory.calls.count("sync") == tries


async def test_the_scope_cycles_and_is_named(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        seen = []
        for _ in range(5):
            await pilot.press("s")
            await settle(pilot)
            seen.append(app.screen.searching.request.scope)
        assert seen == ["workspace", "session", "global", "everywhere", "agent"]
        await pilot.press("s")
        await settle(pilot)
        assert "Search · its memory only" in screen(app)


async def test_the_profile_key_goes_round_and_the_header_names_it(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for name in ("hybrid", "tuned", "as the agent"):
            await pilot.press("p")
            await settle(pilot)
            assert screen(app).splitlines()[0].rstrip().endswith(name)


async def test_an_empty_list_names_only_keys_that_work(app, memory) -> None:
    memory.answers["x"] = replace(EMPTY, empty_reason="no match")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash", "x")
        await settle(pilot)
        assert "typing on asks something else" in screen(app)
        await pilot.press("escape")
        await settle(pilot)
        assert "/ asks something else" in screen(app)
        await pilot.press("slash")
        await settle(pilot)
        assert "/ asks something else" not in screen(app)


async def test_every_character_can_be_typed_into_the_query(app) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await settle(pilot)
        keys = (
            "a",
            "slash",
            "b",
            "minus",
            "plus",
            "at",
            "underscore",
            "backslash",
            "1",
            "question_mark",
            "colon",
        )
        await pilot.press(*keys)
        await settle(pilot)
        assert app.focused.value == "a/b-+@_\\1?:"


async def test_a_rebound_letter_can_still_be_typed_into_the_query(app, memory) -> None:
    memory.settings = Settings(keys={"search.focus": "f", "pane.scopes": "x"})
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f")
        await settle(pilot)
        await pilot.press("f", "o", "x", "slash")
        await settle(pilot)
        assert app.focused.value == "fox/"
