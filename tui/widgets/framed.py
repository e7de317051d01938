"""Score and Preview in their frames: what they show is said from outside, what it takes is read in threads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult

from tui.messages import Failed, FileLoaded
from tui.session import Session, as_error
from tui.widgets.pane import Pane
from tui.widgets.score import ScorePane

if TYPE_CHECKING:
    from core.memory import Also, ChunkSpan, FileText, Hit, SearchReport

PAUSE = 0.05
"""Seconds the cursor must rest on a hit before its file is read."""


class ScoreFrame(Pane):
    HELP = (
        "Every factor of the selected hit in the order it applies: what matched, how it was merged, how age, source "
        "and recalls changed it, and the product so far with its bar.  The factor that cost most is marked."
    )

    def __init__(self) -> None:
        super().__init__("score")

    def compose(self) -> ComposeResult:
        yield ScorePane(id="score-view")

    @property
    def view(self) -> ScorePane:
        return self.query_one(ScorePane)

    def show(self, item: Hit | Also | None, report: SearchReport | None, weights: tuple[float, float]) -> None:
        self.view.show(item, report, weights)

    @property
    def copyable(self) -> tuple[str, str] | None:
        """What ``y`` copies here: (what it is, the text)."""
        return "the explanation", self.view.plain
