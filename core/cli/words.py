"""Reading what people type for options: ages, sources, numbers; each refusal says what is right."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, get_args

from core.errors import UsageError

Clearable = Literal["workspace", "global", "all"]
CLEARABLE: tuple[Clearable, ...] = get_args(Clearable)
SOURCES = ("global", "workspace", "session")
_UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([hdwmy]?)", re.IGNORECASE | re.ASCII)

# What a listing prints of a chunk, as it is pasted back: MEMORY.md:24-31 #3
_PRINTED = re.compile(r"(.+?)(?::\d+(?:-\d+)?)? #(\d+)", re.DOTALL | re.ASCII)


def chunk_name(text: str) -> str:
    """A chunk as the memory takes it, ``PATH#N`` or an id, from that or from how listings print it."""
    printed = _PRINTED.fullmatch(text.strip())
    return text if printed is None else f"{printed.group(1)}#{printed.group(2)}"


def path_and_number(chunk: str) -> tuple[str, int | None]:
    """Take ``PATH#N`` or an id, ``PATH:N``, apart; no number: it is neither."""
    match = re.fullmatch(r"(.+)[#:](\d{1,18})", chunk, re.DOTALL | re.ASCII)
    return (chunk, None) if match is None else (match.group(1), int(match.group(2)))


def clearable(word: str) -> Clearable:
    """Which part of the memory to clear.

    Raises:
        UsageError: another word.
    """
    for what in CLEARABLE:
        if word == what:
            return what
    raise UsageError(f"{word!r} cannot be cleared", hint="Say workspace, global or all.")


def age_days(text: str | None) -> float | None:
    """``7``, ``7d``, ``12h``, ``2w``, ``3m`` (30 days) or ``1y`` as days.

    Raises:
        UsageError: anything else.
    """
    if text is None:
        return None
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--max-age {text!r} is not an age", hint="Days, or a unit: 12h, 7d, 2w, 3m, 1y.")
    return float(match.group(1)) * _UNITS[match.group(2).lower() or "d"]


def chosen_sources(words: Sequence[str]) -> tuple[str, ...]:
    """Sources, in the order given and once each.

    Raises:
        UsageError: an unknown one.
    """
    for word in words:
        if word not in SOURCES:
            raise UsageError(f"--source {word!r} is no source", hint=f"One of: {', '.join(SOURCES)}.")
    return tuple(dict.fromkeys(words))


def finite(option: str, value: float | None) -> float | None:
    """The number, unless it is nan or infinite.

    Raises:
        UsageError: it is.
    """
    if value is not None and not math.isfinite(value):
        raise UsageError(f"{option} {value} is not a number to compare with", hint="Something like 0.5.")
    return value
