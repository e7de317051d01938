"""A process that behaves like the coding agent: writes its memory, indexes it with its own SQL, recalls from it.

Run as ``python -m tests.soak.agent_process ROOT WORKSPACE SECONDS EVERY REPORT``: it writes every EVERY seconds,
stops after SECONDS and leaves what it did as JSON in the file REPORT.  It shares nothing with memdeck but the chunker, and uses the sqlite3
of Python's own library, so that two builds of SQLite meet on one index.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from blake3 import blake3

from core.index.chunker import chunk_markdown

STALE_CLAIM = 60
SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunks (
  rowid INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL,
  source TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  access_count INTEGER NOT NULL DEFAULT 0, last_accessed INTEGER
);
CREATE INDEX IF NOT EXISTS idx_chunks_path ON chunks(path);
CREATE INDEX IF NOT EXISTS idx_chunks_hash ON chunks(hash);
CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts USING fts5(text, content='');
INSERT OR IGNORE INTO meta(key, value) VALUES('reindex_claim', '');
"""
WORDS = "token refresh rotate kiosk deploy ledger cursor batch schema queue vector 配置 daemon flush".split()


@dataclass
class Deeds:
    """What the agent did.  ``words``: path -> the word that only the newest text of that file holds."""

    writes: int = 0
    indexed: int = 0
    waited: int = 0
    recalls: int = 0
    accesses: int = 0
    words: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


