"""The lab over a real memory and a real config.toml: save, pin, undo, judge, measure, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Static

from core.errors import MemdeckError
from core.memory import Memory
from tests.tui.driving import screen, settle, told, until
from tests.tui.fake_memory import NOW
from tests.tui.lab_memory import enter_lab, select
from tui.app import MemdeckApp
from tui.screens.lab.measure import MeasureScreen
from tui.widgets.confirm import Confirm

CONFIG = """\
# How my agent remembers.
[memory.search]
min_score = 0.7   # the floor
"""
MEMORY = """# Widgets

## Auth
Access tokens rotate every 15 minutes; the refresh token rotates with each use.

## Deploy
A deploy token lives in the vault.
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    home = tmp_path / ".grok"
    folder = home / "memory" / "widgets-a3f7b2c9"
    (folder / "sessions").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(MEMORY + "filler line\n" * 150)
    (folder / "sessions" / "2026-07-10-auth-0a1b2c3d.md").write_text(
        "# Auth\nThe token was renewed by hand.\n"
    )
    path = home / "config.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def real(config: Path, tmp_path: Path) -> Iterator[Memory]:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "MEMDECK_NOW": str(int(NOW))}
    memory = Memory.open(
        str(config.parent / "memory"),
        workspace="widgets",
        cwd=str(tmp_path),
        environ=environ,
        home=str(tmp_path),
    )
    memory.sync()
    yield memory
    memory.close()


@pytest.fixture
def app(real: Memory) -> MemdeckApp:
    return MemdeckApp(lambda: real)


async def answer(pilot, key: str) -> str:
    """Wait for the question, answer it, and return what it showed."""
    await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
    await pilot.pause()
    shown = screen(pilot.app)
    await pilot.press(key)
    await settle(pilot)
    return shown


async def test_saving_shows_the_diff_writes_and_keeps_comments_and_undo_puts_it_back(
    app, real, config
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "min_score")
        await pilot.press("left", "left")
        await pilot.press("s")
        shown = await answer(pilot, "n")
        assert "Save these settings?" in shown
        assert "memory.search.min_score  0.7 → 0.6" in shown
        assert "-min_score = 0.7   # the floor" in shown
        assert "+min_score = 0.6   # the floor" in shown
        assert config.read_text() == CONFIG
        assert lab.trial.changed
        await pilot.press("s")
        await answer(pilot, "y")
        assert config.read_text() == CONFIG.replace("0.7", "0.6")
        assert real.settings.search.min_score == 0.6
        assert not lab.trial.changed
        assert "Written" in told(app)
        assert "u undo" in screen(app)
        await pilot.press("u")
        await settle(pilot)
        assert config.read_text() == CONFIG
        assert real.settings.search.min_score == 0.7
        assert "As it was before" in told(app)
        assert "u undo" not in screen(app)


async def test_the_main_screen_uses_what_was_saved(app) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        before = len(app.session.memory.search("token").hits)
        await select(pilot, lab, "max_results")
        await pilot.press(*["left"] * 5, "s")
        await answer(pilot, "y")
        await pilot.press("escape")
        await settle(pilot)
        assert before > 1
        assert len(app.screen.searching.last.hits) == 1


async def test_one_key_pins_an_assumed_default(app, real, config) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "half_life_days")
        assert "half-life   30 d   30 d assumed" in screen(app)
        await pilot.press("p")
        shown = await answer(pilot, "y")
        assert "Pin half-life?" in shown
        assert "memory.search.temporal_decay.half_life_days  unset → 30.0" in shown
        assert "half_life_days = 30.0" in config.read_text()
        assert config.read_text().startswith(CONFIG)
        assert "half-life   30 d   30 d file" in screen(app)
        assert "p pin" not in screen(app)
        await pilot.press("p")
        await settle(pilot)
        assert "already" in told(app)


