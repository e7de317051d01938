"""Which factor cost a candidate most: the one answer the list and the score pane both give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.format import number

if TYPE_CHECKING:
    from core.memory import Factors

FactorName = str
"""``merge``, ``decay``, ``source`` or ``access``: the rows of the score pane."""

_NOTICEABLE = 0.995


def factor_values(factors: Factors) -> tuple[tuple[FactorName, float], ...]:
    """The numbers whose product is the raw score, in the order they apply."""
    return (
        ("merge", factors.merged),
        ("decay", factors.decay),
        ("source", factors.source_weight),
        ("access", factors.access),
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
    if name != "merge":
        return f"{name} × {number(value)}"
    if factors.text is None:
        return f"vector {number(value)}"
    return f"{'text' if factors.vector is None else 'match'} {number(value)}"
