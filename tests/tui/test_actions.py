"""One registry: every key has a name, a description and a palette entry; keys from the settings never break it."""

from __future__ import annotations

import pytest

from core.settings import Settings
from tests.tui.driving import screen, settle, told
from tests.tui.fake_memory import FakeMemory
from tui.actions import ACTIONS, BY_ID, EVERYWHERE, FOOTER_MAX, FOOTERS
from tui.app import MemdeckApp
from tui.keymap import UNUSABLE, every_binding, usable_keymap
from tui.palette import ActionProvider, Palette
from tui.screens.find import FindScreen
from tui.screens.main import MainScreen
from tui.screens.reading import ReadingScreen
from tui.widgets.status_bar import KeyBar


def test_every_binding_has_an_id_of_its_own_a_description_and_a_tooltip() -> None:
    ids: dict[str, str] = {}
    for binding in every_binding():
        assert binding.id, binding
        assert binding.description, binding
        assert binding.tooltip, binding
        action = binding.action.removeprefix("app.")
        assert ids.setdefault(binding.id, action) == action, binding


def test_no_key_is_one_that_terminals_send_for_another() -> None:
    for binding in every_binding():
        assert not UNUSABLE & {key.strip() for key in binding.key.split(",")}, binding


def test_every_action_exists_where_it_is_run() -> None:
    for action in ACTIONS:
        owner = MemdeckApp if action.id in EVERYWHERE else MainScreen
        assert hasattr(owner, f"action_{action.run.partition('(')[0]}"), action


def test_titles_are_area_and_verb_and_no_two_are_alike() -> None:
    assert all(": " in action.title and action.help for action in ACTIONS)
    assert len({action.title for action in ACTIONS}) == len(ACTIONS) == len(BY_ID)


def test_footers_name_known_bindings_and_at_most_eight() -> None:
    known = {binding.id for binding in every_binding()}
    for keys in FOOTERS.values():
        assert len(keys) <= FOOTER_MAX
        assert {binding_id for binding_id, _ in keys} <= known


