"""The product's clock: real time, or a frozen moment for tests and pictures."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping

from core.errors import SettingsError

Clock = Callable[[], float]
"""Returns the current time in unix seconds."""

FIRST_SECOND, LAST_SECOND = -62_135_596_800.0, 253_402_300_799.0
"""The years 1 to 9999, which dates can be made of; a damaged file or clock may hold any number."""


def clock_from(environ: Mapping[str, str] = os.environ) -> Clock:
    """Return the clock that ``MEMDECK_NOW`` (unix seconds) freezes, else the system's.

    Raises:
        SettingsError: ``MEMDECK_NOW`` is set but is not a number.
    """
    raw = environ.get("MEMDECK_NOW", "").strip()
    if not raw:
        return time.time
    try:
        now = float(raw)
    except ValueError:
        now = math.nan
    if not FIRST_SECOND <= now <= LAST_SECOND:  # also false for what is no number
        raise SettingsError(
            f"MEMDECK_NOW is {raw[:40]!r}, which is not a number of unix seconds",
            hint="Unset it, or set it to something like 1767225600.",
        )
    return lambda: now
