"""Embed room: how long to wait before asking an endpoint again; pure arithmetic on what it said."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

TRIES = 5
"""Requests for one batch, the first included."""

FIRST_WAIT = 1.0
LONGEST_BACKOFF = 30.0
LONGEST_WAIT = 120.0
"""Seconds; an endpoint that asks for more is left alone, and the person is told until when."""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the endpoint asks to be left alone, from ``Retry-After`` (seconds or an HTTP date).

    ``headers`` has lower-case names; ``now`` is in unix seconds.  None when it asks for nothing, or for
    something that cannot be understood; never negative.
    """
    raw = headers.get("retry-after", "").strip()
    if not raw:
        return None
    try:
        seconds = float(raw)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(raw).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def backoff(attempt: int, asked: float | None, random: Callable[[], float]) -> float:
    """Seconds to wait after failed attempt number ``attempt`` (1-based).

    Doubling from one second up to a bound, half of it at random (0 ≤ ``random()`` < 1) so that many clients
    do not come back together; never less than the endpoint ``asked`` for.
    """
    step: float = min(FIRST_WAIT * 2.0 ** min(attempt - 1, 30), LONGEST_BACKOFF)
    return max(step * (0.5 + 0.5 * random()), asked or 0.0)
