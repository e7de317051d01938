"""The JSON programs rely on: its keys, and that it is plain ASCII without NaN."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from tests.core.cli.conftest import CURATED, HERE, HOSTILE, REPORT, ROOT, WORKSPACE, Cli, factors

HIT_KEYS = [
    "rank",
    "id",
    "path",
    "start_line",
    "end_line",
    "source",
    "heading",
    "score",
    "raw_score",
    "snippet",
    "created_at",
    "access_count",
    "factors",
]


def parsed(cli: Cli, *argv: str) -> Any:
    ran = cli(*argv)
    assert ran.out.isascii() and "\x1b" not in ran.out
    return json.loads(ran.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_search(cli: Cli) -> None:
    found = parsed(cli, "search", "token refresh", "--json")
    assert list(found)[:8] == ["query", "profile", "mode", "workspace", "hits", "dropped", "also", "stages"]
    assert found["notes"] == ["index behind by 2 files"]
    assert (found["query"], found["profile"], found["mode"]) == ("token refresh", "agent", "text only")
    hit, dropped, also = found["hits"][0], found["dropped"][0], found["also"][0]
    assert list(hit)[:13] == HIT_KEYS
    assert (hit["id"], hit["rank"], hit["start_line"], hit["end_line"]) == (f"{HERE}/MEMORY.md:3", 1, 24, 31)
    assert hit["snippet"] == CURATED.snippet
    assert (hit["score"], hit["raw_score"]) == (1.0, 1.0549)
    assert hit["factors"] == {
        "bm25": -7.31,
        "text": 1.0,
        "vector": None,
        "merged": 1.0,
        "decay": 1.0,
        "age_days": 0.0,
        "half_life_days": 30.0,
        "source_weight": 1.0,
        "access": 1.0549,
        "raw": 1.0549,
        "score": 1.0,
        "floor": 0.7,
        "mmr": None,
        "mmr_against": None,
        "extras": {},
        "trust": 1.0,
    }
    assert set(dropped) - set(hit) == {"reason", "stage", "why"} and dropped["reason"] == "below_floor"
    assert also["matched_by"] == "CJK words" and "score" not in also
    assert found["stages"][1] == {"name": "knn", "ran": False, "why": "no embedding model is set", "ms": 0.0}


def test_no_nan_and_no_infinity_ever(cli: Cli) -> None:
    broken = replace(CURATED, factors=factors(bm25=math.nan, age_days=math.inf))
    cli.known["report"] = replace(REPORT, hits=(broken,))
    found = parsed(cli, "search", "x", "--json")["hits"][0]["factors"]
    assert (found["bm25"], found["age_days"]) == (None, None)


def test_ls(cli: Cli) -> None:
    found = parsed(cli, "ls", "--json")
    assert (found["workspace"], found["banner"]) == (WORKSPACE, "the agent uses memory-v2")
    root = found["roots"][0]
    assert (root["path"], root["global"]["size"]) == (ROOT, 3_100)
    assert [space["folder"] for space in root["workspaces"]] == [WORKSPACE, "odd-1f2e3d4c"]
    assert root["workspaces"][1]["human"] == HOSTILE
    assert root["workspaces"][1]["problems"][0]["kind"] == "not-utf8"
    assert "files" not in root["workspaces"][0]
    files = parsed(cli, "ls", "--json", "--files")["roots"][0]["workspaces"][0]["files"]
    assert [item["source"] for item in files] == ["workspace", "session"]


def test_show(cli: Cli) -> None:
    found = parsed(cli, "show", "MEMORY.md", "--json", "--from", "2")
    assert (found["first"], found["lines"], found["total"]) == (2, [HOSTILE, "three"], 3)


def test_why(cli: Cli) -> None:
    found = parsed(cli, "why", "token", "--chunk", "x", "--json")
    assert (found["place"], found["matches"], found["cut_at"]) == (57, 210, 18)
    assert (found["missing"], found["candidate"]) == (["token"], None)


def test_reindex_doctor_gc_and_clear(cli: Cli) -> None:
    assert parsed(cli, "reindex", "--json")["chunks_added"] == 3
    assert parsed(cli, "doctor", "--json") == {
        "healthy": True,
        "findings": [{"level": "ok", "topic": "index", "message": "in step with 41 files", "hint": ""}],
    }
    assert [item["remove"] for item in parsed(cli, "gc", "--json")["candidates"]] == [False, True]
    assert parsed(cli, "gc", "--json", "--remove", "--yes")["receipt"]["done"] == [f"{ROOT}/tmp-1f2e3d4c"]
    assert parsed(cli, "clear", "all", "--json", "--yes")["trash"] == "/state/trash/1"


def test_config(cli: Cli) -> None:
    one = parsed(cli, "config", "get", "--json", "search.min_score")
    assert (one["key"], one["value"], one["origin"], one["assumed"]) == (
        "memory.search.min_score",
        0.7,
        "default",
        True,
    )
    every = parsed(cli, "config", "get", "--json")
    assert len(every["settings"]) > 30 and every["problems"] == []
