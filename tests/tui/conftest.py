"""One still world for every test of the app: no terminal settings, one clock, a home of its own, no blinking."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Textual reads these when it is imported, so they go before anything imports it.
for _name in list(os.environ):
    # One of them is no switch of Textual's: it is where the pictures' plugin hands its processes their folder.
    if _name == "NO_COLOR" or (_name.startswith("TEXTUAL_") and _name != "TEXTUAL_SNAPSHOT_TEMPDIR"):
        del os.environ[_name]

if TYPE_CHECKING:
    from tests.tui.fake_memory import FakeMemory
    from tui.app import MemdeckApp


@pytest.fixture(autouse=True)
def still_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setenv("MEMDECK_NOW", "1784419200")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in (
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "WSL_DISTRO_NAME",
        "GROK_HOME",
        "MEMDECK_CONFIG",
        "MEMDECK_STATE",
    ):
        monkeypatch.delenv(name, raising=False)
    from textual.widgets import Input

    # The palette's own input blinks; ours never does.
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)


@pytest.fixture
def memory() -> FakeMemory:
    from tests.tui.fake_memory import FakeMemory

    return FakeMemory()


@pytest.fixture
def app(memory: FakeMemory) -> MemdeckApp:
    from tui.app import MemdeckApp

    return MemdeckApp(lambda: memory)


@pytest.fixture
def heard() -> tuple[list[Any], Callable[[Any], None]]:
    """Every message of ours in the order it was handled, and the hook that hears them."""
    messages: list[Any] = []

    def hear(message: Any) -> None:
        if type(message).__module__.startswith("tui") and message not in messages:
            messages.append(message)

    return messages, hear
