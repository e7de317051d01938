"""How values look: bars, numbers, sizes, ages, places, and text fitted to an exact number of cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len, get_character_cell_size, split_graphemes

ELLIPSIS = "…"
MINUS = "−"
BAR_CELLS = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LOG_NAME = re.compile(r"(\d{4})-(\d\d)-(\d\d)-(.+?)(?:-([0-9a-zA-Z]{1,8}))?\.md")
_BREAK = re.compile(r" +")
_LETTERS: dict[str, str] = {"global": "G", "workspace": "W", "session": "S"}


def bar(value: float, cells: int = BAR_CELLS) -> str:
    """Draw ``value`` (0..1, clamped) in eighth blocks, padded with blanks to exactly ``cells`` cells."""
    eighths = round(max(0.0, min(1.0, value)) * cells * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(cells)


def number(value: float, decimals: int = 2) -> str:
    """``1.00``, ``.71``, ``−7.31``: fixed decimals, no leading zero, a true minus sign."""
    text = f"{abs(value):.{decimals}f}"
    if text.startswith("0."):
        text = text[1:]
    return MINUS + text if value < 0 and float(text) else text


def score(value: float) -> str:
    """A score in its fixed column of four cells: ``1.00``, `` .71``."""
    return number(value).rjust(4)


def apart(value: float, floor: float) -> tuple[str, str]:
    """Both numbers with as many decimals (2 to 6) as it takes to see which one is larger."""
    for decimals in range(2, 7):
        left, right = number(value, decimals), number(floor, decimals)
        if left != right or value == floor:
            break
    return left, number(floor)


def size(count: int) -> str:
    """Bytes as a person reads them: ``812 B``, ``3 kB``, ``1.2 MB``."""
    if count < 1000:
        return f"{count} B"
    for unit, factor in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        value = count / factor
        if value < 999.5 or unit == "GB":
            return f"{value:.1f} {unit}" if value < 10 and unit != "kB" else f"{value:.0f} {unit}"
    raise AssertionError("unreachable")


def age(days: float) -> str:
    """Days as a short age: ``now``, ``5 h``, ``14 d``, ``3 w``, ``5 mo``, ``2 y``."""
    if days < 1:
        hours = int(max(0.0, days) * 24)
        return f"{hours} h" if hours else "now"
    for limit, length, unit in ((21, 1.0, "d"), (61, 7.0, "w"), (730, 30.44, "mo")):
        if days < limit:
            return f"{int(days / length)} {unit}"
    return f"{int(days / 365.25)} y"


def milliseconds(value: float) -> str:
    """``<1 ms``, ``4 ms``, ``1.2 s``."""
    if value < 1:
        return "<1 ms"
    return f"{value:.0f} ms" if value < 999.5 else f"{value / 1000:.1f} s"


def count(amount: int, singular: str, plural: str = "") -> str:
    """``1 hit``, ``2 hits``, ``12,000 hits``."""
    return f"{amount:,} {singular if amount == 1 else plural or singular + 's'}"


def source_letter(source: str) -> str:
    """``G`` global, ``W`` workspace, ``S`` session."""
    return _LETTERS.get(source, "?")


def log_name(file_name: str) -> tuple[str, str] | None:
    """(``YYYY-MM-DD``, slug) of a dated log's file name, None for any other name."""
    match = _LOG_NAME.fullmatch(file_name)
    return (f"{match[1]}-{match[2]}-{match[3]}", match[4]) if match else None


def place(path: str, line: int, source: str) -> str:
    """Where a chunk lies, short: ``07-17 auth`` for a dated log, ``MEMORY.md:24`` for anything else."""
    name = path.rsplit("/", 1)[-1]
    log = log_name(name) if source == "session" else None
    return f"{log[0][5:]} {log[1]}" if log else f"{name}:{line}"


def width_of(text: str) -> int:
    """Cells the text takes."""
    return cell_len(text)


def fit(text: str, width: int, side: Literal["left", "right"] = "right") -> str:
    """Shorten to at most ``width`` cells; ``…`` stands for what was cut at that ``side``."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS * max(0, width)
    spans, _ = split_graphemes(text)
    room, used = width - 1, 0
    if side == "right":
        for start, _, cells in spans:
            if used + cells > room:
                return text[:start].rstrip() + ELLIPSIS
            used += cells
        return text
    for _, end, cells in reversed(spans):
        if used + cells > room:
            return ELLIPSIS + text[end:].lstrip()
        used += cells
    return text


def pad(text: str, width: int, align: Literal["left", "right"] = "left") -> str:
    """Exactly ``width`` cells: shortened with ``…`` or filled with blanks."""
    text = fit(text, width)
    blanks = " " * (width - cell_len(text))
    return blanks + text if align == "right" else text + blanks


def wrap_offsets(text: str, width: int, *, paths: bool = False) -> list[int]:
    """Offsets at which the rows of a wrapped line start (the first is 0); every row fits ``width`` cells.

    Breaks after blanks where it can, with ``paths`` after a slash or a hyphen within a word too, else within
    a word; marks of no width stay with their letter.  Linear.
    """
    if width < 2 or (len(text) <= width and cell_len(text) <= width):
        return [0]
    starts = [0]
    used = 0  # cells of the row so far
    word, word_used = 0, 0  # where the word being read starts, and the cells before it in this row
    simple = text.isascii()
    for index, char in enumerate(text):
        cells = 1 if simple else get_character_cell_size(char)
        if char == " ":
            # A blank at the very edge stays on this row, where it cannot be seen.
            used += 1
            word, word_used = index + 1, used
            continue
        if cells == 0:
            if word == index:
                word, word_used = starts[-1], 0  # a mark on a blank: the two stay together
            if used > width:
                starts.append(index - 1)
                used, word, word_used = 1, index - 1, 0
            continue
        if used + cells > width:
            if word > starts[-1]:
                starts.append(word)
                used -= word_used
            else:
                starts.append(index)
                used = 0
            word, word_used = starts[-1], 0
            if used + cells > width:
                starts.append(index)
                used, word = 0, index
        used += cells
        if paths and (char == "/" or (char == "-" and text[index - 1 : index].isalnum())):
            word, word_used = index + 1, used
    return starts


def wrap(text: str, width: int, limit: int = 0, *, paths: bool = False) -> list[str]:
    """Wrapped rows without trailing blanks; at most ``limit`` rows (0: all), the last one ending in ``…``."""
    starts = wrap_offsets(text, width, paths=paths)
    rows = [text[a:b].rstrip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    if limit and len(rows) > limit:
        rows = [*rows[: limit - 1], fit(text[starts[limit - 1] :], width)]
    return rows


def crumbs(parts: Sequence[str], width: int, separator: str = " › ") -> str:
    """Join a path of headings; parts in the middle give way to ``…`` before the ends are cut."""
    parts = [part for part in parts if part]
    text = separator.join(parts)
    for keep in range(len(parts) - 2, 0, -1):
        if cell_len(text) <= width:
            return text
        text = separator.join([parts[0], ELLIPSIS, *parts[len(parts) - keep :]])
    return fit(text, width)
