"""One question asked twice: under the saved settings and under the trial; runs in a thread, draws nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import MemdeckError
from tui.screens.lab.controls import Trial
from tui.screens.lab.moves import Move, moves_between
from tui.widgets.prepared import PreparedReport, prepare

if TYPE_CHECKING:
    from core.memory import Also, Hit, Memory, SearchReport, Settings

STOPPED = "failed: the search was stopped"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; ``sources`` narrows, ``sync`` looks at the files first, ``embed`` may make a vector."""

    query: str
    trial: Trial
    sources: tuple[str, ...] = ()
    sync: bool = True
    embed: bool = True


@dataclass(frozen=True, slots=True)
class Compared:
    """Both answers, ready to draw, with moves and judgements by chunk id; ``note``: judgements that fail."""

    question: Question
    saved: PreparedReport
    trial: PreparedReport
    moves: Mapping[str, Move]
    marks: Mapping[str, bool]
    note: str = ""

    @property
    def stopped(self) -> bool:
        """Whether another search interrupted one of the two."""
        return any(side.report.empty_reason == STOPPED for side in (self.saved, self.trial))


def compare(memory: Memory, question: Question) -> Compared:
    """Search twice and compare; raises what a search raises."""
    trial = question.trial

    def search(profile: str, settings: Settings, sync: bool) -> SearchReport:
        return memory.search(
            question.query,
            profile=profile,
            sources=question.sources,
            settings=settings,
            sync=sync,
            embed=question.embed,
        )

    before = search(trial.saved_profile, trial.saved, question.sync)
    after = search(trial.profile, trial.settings, False) if trial.changed else before
    saved, tried = prepare(before), prepare(after)
    marks, note = read_marks(memory, question.query, before, after)
    return Compared(question, saved, tried, moves_between(before, after), marks, note)


def read_marks(
    memory: Memory, query: str, before: SearchReport, after: SearchReport
) -> tuple[Mapping[str, bool], str]:
    """How the rows of both sides were judged; a file of judgements that is wrong is a note, not a failure."""
    items: list[Hit | Also] = [
        *before.hits,
        *before.dropped,
        *before.also,
        *after.hits,
        *after.dropped,
        *after.also,
    ]
    try:
        return memory.judged(query, items), ""
    except MemdeckError as error:
        return {}, str(error)
