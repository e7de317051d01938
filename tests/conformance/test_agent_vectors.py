"""An agent's searches with their counted recalls, and near duplicates by vector, as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from core.embedding import QueryVector
from core.index.database import Database
from core.index.sync import Index, IndexOptions
from core.index.vectors import pack
from core.search.context import VectorQuery
from core.search.duplicates import DEFAULT_THRESHOLD, near_duplicate
from core.searching import Searcher, SearchRequest
from core.settings import load_settings
from core.settings.model import Settings
from core.store.layout import open_root
from tests.conformance.vectors import build_index, cases

WS = "ws-00000000"


class Recorded:
    """An embedder that knows the recorded query's vector and nothing else."""

    def __init__(self, vector: list[float] | None) -> None:
        self.vector = vector

    def query(self, database: Database, text: str, arm: str) -> QueryVector:
        assert not database.enable_vectors()
        if self.vector is None:
            return QueryVector(why="the recording has no vector for this query", failed=True)
        return QueryVector(VectorQuery("agent", pack(self.vector)))


def open_index(folder: Path, given: dict[str, Any]) -> Index:
    """The recorded corpus as a real root whose rows are spelled as the recording spells them."""
    root = folder / "memory"
    for file in given["files"]:
        path = folder / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"])
    index = Index(
        open_root(str(root)),
        WS,
        IndexOptions(
            cache_dir=str(folder / "cache"),
            clock=lambda: given["now"],
            dimensions=given.get("dimensions", 4),
        ),
    )
    index.sync()
    database = index.database()
    assert database is not None
    born = {str(folder / file["path"]): file["created_at"] for file in given["files"]}
    with database.writing() as writer:
        for path, created in born.items():
            writer.execute("UPDATE chunks SET created_at=? WHERE path=?", (created, path))
        for name, vector in given.get("vectors", {}).items():
            writer.execute(
                "INSERT INTO chunks_vec(chunk_id, embedding) VALUES(?, ?)", (str(folder / name), pack(vector))
            )
    index.sync()
    return index


def settings_for(folder: Path, config: Mapping[str, Any], *, embeddings: bool) -> Settings:
    """The agent's settings of one query, written as it writes them (that build had MMR on, λ 0.7)."""
    home = folder / f"grok-{abs(hash(str(sorted(config.items()))))}"
    home.mkdir(exist_ok=True)
    lines = ["[memory.search]", *(f"{key} = {value}" for key, value in config.items())]
    lines += ["[memory.search.mmr]", "enabled = true", "lambda = 0.7"]
    if embeddings:
        lines += ["[memory.embedding]", 'model = "recorded"', "dimensions = 4"]
    (home / "config.toml").write_text("\n".join(lines))
    return load_settings({"HOME": str(folder)}, grok_home=str(home), home=str(folder))


@pytest.mark.parametrize("case", cases("backend_search"))
def test_recalls(tmp_path: Path, case: dict[str, Any]) -> None:
    given = case["input"]
    index = open_index(tmp_path, given)
    try:
        for query, expected in zip(given["queries"], case["expected"], strict=True):
            settings = settings_for(
                tmp_path, query.get("config", {}), embeddings=bool(given.get("embeddings"))
            )
            embedder = Recorded(query.get("query_vector"))
            searcher = Searcher(settings, lambda: given["now"], embedder)  # type: ignore[arg-type]
            report = searcher.recall(
                index,
                SearchRequest(
                    query["query"], limit=query.get("max_results"), min_score=query.get("min_score")
                ),
            )
            found = [
                {
                    "chunk_id": str(Path(hit.id).relative_to(tmp_path)),
                    "created_at": hit.created_at,
                    "score": hit.score,
                    "source": hit.source,
                }
                for hit in report.hits
            ]
            assert found == expected["results"], query
    finally:
        index.close()


@pytest.mark.parametrize("case", cases("flush_dedup"))
def test_near_duplicates(tmp_path: Path, case: dict[str, Any]) -> None:
    given = case["input"]
    database = build_index(tmp_path, {**given, "workspace": WS})
    try:
        if database.enable_vectors():
            pytest.skip(database.enable_vectors())
        with database.reading() as reader:
            found = near_duplicate(
                reader,
                pack(given["content_vector"]),
                threshold=given.get("threshold", DEFAULT_THRESHOLD),
                arm="agent",
            )
        assert (found is not None) is case["expected"]
    finally:
        database.close()
