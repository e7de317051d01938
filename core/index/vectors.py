"""Index room: our vectors, keyed by chunk hash, and the nearest chunks to a query vector — ours or the agent's.

``chunks_vec`` is the agent's: read here, never written.  ``memdeck_vec`` is ours; it is made when an embedding
provider is first used, and holds vectors of one provider, model and size, named by a fingerprint.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import apsw

from core.errors import MemdeckError
from core.index.model import ChunkRow
from core.index.schema import DIMENSIONS_KEY

FINGERPRINT_KEY = "vector_fingerprint"
SIZE_KEY = "vector_dimensions"

# Passages of a text have vectors of their own, for the profile ``tuned``; they are found by rowid and belong to
# the hash of their chunk.
_TABLES = """
CREATE TABLE IF NOT EXISTS memdeck_passages (rowid INTEGER PRIMARY KEY, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS idx_memdeck_passages_hash ON memdeck_passages(hash);
CREATE VIRTUAL TABLE IF NOT EXISTS memdeck_passage_vec USING vec0(embedding FLOAT[{dimensions}]);
CREATE TABLE IF NOT EXISTS memdeck_vec_skipped (hash TEXT PRIMARY KEY, why TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS memdeck_vec
USING vec0(hash TEXT PRIMARY KEY, embedding FLOAT[{dimensions}]);
"""


class BadVector(MemdeckError):
    """A vector that cannot be stored or searched: wrong length, zero, or not a number."""


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """How many texts have a vector.  ``state``: ``none`` (no table yet), ``filling``, ``complete``, ``changed``
    (vectors of another model are stored: paused until they are made anew)."""

    state: Literal["none", "filling", "complete", "changed"]
    fingerprint: str = ""
    stored: int = 0
    missing: int = 0
    skipped: int = 0


def check_vector(blob: bytes, dimensions: int) -> bytes:
    """Return a float32 little-endian vector if it can be used.

    Raises:
        BadVector: its length is not ``dimensions``, it holds NaN or infinity, or it is zero.
    """
    if len(blob) != 4 * dimensions:
        raise BadVector(
            f"a vector has {len(blob) // 4} dimensions, the index holds {dimensions}",
            hint="Set the dimensions the model really gives, and embed again.",
            data="Text search goes on; no vector was stored.",
        )
    values = struct.unpack(f"<{dimensions}f", blob)
    if not all(map(math.isfinite, values)):
        raise BadVector("a vector holds NaN or infinity", data="It was not stored.")
    if not any(values):
        raise BadVector("a vector is zero, so it is near to nothing", data="It was not stored.")
    return blob


def stored_fingerprint(connection: apsw.Connection) -> str:
    """The fingerprint of the vectors that are stored, "" when there are none."""
    row = connection.execute("SELECT value FROM memdeck_meta WHERE key=?", (FINGERPRINT_KEY,)).fetchone()
    return str(row[0]) if row is not None else ""


def stored_dimensions(connection: apsw.Connection) -> int:
    row = connection.execute("SELECT value FROM memdeck_meta WHERE key=?", (SIZE_KEY,)).fetchone()
    return int(str(row[0])) if row is not None else 0


def prepare(writer: apsw.Connection, fingerprint: str, dimensions: int, *, again: bool = False) -> bool:
    """Make our tables for a fingerprint; False when vectors of another model are there (nothing is changed).

    ``again`` drops those and starts anew.  Works inside the caller's transaction; sqlite-vec is loaded.
    """
    before = stored_fingerprint(writer)
    if before and before != fingerprint:
        if not again:
            return False
        for table in ("memdeck_vec", "memdeck_passage_vec", "memdeck_vec_skipped", "memdeck_passages"):
            writer.execute(f"DROP TABLE IF EXISTS {table}")
    writer.execute(_TABLES.format(dimensions=int(dimensions)))
    writer.execute(
        "INSERT OR REPLACE INTO memdeck_meta(key, value) VALUES(?, ?), (?, ?)",
        (FINGERPRINT_KEY, fingerprint, SIZE_KEY, str(dimensions)),
    )
    return True


def has_tables(connection: apsw.Connection) -> bool:
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE name='memdeck_vec_skipped'").fetchone()
    return row is not None


def stored_for(connection: apsw.Connection, fingerprint: str) -> tuple[str, bool]:
    """The fingerprint of the stored vectors, and whether there are any of ``fingerprint``; counts nothing."""
    if not has_tables(connection):
        return "", False
    before = stored_fingerprint(connection)
    any_row = connection.execute("SELECT 1 FROM memdeck_vec_rowids LIMIT 1").fetchone()
    return before, before == fingerprint and any_row is not None


def vector_status(connection: apsw.Connection, fingerprint: str) -> VectorStatus:
    """Count stored, missing and skipped texts for a fingerprint."""
    if not has_tables(connection):
        return VectorStatus("none", fingerprint)
    stored = _count(connection, "SELECT count(*) FROM memdeck_vec_rowids")
    before = stored_fingerprint(connection)
    if before != fingerprint:
        return VectorStatus("changed", before, stored)
    missing = _count(connection, f"SELECT count(*) FROM ({_MISSING})")
    skipped = _count(connection, "SELECT count(*) FROM memdeck_vec_skipped")
    return VectorStatus("filling" if missing else "complete", before, stored, missing, skipped)


def _count(connection: apsw.Connection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    return int(str(row[0])) if row is not None else 0


# The shadow table of vec0 maps our key to its row; asking it is a thousand times cheaper than asking the
# virtual table, which would look through its vectors.
_MISSING = """
SELECT DISTINCT c.hash FROM chunks c
WHERE NOT EXISTS (SELECT 1 FROM memdeck_vec_rowids v WHERE v.id = c.hash)
AND NOT EXISTS (SELECT 1 FROM memdeck_vec_skipped s WHERE s.hash = c.hash)
"""


def missing_texts(connection: apsw.Connection, limit: int, after: str = "") -> list[tuple[str, str]]:
    """Return (hash, text) of chunks that have no vector yet: the first ``limit`` hashes above ``after``.

    Going on after the last hash spares looking again at all that were filled before.
    """
    hashes = [
        str(row[0])
        for row in connection.execute(f"{_MISSING} AND c.hash > ? ORDER BY c.hash LIMIT ?", (after, limit))
    ]
    found: list[tuple[str, str]] = []
    for digest in hashes:
        row = connection.execute("SELECT text FROM chunks WHERE hash=? LIMIT 1", (digest,)).fetchone()
        if row is not None:
            found.append((digest, str(row[0])))
    return found


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vector of a chunk's text (by its hash), and those of its passages, if they are wanted."""

    hash: str
    vector: bytes
    passages: tuple[bytes, ...] = ()


def store(
    writer: apsw.Connection,
    vectors: Iterable[TextVectors],
    skipped: Iterable[tuple[str, str]] = (),
    *,
    fingerprint: str,
) -> int:
    """Store vectors of texts that are still there; return how many.  Works inside the caller's transaction.

    ``skipped``: (hash, why) of texts without a usable vector.  A text whose file was deleted or changed while
    it was being embedded is not written back, and nothing is stored for another fingerprint than the one in
    the index.

    Raises:
        BadVector: one of them cannot be stored (then none should be: roll back).
    """
    if stored_fingerprint(writer) != fingerprint:
        return 0
    dimensions = stored_dimensions(writer)
    count = 0
    for item in vectors:
        if not _exists(writer, "SELECT 1 FROM chunks WHERE hash=? LIMIT 1", item.hash):
            continue
        if _exists(writer, "SELECT 1 FROM memdeck_vec_rowids WHERE id=?", item.hash):
            continue
        writer.execute(
            "INSERT INTO memdeck_vec(hash, embedding) VALUES(?, ?)",
            (item.hash, check_vector(item.vector, dimensions)),
        )
        for blob in item.passages:
            writer.execute("INSERT INTO memdeck_passages(hash) VALUES(?)", (item.hash,))
            writer.execute(
                "INSERT INTO memdeck_passage_vec(rowid, embedding) VALUES(?, ?)",
                (writer.last_insert_rowid(), check_vector(blob, dimensions)),
            )
        count += 1
    writer.executemany("INSERT OR REPLACE INTO memdeck_vec_skipped(hash, why) VALUES(?, ?)", list(skipped))
    return count


def _exists(connection: apsw.Connection, sql: str, value: str) -> bool:
    return connection.execute(sql, (value,)).fetchone() is not None


def drop_orphans(writer: apsw.Connection) -> int:
    """Delete vectors of texts that are nowhere any more; works inside the caller's transaction."""
    if not has_tables(writer):
        return 0
    orphans = [
        str(row[0])
        for row in writer.execute(
            "SELECT v.id FROM memdeck_vec_rowids v WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.hash = v.id)"
        )
    ]
    writer.executemany("DELETE FROM memdeck_vec WHERE hash=?", [(digest,) for digest in orphans])
    for digest in orphans:
        rows = list(writer.execute("SELECT rowid FROM memdeck_passages WHERE hash=?", (digest,)))
        writer.executemany("DELETE FROM memdeck_passage_vec WHERE rowid=?", rows)
        writer.execute("DELETE FROM memdeck_passages WHERE hash=?", (digest,))
    writer.execute(
        "DELETE FROM memdeck_vec_skipped WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.hash = memdeck_vec_skipped.hash)"
    )
    return len(orphans)


def agent_dimensions(connection: apsw.Connection) -> int:
    """The size of the agent's own vectors as ``meta`` names it, 0 when it has none."""
    row = connection.execute("SELECT value FROM meta WHERE key=?", (DIMENSIONS_KEY,)).fetchone()
    return int(str(row[0])) if row is not None and str(row[0]).isdigit() else 0


def nearest(
    connection: apsw.Connection, arm: Literal["agent", "ours"], query: bytes, limit: int, columns: str
) -> list[tuple[ChunkRow, float]]:
    """Return the ``limit`` nearest chunks and their L2 distances; sqlite-vec is loaded.

    The vectors are read first and the chunks joined after, in two statements: in one, the planner may scan
    the chunks and ask for each of them whether it is among the nearest, which takes a thousand times longer.
    """
    if limit <= 0:
        return []
    table, key = ("chunks_vec", "chunk_id") if arm == "agent" else ("memdeck_vec", "hash")
    found = [
        (str(name), float(str(distance)))
        for name, distance in connection.execute(
            f"SELECT {key}, distance FROM {table} WHERE embedding MATCH ? AND k = ? ORDER BY distance",
            (query, limit),
        )
    ]
    column = "id" if arm == "agent" else "hash"
    rows: list[tuple[ChunkRow, float]] = []
    for name, distance in found:
        rows += [
            (ChunkRow.of(values), distance)
            for values in connection.execute(f"SELECT {columns} FROM chunks c WHERE c.{column} = ?", (name,))
        ]
    return rows


def nearest_passages(
    connection: apsw.Connection, query: bytes, limit: int, columns: str
) -> list[tuple[ChunkRow, float]]:
    """Return the chunks of the ``limit`` nearest passages, each once with its best passage's L2 distance."""
    best: dict[str, float] = {}
    if limit <= 0:
        return []
    nearest_rows = connection.execute(
        "SELECT rowid, distance FROM memdeck_passage_vec WHERE embedding MATCH ? AND k = ? ORDER BY distance",
        (query, limit),
    ).fetchall()
    for rowid, distance in nearest_rows:
        row = connection.execute("SELECT hash FROM memdeck_passages WHERE rowid=?", (rowid,)).fetchone()
        if row is not None:
            best.setdefault(str(row[0]), float(str(distance)))
    return [
        (ChunkRow(*values[:12]), distance)
        for digest, distance in best.items()
        for values in connection.execute(f"SELECT {columns} FROM chunks c WHERE c.hash = ?", (digest,))
    ]


def pack(values: Sequence[float]) -> bytes:
    """Return a vector as sqlite-vec takes it: float32, little-endian."""
    return struct.pack(f"<{len(values)}f", *values)
