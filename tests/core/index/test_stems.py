"""The word index of the profile ``tuned``: linear in the text, and never long in the agent's way."""

from __future__ import annotations

import threading

import pytest

from core.index import stems
from core.index.comments import without_comments
from core.index.stems import identifier_parts
from tests.core.memory_desk import WS, MemoryDesk


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("see getUserName now", ["get", "User", "Name"]),
        ("parseHTTPResponse", ["parse", "HTTP", "Response"]),
        ("plain snake_case ALLCAPS 0f3a9c7b", []),
        ("größeOf", ["größe", "Of"]),
        ("a1B", ["a1", "B"]),
    ],
)
def test_parts_of_identifiers(text: str, parts: list[str]) -> None:
    assert identifier_parts(text) == parts


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a <!-- x --> b", "a · b"),
        ("a <!-- x\ny --> b <!-- z -->", "a · b ·"),
        ("a <!-- never closed", "a <!-- never closed"),
        ("<!-- a <!-- b --> c -->", "· c -->"),
        ("<!--> b -->", "·"),
        ("none", "none"),
    ],
)
def test_comments(text: str, plain: str) -> None:
    assert without_comments(text, "·") == plain


# Each of these took minutes when a pattern began anew at every character; the tests' own limit is the bound.
@pytest.mark.parametrize(
    "text", ["0f3a9c7b" * 100_000, "<!--" * 250_000, "配置" * 400_000, ("0f3a9c7b" * 212 + "\n") * 500]
)
def test_long_lines_take_linear_time(place: MemoryDesk, text: str) -> None:
    place.fill()
    place.log("20", f"# Dump\n\n{text}\n\nlantern at the end\n", sid="0000000e")
    memory = place.open()
    assert memory.search("lantern", profile="tuned", min_score=0.0).hits


def test_the_agent_gets_its_turn_between_batches(place: MemoryDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    place.fill()
    memory = place.open()
    memory.sync()
    monkeypatch.setattr(stems, "BATCH", 2)
    columns = stems._columns
    written: list[bool] = []

    def agent_writes() -> None:
        place.sql("UPDATE chunks SET access_count = access_count")
        written.append(True)

    def watched(path: str, text: str) -> tuple[str, str, str]:
        # While words are found, anybody else may write to the index.
        done = threading.Thread(target=agent_writes)
        done.start()
        done.join(20)
        assert not done.is_alive()
        return columns(path, text)

    monkeypatch.setattr(stems, "_columns", watched)
    assert memory.search("harbor", profile="tuned", min_score=0.0).hits
    assert len(written) > 2
    monkeypatch.setattr(stems, "_columns", columns)
    assert (place.root / WS / "index.sqlite").exists()
    found = {hit.id for hit in memory.search("harbor", profile="tuned", min_score=0.0).hits}
    memory.reindex(rebuild=True)
    assert {hit.id for hit in memory.search("harbor", profile="tuned", min_score=0.0).hits} == found
