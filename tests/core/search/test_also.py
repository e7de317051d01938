"""What the agent's rules miss is found apart, and never touches what the agent gets."""

from __future__ import annotations

import pytest

from core.memory import Memory
from core.search.report import SearchReport
from tests.core.memory_desk import WS, MemoryDesk


def apart(memory: Memory, query: str) -> list[tuple[str, str]]:
    """What a search lists apart: (last word of the text, what matched)."""
    report = memory.search(query)
    agents = {hit.id for hit in (*report.hits, *report.dropped)}
    assert not agents & {item.id for item in report.also}
    return [(item.snippet.split()[-1], item.matched_by) for item in report.also]


def what_the_agent_gets(report: SearchReport) -> list[object]:
    return [(hit.rank, hit.id, hit.reason, hit.factors) for hit in (*report.hits, *report.dropped)]


@pytest.mark.parametrize(
    ("text", "query", "matched_by"),
    [
        ("Ask: what is this, and why? KEPT", "what is this", "all words"),
        ("the port is 8080 KEPT", "8080", "number"),
        ("set a-b first KEPT", "a-b", "identifier"),
        ("in x/y KEPT", "x/y", "identifier"),
        ("pinned to 1.0.21 KEPT", "1.0.21", "identifier"),
        ("pinned to 1.0.21 KEPT", '"1.0.21"', "phrase"),
        ("say it is what it is KEPT", '"it is what it is"', "phrase"),
        ("mail to a@b.c KEPT", "a@b.c", "identifier"),
        ("更新配置文件后重启 KEPT", "配置", "CJK words"),
        ("カタカナ語の例 KEPT", "タカナ", "CJK words"),
        ("한국어문장입니다 KEPT", "어문", "CJK words"),
        ("ภาษาไทยเขียนติดกัน KEPT", "เขียน", "Thai words"),
        ("the harbor is cold KEPT", "harb", "word beginning"),
    ],
)
def test_every_kind(place: MemoryDesk, text: str, query: str, matched_by: str) -> None:
    place.write(f"{WS}/MEMORY.md", text)
    place.log("30", "nothing of it LEFT")
    assert apart(place.open(), query) == [("KEPT", matched_by)]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("set a-bc first", "a-b"),  # inside a longer word
        ("set a b first", "a-b"),  # without its mark
        ("version 1.0.210", "1.0.21"),
        ("port 80801", "8080"),
        ("what this", "what is this"),  # not all of them
        ("配，置", "配置"),  # not one run
        ("is it what", '"it is what"'),
    ],
)
def test_what_is_not_as_written_is_not_found(place: MemoryDesk, text: str, query: str) -> None:
    place.write(f"{WS}/MEMORY.md", text)
    assert place.open().search(query).also == ()


def test_a_package_name_below_the_cut_is_still_shown_apart(place: MemoryDesk) -> None:
    for number in range(8):
        place.log(f"{number + 10}", "scope pkg " * 3)
    place.log("30", "use @scope/pkg " + "and much else " * 60)
    place.config("[memory.search]\nmax_results = 1\n")
    report = place.open().search("@scope/pkg")
    assert len(report.hits) + len(report.dropped) == 3
    assert [(item.matched_by, item.matched) for item in report.also] == [("identifier", ("@scope/pkg",))]


@pytest.mark.parametrize(
    ("plain", "adorned"),
    [
        ("harbor copper lantern", 'harbor "copper lantern"'),
        ("harbor copper", "harbor 8080 copper"),
        ("harbor copper", "harbor a-b copper 1.0.21"),
        ("harbor", "the harbor of which"),
    ],
)
def test_units_change_nothing_of_what_the_agent_gets(place: MemoryDesk, plain: str, adorned: str) -> None:
    place.fill()
    place.log("28", "8080 a-b 1.0.21 copper lantern", sid="00000003")
    memory = place.open()
    assert what_the_agent_gets(memory.search(plain)) == what_the_agent_gets(memory.search(adorned))


@pytest.mark.parametrize(
    "query", ['harbor "copper lantern"', "harbor @copper", "what harbor is", "harb harbor"]
)
def test_what_the_agent_finds_is_not_listed_twice(place: MemoryDesk, query: str) -> None:
    place.write(f"{WS}/MEMORY.md", "what harbor is: copper lantern @copper")
    report = place.open().search(query)
    assert len(report.hits) == 1 and report.also == ()


def test_nothing_apart_has_a_score_and_the_order_is_fixed(place: MemoryDesk) -> None:
    for number in range(30):
        place.log(f"{number % 28 + 1:02}", f"port 8080 {number}", sid=f"{number:08}")
    place.write(f"{WS}/MEMORY.md", "port 8080")
    memory = place.open()
    first, again = memory.search("8080").also, memory.search("8080").also
    assert first == again and len(first) == 20
    assert first[0].source == "workspace"
    births = [item.created_at for item in first[1:]]
    assert births == sorted(births, reverse=True)
    assert not hasattr(first[0], "score")


def test_a_rewritten_row_is_not_taken_for_what_it_was(place: MemoryDesk) -> None:
    place.log("30", "更新配置文件后重启")
    memory = place.open()
    assert memory.search("配置").also
    # As the agent would: it knows nothing of the pairs beside its tables.
    place.sql(
        "INSERT INTO chunks_fts(chunks_fts, rowid, text) SELECT 'delete', rowid, text FROM chunks",
        "UPDATE chunks SET text='部署完成了', hash='agent'",
        "INSERT INTO chunks_fts(rowid, text) SELECT rowid, text FROM chunks",
    )
    assert not memory.search("配置", sync=False).also


def test_an_empty_query_lists_the_newest_apart(place: MemoryDesk) -> None:
    place.fill()
    place.write(f"{WS}/MEMORY.md", "# Widgets\n\njust changed\n")
    report = place.open().search("")
    assert (report.mode, report.hits, report.empty_reason) == ("newest", (), "")
    assert report.also[0].path.endswith(f"{WS}/MEMORY.md") or report.also[0].path.endswith("memory/MEMORY.md")
    days = [item.path for item in report.also if "/sessions/" in item.path]
    assert days == sorted(days, reverse=True)
    assert {item.matched_by for item in report.also} == {"newest"}


def test_the_newest_can_be_narrowed(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    assert {item.source for item in memory.search("source:session").also} == {"session"}
    assert [item.path[-6:] for item in memory.search("path:0002").also] == ["002.md"]
