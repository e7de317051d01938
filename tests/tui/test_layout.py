"""The deck by width and place: columns, tabs, one pane at a time, zoom, jump, and nothing laid over anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from tests.tui.driving import rows, screen, settle, told, typed
from tests.tui.fake_memory import ROOT, FakeMemory, hit, log, overview, report, workspace
from tui.actions import PLACES
from tui.app import MemdeckApp
from tui.widgets.jump import Jump
from tui.widgets.pane import Pane
from tui.widgets.search_box import SearchBox


def shown(app: MemdeckApp) -> list[str]:
    return [pane.place for pane in app.screen.query(Pane) if pane.display and pane.region.area]


async def test_wide_shows_three_columns_and_score_from_the_first_query_on(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert shown(app) == ["scopes", "sessions", "results", "preview"]
        await pilot.press("slash")
        await typed(pilot, "token")
        await settle(pilot)
        assert shown(app) == list(PLACES)
        xs = [app.screen.pane(place).region.x for place in ("scopes", "results", "score")]
        assert xs == sorted(xs)
        assert app.screen.pane("score").region.x == app.screen.pane("preview").region.x


@pytest.mark.parametrize("width", [80, 100, 119])
async def test_a_middle_width_makes_the_right_column_tabs_of_the_middle_one(app, width) -> None:
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "token")
        await pilot.press("enter")
        await settle(pilot)
        assert shown(app) == ["scopes", "sessions", "results"]
        assert "Search │ Score │ Preview" in rows(app)[1]
        await pilot.press("4")
        assert shown(app) == ["scopes", "sessions", "score"]
        await pilot.press("5")
        await settle(pilot)
        assert shown(app) == ["scopes", "sessions", "preview"]
        # Going to the left column leaves the tab as it is.
        await pilot.press("1")
        await settle(pilot)
        assert shown(app) == ["scopes", "sessions", "preview"]


async def test_narrow_shows_one_pane_at_a_time(app) -> None:
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        for key, place in (("1", "scopes"), ("2", "sessions"), ("3", "results"), ("5", "preview")):
            await pilot.press(key)
            await settle(pilot)
            assert shown(app) == [place]
            assert app.screen.place == place
            assert app.screen.pane(place).has_pseudo_class("focus-within")


async def test_a_click_on_a_tab_goes_there(app) -> None:
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        x = rows(app)[1].index("Sessions")
        await pilot.click(offset=(x + 1, 1))
        await settle(pilot)
        assert shown(app) == ["sessions"]


async def test_tabs_too_many_for_the_width_become_numbers(app) -> None:
    async with app.run_test(size=(44, 12)) as pilot:
        await settle(pilot)
        assert "Scopes │ Sessions │ Search │ Preview" in rows(app)[1]
        await pilot.press("slash", "t")
        await settle(pilot)
        assert "1 │ 2 │ Search │ 4 │ 5" in rows(app)[1]


@pytest.mark.parametrize("size", [(39, 20), (60, 9)])
async def test_too_small_says_so(app, size) -> None:
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert "memdeck needs 40 × 10" in screen(app)
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        assert "memdeck needs" not in screen(app)
        assert "scopes" in shown(app)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("key", ["1", "2", "3", "5"])
async def test_nothing_lies_over_anything_else(app, size, key) -> None:
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)
        leaves = [
            one for one in app.screen.query("*") if one.display and not one.children and one.region.area
        ]
        for one, other in combinations(leaves, 2):
            assert not one.region.overlaps(other.region), (one, other)
        assert all(app.screen.region.contains_region(one.region) for one in leaves)


async def test_zoom_gives_the_screen_to_the_pane_and_back(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1", "z")
        await settle(pilot)
        assert shown(app) == ["scopes"]
        assert app.screen.pane("scopes").region.width == 120
        await pilot.press("escape")
        await settle(pilot)
        assert shown(app) == ["scopes", "sessions", "results", "preview"]
        assert app.screen.place == "scopes"


async def test_tab_goes_round_the_panes_and_shift_tab_back(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        places = []
        for _ in range(4):
            await pilot.press("tab")
            places.append(app.screen.place)
        assert places == ["preview", "scopes", "sessions", "results"]
        await pilot.press("shift+tab")
        assert app.screen.place == "sessions"
        await pilot.press("slash", "tab")
        assert app.screen.place == "results"
        assert not isinstance(app.focused, SearchBox)


async def test_focus_starts_in_the_results_and_letters_act(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert app.focused is app.screen.target("results")
        before = app.screen.searching.results.cursor_id
        await pilot.press("j")
        assert app.screen.searching.results.cursor_id != before


async def test_score_before_the_first_query_says_when_it_comes(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("4")
        assert "first query" in told(app)
        assert app.screen.place == "results"


async def test_jump_shows_letters_and_goes_where_one_is_pressed(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        await settle(pilot)
        assert isinstance(app.screen, Jump)
        assert "Press a letter" in screen(app)
        await pilot.press("s")
        await settle(pilot)
        assert not isinstance(app.screen, Jump)
        assert app.screen.place == "sessions"
        await pilot.press("ctrl+o", "escape")
        await settle(pilot)
        assert app.screen.place == "sessions"
        # A letter that stands nowhere does nothing.
        await pilot.press("ctrl+o", "x")
        await settle(pilot)
        assert isinstance(app.screen, Jump)


async def test_the_number_of_widgets_does_not_grow_with_the_memory(app, memory: FakeMemory) -> None:
    many = overview()
    memory.survey = replace(
        many,
        roots=(
            replace(many.roots[0], workspaces=tuple(workspace(f"project-{n:08x}") for n in range(2_000))),
            *many.roots[1:],
        ),
    )
    memory.logs = tuple(
        log(f"2026-01-01-log-{n:08x}.md", "2026-01-01", f"log-{n}", 30.0) for n in range(10_000)
    )
    hits = tuple(hit(n, "MEMORY.md:1-2", "Heading", "text\n", 1.0, ordinal=n) for n in range(1, 1_001))
    memory.answers[""] = replace(report(""), hits=hits)
    memory.texts[f"{ROOT}/widgets-a3f7b2c9/MEMORY.md"] = "line\n" * 50_000
    async with app.run_test(size=(200, 50)) as pilot:
        await settle(pilot)
        assert "10,000" in screen(app)
        assert len(app.screen.query("*")) < 60
