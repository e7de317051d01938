"""A memory whose ranking follows the settings it is asked with, and the way into the lab."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.errors import SettingsError
from core.search.report import Hit, SearchReport, Stage
from core.settings import Settings
from tests.tui.driving import settle, typed
from tests.tui.fake_memory import ROOT, FakeMemory, hit, report
from tui.screens.lab.screen import LabScreen

AGENT_FILE = "/home/mona/.grok/config.toml"
RAW = (
    ("MEMORY.md:5-7", "Token refresh", 1.0, 0.0),
    ("MEMORY.md:9-12", "Deploy keys", 0.8, 0.0),
    ("sessions/2026-07-02-deploy-2c3d4e5f.md:1-9", "Deploy", 0.75, 17.0),
    ("MEMORY.md:20-24", "Old hosts", 0.4, 0.0),
)
"""Place, heading, score without weights, age in days."""


class LabMemory(FakeMemory):
    """``slow`` holds up trial searches; ``written`` and ``verdicts`` keep what was saved and judged."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = Settings(agent_file=AGENT_FILE)
        self.asked: list[dict[str, Any]] = []
        self.slow: threading.Event | None = None
        self.written: list[Any] = []
        self.verdicts: dict[str, bool] = {}
        self.measured: list[Any] = []

    def search(self, query: str, **options: Any) -> SearchReport:
        if "settings" not in options or query in self.answers:
            return super().search(query, **options)
        self.asked.append({"query": query, **options})
        settings: Settings = options["settings"]
        if self.slow is not None and settings is not self.settings:
            self.slow.wait(10)
        return ranked(query, settings, options["profile"])

    def plan_settings(self, values: Mapping[str, object]) -> tuple[Any, ...]:
        raise SettingsError("this memory has no file")

    @property
    def can_undo_settings(self) -> bool:
        return False

    def judged(self, query: str, items: Sequence[Any]) -> dict[str, bool]:
        return {item.id: self.verdicts[item.id] for item in items if item.id in self.verdicts}

    def judge(self, query: str, item: Any, good: bool | None) -> str:
        if good is None:
            self.verdicts.pop(item.id, None)
        else:
            self.verdicts[item.id] = good
        return "/home/mona/.config/memdeck/judgements/widgets-a3f7b2c9.toml"


def ranked(query: str, settings: Settings, profile: str) -> SearchReport:
    """Scores times source weights, over the floor, cut to the number of results."""
    search = settings.search
    scored: list[Hit] = []
    for number, (place, heading, raw, age) in enumerate(RAW):
        source = "session" if age else "workspace"
        score = min(1.0, raw * search.source_weights[source])
        made = hit(0, place, heading, f"# {heading}\nabout {query}\n", score, age_days=age, ordinal=number)
        factors = replace(
            made.factors, merged=raw, text=raw, source_weight=search.source_weights[source],
            access=1.0, access_count=0, raw=score, floor=search.min_score,
        )  # fmt: skip
        scored.append(replace(made, factors=factors))
    scored.sort(key=lambda one: -one.factors.raw)
    kept = [one for one in scored if one.score >= search.min_score]
    hits = [replace(one, rank=rank) for rank, one in enumerate(kept[: search.max_results], 1)]
    dropped = [replace(one, reason="cut", stage="cut") for one in kept[search.max_results :]]
    dropped += [
        replace(one, reason="below_floor", stage="floor") for one in scored if one.score < search.min_score
    ]
    stages = (Stage("mmr", search.mmr.enabled, f"λ {search.mmr.lambda_:g}"),)
    base = report(query)
    return replace(
        base, profile=profile, hits=tuple(hits), dropped=tuple(dropped), also=(), stages=stages,
        empty_reason="" if hits else "all below the floor",
    )  # fmt: skip


def chunk(number: int) -> str:
    """The id of a row of :data:`RAW`."""
    return f"{ROOT}/widgets-a3f7b2c9/{RAW[number][0].split(':')[0]}:{number}"


async def enter_lab(pilot: Any, query: str = "token") -> LabScreen:
    """Type a query on the main screen and go to the lab with it."""
    await settle(pilot)
    if query:
        await pilot.press("slash")
        await typed(pilot, query)
        await pilot.press("enter")
        await settle(pilot)
    await pilot.press("L")
    await settle(pilot)
    lab = pilot.app.screen
    assert isinstance(lab, LabScreen)
    return lab


async def select(pilot: Any, lab: LabScreen, label: str) -> None:
    """Put the cursor on a control by the end of its key."""
    lab.go("controls")
    await settle(pilot)
    key = next(row.id for row in lab.controls.list.rows if row.id.endswith(label))
    assert lab.controls.list.move_to(key)
    await settle(pilot)
