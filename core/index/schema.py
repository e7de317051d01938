"""Index room: the tables of an index — the agent's, and beside them ours, prefixed ``memdeck_``."""

from __future__ import annotations

CHUNK_COLUMNS = (
    "rowid",
    "id",
    "path",
    "start_line",
    "end_line",
    "text",
    "hash",
    "source",
    "created_at",
    "updated_at",
    "access_count",
    "last_accessed",
)

# The agent's own schema, version 1 (no version is stored in the file).
AGENT_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunks (
  rowid INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  path TEXT NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  text TEXT NOT NULL,
  hash TEXT NOT NULL,
  source TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  access_count INTEGER NOT NULL DEFAULT 0,
  last_accessed INTEGER
);
CREATE INDEX IF NOT EXISTS idx_chunks_path ON chunks(path);
CREATE INDEX IF NOT EXISTS idx_chunks_hash ON chunks(hash);
CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts USING fts5(text, content='');
"""

VECTOR_SCHEMA = """
CREATE VIRTUAL TABLE IF NOT EXISTS chunks_vec
USING vec0(chunk_id TEXT PRIMARY KEY, embedding FLOAT[{dimensions}]);
"""

# Ours hold no text and no triggers (those would run in the agent), and are keyed by rowid and hash, so that
# a row the agent rewrote is noticed and repaired.  ``memdeck_files`` remembers what each file looked like when
# it was indexed, and which rows it had then (their count and the sum of their rowids).
OUR_SCHEMA = """
CREATE TABLE IF NOT EXISTS memdeck_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS memdeck_files (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  chunks INTEGER NOT NULL, rowids INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memdeck_gram_rows (rowid INTEGER PRIMARY KEY, hash TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS memdeck_grams USING fts5(grams, content='', contentless_delete=1);
"""

OUR_COLUMNS = {
    "memdeck_meta": {"key", "value"},
    "memdeck_files": {"path", "size", "mtime_ns", "inode", "chunks", "rowids"},
    "memdeck_gram_rows": {"rowid", "hash"},
    "memdeck_grams": {"grams"},
}
PAIR_TABLES = {"memdeck_gram_rows", "memdeck_grams"}

CLAIM_KEY = "reindex_claim"
DIMENSIONS_KEY = "embedding_dimensions"
OUR_VERSION = "1"
