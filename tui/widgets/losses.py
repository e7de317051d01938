"""Which factor cost a candidate most: the one answer the list and the score pane both give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.format import number

if TYPE_CHECKING:
    from core.memory import Factors

FactorName = str
"""A row of the score pane: ``text``, ``vector``, ``merge``, ``decay``, ``source``, ``access``, ``trust``."""

MATCHES = ("text", "vector", "merge")
"""The factors that say how well the chunk matches, not what became of the match."""
_NOTICEABLE = 0.995


def factor_values(factors: Factors) -> tuple[tuple[FactorName, float], ...]:
    """The numbers whose product is the raw score, in the order they apply; the first is the match itself."""
    match = "merge"
    if factors.extras:
        pass  # a mean of several parts
    elif factors.vector is None:
        match = "text"
    elif factors.text is None:
        match = "vector"
    return (
        (match, factors.merged),
        ("decay", factors.decay),
        ("source", factors.source_weight),
        ("access", factors.access),
        *((("trust", factors.trust),) if factors.trust != 1.0 else ()),
    )


def largest_loss(factors: Factors) -> tuple[FactorName, float] | None:
    """The factor that took most away, with its value; None when none took a visible part."""
    name, value = min(factor_values(factors), key=lambda pair: pair[1])
    return (name, value) if value < _NOTICEABLE else None


def loss_words(factors: Factors) -> str:
    """The largest loss in a word and a number: ``decay × .22``, ``text .31``."""
    loss = largest_loss(factors)
    if loss is None:
        return ""
    name, value = loss
    return f"{name} {number(value)}" if name in MATCHES else f"{name} × {number(value)}"
