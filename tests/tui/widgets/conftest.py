"""Made-up reports and a way to see what a widget draws, as plain lines."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from core.search.report import Also, Factors, Hit, SearchReport, Stage
from tui.widgets.line_view import LineView

ROOT = "/home/ada/.grok/memory"
WORKSPACE = "widgets-a3f7b2c9"
BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}

HOSTILE = (
    "\x1b]52;c;aGk=\x07 [/] [@click=app.quit]go[/] \x9b31m \u202eevil\u2066 \u200bzero\ufeff "
    "配置 👩‍💻 ☀️ \ud800 \x00 tab\there \u2028 \U000e0041 e\u0301 \r\x7f"
)


def factors(**changes: Any) -> Factors:
    base = Factors(
        bm25=-7.31,
        text=1.0,
        vector=None,
        merged=1.0,
        decay=1.0,
        age_days=0.0,
        half_life_days=30.0,
        source_weight=1.0,
        access=1.0,
        access_count=0,
        raw=1.0,
        score=1.0,
        floor=0.7,
    )
    values = replace(base, **changes)
    if "raw" not in changes:
        raw = values.merged * values.decay * values.source_weight * values.access
        values = replace(values, raw=raw, score=min(1.0, raw))
    return values


def hit(rank: int = 1, **changes: Any) -> Hit:
    fields: dict[str, Any] = {
        "rank": rank,
        "id": f"{ROOT}/{WORKSPACE}/MEMORY.md:{rank}",
        "path": f"{ROOT}/{WORKSPACE}/MEMORY.md",
        "start_line": 24,
        "end_line": 31,
        "source": "workspace",
        "heading": "Token refresh",
        "snippet": "[Context: Auth]\n\n### Token refresh\n\nAccess tokens rotate every 15 minutes.\n",
        "created_at": 1_750_000_000,
        "access_count": 0,
        "factors": factors(),
        "matched": ("token", "tokens", "refresh"),
        "workspace": WORKSPACE,
    }
    return Hit(**(fields | changes))


def session(
    rank: int = 2, *, day: str = "2026-07-17", slug: str = "auth", age: float = 14.0, **changes: Any
) -> Hit:
    path = f"{ROOT}/{WORKSPACE}/sessions/{day}-{slug}-1a2b3c4d.md"
    fields: dict[str, Any] = {
        "id": f"{path}:0",
        "path": path,
        "start_line": 1,
        "source": "session",
        "heading": "Debugging auth",
        "snippet": "# Debugging auth\n\nThe refresh endpoint returned 401 because the clock was wrong.\n",
        "factors": factors(merged=0.98, text=0.98, decay=0.5 ** (age / 30), age_days=age),
        "staleness": "stale" if age > 7 else "verify" if age > 1 else "fresh",
        "age": f"{int(age)} days ago",
    }
    return hit(rank, **(fields | changes))


def dropped(number: int = 0, **changes: Any) -> Hit:
    fields: dict[str, Any] = {
        "slug": "infra",
        "day": f"2026-05-{number + 2:02d}",
        "factors": factors(text=0.81, merged=0.81, decay=0.22, age_days=65.0),
        "age": 65.0,
        "reason": "below_floor",
        "stage": "floor",
        "why": "Its score .18 is below the floor .70.",
    }
    return session(0, **(fields | changes))


def also(**changes: Any) -> Also:
    path = f"{ROOT}/{WORKSPACE}/sessions/2026-06-11-配置-9f8e7d6c.md"
    fields: dict[str, Any] = {
        "id": f"{path}:1",
        "path": path,
        "start_line": 5,
        "end_line": 9,
        "source": "session",
        "heading": "",
        "snippet": "令牌刷新的配置在这里。",
        "created_at": 1_750_000_000,
        "access_count": 0,
        "matched_by": "CJK words",
        "matched": ("刷新",),
        "workspace": WORKSPACE,
    }
    return Also(**(fields | changes))


def report(**changes: Any) -> SearchReport:
    fields: dict[str, Any] = {
        "query": "refresh token rotation",
        "profile": "agent",
        "mode": "text only",
        "workspace": WORKSPACE,
        "hits": (hit(), session()),
        "dropped": (dropped(), dropped(1)),
        "also": (also(),),
        "stages": (
            Stage("text", True, "18 candidates", 1.2),
            Stage("vectors", False, "no embedding provider is set"),
            Stage("mmr", False, "off in the settings"),
        ),
        "ms": 4.2,
    }
    return SearchReport(**(fields | changes))


@pytest.fixture
def make() -> SimpleNamespace:
    return SimpleNamespace(
        factors=factors, hit=hit, session=session, dropped=dropped, also=also, report=report, hostile=HOSTILE
    )


class OneWidget(App[None]):
    """An app of one widget that fills the screen."""

    AUTO_FOCUS = None

    CSS = "Screen > * { height: 1fr; }"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


def assert_harmless(text: str) -> None:
    """No code point a terminal obeys, or that changes what a person reads."""
    for char in text:
        code = ord(char)
        assert code >= 0x20, f"control {code:#04x} in {text!r}"
        assert not 0x7F <= code <= 0x9F, f"control {code:#04x} in {text!r}"
        assert code not in BIDI, f"direction mark {code:#06x} in {text!r}"
        assert unicodedata.category(char) not in ("Cf", "Cs", "Zl", "Zp", "Co"), f"{code:#06x} in {text!r}"


def drawn(widget: LineView) -> list[str]:
    """What the widget draws now, line by line; every line exact in width and harmless."""
    width = widget.line_width
    lines: list[str] = []
    for y in range(widget.size.height):
        strip = widget.render_line(y)
        assert strip.cell_length == width
        assert cell_len(strip.text) == width, strip.text
        assert_harmless(strip.text)
        lines.append(strip.text.rstrip())
    return lines


@asynccontextmanager
async def showing(widget: Widget, width: int = 80, height: int = 24) -> AsyncIterator[Pilot[None]]:
    """Run an app of just this widget; its messages gather in ``pilot.heard``."""
    heard: list[Message] = []

    def hear(message: Message) -> None:
        if not any(message is other for other in heard):  # once, though it passes by every ancestor
            heard.append(message)

    app = OneWidget(widget)
    async with app.run_test(size=(width, height), message_hook=hear) as pilot:
        pilot.heard = heard  # type: ignore[attr-defined]
        await pilot.pause()
        yield pilot


@pytest.fixture
def look() -> SimpleNamespace:
    return SimpleNamespace(drawn=drawn, showing=showing, harmless=assert_harmless)
