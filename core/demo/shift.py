"""Moving the demo through time: whole-day shifts of dates in texts, and moments for modification times."""

from __future__ import annotations

import re
import zlib
from datetime import UTC, date, datetime, timedelta

from core.errors import UsageError

BASE_DAY = date(2026, 6, 30)
"""The day the texts are written for: the newest log is of this day."""

_ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_FLUSH = re.compile(r"<!-- flush (\d{2}):(\d{2}):(\d{2}) UTC -->")
_ENDED = re.compile(r"\*\*Date\*\*: \d{4}-\d{2}-\d{2} (\d{2}):(\d{2}) UTC")
_DAY_SECONDS = 86_400


class Shift:
    """Moves everything from ``BASE_DAY`` to the UTC day of ``now`` (unix seconds).

    Raises:
        UsageError: ``now`` is not in the years 1971 to 9998, or is no time at all.
    """

    def __init__(self, now: float) -> None:
        try:
            self.today = datetime.fromtimestamp(now, UTC).date()
        except (ValueError, OverflowError, OSError):
            self.today = date.min
        if not 1971 <= self.today.year <= 9998:
            raise UsageError(
                f"the demo cannot be moved to {now!r} unix seconds",
                hint="Set MEMDECK_NOW to something like 1767225600, or unset it.",
            )
        self.now = now
        self.days = (self.today - BASE_DAY).days

    def day(self, base: date) -> date:
        return base + timedelta(days=self.days)

    def text(self, text: str) -> str:
        """Move every ISO date in a text; what only looks like one (month 13) stays."""
        return _ISO_DATE.sub(self._moved, text)

    def _moved(self, match: re.Match[str]) -> str:
        try:
            base = date(int(match[1]), int(match[2]), int(match[3]))
            return self.day(base).isoformat()
        except (ValueError, OverflowError):
            return match[0]

    def moment(self, base: date, second_of_day: int) -> float:
        """Unix seconds of a time on a (base) day, never after ``now``.

        On the newest day times that have not come yet are squeezed, in order, into what has passed of it.
        """
        moved = self.day(base)
        midnight = datetime(moved.year, moved.month, moved.day, tzinfo=UTC).timestamp()
        planned = midnight + second_of_day
        if planned <= self.now:
            return planned
        return midnight + (self.now - midnight) * second_of_day / _DAY_SECONDS


def second_written(name: str, text: str) -> int:
    """Second of the UTC day a log was last written.

    That of its last flush mark or of its session summary; else a working hour derived from the name, the
    same in every run.
    """
    flushes = _FLUSH.findall(text)
    if flushes:
        hour, minute, second = flushes[-1]
        return int(hour) * 3600 + int(minute) * 60 + int(second)
    ended = _ENDED.search(text)
    if ended:
        return int(ended[1]) * 3600 + int(ended[2]) * 60 + 7
    return 8 * 3600 + zlib.crc32(name.encode()) % (10 * 3600)
