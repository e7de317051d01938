"""Index room: writes the chunks of one file into an open transaction, matching old and new rows by text.

Text that only moved keeps its row (so its ``created_at``, access count and vector), and its id and line
numbers follow.  A chunk whose text changed in place keeps its row as the agent would; deletes go through
all tables.  Every function works inside the caller's transaction.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import apsw

from core.index.chunker import chunk_hash
from core.index.grams import gram_text, has_unspaced
from core.index.model import Chunk, ordinal_of
from core.store.model import Source

_DATED = re.compile(r"(\d{4})-(\d{2})-(\d{2})-")
_NOON = 12 * 3600
_USUAL_BYTES = 1024 * 1024  # FTS5's own default
_GATHERED_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class Counts:
    """How many chunks a write added, changed in place, moved and removed."""

    added: int = 0
    updated: int = 0
    moved: int = 0
    removed: int = 0

    def add(self, other: Counts) -> None:
        self.added += other.added
        self.updated += other.updated
        self.moved += other.moved
        self.removed += other.removed

    @property
    def changed(self) -> bool:
        return bool(self.added or self.updated or self.moved or self.removed)


@dataclass(frozen=True, slots=True)
class _Old:
    rowid: int
    id: str
    start_line: int
    end_line: int
    hash: str
    source: str

    @property
    def ordinal(self) -> int:
        return ordinal_of(self.id)


def born(name: str, source: Source, mtime: float, now: float, *, first_time: bool) -> int:
    """Return ``created_at`` (unix seconds) of new chunks of a file.

    A log at its first indexing: its mtime when the mtime's UTC date is the name's date or the day after,
    else the name's date at 12:00 UTC; a log without a date: its mtime.  Curated files, and chunks that
    come to a known file later: now.
    """
    if source != "session" or not first_time:
        return int(now)
    match = _DATED.match(name)
    if match is None:
        return int(mtime)
    try:
        day = dt.date(*(int(part) for part in match.groups()))
    except ValueError:
        return int(mtime)
    written = dt.datetime.fromtimestamp(mtime, dt.UTC).date()
    if written in (day, day + dt.timedelta(days=1)):
        return int(mtime)
    return int(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp()) + _NOON


def write_file(
    connection: apsw.Connection,
    path: str,
    source: Source,
    chunks: Sequence[Chunk],
    *,
    created_at: int,
    now: int,
    vectors: bool = False,
) -> Counts:
    """Make the rows of ``path`` equal to ``chunks``; ``vectors``: ``chunks_vec`` exists and can be changed."""
    old = [
        _Old(*row)
        for row in connection.execute(
            "SELECT rowid, id, start_line, end_line, hash, source FROM chunks WHERE path=? ORDER BY rowid",
            (path,),
        )
    ]
    counts = Counts()
    if not old:
        _insert_all(connection, path, source, enumerate(chunks), created_at, now)
        counts.added = len(chunks)
        return counts
    kept, changed, gone, fresh = _match(old, chunks)
    for row in gone:
        _delete_row(connection, row.rowid, row.id, vectors)
    counts.removed = len(gone)
    _renumber(connection, path, kept, vectors)
    counts.moved = sum(1 for row, ordinal in kept if row.ordinal != ordinal)
    for row, ordinal in kept:
        chunk = chunks[ordinal]
        if (row.start_line, row.end_line, row.source) != (chunk.start_line, chunk.end_line, source):
            connection.execute(
                "UPDATE chunks SET start_line=?, end_line=?, source=? WHERE rowid=?",
                (chunk.start_line, chunk.end_line, source, row.rowid),
            )
    for row, ordinal in changed:
        _rewrite(connection, row, source, chunks[ordinal], now, vectors)
    counts.updated = len(changed)
    _insert_all(connection, path, source, ((ordinal, chunks[ordinal]) for ordinal in fresh), created_at, now)
    counts.added = len(fresh)
    return counts


_Pairs = list[tuple[_Old, int]]


def _match(old: list[_Old], chunks: Sequence[Chunk]) -> tuple[_Pairs, _Pairs, list[_Old], list[int]]:
    """Pair old rows with new ordinals: same text (in place first, then moved), then same ordinal."""
    kept: _Pairs = []
    left: dict[int, _Old] = {}
    taken: set[int] = set()
    for row in old:
        ordinal = row.ordinal
        if 0 <= ordinal < len(chunks) and chunks[ordinal].hash == row.hash and ordinal not in taken:
            kept.append((row, ordinal))
            taken.add(ordinal)
        else:
            left[row.rowid] = row
    by_hash: defaultdict[str, list[_Old]] = defaultdict(list)
    for row in sorted(left.values(), key=lambda item: item.ordinal, reverse=True):
        by_hash[row.hash].append(row)
    for ordinal, chunk in enumerate(chunks):
        if ordinal not in taken and by_hash[chunk.hash]:
            row = by_hash[chunk.hash].pop()
            kept.append((row, ordinal))
            taken.add(ordinal)
            del left[row.rowid]
    changed: _Pairs = []
    for row in list(left.values()):
        if 0 <= row.ordinal < len(chunks) and row.ordinal not in taken:
            changed.append((row, row.ordinal))
            taken.add(row.ordinal)
            del left[row.rowid]
    fresh = [ordinal for ordinal in range(len(chunks)) if ordinal not in taken]
    return kept, changed, list(left.values()), fresh


def _renumber(connection: apsw.Connection, path: str, kept: _Pairs, vectors: bool) -> None:
    moving = [(row, f"{path}:{ordinal}") for row, ordinal in kept if row.id != f"{path}:{ordinal}"]
    if not moving:
        return
    embeddings: dict[int, bytes] = {}
    for row, _ in moving:
        # Ids are unique: step aside first, so that two chunks can swap places.
        connection.execute("UPDATE chunks SET id=? WHERE rowid=?", (f"\x00moving:{row.rowid}", row.rowid))
        if vectors:
            found = connection.execute(
                "SELECT embedding FROM chunks_vec WHERE chunk_id=?", (row.id,)
            ).fetchone()
            if found is not None:
                embeddings[row.rowid] = found[0]
                connection.execute("DELETE FROM chunks_vec WHERE chunk_id=?", (row.id,))
    for row, new_id in moving:
        connection.execute("UPDATE chunks SET id=? WHERE rowid=?", (new_id, row.rowid))
        if row.rowid in embeddings:
            # One may be left of a chunk whose row is gone.
            connection.execute("DELETE FROM chunks_vec WHERE chunk_id=?", (new_id,))
            connection.execute(
                "INSERT INTO chunks_vec(chunk_id, embedding) VALUES(?, ?)", (new_id, embeddings[row.rowid])
            )


def _rewrite(
    connection: apsw.Connection, row: _Old, source: Source, chunk: Chunk, now: int, vectors: bool
) -> None:
    text = connection.execute("SELECT text FROM chunks WHERE rowid=?", (row.rowid,)).fetchone()[0]  # type: ignore[index]
    _unindex_text(connection, row.rowid, str(text))
    if vectors:
        connection.execute("DELETE FROM chunks_vec WHERE chunk_id=?", (row.id,))
    connection.execute(
        "UPDATE chunks SET start_line=?, end_line=?, text=?, hash=?, source=?, updated_at=? WHERE rowid=?",
        (chunk.start_line, chunk.end_line, chunk.text, chunk.hash, source, now, row.rowid),
    )
    connection.execute("INSERT INTO chunks_fts(rowid, text) VALUES(?, ?)", (row.rowid, chunk.text))
    write_grams(connection, [(row.rowid, chunk.text, chunk.hash)], replaces=True)


def _insert_all(
    connection: apsw.Connection,
    path: str,
    source: Source,
    numbered: Iterable[tuple[int, Chunk]],
    created_at: int,
    now: int,
) -> None:
    values = [
        (
            f"{path}:{ordinal}",
            path,
            chunk.start_line,
            chunk.end_line,
            chunk.text,
            chunk.hash,
            source,
            created_at,
            now,
        )
        for ordinal, chunk in numbered
    ]
    if not values:
        return
    connection.executemany(
        "INSERT INTO chunks(id, path, start_line, end_line, text, hash, source, created_at, updated_at)"
        " VALUES(?,?,?,?,?,?,?,?,?)",
        values,
    )
    # AUTOINCREMENT gives one more than the last, and nobody else writes inside our transaction.
    first = connection.last_insert_rowid() - len(values) + 1
    rows = [(rowid, row[4], row[5]) for rowid, row in enumerate(values, first)]
    connection.executemany(
        "INSERT INTO chunks_fts(rowid, text) VALUES(?, ?)", [(row[0], row[1]) for row in rows]
    )
    write_grams(connection, rows)


def write_grams(
    connection: apsw.Connection, rows: Sequence[tuple[int, str, str]], *, replaces: bool = False
) -> None:
    """Record (rowid, text, hash) rows in our pair index; ``replaces``: some may be there already."""
    if replaces:
        connection.executemany("DELETE FROM memdeck_grams WHERE rowid=?", [(row[0],) for row in rows])
    connection.executemany(
        "INSERT OR REPLACE INTO memdeck_gram_rows(rowid, hash) VALUES(?, ?)",
        [(row[0], row[2]) for row in rows],
    )
    connection.executemany(
        "INSERT INTO memdeck_grams(rowid, grams) VALUES(?, ?)",
        [(rowid, gram_text(text)) for rowid, text, _ in rows if has_unspaced(text)],
    )


def _unindex_text(connection: apsw.Connection, rowid: int, text: str) -> None:
    # A contentless FTS5 table cannot look the old text up: the delete must be given exactly that text.
    connection.execute(
        "INSERT INTO chunks_fts(chunks_fts, rowid, text) VALUES('delete', ?, ?)", (rowid, text)
    )


def _delete_row(connection: apsw.Connection, rowid: int, chunk_id: str, vectors: bool) -> None:
    row = connection.execute("SELECT text FROM chunks WHERE rowid=?", (rowid,)).fetchone()
    if row is None:
        return
    _unindex_text(connection, rowid, str(row[0]))
    if vectors:
        connection.execute("DELETE FROM chunks_vec WHERE chunk_id=?", (chunk_id,))
    connection.execute("DELETE FROM memdeck_grams WHERE rowid=?", (rowid,))
    connection.execute("DELETE FROM memdeck_gram_rows WHERE rowid=?", (rowid,))
    connection.execute("DELETE FROM chunks WHERE rowid=?", (rowid,))


def delete_path(connection: apsw.Connection, path: str, *, vectors: bool = False) -> int:
    """Delete every chunk of a path through all tables; return how many there were."""
    rows = list(connection.execute("SELECT rowid, id FROM chunks WHERE path=?", (path,)))
    for rowid, chunk_id in rows:
        _delete_row(connection, int(str(rowid)), str(chunk_id), vectors)
    connection.execute("DELETE FROM memdeck_files WHERE path=?", (path,))
    return len(rows)


def drop_misnamed(connection: apsw.Connection, *, vectors: bool = False) -> int:
    """Delete rows whose id is not made of their path: they take ids that other files' chunks need."""
    rows = list(
        connection.execute(
            "SELECT rowid, id FROM chunks WHERE substr(id, 1, length(path) + 1) IS NOT path || ':'"
        )
    )
    for rowid, chunk_id in rows:
        _delete_row(connection, int(str(rowid)), str(chunk_id), vectors)
    return len(rows)


