"""Keywords, chunks, notes, content checks, decay, staleness and MMR, as recorded."""

from __future__ import annotations

import math
from typing import Any

import pytest

from core import unicode_tables
from core.index.chunker import chunk_markdown, heading_level
from core.notes import has_headings, is_no_reply, normalise_note
from core.search.mmr import mmr_order
from core.search.query import extract_keywords
from core.search.scoring import access_boost, decay_multiplier, effective_half_life, is_content_free
from core.staleness import staleness
from tests.conformance.vectors import cases, load


@pytest.mark.parametrize("family", ["chunk_markdown", "chunk_markdown_fuzz"])
def test_chunks(family: str) -> None:
    for case in load(family)["cases"]:
        given = case["input"]
        chunks = chunk_markdown(
            given["content"], max_bytes=given["max_chunk_chars"], overlap=given["chunk_overlap_chars"]
        )
        found = [
            {"text": c.text, "start_line": c.start_line, "end_line": c.end_line, "hash": c.hash}
            for c in chunks
        ]
        assert found == case["expected"], case["name"]


@pytest.mark.parametrize("case", cases("extract_keywords"))
def test_keywords(case: dict[str, Any]) -> None:
    assert extract_keywords(case["input"]["query"]) == case["expected"]


@pytest.mark.parametrize("case", cases("content_free", "is_content_free"))
def test_content_free(case: dict[str, Any]) -> None:
    assert is_content_free(case["input"]["text"], case["input"]["source"]) is case["expected"]


@pytest.mark.parametrize("case", cases("content_free", "header_level"))
def test_heading_level(case: dict[str, Any]) -> None:
    assert heading_level(case["input"]["line"]) == case["expected"]


@pytest.mark.parametrize("case", cases("normalize_memory_content"))
def test_note(case: dict[str, Any]) -> None:
    assert normalise_note(case["input"]["raw"]) == case["expected"]


@pytest.mark.parametrize("case", cases("text_checks", "has_markdown_headers"))
def test_has_headings(case: dict[str, Any]) -> None:
    assert has_headings(case["input"]["text"]) is case["expected"]


@pytest.mark.parametrize("case", cases("text_checks", "is_no_reply"))
def test_no_reply(case: dict[str, Any]) -> None:
    assert is_no_reply(case["input"]["text"]) is case["expected"]


@pytest.mark.parametrize("case", cases("decay_and_boost", "temporal_decay_multiplier"))
def test_decay(case: dict[str, Any]) -> None:
    given = case["input"]
    found = decay_multiplier(given["source"], given["created_at"], given["now"], given["half_life_days"])
    assert math.isclose(found, case["expected"], rel_tol=1e-12)


@pytest.mark.parametrize("case", cases("decay_and_boost", "access_boost"))
def test_access_boost(case: dict[str, Any]) -> None:
    assert access_boost(case["input"]["access_count"]) == case["expected"]


@pytest.mark.parametrize("case", cases("decay_and_boost", "effective_half_life_days"))
def test_half_life(case: dict[str, Any]) -> None:
    config = case["input"]["config"]
    decay = config.get("temporal_decay", {})
    found = effective_half_life(
        decay_enabled=decay.get("enabled", True),
        half_life_days=decay.get("half_life_days", 30.0),
        recency_decay=config.get("recency_decay", 0.95),
    )
    assert found == case["expected"]


@pytest.mark.parametrize("case", cases("staleness_note", "staleness_note"))
def test_staleness(case: dict[str, Any]) -> None:
    given = case["input"]
    level, age = staleness(given["source"], given["created_at"], given["now"])
    assert {"level": level, "age": age or None} == case["expected"]


@pytest.mark.parametrize("case", cases("mmr_rerank"))
def test_mmr(case: dict[str, Any]) -> None:
    given = case["input"]
    ids = [result["chunk_id"] for result in given["results"]]
    assert given["enabled"]
    picks = mmr_order([r["snippet"] for r in given["results"]], given["relevance"], given["lambda"])
    assert [ids[pick.index] for pick in picks] == case["expected"]


def test_unicode_tables() -> None:
    tables = load("unicode_tables")
    for name, table in (
        ("is_alphanumeric", unicode_tables.ALPHANUMERIC),
        ("is_numeric", unicode_tables.NUMERIC),
        ("is_whitespace", unicode_tables.WHITESPACE),
    ):
        assert [list(pair) for pair in unicode_tables.ranges(table)] == tables[name]
