"""Journal room: the tables of the index, and how lines of the journal get into them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import apsw

from core.journal.lines import Broken, fields_of, link
from core.journal.log import line_at, lines
from core.journal.model import BASELINE

VERSION = 1
TABLES = ("meta", "records", "files", "purged", "seen")
SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value);
CREATE TABLE files(num INTEGER PRIMARY KEY, path BLOB UNIQUE, object BLOB);
CREATE TABLE records(pos INTEGER PRIMARY KEY, size INTEGER, id INTEGER, time REAL, actor TEXT, file INTEGER,
                     after BLOB, step TEXT, undo_of INTEGER);
CREATE INDEX records_id ON records(id);
CREATE INDEX records_file ON records(file, pos);
CREATE INDEX records_step ON records(step) WHERE step IS NOT NULL;
CREATE INDEX records_undo ON records(undo_of) WHERE undo_of IS NOT NULL;
CREATE TABLE purged(object BLOB PRIMARY KEY);
CREATE TABLE seen(path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode INTEGER, object BLOB);
PRAGMA user_version={VERSION};
"""
_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the index has read: bytes, where the last line began, what it links to, and how many lines."""

    offset: int = 0
    start: int = 0
    last: str = ""
    lines: int = 0

    def still_in(self, handle: int | None, size: int) -> bool:
        """Whether the journal still is the one that was read, as far as it was."""
        if self.offset == 0:
            return True
        if handle is None or size < self.offset:
            return False
        line = line_at(handle, self.start, self.offset - self.start)
        return line.endswith(b"\n") and link(line) == self.last


def read_reach(db: apsw.Connection) -> Reach:
    found = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('offset','start','last','lines')"))
    return Reach(**found) if len(found) == 4 else Reach()


def write_reach(db: apsw.Connection, reach: Reach) -> None:
    rows = [("offset", reach.offset), ("start", reach.start), ("last", reach.last), ("lines", reach.lines)]
    db.executemany("INSERT OR REPLACE INTO meta VALUES(?,?)", rows)


class Ingest:
    """Takes whole lines in, a batch at a time, inside the caller's transaction; broken ones are passed over."""

    def __init__(self, db: apsw.Connection, reach: Reach) -> None:
        self._db = db
        self._reach = reach
        self._numbers: dict[bytes, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._objects: dict[int, bytes | None] = {}
        self._texts: dict[bytes, bool] = {}  # text → purged

    def run(self, handle: int) -> Reach:
        offset, start, count, last = self._reach.offset, self._reach.start, self._reach.lines, b""
        for position, line in lines(handle, offset):
            if not line.endswith(b"\n"):
                break
            offset, start, count, last = position + len(line), position, count + 1, line
            try:
                self._take(position, len(line), fields_of(line))
            except Broken:
                continue
            if len(self._rows) >= _BATCH:
                self._flush()
        self._flush()
        return Reach(offset, start, link(last) if last else self._reach.last, count)

    def _take(self, position: int, size: int, fields: dict[str, Any]) -> None:
        path = fields["path"].encode("utf-8", "surrogateescape")
        after = _raw(fields["after"])
        undo_of, step = fields.get("undo_of"), plain(fields.get("group", "")) or None
        file = self._number(path)
        self._rows.append(
            (
                position,
                size,
                short(fields["id"]),
                float(fields["time"]),
                plain(fields["actor"]),
                file,
                after,
                step,
                short(undo_of) if undo_of else None,
            )
        )
        self._objects[file] = after
        if not path and fields["action"] == BASELINE:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES('baseline', 1)")
        if after is not None:  # a text that came back; ``before`` may name one that is gone
            self._texts[after] = False
        for purged in fields.get("purged", ()):
            self._texts[bytes.fromhex(purged)] = True

    def _number(self, path: bytes) -> int:
        number = self._numbers.get(path)
        if number is None:
            self._db.execute("INSERT OR IGNORE INTO files(path) VALUES(?)", (path,))
            row = self._db.execute("SELECT num FROM files WHERE path=?", (path,)).fetchone()
            number = self._numbers[path] = int(row[0]) if row else 0
        return number

    def _flush(self) -> None:
        db = self._db
        db.executemany("INSERT OR REPLACE INTO records VALUES(?,?,?,?,?,?,?,?,?)", self._rows)
        objects = [(text, number) for number, text in self._objects.items()]
        db.executemany("UPDATE files SET object=? WHERE num=?", objects)
        gone = [(text,) for text, purged in self._texts.items() if purged]
        kept = [(text,) for text, purged in self._texts.items() if not purged]
        db.executemany("INSERT OR IGNORE INTO purged VALUES(?)", gone)
        if db.execute("SELECT 1 FROM purged LIMIT 1").fetchone():
            db.executemany("DELETE FROM purged WHERE object=?", kept)
        self._clear()


def _raw(ident: str | None) -> bytes | None:
    return bytes.fromhex(ident) if ident else None


def short(ident: str) -> int:
    """The first 64 bits of a record's id, as a column holds them; whoever looks up compares the whole id."""
    return int.from_bytes(bytes.fromhex(ident[:16]), signed=True)


def plain(value: str) -> str:
    """A word as SQLite can store it: lone surrogates, which nobody of ours writes, become ``?``."""
    return value.encode("utf-8", "replace").decode()