@contextlib.contextmanager
def gathering(connection: apsw.Connection) -> Iterator[None]:
    """Let FTS5 gather the words of many rows before it writes them out; for the caller's transaction only.

    By itself it writes out at each megabyte, and spends a third of a full index on merging what it wrote.
    """
    kept = connection.execute("SELECT v FROM chunks_fts_config WHERE k='hashsize'").fetchone()
    setting = "INSERT INTO chunks_fts(chunks_fts, rank) VALUES('hashsize', ?)"
    connection.execute(setting, (_GATHERED_BYTES,))
    yield
    connection.execute(setting, (_USUAL_BYTES if kept is None else kept[0],))
    if kept is None:  # the table's settings are the agent's: as they were before
        connection.execute("DELETE FROM chunks_fts_config WHERE k='hashsize'")


def record_file(connection: apsw.Connection, path: str, stamp: tuple[int, int, int]) -> None:
    """Remember what a file looked like (size, mtime_ns, inode) and which rows it has now."""
    # Two statements: an INSERT … SELECT opens a statement journal, and at each of those FTS5 writes out all it
    # has gathered in memory, which doubled the time of a full index.
    rows = connection.execute(
        "SELECT count(*), ifnull(sum(rowid), 0) FROM chunks WHERE path=?", (path,)
    ).fetchone()
    assert rows is not None, "an aggregate has a row"
    connection.execute(
        "INSERT OR REPLACE INTO memdeck_files(path, size, mtime_ns, inode, chunks, rowids) VALUES(?,?,?,?,?,?)",
        (path, *stamp, *rows),
    )


