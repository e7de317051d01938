"""How old a result is, and the level of the note an agent gets with it (thresholds of the reference)."""

from __future__ import annotations

from typing import Literal

Level = Literal["fresh", "verify", "stale"]

VERIFY_DAYS = 1.0
STALE_DAYS = 7.0
_SECONDS_A_DAY = 86_400.0


def staleness(source: str, created_at: float | None, now: float) -> tuple[Level, str]:
    """Return the level of a result and its age in words ("" when fresh).

    Curated sources are always fresh.  Others: older than one day → verify, older than seven → stale.
    """
    if source in ("global", "workspace") or created_at is None:
        return "fresh", ""
    days = (now - created_at) / _SECONDS_A_DAY
    if days <= VERIFY_DAYS:
        return "fresh", ""
    return ("stale" if days > STALE_DAYS else "verify"), format_age(days)


def format_age(days: float) -> str:
    """Return an age in words: ``3 days ago`` below a week (days cut), ``2 weeks ago`` from then (rounded)."""
    if days < STALE_DAYS:
        count, unit = int(days), "day"
    else:
        count, unit = int(days / 7.0 + 0.5), "week"
    return f"{count} {unit}{'' if count == 1 else 's'} ago"
