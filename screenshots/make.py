"""Draws the pictures of the README from the demo memory; the same bytes on every run.

Run as ``make screenshots``.  Each picture is the real app, run without a terminal on a fresh copy of the demo memory
with the clock frozen, after some keys were pressed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

NOW = 1_782_835_200.0  # 2026-06-30 16:00 UTC, the demo's own last day
COPY = Path("/tmp/memdeck-pictures")  # a fixed path: folder names hold a hash of it
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Picture:
    """A file name, the size in cells, and the keys to press first."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...]


def typed(text: str) -> tuple[str, ...]:
    names = {" ": "space", "-": "minus", "/": "slash", "@": "at", ".": "full_stop"}
    return tuple(names.get(character, character) for character in text)


PICTURES = (
    Picture("search", (132, 40), ("slash", *typed("refresh token rotation"), "escape", "j")),
    Picture("browse", (132, 40), ()),
    Picture("also", (100, 30), ("slash", *typed("1.0.21"), "escape")),
    Picture("why", (120, 34), ("slash", *typed("refresh token rotation"), "escape", "w", "j", "j")),
    Picture(
        "lab",
        (140, 42),
        ("slash", *typed("refresh token rotation"), "escape", "L", *["j"] * 3, *["minus"] * 4),
    ),
)


async def draw(picture: Picture) -> str:
    """Run the app on a fresh demo memory and return the screen as SVG."""
    from core.demo import prepare
    from core.memory import Memory
    from tui.app import MemdeckApp

    shutil.rmtree(COPY, ignore_errors=True)
    made = prepare(COPY, NOW)
    environ = {**os.environ, **made.environ}
    app = MemdeckApp(
        lambda: Memory.open(made.root, workspace=made.workspace, cwd=str(made.cwd), environ=environ),
        demo=True,
    )
    async with app.run_test(size=picture.size) as pilot:
        await settle(pilot)
        for key in picture.keys:
            await pilot.press(key)
        await settle(pilot)
        svg = app.export_screenshot(title="memdeck")
    shutil.rmtree(COPY, ignore_errors=True)
    return settled_text(svg)


async def settle(pilot: object) -> None:
    """Wait until nothing on the screen changes any more: searches, previews and the first indexing included."""
    last = ""
    same = 0
    for _ in range(400):
        await asyncio.sleep(0.05)
        await pilot.pause()  # type: ignore[attr-defined]
        now = settled_text(pilot.app.export_screenshot())  # type: ignore[attr-defined]
        same = same + 1 if now == last else 0
        last = now
        if same >= 12:
            return


def settled_text(svg: str) -> str:
    """Take out what differs from run to run: the random id of the picture, and the milliseconds of a search."""
    svg = re.sub(r"terminal-\d+", "terminal-0", svg)
    return re.sub(r"(?<=·&#160;)\d+(?=&#160;ms)", "6", svg)


def main() -> None:
    os.environ["MEMDECK_NOW"] = str(int(NOW))
    for name in ("NO_COLOR", "TEXTUAL_THEME"):
        os.environ.pop(name, None)
    for picture in PICTURES:
        target = HERE / f"{picture.name}.svg"
        target.write_text(asyncio.run(draw(picture)), "utf-8")
        print(target.relative_to(HERE.parent))


if __name__ == "__main__":
    main()
