"""Index room: the reindex claim, ``pid:unixtime`` in ``meta``, as the agent takes and respects it."""

from __future__ import annotations

import apsw

from core.index.model import ClaimHolder
from core.index.schema import CLAIM_KEY

_TAKE = """
UPDATE meta SET value=:mine WHERE key=:key AND (
  value='' OR instr(value, ':')=0 OR CAST(substr(value, instr(value, ':') + 1) AS INTEGER) < :before
)
"""


def take(connection: apsw.Connection, pid: int, now: int, stale_seconds: int) -> str | None:
    """Take the claim with one UPDATE if it is empty or older than ``stale_seconds``.

    Returns the value written, to be given to ``release``, or None when somebody else holds it.
    """
    mine = f"{pid}:{now}"
    connection.execute("INSERT OR IGNORE INTO meta(key, value) VALUES(?, '')", (CLAIM_KEY,))
    connection.execute(_TAKE, {"mine": mine, "key": CLAIM_KEY, "before": now - stale_seconds})
    return mine if connection.changes() == 1 else None


def release(connection: apsw.Connection, mine: str) -> None:
    """Empty the claim, only if it is still the one that was taken."""
    connection.execute("UPDATE meta SET value='' WHERE key=? AND value=?", (CLAIM_KEY, mine))


def holder(connection: apsw.Connection, now: int, stale_seconds: int) -> ClaimHolder | None:
    """Who holds the claim now; None when it is free or stale."""
    row = connection.execute("SELECT value FROM meta WHERE key=?", (CLAIM_KEY,)).fetchone()
    value = str(row[0]) if row is not None else ""
    pid, mark, since = value.partition(":")
    if not mark or not pid.isdigit() or not since.isdigit() or int(since) < now - stale_seconds:
        return None
    return ClaimHolder(int(pid), int(since))
