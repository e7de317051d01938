"""Peer of a search: the two statements its rules call for, as the agent runs them, rows fetched and no more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import apsw
import sqlite_vec

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


_NEAREST = "SELECT hash FROM memdeck_vec WHERE embedding MATCH ? AND k = ? ORDER BY distance"
_BY_HASH = f"SELECT {_COLUMNS.removesuffix(', f.rank')} FROM chunks c WHERE c.hash = ?"


class BareSql:
    """A connection with the product's own settings that runs the two statements, and the KNN if it is given vectors.

    ``vectors``: a query's vector as sqlite-vec takes it, by query.
    """

    def __init__(self, index: Path, limit: int = 18, vectors: Mapping[str, bytes] | None = None) -> None:
        self._connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
        self._connection.execute(PRAGMAS)
        self._limit = limit
        self._vectors = vectors
        if vectors is not None:
            self._connection.enable_load_extension(True)
            self._connection.load_extension(sqlite_vec.loadable_path())

    def search(self, query: str) -> int:
        """Return how many rows came back."""
        expression = fts_any(extract_keywords(query))
        found = 0
        for sql in (_EVERY, _CURATED):
            found += len(self._connection.execute(sql, (expression, self._limit)).fetchall())
        if self._vectors is not None:
            near = self._connection.execute(_NEAREST, (self._vectors[query], self._limit)).fetchall()
            for (digest,) in near:
                found += len(self._connection.execute(_BY_HASH, (digest,)).fetchall())
        return found

    def close(self) -> None:
        self._connection.close()
