"""Search room: reads the trust marks of a chunk, for the filters ``trust:`` and ``valid:`` (pure)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

MARK = re.compile(
    r"<!-- memdeck: (?P<state>verified|disputed|superseded)"
    r"(?: from=(?P<from>\d{4}-\d{2}-\d{2}))?(?: until=(?P<until>\d{4}-\d{2}-\d{2}))? -->[ \t]*$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark: its state, and the days it holds from and until (ISO dates, inclusive) if given."""

    state: str
    since: str | None
    until: str | None

    def holds_on(self, day: str) -> bool:
        """True when what it stands by is in force on an ISO day; a superseded fact is until its last day."""
        if self.state == "superseded" and self.until is None:
            return False
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


def marks_of(text: str) -> list[Mark]:
    """Return the trust marks of a text, at a line's end or on a line under a heading."""
    if "<!-- memdeck:" not in text:
        return []
    return [Mark(match["state"], match["from"], match["until"]) for match in MARK.finditer(text)]


def passes_marks(text: str, states: Sequence[str], valid: str | None, now: float) -> bool:
    """True when a chunk carries one of ``states`` (``none``: no mark) and is valid on the day asked for.

    ``valid`` is an ISO date or ``now``; a chunk without marks is valid, one whose marks are all superseded
    or out of their dates is not.
    """
    marks = marks_of(text)
    if states and not (any(mark.state in states for mark in marks) or ("none" in states and not marks)):
        return False
    if valid is not None and marks:
        day = dt.datetime.fromtimestamp(now, dt.UTC).date().isoformat() if valid == "now" else valid
        return any(mark.holds_on(day) for mark in marks)
    return True
