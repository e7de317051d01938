"""Nothing a person types or pastes is a syntax error, and no paste holds the search up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.memory import Memory
from core.search.query import KEYWORD_LIMIT, UNIT_CHARS, UNIT_LIMIT, parse_query
from tests.core.memory_desk import WS, MemoryDesk

SYNTAX = (
    '"', "'", "(", ")", "*", "^", ":", "+", "-", "{", "}", "~", ",", "\\", "%", "_", "\0", "\n", " ", "@", "#", "/",
    "AND", "OR", "NOT", "NEAR", "NEAR/2", "text", "rowid", "rank", "harbor", "配置", "ไทย", "8080", "a-b",
    "source:", "age:", "path:", "trust:", "valid:", "<7d", "\ud800", "\udcff", "\u202e", "Ⓐ", "\u0301", "🌊",
)  # fmt: skip
QUERIES = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(SYNTAX), max_size=12).map("".join),
    st.text(alphabet=st.characters(categories=("Cs", "Cc", "Zs", "Po", "Ll")), max_size=30),
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    desk = MemoryDesk(Path(tmp_path_factory.mktemp("any")))
    desk.fill()
    desk.write(
        f"{WS}/sessions/2025-12-30-x-00000009.md",
        "更新配置文件 port 8080 a-b ภาษาไทย " + "".join(SYNTAX[:20]),
    )
    opened = desk.open()
    opened.sync()
    yield opened
    opened.close()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=QUERIES)
def test_any_text_is_answered(memory: Memory, query: str) -> None:
    report = memory.search(query, sync=False)
    assert not report.empty_reason.startswith("failed"), report.empty_reason
    assert bool(report.hits) != bool(report.empty_reason) or report.mode == "newest"
    agents = {hit.id for hit in (*report.hits, *report.dropped)}
    assert not agents & {item.id for item in report.also}
    report.query.encode()  # can be written anywhere


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=QUERIES)
def test_any_text_is_explained(memory: Memory, query: str) -> None:
    why = memory.why(query, "MEMORY.md#0")
    assert why.verdict
    assert set(why.present) | set(why.missing) == set(parse_query(query).keywords)


@pytest.mark.parametrize(
    "pasted",
    [
        "a" * 1_000_000,
        "1" * 1_000_000,
        "-" * 1_000_000,
        "a-" * 500_000,
        "配置" * 170_000,
        '"' * 1_000_000,
        '"' + "harbor lantern " * 70_000 + '"',
        " ".join(f"w{number:x}" for number in range(150_000)),
        " ".join(f"a-{number:x}" for number in range(120_000)),
        "source:global " * 70_000,
        'path:"' * 160_000,
    ],
    ids=lambda text: text[:8],
)
def test_a_pasted_megabyte_is_answered(memory: Memory, pasted: str) -> None:
    # A quadratic reading of it would run into the time limit of the whole run.
    assert not memory.search(pasted, sync=False).empty_reason.startswith("failed")


def test_what_is_too_long_is_cut_and_said(memory: Memory) -> None:
    words = [f"word{number}" for number in range(KEYWORD_LIMIT + 5)]
    report = memory.search(" ".join(["harbor", *words]), sync=False)
    assert report.keywords == ("harbor", *words[: KEYWORD_LIMIT - 1])
    assert any(f"{KEYWORD_LIMIT + 6:,} different words" in note for note in report.notes)
    assert report.hits
    query = parse_query(
        " ".join(f"a-{number}" for number in range(UNIT_LIMIT + 3)) + f' "{"x " * UNIT_CHARS}"'
    )
    assert len(query.units) == UNIT_LIMIT
    assert any("as it is written" in warning for warning in query.warnings)


def test_a_query_of_ordinary_length_is_whole(memory: Memory) -> None:
    query = " ".join(f"word{number}" for number in range(400)) + ' "harbor silver" 1.0.21'
    parsed = parse_query(query)
    assert len(parsed.keywords) == 402 and len(parsed.units) == 2 and parsed.warnings == ()


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("fix a-b and x/y", ["a-b", "x/y"]),
        ("@scope/pkg 1.0.21", ["@scope/pkg", "1.0.21"]),
        ("see c:\\dir\\file", ["c:\\dir\\file"]),
        ("@handle said 42 things", ["@handle", "42"]),
        ('"two words" rest-of it', ["two words", "rest-of"]),
        ("x42y 007", ["007"]),
        ("trailing- -leading a--b", ["a--b"]),
        ("plain words only", []),
    ],
)
def test_what_counts_as_a_unit(text: str, units: list[str]) -> None:
    assert [unit for _, unit in parse_query(text).units] == units
