"""Search room: whether a text is said already, by the nearest stored vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import apsw

from core.index.model import ChunkRow
from core.index.vectors import nearest
from core.search.candidates import COLUMNS
from core.search.scoring import similarity

NEIGHBOURS = 3
DEFAULT_THRESHOLD = 0.92


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """The chunk that says the same, and how alike they are: 1 − L2/2, clamped to 0..1."""

    chunk: ChunkRow
    similarity: float


def near_duplicate(
    connection: apsw.Connection,
    vector: bytes,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    arm: Literal["agent", "ours"] = "ours",
) -> NearDuplicate | None:
    """Return the nearest chunk when it is more alike than ``threshold`` (clamped to 0..1), else None.

    Looks at the three nearest.  A vector that cannot be compared (another size) is no duplicate.
    """
    try:
        found = nearest(connection, arm, vector, NEIGHBOURS, COLUMNS)
    except apsw.SQLError:
        return None
    limit = min(max(threshold, 0.0), 1.0)
    best = max(found, key=lambda item: similarity(item[1]), default=None)
    if best is None or similarity(best[1]) <= limit:
        return None
    return NearDuplicate(best[0], similarity(best[1]))