class AgentIndex:
    """The index as the agent keeps it: one transaction a file, one claim a reindex."""

    def __init__(self, root: Path, workspace: Path) -> None:
        self.root, self.workspace = root, workspace
        self.mine = ""

    @contextlib.contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the file anew, as the agent does on every search and every reindex."""
        connection = sqlite3.connect(self.workspace / "index.sqlite", isolation_level=None)
        try:
            connection.execute("PRAGMA busy_timeout=5000")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(SCHEMA)
            yield connection
        finally:
            connection.close()

    def reindex(self) -> int | None:
        """Index what differs by hash and drop what is gone; None when another process holds the claim."""
        with self.open() as connection:
            if not self._claim(connection):
                return None
            try:
                files = [self.root / "MEMORY.md", self.workspace / "MEMORY.md"]
                files += sorted((self.workspace / "sessions").glob("*.md"))
                changed = sum(self._index(connection, path) for path in files)
                known = {path for (path,) in connection.execute("SELECT DISTINCT path FROM chunks")}
                for path in known - {str(path) for path in files if path.exists()}:
                    if not Path(path).exists():
                        self._drop(connection, path, 0)
                return changed
            finally:
                connection.execute(
                    "UPDATE meta SET value='' WHERE key='reindex_claim' AND value=?", (self.mine,)
                )

    def recall(self, word: str) -> int:
        """Search as the agent does and count an access of each hit; returns how many there were."""
        with self.open() as connection:
            hits = connection.execute(
                "SELECT c.id FROM chunks_fts f JOIN chunks c ON c.rowid = f.rowid"
                " WHERE chunks_fts MATCH ? ORDER BY f.rank LIMIT 6",
                (f'"{word}"',),
            ).fetchall()
            for (chunk,) in hits:
                connection.execute(
                    "UPDATE chunks SET access_count=access_count+1, last_accessed=? WHERE id=?",
                    (int(time.time()), chunk),
                )
            return len(hits)

    def _claim(self, connection: sqlite3.Connection) -> bool:
        now = int(time.time())
        self.mine = f"{os.getpid()}:{now}"
        return (
            connection.execute(
                "UPDATE meta SET value=? WHERE key='reindex_claim' AND (value=''"
                " OR CAST(substr(value, instr(value, ':') + 1) AS INTEGER) < ?)",
                (self.mine, now - STALE_CLAIM),
            ).rowcount
            == 1
        )

    def _index(self, connection: sqlite3.Connection, path: Path) -> int:
        try:
            chunks = chunk_markdown(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return 0
        sources = {self.root / "MEMORY.md": "global", self.workspace / "MEMORY.md": "workspace"}
        now, changed = int(time.time()), 0
        connection.execute("BEGIN IMMEDIATE")
        try:
            for ordinal, chunk in enumerate(chunks):
                name = f"{path}:{ordinal}"
                digest = blake3(chunk.text.encode()).hexdigest()
                row = connection.execute(
                    "SELECT rowid, hash, text FROM chunks WHERE id=?", (name,)
                ).fetchone()
                if row is not None and row[1] == digest:
                    # The agent leaves such a row alone, its line numbers included; ours keeps them right.
                    continue
                changed = 1
                values = (chunk.start_line, chunk.end_line, chunk.text, digest, now)
                if row is not None:
                    self._unindex(connection, row[0], row[2])
                    connection.execute(
                        "UPDATE chunks SET start_line=?, end_line=?, text=?, hash=?, updated_at=? WHERE id=?",
                        (*values, name),
                    )
                    rowid = row[0]
                else:
                    rowid = connection.execute(
                        "INSERT INTO chunks(start_line, end_line, text, hash, updated_at, created_at, id, path,"
                        " source) VALUES(?,?,?,?,?,?,?,?,?)",
                        (*values, now, name, str(path), sources.get(path, "session")),
                    ).lastrowid
                connection.execute("INSERT INTO chunks_fts(rowid, text) VALUES(?,?)", (rowid, chunk.text))
            self._drop_rows(connection, str(path), len(chunks))
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        return changed

    def _drop(self, connection: sqlite3.Connection, path: str, keep: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        self._drop_rows(connection, path, keep)
        connection.execute("COMMIT")

    def _drop_rows(self, connection: sqlite3.Connection, path: str, keep: int) -> None:
        rows = connection.execute("SELECT rowid, id, text FROM chunks WHERE path=?", (path,)).fetchall()
        for rowid, name, text in rows:
            if int(name.rsplit(":", 1)[1]) >= keep:
                self._unindex(connection, rowid, text)
                connection.execute("DELETE FROM chunks WHERE rowid=?", (rowid,))

    @staticmethod
    def _unindex(connection: sqlite3.Connection, rowid: int, text: str) -> None:
        connection.execute(
            "INSERT INTO chunks_fts(chunks_fts, rowid, text) VALUES('delete', ?, ?)", (rowid, text)
        )


class Agent:
    """Writes something every ``every`` seconds; indexes and recalls in between."""

    def __init__(self, root: Path, workspace: str, every: float, seed: int) -> None:
        self.every = every
        self.workspace = root / workspace
        self.sessions = self.workspace / "sessions"
        self.sessions.mkdir(parents=True, exist_ok=True)
        self.index = AgentIndex(root, self.workspace)
        self.random = random.Random(seed)
        self.deeds = Deeds()
        self.today = datetime.now(UTC).date()

    def run(self, seconds: float) -> Deeds:
        end, following = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < end:
            self._try(self._write)
            if self.deeds.writes % 3 == 0:
                self._try(self._reindex)
            if self.deeds.writes % 2 == 0:
                self._try(self._recall)
            following += self.every
            time.sleep(max(0.0, following - time.monotonic()))
        return self.deeds

    def _try(self, deed: Callable[[], None]) -> None:
        try:
            deed()
        except Exception as exc:
            self.deeds.errors.append(f"{type(exc).__name__}: {exc}")

    def _reindex(self) -> None:
        changed = self.index.reindex()
        if changed is None:
            self.deeds.waited += 1
        else:
            self.deeds.indexed += changed

    def _recall(self) -> None:
        self.deeds.recalls += 1
        self.deeds.accesses += self.index.recall("steadfast")
        self.index.recall(self.random.choice(WORDS))

    def _write(self) -> None:
        self.deeds.writes += 1
        choice = self.random.random()
        if choice < 0.45 or not list(self.sessions.glob("*.md")):
            self._append(self._log() if choice < 0.35 else self._new_log())
        elif choice < 0.65:
            self._truncate_and_write(self.workspace / "MEMORY.md")
        elif choice < 0.85:
            self._save_by_rename(self._log())
        elif choice < 0.93:
            old = self._log()
            fresh = self._new_log()
            old.rename(fresh)
            self._moved(str(old), str(fresh))
        else:
            gone = self._log()
            gone.unlink()
            self._moved(str(gone), None)

    def _log(self) -> Path:
        logs = sorted(self.sessions.glob("*.md"))
        return self.random.choice(logs) if logs else self._new_log()

    def _new_log(self) -> Path:
        return self.sessions / f"{self.today}-soak-{self.random.randrange(16**8):08x}.md"

    def _word(self) -> str:
        return f"soakword{self.deeds.writes:06d}"

    def _prose(self, sentences: int) -> str:
        return "\n".join(" ".join(self.random.choices(WORDS, k=12)) + "." for _ in range(sentences))

    def _append(self, path: Path) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n---\n\n## Note {self._word()}\n\n{self._prose(3)}\n")
            file.flush()
            os.fsync(file.fileno())
        self.deeds.words[str(path)] = self._word()

    def _truncate_and_write(self, path: Path) -> None:
        sections = "\n\n".join(f"## Part {n}\n\n{self._prose(8)}" for n in range(self.random.randrange(1, 9)))
        path.write_text(f"# Widgets\n\n{self._word()}\n\n{sections}\n", encoding="utf-8")
        self.deeds.words[str(path)] = self._word()

    def _save_by_rename(self, path: Path) -> None:
        temporary = path.with_name(f".{path.name}.swp")
        temporary.write_text(f"# Log\n\n## Note {self._word()}\n\n{self._prose(20)}\n", encoding="utf-8")
        temporary.replace(path)
        self.deeds.words[str(path)] = self._word()

    def _moved(self, old: str, new: str | None) -> None:
        word = self.deeds.words.pop(old, None)
        if new is not None and word is not None:
            self.deeds.words[new] = word


def main(arguments: list[str]) -> None:
    root, workspace, seconds, every, report = arguments
    deeds = Agent(Path(root), workspace, float(every), seed=1).run(float(seconds))
    # The readers take the file's appearance for the end, so it appears whole.
    temporary = Path(f"{report}.tmp")
    temporary.write_text(json.dumps(asdict(deeds)), encoding="utf-8")
    temporary.replace(report)


if __name__ == "__main__":
    main(sys.argv[1:])
