"""Whole searches, on text alone and with vectors: candidates, ranks and scores equal to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.index.database import Database
from core.index.vectors import pack
from core.search.candidates import fetch_candidates
from core.search.engine import SearchContext, VectorQuery, search_index
from core.search.query import Filters, parse_query
from core.search.report import SearchReport
from core.search.scoring import ScoringParams, effective_half_life
from tests.conformance.vectors import build_index, cases, load


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Database]]:
    built = {
        family: build_index(tmp_path_factory.mktemp(family), load(family)["corpus"])
        for family in ("search_corpus_a", "search_corpus_b")
    }
    yield built
    for database in built.values():
        database.close()


def params_of(config: dict[str, Any]) -> ScoringParams:
    decay = config.get("temporal_decay", {})
    mmr = config.get("mmr", {})
    return ScoringParams(
        max_results=config.get("max_results", 6),
        min_score=config.get("min_score", 0.7),
        text_weight=config.get("text_weight", 0.3),
        vector_weight=config.get("vector_weight", 0.7),
        half_life_days=effective_half_life(
            decay_enabled=decay.get("enabled", True),
            half_life_days=decay.get("half_life_days", 30.0),
            recency_decay=config.get("recency_decay", 0.95),
        ),
        source_weights=config.get("source_weights", {}),
        mmr_enabled=mmr.get("enabled", True),
        mmr_lambda=mmr.get("lambda", 0.7),
    )


def curated_paths(database: Database) -> tuple[str, ...]:
    rows = database.reader.execute("SELECT DISTINCT path FROM chunks WHERE source IN ('global','workspace')")
    return tuple(str(row[0]) for row in rows)


def run(database: Database, case: dict[str, Any], now: float) -> SearchReport:
    given = case["input"].get("query_vector")
    if given and database.enable_vectors():
        pytest.skip(database.enable_vectors())
    vector = VectorQuery("agent", pack(given)) if given else None
    context = SearchContext("workspace", curated_paths(database), now, vector=vector)
    with database.reading() as reader:
        return search_index(
            reader, parse_query(case["input"]["query"]), params_of(case["input"]["config"]), context
        )


def check(database: Database, case: dict[str, Any], now: float) -> None:
    expected = case["expected"]
    report = run(database, case, now)
    assert list(report.keywords) == expected["keywords"]
    found = [
        {
            "chunk_id": hit.id,
            "created_at": hit.created_at,
            "end_line": hit.end_line,
            "path": hit.path,
            "score": hit.score,
            "source": hit.source,
            "start_line": hit.start_line - 1,
        }
        for hit in report.hits
    ]
    wanted = [{k: v for k, v in result.items() if k != "snippet_hash"} for result in expected["results"]]
    if expected["deterministic"]:
        assert found == wanted
    else:
        assert [item["score"] for item in found] == [item["score"] for item in wanted]
        assert all(expected["scores_of_all_seen"][item["chunk_id"]] == item["score"] for item in found)
    # Every candidate is a hit or was dropped for a reason, and nothing else is.
    near = expected["vector"] if isinstance(expected["vector"], list) else []
    candidates = {row["chunk_id"] for row in (*expected["fts"], *expected["fts_evergreen"], *near)}
    failed = isinstance(expected["vector"], dict)
    assert report.mode == (
        "text after an embedding failure"
        if failed
        else "text+vectors"
        if case["input"].get("query_vector")
        else "text only"
        if case["input"]["query"]
        else "newest"
    )
    assert {hit.id for hit in (*report.hits, *report.dropped)} == candidates
    assert all(hit.reason for hit in report.dropped)
    assert not candidates & {item.id for item in report.also}


@pytest.mark.parametrize("case", cases("search_corpus_a"))
def test_corpus_a(corpora: dict[str, Database], case: dict[str, Any]) -> None:
    check(corpora["search_corpus_a"], case, load_now("search_corpus_a"))


@pytest.mark.parametrize("case", cases("search_corpus_b"))
def test_corpus_b(corpora: dict[str, Database], case: dict[str, Any]) -> None:
    check(corpora["search_corpus_b"], case, load_now("search_corpus_b"))


@pytest.mark.parametrize("case", cases("search_edge"))
def test_edge(tmp_path: Path, case: dict[str, Any]) -> None:
    database = build_index(tmp_path, case["input"])
    try:
        check(database, case, case["input"]["now"])
    finally:
        database.close()


@pytest.mark.parametrize("family", ["search_corpus_a", "search_corpus_b"])
def test_corpus_rows(corpora: dict[str, Database], family: str) -> None:
    columns = "id, path, start_line, end_line, text, hash, source, created_at, updated_at, access_count"
    rows = list(corpora[family].reader.execute(f"SELECT rowid, {columns} FROM chunks ORDER BY id"))
    names = ["rowid", *columns.split(", ")]
    wanted = sorted(load(family)["corpus"]["expected_chunks"], key=lambda row: row["id"])
    assert rows == [tuple(row[name] for name in names) for row in wanted]


@pytest.mark.parametrize("case", cases("search_corpus_a"))
def test_ranks(corpora: dict[str, Database], case: dict[str, Any]) -> None:
    """BM25 ranks and the order of both arms, row for row."""
    database = corpora["search_corpus_a"]
    expected = case["expected"]
    limit = params_of(case["input"]["config"]).candidate_limit
    with database.reading() as reader:
        fetched = fetch_candidates(
            reader,
            expected["keywords"],
            limit,
            curated_paths(database),
            Filters(),
            load_now("search_corpus_a"),
        )
    ranks = {row.id: rank for row, rank in fetched.rows}
    for arm in ("fts", "fts_evergreen"):
        assert [(row["chunk_id"], row["rank"]) for row in expected[arm]] == [
            (row["chunk_id"], ranks[row["chunk_id"]]) for row in expected[arm]
        ]
    assert set(ranks) == {row["chunk_id"] for arm in ("fts", "fts_evergreen") for row in expected[arm]}


def load_now(family: str) -> float:
    return float(load(family)["corpus"]["now"])
