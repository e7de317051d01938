"""The lab: changes are searched live beside what is saved, moves are shown, either side explains itself."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import combinations

import pytest
from textual.widgets import Static

from core.errors import MemdeckError
from core.settings import Origin, with_flags
from tests.tui.driving import rows, screen, settle, told, typed, unsafe, until
from tests.tui.fake_memory import report
from tests.tui.lab_memory import LabMemory, chunk, enter_lab, select
from tests.tui.test_hostile import EVIL
from tui import session
from tui.app import MemdeckApp
from tui.screens.lab import screen as lab_screen
from tui.screens.lab.compare import STOPPED, Question, compare
from tui.screens.lab.controls import PROFILE, Trial
from tui.screens.lab.measure import MeasureScreen
from tui.screens.lab.messages import Asked
from tui.screens.main import MainScreen
from tui.widgets.pane import Pane
from tui.widgets.status_bar import KeyBar

FLOOR = "min_score"


@pytest.fixture
def memory() -> LabMemory:
    return LabMemory()


def shown(app: MemdeckApp) -> list[str]:
    return [pane.place for pane in app.screen.query(Pane) if pane.display and pane.region.area]


def line_with(app: MemdeckApp, text: str, column: int = 0) -> str:
    return next(line[column:] for line in rows(app) if text in line[column:])


async def test_it_takes_over_the_query_and_shows_both_sides(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        assert lab.box.value == "token"
        assert shown(app) == ["controls", "saved", "trial", "factors"]
        assert lab.saved_side.results.report.query == lab.trial_side.results.report.query == "token"
        assert [one["profile"] for one in memory.asked] == ["agent"]  # nothing on trial: asked once
        assert "as saved" in screen(app)
        assert "nothing moves" in screen(app)


async def test_a_change_is_searched_live_and_its_moves_stand_beside_the_rows(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "source_weights.session")
        await pilot.press(*["right"] * 3)  # 1.15: the log passes the second row
        await settle(pilot)
        assert {key: str(move) for key, move in lab.compared.moves.items()} == {
            chunk(0): "=",
            chunk(1): "↓1",
            chunk(2): "↑1",
        }
        right = lab.trial_side.region.x
        assert "↑1" in line_with(app, "07-02 deploy", right)
        assert "↓1" in line_with(app, "MEMORY.md:9", right)
        assert "1 up · 1 down" in screen(app)
        assert "session  *  1.15   1.00 assumed" in screen(app)
        await select(pilot, lab, FLOOR)
        await pilot.press(*["minus"] * 6)
        await settle(pilot)
        assert str(lab.compared.moves[chunk(3)]) == "new"
        assert "1 new" in screen(app)
        assert memory.settings.search.min_score == 0.7


async def test_a_result_that_falls_out_is_gone_on_either_side(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, FLOOR)
        await pilot.press("right", "right")  # .80: the third falls out
        await settle(pilot)
        assert str(lab.compared.moves[chunk(2)]) == "gone"
        for pane in (lab.saved_side, lab.trial_side):
            assert "gone" in line_with(app, "07-02 deploy", pane.region.x)


async def test_the_newest_trial_wins_and_one_is_searched_for_many_keys(app, memory, monkeypatch) -> None:
    monkeypatch.setattr(lab_screen, "DEBOUNCE", 0.5)  # longer than four keys take on a busy machine
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, FLOOR)
        memory.asked.clear()
        await pilot.press("left", "left", "left", "left")
        await settle(pilot)
        floors = [one["settings"].search.min_score for one in memory.asked]
        assert floors == [0.7, 0.5]
        assert lab.compared.question.trial.settings.search.min_score == 0.5


async def test_an_answer_that_comes_too_late_is_not_shown(app, memory, monkeypatch) -> None:
    monkeypatch.setattr(lab_screen, "DEBOUNCE", 0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, FLOOR)
        memory.slow = gate = threading.Event()
        await pilot.press("left")
        await until(pilot, lambda: any(one["settings"].search.min_score == 0.65 for one in memory.asked))
        memory.slow = None
        await pilot.press("left")
        await until(pilot, lambda: lab.compared.question.trial.settings.search.min_score == 0.6)
        gate.set()
        await settle(pilot)
        assert lab.compared.question.trial.settings.search.min_score == 0.6
        stale = compare(memory, Question("token", Trial(memory.settings)))
        lab.post_message(Asked(stale, lab.generation - 1))
        await settle(pilot)
        assert lab.compared is not stale


async def test_a_search_that_another_one_stopped_is_asked_again(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        stopped = replace(report("again"), hits=(), dropped=(), also=(), empty_reason=STOPPED)
        tries: list[int] = []

        def answer():
            tries.append(1)
            if len(tries) > 1:
                return report("again")
            return stopped

        memory.answers["again"] = answer
        lab.query_text = "again"
        lab.ask(at_once=True)
        await settle(pilot)
        await until(pilot, lambda: lab.compared is not None and not lab.compared.stopped)
        assert len(lab.trial_side.results.report.hits) == 2


async def test_a_value_is_typed_and_a_wrong_one_is_refused_with_the_reason(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "half_life_days")
        await pilot.press("enter")
        await settle(pilot)
        assert app.focused is lab.controls.box
        assert lab.controls.box.value == "30"
        await typed(pilot, "x")
        await pilot.press("enter")
        await settle(pilot)
        assert "must be a number" in told(app)
        assert app.focused is lab.controls.box
        await pilot.press("backspace")
        await typed(pilot, "45.5")
        await pilot.press("enter")
        await settle(pilot)
        assert lab.trial.settings.search.temporal_decay.half_life_days == 45.5
        assert app.focused is lab.controls.list
        assert "45.5 d" in screen(app)


async def test_escape_leaves_a_value_as_it_was(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, FLOOR)
        await pilot.press("enter", "9", "escape")
        await settle(pilot)
        assert not lab.trial.changed
        assert not lab.controls.box.display
        assert app.focused is lab.controls.list
        assert app.screen is lab


@pytest.mark.parametrize("key", ["0", "backspace"])
async def test_one_key_brings_a_control_back_and_another_all_of_them(app, key) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, FLOOR)
        await pilot.press("left")
        await select(pilot, lab, "mmr.enabled")
        await pilot.press("enter")
        await settle(pilot)
        assert len(lab.trial.changed) == 2
        await pilot.press(key)
        await settle(pilot)
        assert set(lab.trial.changed) == {"memory.search.min_score"}
        await pilot.press("R")
        await settle(pilot)
        assert not lab.trial.changed
        assert "as saved" in screen(app)


async def test_where_a_value_comes_from_is_said(app, memory) -> None:
    flagged = with_flags(memory.settings, {"memory.search.max_results": "8"})
    origins = {
        **flagged.origins,
        "memory.search.min_score": Origin("file", file="/home/mona/.grok/config.toml"),
    }
    memory.settings = replace(flagged, origins=origins)
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, FLOOR)
        assert "│ /home/mona/.grok/config.toml" in screen(app)
        await select(pilot, lab, "text_weight")
        words = lab.query_one("#lab-about", Static).content.plain
        assert "default, assumed: your agent's build or server may differ; p pins it" in words
        assert "no effect: no vectors in this search" in words
        assert "text         .30    .30 assumed" in screen(app)
        assert "results        8      8 flag" in screen(app)
        assert "floor        .70    .70 file" in screen(app)


async def test_the_factors_of_both_sides_stand_beside_each_other(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "source_weights.session")
        await pilot.press(*["right"] * 3)
        await pilot.press("3")
        await settle(pilot)
        assert lab.trial_side.results.move_to(chunk(2))
        await settle(pilot)
        said = lab.factors.view.plain
        assert "#3 → #2" in said
        source = next(line for line in said.split("\n") if "source" in line)
        assert source.startswith("≠") and "× 1.00" in source and "× 1.15" in source
        assert ".75 ≥ .70  kept, #3" in said
        assert ".86 ≥ .70  kept, #2" in said
        # The other side follows, so that the eye finds the row there.
        assert lab.saved_side.results.cursor_id == chunk(2)


async def test_the_profile_is_on_trial_too_and_goes_back_to_the_main_screen_when_kept(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, PROFILE)
        await pilot.press("right")
        await settle(pilot)
        assert [one["profile"] for one in memory.asked[-2:]] == ["agent", "hybrid"]
        assert "Saved · as the agent" in screen(app)
        assert "Trial · hybrid" in screen(app)
        await pilot.press("s", "escape")
        await settle(pilot)
        assert isinstance(app.screen, MainScreen)
        assert app.screen.searching.request.profile == "hybrid"


async def test_leaving_goes_back_with_the_query(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await enter_lab(pilot)
        await pilot.press("slash")
        await typed(pilot, "deploy")
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert isinstance(app.screen, MainScreen)
        assert app.screen.searching.box.value == "deploy"
        assert app.screen.searching.last.query == "deploy"
        assert app.screen.searching.request.profile == "agent"


async def test_without_a_query_it_says_what_to_do(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot, "")
        assert "Type a query to see" in screen(app)
        assert memory.asked == []
        await pilot.press("slash")
        await typed(pilot, "t")
        await settle(pilot)
        assert lab.trial_side.results.rows
        await pilot.press("backspace")
        await settle(pilot)
        assert not lab.trial_side.results.rows


async def test_an_endpoint_is_asked_for_a_vector_only_after_enter(app, memory) -> None:
    memory.embeds_here = False
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        assert memory.asked[-1]["embed"]  # Enter stood behind it on the main screen
        await pilot.press("slash", "x")
        await settle(pilot)
        await select(pilot, lab, FLOOR)
        memory.asked.clear()
        await pilot.press("left")
        await settle(pilot)
        assert memory.asked
        assert not any(one["embed"] for one in memory.asked)
        await pilot.press("slash", "x", "enter")
        await settle(pilot)
        assert memory.asked[-1]["embed"]
        await pilot.press("slash", "y")
        await settle(pilot)
        assert not memory.asked[-1]["embed"]


async def test_judging_marks_the_row_on_both_sides_and_again_takes_it_back(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await pilot.press("3", "plus")
        await settle(pilot)
        assert memory.verdicts == {chunk(0): True}
        assert "1 row of this query judged" in screen(app)
        for pane in (lab.saved_side, lab.trial_side):
            assert line_with(app, "MEMORY.md:5", pane.region.x).split("│")[1].rstrip().endswith("= +")
        await pilot.press("j", "minus")
        await settle(pilot)
        assert memory.verdicts == {chunk(0): True, chunk(1): False}
        await pilot.press("minus")
        await settle(pilot)
        assert memory.verdicts == {chunk(0): True}
        await pilot.press("k", "minus")
        await settle(pilot)
        assert memory.verdicts == {chunk(0): False}


async def test_a_wrong_file_of_judgements_is_said_and_the_search_goes_on(app, memory) -> None:
    def broken(query, items):
        raise MemdeckError("judgements.toml is not valid TOML")

    memory.judged = broken  # type: ignore[method-assign]
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        assert lab.trial_side.results.rows
        assert "judgements are not shown: judgements.toml is not valid TOML" in screen(app)


async def test_a_judgement_that_cannot_be_written_is_an_error_beside_the_work(app, memory) -> None:
    def broken(query, item, good):
        raise MemdeckError("the disk is full", data="The file is as it was.")

    memory.judge = broken  # type: ignore[method-assign]
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await pilot.press("3", "plus")
        await settle(pilot)
        assert "✗ the disk is full" in screen(app)
        assert not lab.compared.marks
        await pilot.press("escape")
        assert app.screen is lab
        assert "the disk is full" not in screen(app)


async def test_a_failed_search_is_told_and_the_next_one_forgives(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        memory.answers["token"] = MemdeckError("the index is gone", hint="r looks again.")
        await select(pilot, lab, FLOOR)
        await pilot.press("left")
        await settle(pilot)
        assert "✗ the index is gone" in screen(app)
        del memory.answers["token"]
        await pilot.press("left")
        await settle(pilot)
        assert "the index is gone" not in screen(app)
        assert lab.trial_side.results.rows


async def test_files_that_change_refresh_both_sides(app, memory) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        before = len(memory.asked)
        memory.synced = replace(memory.synced, files_indexed=1)
        memory.on_change(None)
        await settle(pilot)
        assert len(memory.asked) > before
        assert app.screen is lab


@pytest.mark.parametrize("width", [80, 100, 119])
async def test_a_middle_width_has_controls_and_one_list_with_tabs(app, width) -> None:
    async with app.run_test(size=(width, 24)) as pilot:
        await enter_lab(pilot)
        assert shown(app) == ["controls", "trial"]
        assert "Saved │ Trial │ Factors" in rows(app)[2]
        await pilot.press("2")
        await settle(pilot)
        assert shown(app) == ["controls", "saved"]
        await pilot.press("4")
        await settle(pilot)
        assert shown(app) == ["controls", "factors"]
        await pilot.press("1")
        await settle(pilot)
        assert shown(app) == ["controls", "factors"]


async def test_narrow_shows_one_pane_at_a_time(app) -> None:
    async with app.run_test(size=(60, 20)) as pilot:
        lab = await enter_lab(pilot)
        for key, place in (("1", "controls"), ("2", "saved"), ("3", "trial"), ("4", "factors")):
            await pilot.press(key)
            await settle(pilot)
            assert shown(app) == [place] == [lab.place]
        x = rows(app)[2].index("Trial")
        await pilot.click(offset=(x + 1, 2))
        await settle(pilot)
        assert shown(app) == ["trial"]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("key", ["1", "2", "3", "4"])
async def test_nothing_lies_over_anything_else(app, size, key) -> None:
    async with app.run_test(size=size) as pilot:
        await enter_lab(pilot)
        await pilot.press(key)
        await settle(pilot)
        leaves = [
            one for one in app.screen.query("*") if one.display and not one.children and one.region.area
        ]
        for one, other in combinations(leaves, 2):
            assert not one.region.overlaps(other.region), (one, other)
        assert all(app.screen.region.contains_region(one.region) for one in leaves)


async def test_too_small_says_so_and_back(app) -> None:
    async with app.run_test(size=(39, 20)) as pilot:
        await settle(pilot)
        app.screen.action_lab()
        await settle(pilot)
        assert "The lab needs 40 × 10" in screen(app)
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        assert shown(app) == ["controls", "saved", "trial", "factors"]


async def test_zoom_and_tab(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await pilot.press("tab", "z")
        await settle(pilot)
        assert shown(app) == ["saved"]
        await pilot.press("escape")
        await settle(pilot)
        assert len(shown(app)) == 4
        await pilot.press("shift+tab")
        assert lab.place == "controls"


async def test_the_footer_shows_only_keys_that_work_and_help_tells_all(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        assert "s save" not in rows(app)[-1]
        await select(pilot, lab, FLOOR)
        assert "← → change" in rows(app)[-1]
        assert "p pin" in rows(app)[-1]
        await pilot.press("left")
        await settle(pilot)
        assert "s save" in rows(app)[-1]
        for key in ("1", "2", "3", "4", "slash"):
            await pilot.press(key)
            await settle(pilot)
            hints = lab.query_one(KeyBar).hints
            working = {active.binding.id for active in lab.active_bindings.values()}
            assert 0 < len(hints) <= 8
            assert {hint.binding_id for hint in hints} <= working
        await pilot.press("escape")
        await pilot.press("1", "question_mark")
        await settle(pilot)
        assert "Help: Controls" in screen(app)
        assert "lab.pin" in screen(app)


async def test_the_palette_lists_what_works_here(app) -> None:
    from tui.palette import ActionProvider
    from tui.screens.lab.keys import LAB_ACTIONS

    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        listed = [one.text async for one in ActionProvider(lab).discover()]
        assert listed[: len(LAB_ACTIONS)] == [action.title for action in LAB_ACTIONS]
        assert "App: Quit" in listed
        assert not any(text.startswith(("Memory: ", "Go: ")) for text in listed)
        for action in LAB_ACTIONS:
            assert hasattr(lab, f"action_{action.run.partition('(')[0]}"), action


async def test_copying_takes_the_factors(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert app.clipboard == lab.factors.view.plain
        assert "MEMORY.md:5 › Token refresh" in app.clipboard


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_stored_text_stays_text(app, memory, size) -> None:
    bad = report("token").hits[0]
    evil = replace(
        bad, path=f"/x/{EVIL}.md", heading=EVIL, snippet=f"# {EVIL}\n{EVIL} token\n", matched=("token",)
    )
    memory.answers["token"] = replace(report("token"), hits=(evil,), dropped=(), also=())
    memory.judge = lambda query, item, good: EVIL  # type: ignore[method-assign]
    memory.settings = replace(
        memory.settings, origins={"memory.search.min_score": Origin("file", file=f"/x/{EVIL}")}
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, FLOOR)
        for key in ("1", "p", "s", "left", "s", "2", "3", "plus", "4", "y", "question_mark", "escape", "E"):
            await pilot.press(key)
            await settle(pilot)
            assert not unsafe(screen(app)), key
        memory.measure = lambda *args, **more: (_ for _ in ()).throw(MemdeckError(EVIL, hint=EVIL))  # type: ignore
        assert isinstance(app.screen, MeasureScreen)
        await pilot.press("r")
        await settle(pilot)
        assert not unsafe(screen(app))


async def test_words_are_shown_on_both_sides_while_the_query_is_being_embedded(
    app, memory, monkeypatch
) -> None:
    monkeypatch.setattr(session, "TEXT_FIRST", 0.01)
    embedded = threading.Event()
    plain = memory.search

    def slow(query: str, **options):
        if "settings" in options and options["embed"] and options["profile"] != "agent":
            embedded.wait(10)
            return replace(plain(query, **options), mode="hybrid")
        return replace(plain(query, **options), mode="text only")

    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        memory.search = slow
        await select(pilot, lab, PROFILE)
        await pilot.press("right")
        await until(pilot, lambda: lab.compared.trial.report.profile == "hybrid")
        assert lab.compared.trial.report.mode == "text only"
        assert lab.trial_side.results.report.hits
        embedded.set()
        await until(pilot, lambda: lab.compared.trial.report.mode == "hybrid")
