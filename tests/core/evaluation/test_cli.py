"""``memdeck eval`` from the command line: tables for people, JSON for programs, the shipped set in a copy."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from tests.core.memory_desk import WS, MemoryDesk, no_index, tree

JUDGED = f"""
[[query]]
id = "crane"
class = "keyword"
half = "tuning"
text = "harbor crane"
find = [{{ path = "MEMORY.md", text = "painted" }}]

[[query]]
id = "old"
class = "time"
half = "held-out"
text = "inspected \\u001b]0;owned\\u0007"
find = [{{ path = "{WS}/sessions/2025-12-02-auth-00000001.md", text = "inspected" }}]
"""


class Shell:
    def __init__(self, desk: MemoryDesk, capture: pytest.CaptureFixture[str]) -> None:
        self.desk = desk
        self.capture = capture

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        where = ["--root", str(self.desk.root), "--workspace", WS]
        environ = self.desk.environ(MEMDECK_NOW=str(self.desk.now))
        code = main(["eval", *argv, *where], environ=environ)
        done = self.capture.readouterr()
        return code, done.out, done.err


@pytest.fixture
def shell(desk: MemoryDesk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("COLUMNS", "140")
    desk.write(f"{WS}/MEMORY.md", "# Widgets\n\nThe harbor crane is painted yellow.\n")
    desk.log("02", "# Log\n\nThe crane was inspected before anything else.\n")
    desk.log("30", "# Log\n\nThe other log was inspected and inspected again.\n", sid="00000002")
    (desk.folder / "mine.toml").write_text(JUDGED, encoding="utf-8")
    return Shell(desk, capsys)


def mine(shell: Shell) -> str:
    return str(shell.desk.folder / "mine.toml")


def test_tables(shell: Shell) -> None:
    code, out, err = shell(
        mine(shell), "--ablate", "--variant", "low=search.min_score=0", "--sweep", "tuned.text=1,2"
    )
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "2 queries"
    arms = [line.split("  ")[0] for line in lines[2:8]]
    assert arms == ["saved", "text only", "agent", "tuned", "grep", "low"]
    for title in (
        "recall@5 by half",
        "recall@5 by class",
        "missed among the first 5",
        "ablation",
        "tuned.text",
    ):
        assert any(line.startswith(title) for line in lines), title
    lost = next(line for line in lines if line.startswith("old "))
    assert "floor" in lost and "]0;owned" in lost
    assert "\x1b" not in out and "\x07" not in out
    assert "95 % intervals" in err and "text only" in err


def test_json(shell: Shell) -> None:
    code, out, _ = shell(mine(shell), "--json", "--ablate", "--sweep", "search.min_score=0,0.7")
    report: Any = json.loads(out)
    assert code == 0 and out.isascii()
    assert set(report) == {
        "file", "workspace", "half", "queries", "arms", "misses", "ablation", "sweeps", "embedding_ms", "notes",
    }  # fmt: skip
    assert (report["file"], report["workspace"], report["queries"]) == (mine(shell), WS, 2)
    assert report["embedding_ms"] == {"p50": None, "p95": None}
    agent = next(arm for arm in report["arms"] if arm["name"] == "agent")
    assert set(agent) == {"name", "what", "shares", "against_agent", "classes", "answers"}
    assert set(agent["shares"]) == {"all", "tuning", "held-out"}
    assert set(agent["shares"]["all"]) == {
        "queries", "recall", "mrr", "ndcg", "forbidden", "p50_ms", "p95_ms",
    }  # fmt: skip
    assert set(agent["shares"]["all"]["recall"]) == {"1", "3", "5", "10"}
    assert agent["classes"]["time"] == {"all": 1.0, "held-out": 1.0}
    assert set(agent["answers"][0]) == {
        "query", "text", "class", "half", "ranked", "recall", "reciprocal_rank", "ndcg", "forbidden", "ms",
    }  # fmt: skip
    assert {(miss["arm"], miss["query"], miss["stage"]) for miss in report["misses"]} >= {
        ("saved", "old", "floor")
    }
    assert set(report["misses"][0]) == {"query", "arm", "chunk", "stage", "why"}
    assert set(report["ablation"][0]) == {"formula", "stage", "what", "recall", "adds", "ndcg", "forbidden"}
    assert report["ablation"][0]["stage"] is None
    (sweep,) = report["sweeps"]
    assert (sweep["current"], sweep["chosen"]) == ("0.7", "0.7")
    assert set(sweep) == {"key", "profile", "current", "chosen", "gain", "values"}
    assert set(sweep["values"][0]) == {"value", "tuning", "held-out"}


def test_every_key_is_documented(shell: Shell) -> None:
    docs = (Path(__file__).parents[3] / "docs" / "json.md").read_text(encoding="utf-8")
    section = docs.partition("## `memdeck eval")[2].partition("\n## ")[0]
    assert section

    def keys(value: Any) -> set[str]:
        if isinstance(value, list):
            return {key for item in value for key in keys(item)}
        if isinstance(value, dict):
            return set(value) | {key for item in value.values() for key in keys(item)}
        return set()

    report = json.loads(shell(mine(shell), "--json", "--ablate", "--sweep", "search.min_score=0")[1])
    data = {"all", "tuning", "held-out", "1", "3", "5", "10", "time", "keyword"}
    assert {key for key in keys(report) - data if f"`{key}`" not in section} == set()


def test_without_a_file_it_says_how_to_make_one(shell: Shell) -> None:
    code, out, err = shell()
    assert (code, out) == (3, "")
    assert "nothing is judged yet" in err and "+ and -" in err and "memdeck eval --shipped" in err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--half", "third"], "--half 'third'"),
        (["--shipped", "mine.toml"], "--shipped has queries of its own"),
        (["--limit-queries", "0"], "limit-queries"),
    ],
)
def test_wrong_options_are_named(shell: Shell, argv: list[str], says: str) -> None:
    code, out, err = shell(*argv)
    assert (code, out) == (2, "")
    assert says in err


def test_a_wrong_file_is_named_with_its_query(shell: Shell) -> None:
    Path(mine(shell)).write_text(JUDGED.replace('half = "tuning"', 'haf = "tuning"'), encoding="utf-8")
    code, _, err = shell(mine(shell))
    assert code == 2
    assert f"{mine(shell)}: query crane: haf is not a key; did you mean half?" in err


def test_the_shipped_set_is_measured_in_a_copy_that_is_gone_afterwards(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before = tree(shell.desk.home, no_index)
    code, out, err = shell("--shipped", "--limit-queries", "12", "--half", "tuning", "--json")
    assert code == 0
    report: Any = json.loads(out)
    assert (report["file"], report["queries"], report["half"]) == ("the shipped set", 12, "tuning")
    assert {answer["half"] for answer in report["arms"][0]["answers"]} == {"tuning"}
    assert {"vectors only", "hybrid", "tuned"} <= {arm["name"] for arm in report["arms"]}
    assert "Embedding one query took" in err
    assert list(scratch.iterdir()) == []
    assert tree(shell.desk.home, no_index) == before
