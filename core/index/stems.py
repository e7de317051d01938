"""Index room: the word index of the profile ``tuned`` — stems, parts of identifiers, character pairs, headings.

It is made when the profile is first used and brought in step before each of its searches, so that nobody else
pays for it.  Like all of ours it holds no text, and is keyed by rowid and hash.
"""

from __future__ import annotations

import re

import apsw

from core.index.comments import without_comments
from core.index.database import Database
from core.index.grams import gram_text
from core.index.headings import heading_path

_TABLES = """
CREATE TABLE IF NOT EXISTS memdeck_stem_rows (rowid INTEGER PRIMARY KEY, hash TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS memdeck_stems
USING fts5(heading, body, parts, content='', contentless_delete=1, tokenize='porter unicode61');
"""
_OFF = """
SELECT c.rowid FROM chunks c LEFT JOIN memdeck_stem_rows s ON s.rowid = c.rowid WHERE s.hash IS NOT c.hash
"""
_ORPHANS = "SELECT rowid FROM memdeck_stem_rows WHERE rowid NOT IN (SELECT rowid FROM chunks)"
BATCH = 500
BATCH_CHARS = 1_000_000
"""Most of one transaction: the agent waits five seconds for its turn, and no longer."""

_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"[a-z0-9][A-Z]")
_CAMEL_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LOG_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-(.*?)(?:-[0-9a-f]{8})?\.md\Z")


def identifier_parts(text: str) -> list[str]:
    """Split camelCase words into their parts (``_``, ``-``, ``/`` and ``.`` split in the tokenizer itself)."""
    # Word by word: a pattern of the whole would begin anew at each character of a long word without a joint.
    return [part for word in _WORD.findall(text) if _HUMP.search(word) for part in _CAMEL_JOINT.split(word)]


def log_topic(path: str) -> str:
    """The words of a log's file name: its slug without date and session."""
    match = _LOG_NAME.search(path.rsplit("/", 1)[-1])
    return match.group(1).replace("-", " ").replace("_", " ") if match else ""


def bring_in_step(database: Database) -> int:
    """Index every row that is missing or was rewritten; return how many.  Writes only when there is something.

    Raises:
        apsw.BusyError: another process wrote for longer than the busy time-out.
    """
    version = database.data_version()
    if database.stems_version == version:
        return 0  # nobody wrote to the file since it was looked at
    with database.reading() as reader:
        if _has_tables(reader) and not _first(reader, _OFF) and not _first(reader, _ORPHANS):
            database.stems_version = version
            return 0
    with database.writing() as writer:
        writer.execute(_TABLES)
        orphans = [(row[0],) for row in writer.execute(_ORPHANS)]
        writer.executemany("DELETE FROM memdeck_stems WHERE rowid=?", orphans)
        writer.executemany("DELETE FROM memdeck_stem_rows WHERE rowid=?", orphans)
    with database.reading() as reader:
        off = [int(str(row[0])) for row in reader.execute(_OFF)]
    done = 0
    while done < len(off):
        done += _bring_in(database, off[done : done + BATCH])
    return len(off) + len(orphans)


def _bring_in(database: Database, rowids: list[int]) -> int:
    """Index the first of some rows, up to ``BATCH_CHARS``; return how many.

    Their words are found before the write lock is taken, so that it is held for moments; a row that changes
    meanwhile is not written, and found again the next time.
    """
    rows: list[tuple[int, str, tuple[str, str, str]]] = []
    looked = size = 0
    with database.reading() as reader:
        marks = ",".join("?" * len(rowids))
        sizes = {
            int(str(row[0])): int(str(row[1]))
            for row in reader.execute(
                f"SELECT rowid, length(text) FROM chunks WHERE rowid IN ({marks})", rowids
            )
        }
    for rowid in rowids:
        if looked and size + sizes.get(rowid, 0) > BATCH_CHARS:
            break
        looked, size = looked + 1, size + sizes.get(rowid, 0)
        with database.reading() as reader:
            row = reader.execute("SELECT path, text, hash FROM chunks WHERE rowid=?", (rowid,)).fetchone()
        if row is not None:
            rows.append((rowid, str(row[2]), _columns(str(row[0]), str(row[1]))))
    with database.writing() as writer:
        for rowid, digest, columns in rows:
            now = writer.execute("SELECT hash FROM chunks WHERE rowid=?", (rowid,)).fetchone()
            if now is None or now[0] != digest:
                continue
            writer.execute("DELETE FROM memdeck_stems WHERE rowid=?", (rowid,))
            writer.execute(
                "INSERT INTO memdeck_stems(rowid, heading, body, parts) VALUES(?, ?, ?, ?)", (rowid, *columns)
            )
            writer.execute(
                "INSERT OR REPLACE INTO memdeck_stem_rows(rowid, hash) VALUES(?, ?)", (rowid, digest)
            )
    return looked


def _has_tables(connection: apsw.Connection) -> bool:
    return _first(connection, "SELECT 1 FROM sqlite_master WHERE name='memdeck_stem_rows'")


def _first(connection: apsw.Connection, sql: str) -> bool:
    return connection.execute(f"{sql} LIMIT 1").fetchone() is not None


def _columns(path: str, text: str) -> tuple[str, str, str]:
    heading = " ".join((*heading_path(text), log_topic(path)))
    # Marks and flush stamps are no content: a person never asks for them.
    body = without_comments(text, " ")
    return heading, body, " ".join((*identifier_parts(text), gram_text(text)))
