"""Pictures of the screen: the main screen by size over the real core and the demo, and the states hard to meet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.demo import prepare
from core.errors import MemdeckError
from core.index.model import ClaimHolder, WatchStatus
from core.memory import Memory
from core.settings import Settings, UiSettings
from tests.tui.driving import settle, typed, until
from tests.tui.fake_memory import NOW, STATUS, FakeMemory, Watcher, overview, report
from tests.tui.test_hostile import hostile
from tui.app import MemdeckApp
from tui.screens.main import MainScreen

pytestmark = [pytest.mark.snapshot, pytest.mark.xdist_group("snapshots")]

Step = Callable[[Any], Any]
QUERY = "refresh token rotation"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[], Memory]]:
    """Opens the demo memory with everything taken out that differs from run to run: times, paths, the watcher."""
    # The one workspace that is no checkout of a remote is named after a hash of its path, the test's folder.
    monkeypatch.setattr("core.demo.layout.canonical", lambda path: path.replace(str(tmp_path), "/home/guest"))
    made = prepare(tmp_path, NOW)
    environ = {"PATH": "/usr/bin:/bin", **made.environ, "MEMDECK_NOW": str(int(NOW))}
    opened: list[Memory] = []
    search = Memory.search

    def timed(self: Memory, query: str, **options: Any) -> Any:
        return replace(search(self, query, **options), ms=4.0)

    monkeypatch.setattr(Memory, "search", timed)
    monkeypatch.setattr(Memory, "watch", lambda self, tell: Watcher(WatchStatus("live")))

    def factory() -> Memory:
        memory = Memory.open(made.root, workspace=made.workspace, environ=environ, home=str(made.home))
        opened.append(memory)
        return memory

    yield factory
    for memory in opened:
        memory.close()


def pressing(*keys: str) -> Step:
    """Wait for rest, then press keys (``=text`` types), waiting for rest after each."""

    async def run(pilot: Any) -> None:
        await settle(pilot)
        for key in keys:
            if key.startswith("="):
                await typed(pilot, key[1:])
            else:
                await pilot.press(key)
            await settle(pilot)

    return run


ASKED = ("slash", f"={QUERY}", "enter")


@pytest.mark.parametrize(
    "size", [(60, 20), (80, 24), (120, 40), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}"
)
def test_main(snap_compare, demo, size) -> None:
    assert snap_compare(MemdeckApp(demo, demo=True), terminal_size=size, run_before=pressing(*ASKED))


def test_newest(snap_compare, demo) -> None:
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 40), run_before=pressing())


def test_a_dropped_hit(snap_compare, demo) -> None:
    steps = pressing(*ASKED, *["j"] * 6)
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 40), run_before=steps)


def test_score_tab(snap_compare, demo) -> None:
    assert snap_compare(MemdeckApp(demo), terminal_size=(100, 30), run_before=pressing(*ASKED, "4"))


def test_preview_alone(snap_compare, demo) -> None:
    assert snap_compare(MemdeckApp(demo), terminal_size=(60, 20), run_before=pressing(*ASKED, "5"))


def test_zoomed(snap_compare, demo) -> None:
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 30), run_before=pressing(*ASKED, "5", "z"))


def test_everywhere(snap_compare, demo) -> None:
    steps = pressing("s", "s", "s", "s", *ASKED)
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 30), run_before=steps)


def test_light(snap_compare, demo) -> None:
    async def light(pilot: Any) -> None:
        await pressing(*ASKED)(pilot)
        pilot.app.theme = "memdeck-light"
        await settle(pilot)

    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 40), run_before=light)


def test_no_color(snap_compare, demo, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 30), run_before=pressing(*ASKED, "j"))


def test_ansi(snap_compare, demo) -> None:
    async def ansi(pilot: Any) -> None:
        await pressing(*ASKED)(pilot)
        pilot.app.theme = "ansi-dark"
        await settle(pilot)

    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 30), run_before=ansi)


def test_help(snap_compare, demo) -> None:
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 40), run_before=pressing("question_mark"))


def test_why_not(snap_compare, demo) -> None:
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 30), run_before=pressing(*ASKED, "w", "j", "j"))


def test_jump(snap_compare, demo) -> None:
    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 30), run_before=pressing("ctrl+o"))


def test_palette(snap_compare, demo) -> None:
    async def palette(pilot: Any) -> None:
        await pressing("ctrl+p")(pilot)
        await until(pilot, lambda: pilot.app.screen.query("CommandList").first().option_count > 20)
        await pilot.pause()

    assert snap_compare(MemdeckApp(demo), terminal_size=(120, 30), run_before=palette)


def test_clear(snap_compare) -> None:
    async def ask(pilot: Any) -> None:
        await settle(pilot)
        pilot.app.screen.action_clear("workspace")
        await until(pilot, lambda: not isinstance(pilot.app.screen, MainScreen))
        await pilot.pause()

    assert snap_compare(MemdeckApp(FakeMemory), terminal_size=(100, 24), run_before=ask)


# States that are hard to make real


def test_loading(snap_compare) -> None:
    gate = threading.Event()

    def slow() -> FakeMemory:
        gate.wait(30)
        return FakeMemory()

    async def wait(pilot: Any) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
        await pilot.pause()
        await pilot.pause()

    try:
        assert snap_compare(MemdeckApp(slow), terminal_size=(100, 24), run_before=wait)
    finally:
        gate.set()


def test_no_memory_yet(snap_compare) -> None:
    memory = FakeMemory(workspace="")
    main = replace(overview().roots[0], exists=False, global_memory=None, workspaces=(), problems=())
    memory.survey = replace(overview(), roots=(main,), identity=None)
    memory.logs = ()
    memory.index = replace(STATUS, state="none", chunks=0, files=0)
    memory.answers[""] = replace(
        report(""), mode="newest", hits=(), dropped=(), also=(), empty_reason="nothing indexed"
    )
    assert snap_compare(MemdeckApp(lambda: memory), terminal_size=(100, 24), run_before=pressing())


def test_index_behind(snap_compare) -> None:
    memory = FakeMemory()
    memory.index = replace(STATUS, state="behind", behind=3, holder=ClaimHolder(4242, int(NOW) - 7))
    assert snap_compare(MemdeckApp(lambda: memory), terminal_size=(120, 24), run_before=pressing(*ASKED))


def test_error(snap_compare) -> None:
    memory = FakeMemory()
    memory.answers["token"] = MemdeckError(
        "the index cannot be read: database disk image is malformed",
        data="The Markdown is untouched; the damaged file was left where it is.",
        hint="Choose “Index: Rebuild” in the palette, or run `memdeck reindex --rebuild`.",
    )
    steps = pressing("slash", "=token", "enter")
    assert snap_compare(MemdeckApp(lambda: memory), terminal_size=(120, 24), run_before=steps)


@pytest.mark.parametrize(
    "reason", ["nothing indexed", "only stop words", "no match", "index behind by 3 files"]
)
def test_nothing_found(snap_compare, reason) -> None:
    memory = FakeMemory()
    memory.answers["the"] = replace(report("the"), hits=(), dropped=(), also=(), empty_reason=reason)
    steps = pressing("slash", "=the", "enter")
    assert snap_compare(MemdeckApp(lambda: memory), terminal_size=(80, 24), run_before=steps)


def test_all_below_the_floor(snap_compare) -> None:
    memory = FakeMemory()
    memory.answers["deploy"] = replace(report("deploy"), hits=(), empty_reason="all below the floor")
    steps = pressing("slash", "=deploy", "enter")
    assert snap_compare(MemdeckApp(lambda: memory), terminal_size=(120, 24), run_before=steps)


def test_hostile(snap_compare) -> None:
    memory = hostile()
    memory.settings = Settings(ui=UiSettings(theme="memdeck-dark"))
    steps = pressing("slash", "=t", "enter")
    assert snap_compare(MemdeckApp(lambda: memory), terminal_size=(120, 40), run_before=steps)