async def test_the_palette_lists_every_action_and_every_workspace(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        provider = ActionProvider(app.screen)
        listed = [hit.text async for hit in provider.discover()]
        assert [action.title for action in ACTIONS] == listed[: len(ACTIONS)]
        assert any("notes-9b8a7c6d" in text for text in listed)
        found = [hit.text async for hit in provider.search("rebuild")]
        assert "Index: Rebuild" in found


async def test_an_action_chosen_in_the_palette_is_run(app, memory: FakeMemory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("colon")
        await settle(pilot)
        for char in "rebuild":
            await pilot.press(char)
        await settle(pilot)
        await pilot.pause(0.5)
        await pilot.press("enter")
        await settle(pilot)
        assert "rebuild" in memory.calls
        assert "38 files: all in step" in told(app)


async def test_the_footer_shows_only_keys_that_work_now(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for key in ("1", "2", "5", "3", "slash"):
            await pilot.press(key)
            await settle(pilot)
            bar = app.screen.query_one(KeyBar)
            working = {active.binding.id for active in app.screen.active_bindings.values()}
            assert {hint.binding_id for hint in bar.hints} <= working
            assert 0 < len(bar.hints) <= FOOTER_MAX
            assert "^p palette" in screen(app).splitlines()[-1]
        # In the query box letters are typed, so none is offered.
        assert "search.scope" not in {hint.binding_id for hint in app.screen.query_one(KeyBar).hints}


async def test_a_slash_in_the_preview_finds_in_the_file_and_leaves_the_query_alone(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        main = app.screen
        query = main.searching.request
        document = main.preview.view.document
        assert document is not None, "the first file found is shown"
        word = "refresh"
        await pilot.press("5", "slash")
        await pilot.pause()
        assert isinstance(app.screen, FindScreen)
        await pilot.press(*word.upper(), "enter")
        await settle(pilot)
        assert app.screen is main
        assert f"Preview · 1 of 3: {word.upper()}" in screen(app)
        await pilot.press("n")
        await settle(pilot)
        assert f"Preview · 2 of 3: {word.upper()}" in screen(app)
        assert told(app) == "", "a message would lie over the text"
        assert main.searching.request == query
        await pilot.press("slash")
        await pilot.pause()
        await pilot.press(*"nowhere-at-all", "enter")
        await settle(pilot)
        assert "Preview · not found: nowhere" in screen(app)
        # Another file is shown without what was looked for in this one.
        await pilot.press("2", "enter")
        await settle(pilot)
        assert "not found" not in screen(app)


async def test_a_click_on_a_key_in_the_footer_presses_it(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        x = screen(app).splitlines()[-1].index("s scope")
        await pilot.click(offset=(x, 39))
        await settle(pilot)
        assert app.screen.searching.request.scope == "workspace"


async def test_keys_from_the_settings_replace_the_old_ones(app, memory: FakeMemory) -> None:
    memory.settings = Settings(keys={"pane.zoom": "f11", "help": "f1,question_mark"})
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "f11 zoom" in screen(app)
        await pilot.press("z")
        assert not app.screen.zoomed
        await pilot.press("f11")
        assert app.screen.zoomed
        await pilot.press("f1")
        await settle(pilot)
        assert isinstance(app.screen, ReadingScreen)
        assert "f11" in screen(app)


async def test_an_unknown_name_and_an_unusable_key_are_said_and_the_rest_is_used(app, memory) -> None:
    memory.settings = Settings(
        keys={"pane.zom": "f11", "copy": "ctrl+j,f5", "help": "f1"}, own_file="/home/mona/memdeck.toml"
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert (
            "/home/mona/memdeck.toml: keys.pane.zom: there is no such action; did you mean pane.zoom?"
            in told(app)
        )
        assert "/home/mona/memdeck.toml: keys.copy: for ctrl+j terminals send another key." in told(app)
        assert app.rebound == {"copy": "f5", "help": "f1"}


async def test_two_actions_on_one_key_are_said_and_nothing_breaks(app, memory) -> None:
    memory.settings = Settings(keys={"pane.zoom": "y"})
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "keys.pane.zoom: y is both copy and pane.zoom" in told(app)
        await pilot.press("y")
        assert app.screen.zoomed


def test_the_keys_it_comes_with_do_not_clash() -> None:
    assert usable_keymap({}) == ({}, [])


@pytest.mark.parametrize("keys", ["", " , ", "ctrl+m", "two words", "\x1b[A", "é"])
def test_a_name_with_no_usable_key_keeps_the_one_it_had(keys: str) -> None:
    keymap, _ = usable_keymap({"copy": keys})
    assert keymap == {}


async def test_help_tells_what_the_pane_is_and_its_keys(app) -> None:
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        for key, title in (("1", "Scopes"), ("2", "Sessions"), ("3", "Search"), ("5", "Preview")):
            await pilot.press(key, "question_mark")
            await settle(pilot)
            assert f"Help: {title}" in screen(app)
            body = app.screen._body.plain
            assert all(action.verb in body for action in ACTIONS)
            await pilot.press("escape")
            await settle(pilot)


async def test_help_names_the_palette_for_what_has_no_key(app) -> None:
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        await settle(pilot)
        line = next(line for line in app.screen._body.plain.split("\n") if "Clear everything" in line)
        assert line.startswith("palette ")


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
async def test_help_stays_in_a_narrow_footer(app, size) -> None:
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("slash", "t", "enter")
        await settle(pilot)
        footer = screen(app).splitlines()[-1]
        assert "? help" in footer
        assert footer.lstrip().startswith("/ search")
        assert footer.rstrip().endswith("^p palette")


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_the_palette_ends_above_the_footer_and_its_list_is_framed(app, memory, size) -> None:
    memory.logs = ()  # wide letters would shift the columns looked at
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p")
        await settle(pilot)
        lines = screen(app).splitlines()
        top = next(row for row, line in enumerate(lines) if "Search: Type a query" in line)
        assert "palette" in lines[-1]
        left = app.screen.query_one("#--input").region.x
        end = next(row for row in range(top, len(lines) - 1) if lines[row][left] == "╰")
        assert {line[left] for line in lines[top:end]} == {"│"}
        await pilot.press("up")
        await settle(pilot)
        assert "App: Quit" in screen(app) or "Go: " in screen(app)


async def test_the_theme_in_use_is_marked(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("t")
        await settle(pilot)
        assert "● memdeck-dark" in screen(app)
        await pilot.press(*"nord", "enter")
        await settle(pilot)
        assert app.theme == "nord"
        await pilot.press("t", *"nord")
        await settle(pilot)
        assert "● nord" in screen(app)


async def test_the_letters_of_jump_stand_on_the_frames_and_go_where_they_say(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        before = screen(app).splitlines()
        await pilot.press("ctrl+o")
        await settle(pilot)
        lines = screen(app).splitlines()
        assert lines[1].startswith(" a Scopes ")
        assert lines[2] == before[2].replace(" › ", " g ") or lines[2][:30] == before[2][:30]
        assert " d Search " in lines[1]
        await pilot.click(offset=(lines[1].index(" d Search ") + 1, 1))
        await settle(pilot)
        assert app.screen.place == "results"


@pytest.mark.parametrize("keys", ["t", "question_mark", "ctrl+p", "ctrl+o", "exclamation_mark", "slash"])
async def test_quit_works_whatever_stands_over_the_screen(app, keys: str) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press(keys)
        await settle(pilot)
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert app._exit


async def test_a_page_is_turned_before_the_palette_is_drawn(app) -> None:
    async with app.run_test(size=(120, 3)) as pilot:
        await settle(pilot)
        for keys in (("ctrl+p",), ("t",)):
            app.action_command_palette() if keys[0] == "ctrl+p" else app.search_themes()
            await pilot.press("pagedown", "pageup", "pagedown")
            await settle(pilot)
            assert isinstance(app.screen, Palette)
            app.screen._action_command_list("page_down")
            await pilot.press("escape")
            await settle(pilot)
        assert app.is_running


async def test_below_the_smallest_size_no_unseen_key_works(app) -> None:
    async with app.run_test(size=(39, 9)) as pilot:
        await settle(pilot)
        before = app.screen
        for key in ("t", "question_mark", "L", "w", "exclamation_mark"):
            await pilot.press(key)
            await settle(pilot)
            assert app.screen is before, key
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert app._exit
