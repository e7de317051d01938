"""What Scopes and Sessions list, in which order, with which marks, and what their keys do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.settings import DreamSettings
from core.store.model import Problem
from tests.tui.driving import screen, settle, told
from tests.tui.fake_memory import NOW, ROOT, FakeMemory, log, overview, workspace
from tui.screens.why import WhyScreen
from tui.widgets.preview import PreviewPane
from tui.widgets.scope_rows import (
    AGENTS,
    dream_words,
    marks_of,
    origin_sentence,
    scope_rows,
    warnings_of,
    workspace_key,
)
from tui.widgets.scopes import fold_lines
from tui.widgets.sessions import short_size

CURRENT = workspace_key(ROOT, "widgets-a3f7b2c9")


def labels(opened: set[str]) -> list[str]:
    return [row.data.label for row in scope_rows(overview(), opened, (ROOT, "widgets-a3f7b2c9"))]


def test_everything_is_listed_and_folds_hide_what_lies_inside() -> None:
    folded = [
        "Global",
        "widgets-a3f7b2c9",
        "api-1f2e3d4c",
        "widgets-77c01d2e",
        "notes-9b8a7c6d",
        "! 1 problem",
        "agents",
    ]
    assert labels(set()) == folded
    opened = labels({CURRENT, AGENTS})
    assert opened[2:5] == ["acme/widgets", "MEMORY.md", "sessions"]
    assert opened[-1] == "reviewer"


def test_ids_of_rows_are_unique() -> None:
    rows = scope_rows(overview(), {CURRENT, AGENTS}, (ROOT, ""))
    assert len({row.id for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("known", "marks"),
    [
        ({"human": "a/b", "origin": "remote"}, ""),
        ({"human": "a/b", "origin": "remote", "current": True}, "*"),
        ({}, "?"),
        ({"near_duplicates": ("x-1",)}, "? ≈"),
        ({"human": "a", "origin": "path", "past_dream_limit": True, "stranded": 3}, "▲ ▿3"),
        ({"human": "a", "origin": "path", "problems": (Problem("p", "unreadable", "m"),)}, "!"),
    ],
)
def test_marks(known, marks) -> None:
    info = workspace("x-00000000", **known)
    assert marks_of(info) == marks
    # Every mark but the star and the question mark is said in words at the foot.
    assert len(list(warnings_of(info))) == len([mark for mark in marks.split() if mark not in "*?"])


@pytest.mark.parametrize(
    ("known", "dream", "words"),
    [
        ({"fresh_logs": 6, "last_dream": NOW - 31 * 3600}, DreamSettings(), "dream ready: 6 logs, 31 h"),
        ({"fresh_logs": 6, "last_dream": None}, DreamSettings(), "dream ready: 6 logs, never dreamed"),
        ({"fresh_logs": 3, "last_dream": NOW - 31 * 3600}, DreamSettings(), "dream waits: 3 of 5 logs, 31 h"),
        ({"fresh_logs": 6, "last_dream": NOW - 5 * 3600}, DreamSettings(), "dream waits: 6 logs, 5 of 24 h"),
        ({"fresh_logs": 9, "last_dream": NOW - 12 * 86400}, DreamSettings(), "dream ready: 9 logs, 12 d"),
        ({"fresh_logs": 6}, DreamSettings(enabled=False), "dream off"),
    ],
)
def test_the_gate_is_said_with_its_numbers(known, dream, words) -> None:
    assert dream_words(workspace("x-00000000", **known), dream, NOW) == words


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "   0"), (999, " 999"), (1_000, "  1k"), (29_400, " 29k"), (999_600, "1.0M"), (12_000_000, " 12M")],
)
def test_short_sizes_take_four_cells(count: int, text: str) -> None:
    assert short_size(count) == text


async def test_space_folds_and_left_goes_to_the_workspace(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1")
        scopes = app.screen.scopes.listing
        assert scopes.cursor_id == CURRENT
        assert "MEMORY.md" in screen(app)
        await pilot.press("j", "left")
        await settle(pilot)
        assert scopes.cursor_id == CURRENT
        count = len(scopes.rows)
        await pilot.press("space")
        await settle(pilot)
        assert len(scopes.rows) == count - 3
        # A fold made by hand outlasts a refresh.
        app.screen.survey(at_once=True)
        await settle(pilot)
        assert len(scopes.rows) == count - 3
        await pilot.press("right")
        await settle(pilot)
        assert len(scopes.rows) == count


async def test_enter_shows_a_file_a_log_or_the_problems(app, memory: FakeMemory) -> None:
    memory.texts[f"{ROOT}/MEMORY.md"] = "# Everywhere the same\n"
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1", "g", "enter")
        await settle(pilot)
        assert "Everywhere the same" in screen(app)
        await pilot.press("2", "j", "enter")
        await settle(pilot)
        assert app.screen.preview.file.path.endswith("2026-07-16-build-1b2c3d4e.md")
        await pilot.press("1")
        app.screen.scopes.listing.move_to(f"problems {ROOT}")
        await pilot.press("enter")
        await settle(pilot)
        assert "the link leads nowhere: /mnt/old" in screen(app)
        await pilot.press("escape")
        await pilot.press("exclamation_mark")
        await settle(pilot)
        assert "1 problem" in screen(app)


async def test_a_file_opened_by_hand_stays_when_the_results_are_refreshed(app, memory) -> None:
    memory.texts[f"{ROOT}/MEMORY.md"] = "# Everywhere the same\n"
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1", "g", "enter")
        await settle(pilot)
        app.screen.searching.refresh_results()
        await settle(pilot)
        assert "Everywhere the same" in screen(app)


async def test_a_file_that_is_gone_is_said_in_the_preview(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.preview.open(f"{ROOT}/gone.md")
        await settle(pilot)
        assert "is no longer there" in app.screen.query_one(PreviewPane).draw_line(1, 200).text


async def test_no_problems_is_said_too(app, memory) -> None:
    memory.survey = replace(overview(), roots=(replace(overview().roots[0], problems=()),))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("exclamation_mark")
        assert "Everything could be read" in told(app)


async def test_the_sessions_row_goes_to_the_sessions(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1", "j", "j", "j", "enter")
        await settle(pilot)
        assert app.screen.place == "sessions"


async def test_the_search_pane_brings_its_hit_back_and_why_is_about_it(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"token", "enter")
        await settle(pilot)
        hit = app.screen.searching.results.selected
        await pilot.press("2", "j", "enter")
        await settle(pilot)
        assert app.screen.preview.file.path.endswith("2026-07-16-build-1b2c3d4e.md")
        # Asked at once, while the file of the hit is still to be read.
        await pilot.press("3", "w")
        await settle(pilot)
        assert isinstance(app.screen, WhyScreen)
        assert app.screen._text.path == hit.path
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen.preview.file.path == hit.path
        assert app.screen.preview.chunk_id == hit.id


async def test_names_of_logs_have_the_room_where_it_is_narrow(app, memory) -> None:
    slug = "user-requested"
    memory.logs = (log(f"2026-07-18-{slug}-0a1b2c3d.md", "2026-07-18", slug, 0.4),)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert f"07-18 {slug}" in screen(app)


async def test_the_foot_wraps_and_takes_the_rows_the_list_leaves(app, memory) -> None:
    human = "/home/mona/src/a/very/long/way/down"
    info = workspace("widgets-a3f7b2c9", human=human, origin="session-summary", current=True, fresh_logs=6)
    memory.survey = replace(overview(), roots=(replace(overview().roots[0], workspaces=(info,)),))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1")
        await settle(pilot)
        left = [line.split("│")[1].strip() for line in screen(app).splitlines() if line.startswith("│")]
        foot = " ".join(left).replace(" ", "")
        assert f"{human},byasession" in foot
        assert "dreamready:6logs,neverdreamed" in foot


def test_lines_past_the_limit_are_cut_in_the_last_only() -> None:
    assert fold_lines(["one two three", "four"], 8, 3) == ["one two", "three", "four"]
    assert fold_lines(["one two three", "four"], 8, 2) == ["one two", "three f…"]


def test_an_unknown_origin_says_what_is_not_known() -> None:
    assert origin_sentence("unknown") == ("origin unknown (nothing in it says which project it belongs to)")
    assert origin_sentence("remote") == "by remote"
