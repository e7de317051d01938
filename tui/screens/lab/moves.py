"""What a trial does to the list: for each chunk whether it moves up, down, stays, comes or goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core.memory import SearchReport


@dataclass(frozen=True, slots=True)
class Move:
    """From one rank to another (0: not among the results)."""

    before: int
    after: int

    @property
    def kind(self) -> Literal["same", "up", "down", "new", "gone"]:
        if not self.before:
            return "new"
        if not self.after:
            return "gone"
        return "same" if self.before == self.after else "up" if self.after < self.before else "down"

    def __str__(self) -> str:
        match self.kind:
            case "up":
                return f"↑{self.before - self.after}"
            case "down":
                return f"↓{self.after - self.before}"
            case "same":
                return "="
            case kind:
                return kind


def moves_between(saved: SearchReport, trial: SearchReport) -> dict[str, Move]:
    """By chunk id, the move of every chunk that is a result on either side."""
    before = {hit.id: hit.rank for hit in saved.hits}
    after = {hit.id: hit.rank for hit in trial.hits}
    return {chunk: Move(before.get(chunk, 0), after.get(chunk, 0)) for chunk in {**before, **after}}


def moves_in_words(moves: dict[str, Move]) -> str:
    """``2 up · 1 down · 1 new · 1 gone``, or that nothing moves."""
    kinds = [move.kind for move in moves.values()]
    parts = [f"{kinds.count(kind)} {kind}" for kind in ("up", "down", "new", "gone") if kind in kinds]
    return " · ".join(parts) or "nothing moves"
