"""Driving the app in a test: waiting until nothing is left to do, and reading what is on the screen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.worker import WorkerCancelled, WorkerFailed

PATIENCE = 20.0


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until no worker runs and every message was handled."""
    for _ in range(6):
        await pilot.pause()
        with contextlib.suppress(WorkerCancelled, WorkerFailed):
            await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    """Wait for a condition; fail when it does not come about in a long time."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await pilot.pause(0.01)


def rows(app: App[Any]) -> list[str]:
    """The lines of the screen as plain text."""
    return [
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips(app.size)
    ]


def screen(app: App[Any]) -> str:
    return "\n".join(rows(app))


def unsafe(text: str) -> set[str]:
    """Control characters a terminal would obey: C0 (ESC among them) and C1."""
    return {char for char in text if (char < " " and char != "\n") or "\x7f" <= char <= "\x9f"}


async def typed(pilot: Pilot[Any], text: str) -> None:
    """Type into whatever has the focus."""
    names = {" ": "space", "/": "slash", ":": "colon", "-": "minus", ".": "full_stop"}
    for char in text:
        await pilot.press(names.get(char, char))


def told(app: App[Any]) -> str:
    """Every message the app has popped up and not yet taken away."""
    return "\n".join(f"{one.title} {one.message}" for one in app._notifications)
