"""Peer of a search: the two statements its rules call for, as the agent runs them, rows fetched and no more."""

from __future__ import annotations

from pathlib import Path

import apsw

from bench.peers.inserts import PRAGMAS
from core.search.query import extract_keywords, fts_any

_COLUMNS = (
    "c.rowid, c.id, c.path, c.start_line, c.end_line, c.text, c.hash, c.source, c.created_at, c.updated_at,"
    " c.access_count, c.last_accessed, f.rank"
)
_EVERY = (
    f"SELECT {_COLUMNS} FROM chunks_fts f JOIN chunks c ON c.rowid = f.rowid"
    " WHERE chunks_fts MATCH ? ORDER BY f.rank LIMIT ?"
)
_CURATED = (
    f"SELECT {_COLUMNS} FROM chunks_fts f JOIN chunks c ON c.rowid = f.rowid"
    " WHERE chunks_fts MATCH ? AND c.source IN ('global', 'workspace') ORDER BY f.rank LIMIT ?"
)


class BareSql:
    """A connection with the product's own settings that runs the two statements."""

    def __init__(self, index: Path, limit: int = 18) -> None:
        self._connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
        self._connection.execute(PRAGMAS)
        self._limit = limit

    def search(self, query: str) -> int:
        """Return how many rows came back."""
        expression = fts_any(extract_keywords(query))
        found = 0
        for sql in (_EVERY, _CURATED):
            found += len(self._connection.execute(sql, (expression, self._limit)).fetchall())
        return found

    def close(self) -> None:
        self._connection.close()
