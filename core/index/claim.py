"""Index room: the reindex claim, ``pid:unixtime`` in ``meta``, as the agent takes and respects it."""

from __future__ import annotations

import re

import apsw

from core.index.model import ClaimHolder
from core.index.schema import CLAIM_KEY

_TAKE = """
UPDATE meta SET value=:mine WHERE key=:key AND (
  value='' OR instr(value, ':')=0
  OR CAST(substr(value, instr(value, ':') + 1) AS INTEGER) NOT BETWEEN :before AND :after
)
"""
_CLAIM = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")
_FAR = 2**62


def take(connection: apsw.Connection, pid: int, now: int, stale_seconds: int) -> str | None:
    """Take the claim with one UPDATE if it is empty or older than ``stale_seconds``.

    One from as far in the future is void as well: the clock was set back since, or it is no claim, and it
    would keep everybody out until then.  Returns the value written, to be given to ``release``, or None when somebody else holds it.
    """
    mine = f"{pid}:{now}"
    connection.execute("INSERT OR IGNORE INTO meta(key, value) VALUES(?, '')", (CLAIM_KEY,))
    stale = min(stale_seconds, _FAR)
    connection.execute(_TAKE, {"mine": mine, "key": CLAIM_KEY, "before": now - stale, "after": now + stale})
    return mine if connection.changes() == 1 else None


def release(connection: apsw.Connection, mine: str) -> None:
    """Empty the claim, only if it is still the one that was taken."""
    connection.execute("UPDATE meta SET value='' WHERE key=? AND value=?", (CLAIM_KEY, mine))


def holder(connection: apsw.Connection, now: int, stale_seconds: int) -> ClaimHolder | None:
    """Who holds the claim now; None when it is free, stale or not written as a claim is."""
    row = connection.execute("SELECT value FROM meta WHERE key=?", (CLAIM_KEY,)).fetchone()
    match = _CLAIM.fullmatch(str(row[0])) if row is not None else None
    if match is None or abs(int(match.group(2)) - now) > stale_seconds:
        return None
    return ClaimHolder(int(match.group(1)), int(match.group(2)))
