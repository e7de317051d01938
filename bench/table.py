"""Draws rows as plain text: what, ours, peer, ratio, bar, verdict; every number with its spread."""

from __future__ import annotations

from collections.abc import Sequence

from bench.measure import Row, Spread

_HEAD = ("what", "ours", "peer", "ratio", "bar", "")


def lines(rows: Sequence[Row]) -> list[str]:
    """Return the table of some rows; the columns are as wide as these need."""
    cells = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD))]
    out = []
    for row in cells:
        parts = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        out.append(("  " + "  ".join(parts)).rstrip())
    return out


def _cells(row: Row) -> tuple[str, ...]:
    peer = f"{_spread(row.peer, row.unit)} {row.peer_name}" if row.peer is not None else ""
    ratio = f"{_spread(row.ratio)} ×" if row.ratio is not None else ""
    said = f"{row.verdict} {row.note and f'({row.note})'}".strip()
    return (row.what, _spread(row.ours, row.unit), peer, ratio, row.bar, said)


def _spread(spread: Spread, unit: str = "") -> str:
    """The median, and the range of the rounds where there were several."""
    text = _number(spread.median)
    if spread.low != spread.high:
        text += f" [{_number(spread.low)}–{_number(spread.high)}]"
    return f"{text} {unit}".strip()


def _number(value: float) -> str:
    if value == int(value):
        return str(int(value))
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