def record_access(connection: apsw.Connection, chunk_ids: Iterable[str], now: int) -> None:
    """Count an agent's recall of each chunk (never called for a person's search)."""
    connection.executemany(
        "UPDATE chunks SET access_count = access_count + 1, last_accessed = ? WHERE id = ?",
        [(now, chunk_id) for chunk_id in chunk_ids],
    )


def forget_wrong_texts(connection: apsw.Connection) -> int:
    """Take the hash from rows whose text is not what it says, so that the next comparison writes them anew."""
    wrong = [
        row[0]
        for row in connection.execute("SELECT rowid, text, hash FROM chunks")
        if not isinstance(row[1], str) or chunk_hash(row[1]) != row[2]
    ]
    connection.executemany("UPDATE chunks SET hash='' WHERE rowid=?", [(rowid,) for rowid in wrong])
    return len(wrong)


def rebuild_text_index(connection: apsw.Connection) -> None:
    """Write the full-text and pair indexes anew from the texts of the rows."""
    connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES('delete-all')")
    connection.execute("INSERT INTO chunks_fts(rowid, text) SELECT rowid, text FROM chunks ORDER BY rowid")
    connection.execute("DROP TABLE memdeck_grams")
    connection.execute("DELETE FROM memdeck_gram_rows")
    connection.execute(
        "CREATE VIRTUAL TABLE memdeck_grams USING fts5(grams, content='', contentless_delete=1)"
    )
    repair_grams(connection)