async def test_pinning_one_value_leaves_the_rest_on_trial(app, config) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "min_score")
        await pilot.press("left")
        await select(pilot, lab, "mmr.enabled")
        await pilot.press("right", "p")
        await answer(pilot, "y")
        assert "enabled = true" in config.read_text()
        assert "min_score = 0.7" in config.read_text()
        assert set(lab.trial.changed) == {"memory.search.min_score"}


async def test_a_file_that_changed_while_the_question_stood_is_left_alone(app, config) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "min_score")
        await pilot.press("left", "s")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        config.write_text("# edited meanwhile\n")
        await answer(pilot, "y")
        assert config.read_text() == "# edited meanwhile\n"
        assert "changed since the change was shown" in " ".join(screen(app).split())
        assert lab.trial.changed


async def test_undo_is_refused_when_the_file_changed_since(app, config) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        await select(pilot, lab, "min_score")
        await pilot.press("left", "s")
        await answer(pilot, "y")
        edited = config.read_text() + "# mine\n"
        config.write_text(edited)
        await pilot.press("u")
        await settle(pilot)
        assert config.read_text() == edited
        assert "changed since it was saved" in " ".join(screen(app).split())


async def test_a_file_that_is_not_toml_is_said_and_left(app, config) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        lab = await enter_lab(pilot)
        config.write_text("= broken\n")
        await select(pilot, lab, "min_score")
        await pilot.press("left", "s")
        await settle(pilot)
        assert app.screen is lab
        assert "not valid TOML" in screen(app)
        assert config.read_text() == "= broken\n"


async def test_nothing_on_trial_is_nothing_to_save(app, config) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await enter_lab(pilot)
        await pilot.press("s")
        await settle(pilot)
        assert "The trial is what is saved" in told(app)
        assert config.read_text() == CONFIG


async def test_judgements_are_written_and_measured(app, real) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await enter_lab(pilot)
        await pilot.press("3", "plus")
        await settle(pilot)
        assert "1 row of this query judged" in screen(app)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, MeasureScreen) and not app.screen._busy)
        await settle(pilot)
        said = app.screen.query_one("#measure-table", Static).content.plain
        assert said.startswith("1 query of")
        measured = {line[:13].strip() for line in said.split("\n")}
        assert {"saved", "trial", "agent", "tuned", "text only", "grep"} <= measured
        assert "not measured: hybrid, vectors only" in said
        await pilot.press("y")
        assert "saved" in app.clipboard
        await pilot.press("escape")
        assert not isinstance(app.screen, MeasureScreen)


async def test_measuring_shows_how_far_it_is_and_stops(app, real, monkeypatch) -> None:
    under_way, stopped = threading.Event(), threading.Event()

    def measure(values, profile, *, progress, cancel):
        progress(3, 12)
        under_way.set()
        cancel.wait(20)
        stopped.set()
        raise MemdeckError("the evaluation was stopped", data="Nothing was changed.")

    monkeypatch.setattr(real, "measure", measure)
    async with app.run_test(size=(120, 40)) as pilot:
        await enter_lab(pilot)
        await pilot.press("E")
        await until(pilot, under_way.is_set)
        await until(pilot, lambda: "3 of 12 queries" in screen(app))
        await pilot.press("escape")
        await until(pilot, stopped.is_set)
        await settle(pilot)
        assert "✗ the evaluation was stopped" in screen(app)
        await pilot.press("escape")
        await settle(pilot)
        assert not isinstance(app.screen, MeasureScreen)


async def test_leaving_stops_a_measurement(app, real, monkeypatch) -> None:
    stopped = threading.Event()

    def measure(values, profile, *, progress, cancel):
        cancel.wait(20)
        stopped.set()
        raise MemdeckError("the evaluation was stopped")

    monkeypatch.setattr(real, "measure", measure)
    async with app.run_test(size=(120, 40)) as pilot:
        await enter_lab(pilot)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, MeasureScreen))
        await app.pop_screen()
        await until(pilot, stopped.is_set)
