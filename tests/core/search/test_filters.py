"""Filters in the query box: what each narrows, what a malformed one says, and that it costs nothing else."""

from __future__ import annotations

import pytest

from core.errors import UsageError
from core.search.query import parse_query
from tests.core.memory_desk import WS, MemoryDesk

MARKED = "harbor granite <!-- memdeck: verified from=2025-06-01 until=2025-12-31 -->\n"
OLD = "harbor quartz <!-- memdeck: superseded -->\n"
DOUBTED = "harbor slate <!-- memdeck: disputed -->\n"


@pytest.fixture
def desk(place: MemoryDesk) -> MemoryDesk:
    place.fill()
    place.config("[memory.search]\nmin_score = 0.0\n")
    place.log("10", MARKED, sid="0000000a")
    place.log("11", OLD, sid="0000000b")
    place.log("12", DOUBTED, sid="0000000c")
    return place


def found(desk: MemoryDesk, query: str, **options: object) -> set[str]:
    """The last part of each hit's path and day, in short."""
    report = desk.open().search(query, limit=50, **options)  # type: ignore[arg-type]
    return {
        hit.path.removeprefix(str(desk.root) + "/").removeprefix(f"{WS}/sessions/2025-12-")[:2]
        for hit in report.hits
    }


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("harbor", {"ME", "wi", "30", "31", "10", "11", "12"}),
        ("source:session harbor", {"30", "31", "10", "11", "12"}),
        ("source:s harbor", {"30", "31", "10", "11", "12"}),
        ("harbor SOURCE:Global", {"ME"}),
        ("source:global,workspace harbor", {"ME", "wi"}),
        ("source:global source:workspace harbor", {"ME", "wi"}),
        ("age:<3d harbor", {"ME", "wi", "30", "31"}),
        ("age:3d harbor", {"ME", "wi", "30", "31"}),
        ("age:>3d harbor", {"10", "11", "12"}),
        ("age:<1w source:session harbor", {"30", "31"}),
        ("age:<24h source:session harbor", {"31"}),
        ("path:12-10 harbor", {"10"}),
        ('path:"2025-12-1" harbor', {"10", "11", "12"}),
        ("path:SESSIONS path:12-30 harbor", {"30"}),
        ("trust:verified harbor", {"10"}),
        ("trust:disputed,superseded harbor", {"11", "12"}),
        ("trust:none harbor", {"ME", "wi", "30", "31"}),
        ("valid:now harbor", {"ME", "wi", "30", "31", "12"}),
        ("valid:2025-07-01 harbor", {"ME", "wi", "30", "31", "10", "12"}),
        ("valid:2025-01-01 harbor", {"ME", "wi", "30", "31", "12"}),
    ],
)
def test_each_filter(desk: MemoryDesk, query: str, days: set[str]) -> None:
    assert found(desk, query) == days


@pytest.mark.parametrize(
    "wrong",
    [
        "source:moon",
        "source:global,moon",
        "age:soon",
        "age:<d",
        "age:-5d",
        "age:٣d",
        "trust:maybe",
        "trust:,",
        "valid:yesterday",
        "valid:2025-99-99",
        "valid:٢٠٢٥-٠١-٠١",
    ],
)
def test_a_filter_that_is_not_understood_is_named_and_left_out(desk: MemoryDesk, wrong: str) -> None:
    report = desk.open().search(f"harbor {wrong}", limit=50)
    assert any(wrong in note and "left out" in note for note in report.notes)
    assert report.keywords == ("harbor",)
    assert report.hits


@pytest.mark.parametrize("typed", ["source:", "harbor age:", 'path:""', "trust: harbor"])
def test_a_filter_that_is_still_being_typed_is_no_mistake(desk: MemoryDesk, typed: str) -> None:
    assert parse_query(typed).warnings == ()
    desk.open().search(typed)


def test_a_filter_is_said_to_be_none_of_the_agents(desk: MemoryDesk) -> None:
    note = "filtered: your agent searches without filters"
    assert note in desk.open().search("source:session harbor").notes
    assert note not in desk.open().search("harbor").notes


def test_a_path_is_looked_for_below_the_root_alone(desk: MemoryDesk) -> None:
    memory = desk.open()
    above = str(desk.root.parent)
    assert not memory.search(f'path:"{above}" harbor', limit=50).hits
    assert not memory.search(f'path:"{above}"', limit=50).also
    assert memory.search("path:/sessions/ harbor", limit=50).hits


def test_the_options_narrow_as_the_filters_do(desk: MemoryDesk) -> None:
    assert found(desk, "harbor", sources=("global",)) == found(desk, "source:global harbor")
    assert found(desk, "harbor", max_age_days=3.0) == found(desk, "age:<3d harbor")
    assert found(desk, "source:session harbor", sources=("session",)) == found(desk, "source:session harbor")


@pytest.mark.parametrize(
    "options",
    [
        {"sources": ("moon",)},
        {"limit": -1},
        {"profile": "astral"},
        {"min_score": float("nan")},
        {"max_age_days": float("nan")},
    ],
)
def test_options_that_mean_nothing_are_refused(desk: MemoryDesk, options: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        desk.open().search("harbor", **options)  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize(
    ("options", "hits"),
    [
        ({"limit": 0}, 0),
        ({"limit": 10**30}, 7),
        ({"min_score": float("inf")}, 0),
        ({"min_score": float("-inf")}, 6),
        ({"max_age_days": float("inf")}, 6),
        ({"max_age_days": 1e308}, 6),
        ({"max_age_days": -5.0}, 0),
    ],
)
def test_options_at_their_ends(desk: MemoryDesk, options: dict[str, object], hits: int) -> None:
    assert len(desk.open().search("harbor", **options).hits) == hits  # type: ignore[arg-type]


def test_a_filter_narrows_what_is_listed_apart_too(desk: MemoryDesk) -> None:
    desk.log("20", "port 8080", sid="0000000d")
    desk.write("MEMORY.md", "port 8080")
    memory = desk.open()
    assert {item.source for item in memory.search("8080").also} == {"global", "session"}
    assert {item.source for item in memory.search("8080 source:global").also} == {"global"}
    assert memory.search("8080 trust:verified").also == ()


def test_another_limit_is_said_to_change_the_candidates(desk: MemoryDesk) -> None:
    memory = desk.open()
    note = "at most 2 results: the rules look at 3 × as many candidates, so scores and order can differ"
    assert any(said.startswith(note) for said in memory.search("harbor", limit=2).notes)
    assert not any("at most" in said for said in memory.search("harbor", limit=6).notes)
    assert not any("at most" in said for said in memory.search("harbor").notes)
    assert len(memory.search("", limit=2).also) == 2
    assert memory.search("", limit=2).also == memory.search("").also[:2]


def test_where_the_folder_has_no_workspace_the_others_are_named(desk: MemoryDesk) -> None:
    memory = desk.open(workspace=None)
    (note,) = [said for said in memory.search("copper").notes if "--workspace" in said]
    assert f"there is no workspace {memory.workspace} (this folder's) here" in note
    assert WS in note
    assert not any("--workspace" in said for said in desk.open().search("nothing").notes)