def grams_off(connection: apsw.Connection) -> bool:
    """True when the pair index is not in step with the rows."""
    return any(
        connection.execute(f"{sql} LIMIT 1").fetchone() is not None
        for sql in (
            "SELECT 1 FROM chunks c LEFT JOIN memdeck_gram_rows g ON g.rowid = c.rowid WHERE g.hash IS NOT c.hash",
            "SELECT 1 FROM memdeck_gram_rows WHERE rowid NOT IN (SELECT rowid FROM chunks)",
        )
    )


def repair_grams(connection: apsw.Connection) -> int:
    """Bring the pair index in step with rows that others wrote; return how many rows were off."""
    orphans = [
        int(str(row[0]))
        for row in connection.execute(
            "SELECT rowid FROM memdeck_gram_rows WHERE rowid NOT IN (SELECT rowid FROM chunks)"
        )
    ]
    for rowid in orphans:
        connection.execute("DELETE FROM memdeck_grams WHERE rowid=?", (rowid,))
        connection.execute("DELETE FROM memdeck_gram_rows WHERE rowid=?", (rowid,))
    stale = [
        int(str(row[0]))
        for row in connection.execute(
            "SELECT c.rowid FROM chunks c LEFT JOIN memdeck_gram_rows g ON g.rowid = c.rowid"
            " WHERE g.hash IS NOT c.hash"
        )
    ]
    for start in range(0, len(stale), 500):
        part = stale[start : start + 500]
        marks = ",".join("?" * len(part))
        rows = [
            (int(str(rowid)), str(text), str(digest))
            for rowid, text, digest in connection.execute(
                f"SELECT rowid, text, hash FROM chunks WHERE rowid IN ({marks})", part
            )
        ]
        write_grams(connection, rows, replaces=True)
    return len(orphans) + len(stale)
