"""Stored text is data: whatever names, texts and messages hold, nothing of it reaches the terminal or the markup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.errors import MemdeckError
from core.index.model import DoctorReport, Finding, SyncReport, WatchStatus
from core.settings import Settings, UiSettings
from core.store.model import Identity, Problem, Receipt
from tests.tui.driving import screen, settle, typed, unsafe, until
from tests.tui.fake_memory import STATUS, FakeMemory, hit, log, overview, report, workspace
from tui.app import MemdeckApp
from tui.screens.main import MainScreen
from tui.widgets.confirm import Confirm

EVIL = "\x1b]52;c;aGk=\x07[/][@click=app.quit]go[/]\x9b31m\u202eevil\u200b\x00\x7f\ud800"


def hostile() -> FakeMemory:
    memory = FakeMemory(workspace=EVIL)
    main = overview().roots[0]
    bad = workspace(
        EVIL, human=EVIL, origin="path", current=True, problems=(Problem(EVIL, "unreadable", EVIL),)
    )
    near = workspace(f"x{EVIL}", near_duplicates=(EVIL,))
    memory.survey = replace(
        overview(),
        roots=(replace(main, workspaces=(bad, near), problems=(Problem(EVIL, "dangling-link", EVIL),)),),
        banner=EVIL,
        notes=(EVIL,),
        identity=Identity("path", EVIL, EVIL, EVIL),
    )
    memory.logs = (log(f"2026-07-18-{EVIL}.md", "2026-07-18", EVIL, 9.0),)
    base = report(EVIL)
    bad_hit = hit(
        1, f"{EVIL.replace(':', '')}.md:1-2", EVIL, f"# {EVIL}\n{EVIL} token\n", 1.0, matched=("token", EVIL)
    )
    bad_drop = replace(bad_hit, id="dropped:0", rank=0, reason="below_floor", why=EVIL, stage=EVIL)
    found = replace(
        base,
        hits=(bad_hit,),
        dropped=(bad_drop,),
        also=(replace(base.also[0], heading=EVIL, matched_by=EVIL),),
        notes=(EVIL,),
        workspace=EVIL,
        stages=(replace(base.stages[1], name=EVIL, why=EVIL),),
    )
    memory.answers = {
        "": replace(found, query=""),
        "t": found,
        "bad": MemdeckError(EVIL, hint=EVIL, data=EVIL),
    }
    memory.index = replace(STATUS, state="cached", reason=EVIL)
    memory.watcher._status = WatchStatus("polling", EVIL)
    memory.settings = Settings(
        ui=UiSettings(theme=EVIL), keys={EVIL: "f1", "copy": f"f2,{EVIL.replace(',', '')}"}
    )
    memory.doctor = lambda: DoctorReport((Finding("error", EVIL, EVIL, EVIL),))  # type: ignore[method-assign]
    memory.clear_preview = lambda what: (EVIL,)  # type: ignore[method-assign]
    memory.clear = lambda what: Receipt(EVIL, (EVIL,), (EVIL,), EVIL, (EVIL,))  # type: ignore[method-assign]
    memory.synced = SyncReport(files_indexed=1, notes=(EVIL,))
    why = memory.why("t", "x:0")
    memory.why = lambda query, chunk: replace(  # type: ignore[method-assign]
        why, verdict=EVIL, snippet=EVIL, missing=(EVIL,), notes=(EVIL,)
    )
    read = memory.read
    memory.read = lambda path, *rest: replace(read(path), lines=(EVIL, f"# {EVIL}", EVIL), total=3)  # type: ignore[method-assign]
    return memory


KEYS = [
    [],
    ["slash", "t", "enter"],
    ["slash", "b", "a", "d"],
    ["1"],
    ["1", "z"],
    ["2", "enter"],
    ["slash", "t", "enter", "4"],
    ["slash", "t", "enter", "5"],
    ["slash", "t", "enter", "w"],
    ["exclamation_mark"],
    ["question_mark"],
    ["ctrl+o"],
    ["ctrl+p"],
    ["y"],
    ["r"],
    ["s"],
]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_no_control_character_is_ever_drawn(size) -> None:
    app = MemdeckApp(hostile)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        for keys in KEYS:
            await pilot.press(*keys)
            await settle(pilot)
            assert not unsafe(screen(app)), keys
            assert "@click" not in screen(app) or "[@click" in screen(app)
            while not isinstance(app.screen, MainScreen):
                app.pop_screen()
                await settle(pilot)
            await pilot.press("escape", "escape", "3")
            await settle(pilot)


async def test_no_control_character_in_the_dialogues() -> None:
    app = MemdeckApp(hostile)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await settle(pilot)
        app.screen.action_clear("workspace")
        for _ in range(20):
            await pilot.pause(0.01)
        assert isinstance(app.screen, Confirm)
        assert not unsafe(screen(app))
        await pilot.press("y")
        await settle(pilot)
        assert "Receipt" in screen(app)
        assert not unsafe(screen(app))
        await pilot.press("escape")
        await app.screen.run_action("doctor")
        await settle(pilot)
        assert not unsafe(screen(app))


async def test_a_hostile_message_at_the_start_is_cleaned(capsys) -> None:
    def factory():
        raise MemdeckError(EVIL, hint=EVIL)

    app = MemdeckApp(factory)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app._exit)
    said = capsys.readouterr().err
    assert "memdeck:" in said
    assert "[@click=app.quit]" in said.replace("\n", "")
    assert not unsafe(said)


async def test_what_is_typed_and_pasted_is_cleaned_too(app) -> None:
    from textual import events

    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "a")
        app.focused.post_message(events.Paste(EVIL))
        await settle(pilot)
        assert not unsafe(screen(app))
