"""Loads the recorded vectors and builds the corpora they speak of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.index.chunker import chunk_markdown
from core.index.database import Database, Place
from core.index.indexer import record_access, write_file
from core.index.vectors import pack
from core.store.layout import classify_source

FOLDER = Path(__file__).parent / "vectors"


def load(family: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{family}.json").read_text("utf-8"))


def cases(family: str, function: str | None = None) -> list[Any]:
    """Cases as pytest parameters, by function."""
    return [
        pytest.param(case, id=case["name"])
        for case in load(family)["cases"]
        if function is None or case["function"] == function
    ]


def build_index(folder: Path, corpus: dict[str, Any]) -> Database:
    """Index a corpus with each file's clock at its ``created_at`` and record its accesses."""
    database = Database(
        Place(str(folder / "index.sqlite"), "wal", shared=True), dimensions=corpus["dimensions"]
    )
    sizes = corpus.get("index_config", {})
    with database.writing() as connection:
        for file in corpus["files"]:
            source = file.get("source") or classify_source(
                "memory", f"memory/{corpus['workspace']}", file["path"]
            )
            write_file(
                connection,
                file["path"],
                source,
                chunk_markdown(
                    file["content"],
                    max_bytes=sizes.get("max_chunk_chars", 1600),
                    overlap=sizes.get("chunk_overlap_chars", 320),
                ),
                created_at=file.get("created_at", corpus["now"]),
                now=file.get("created_at", corpus["now"]),
            )
            for ordinal, times in (file.get("access_count") or {}).items():
                record_access(connection, [f"{file['path']}:{ordinal}"] * times, file["created_at"])
        if not database.vector_problem:
            for chunk_id, vector in corpus.get("vectors", {}).items():
                connection.execute(
                    "INSERT INTO chunks_vec(chunk_id, embedding) VALUES(?, ?)", (chunk_id, pack(vector))
                )
    return database
