"""Peer of a full index: the same rows, known beforehand, into the same two tables in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from core.index.schema import AGENT_SCHEMA, CHUNK_COLUMNS

PRAGMAS = "PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16000"
"""Those of the product's own connections."""


def rows_of(index: Path) -> list[tuple[Any, ...]]:
    """Read every row of ``chunks`` of an index."""
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(f"SELECT {', '.join(CHUNK_COLUMNS)} FROM chunks ORDER BY rowid"))
    finally:
        connection.close()


def insert(path: Path, rows: Sequence[tuple[Any, ...]]) -> apsw.Connection:
    """Make a database and insert the rows; the caller closes it (outside the time that is taken)."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(PRAGMAS)
    connection.pragma("journal_mode", "wal")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(AGENT_SCHEMA)
    marks = ",".join("?" * len(CHUNK_COLUMNS))
    connection.executemany(f"INSERT INTO chunks({', '.join(CHUNK_COLUMNS)}) VALUES({marks})", rows)
    text = CHUNK_COLUMNS.index("text")
    connection.executemany(
        "INSERT INTO chunks_fts(rowid, text) VALUES(?, ?)", ((row[0], row[text]) for row in rows)
    )
    connection.execute("COMMIT")
    return connection
