"""Vectors in the app: made beside everything else, sent nowhere unasked, embedded on Enter for an endpoint."""

from __future__ import annotations

import asyncio

import pytest

from core.embed.consent import Disclosure
from core.embedding import EmbeddingState, FillReport
from tests.tui.driving import screen, settle, told, typed, until
from tests.tui.fake_memory import FakeMemory
from tui import session
from tui.app import MemdeckApp
from tui.screens import vectors
from tui.widgets.confirm import Confirm

SHOWN = Disclosure("https://vectors.example:443", "small-model", 178, 123_456, 30_864)


@pytest.fixture(autouse=True)
def _no_lull(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "LULL", 0.01)


async def test_missing_vectors_are_made_by_themselves_and_the_list_follows(
    app: MemdeckApp, memory: FakeMemory
) -> None:
    memory.embedding_state = EmbeddingState("filling", missing=2)
    memory.filled = FillReport(stored=2)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "fill" in memory.calls)
        await settle(pilot)
        assert "making vectors" not in screen(app)


async def test_nothing_is_made_before_it_was_confirmed(app: MemdeckApp, memory: FakeMemory) -> None:
    memory.embedding_state = EmbeddingState("unconfirmed", endpoint=SHOWN.endpoint, missing=2)
    memory.disclosure = SHOWN
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "fill" not in memory.calls
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.pause()
        shown = screen(app)
        for part in ("https://vectors.example:443", "small-model", "178 chunks", "123,456 bytes", "30,864"):
            assert part in shown
        await pilot.press("n")
        await settle(pilot)
        assert "fill" not in memory.calls and not [c for c in memory.calls if c.startswith("allow")]
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: "fill" in memory.calls)
        assert f"allow {SHOWN.endpoint}" in memory.calls


async def test_another_model_is_made_anew_only_when_asked(app: MemdeckApp, memory: FakeMemory) -> None:
    memory.embedding_state = EmbeddingState("changed", stored=5, reason="the index holds vectors of a, not b")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "vectors are paused" in screen(app)
        assert not [call for call in memory.calls if call.startswith("fill")]
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: "fill again" in memory.calls)


async def test_without_a_provider_the_key_says_what_to_set(app: MemdeckApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("v")
        await settle(pilot)
        assert "no embedding provider is set" in told(app)


async def test_an_endpoint_is_asked_on_enter_only(app: MemdeckApp, memory: FakeMemory) -> None:
    memory.embeds_here = False
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("p", "slash")
        await settle(pilot)
        await typed(pilot, "token")
        await settle(pilot)
        assert {embed for query, _, embed in memory.embeds if query == "token"} == {False}
        await pilot.press("enter")
        await until(pilot, lambda: ("token", "hybrid", True) in memory.embeds)


async def test_words_are_shown_while_the_query_is_being_embedded(
    app: MemdeckApp, memory: FakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "TEXT_FIRST", 0.01)
    let = asyncio.Event()
    plain = memory.search

    def slow(query: str, **options: object):
        if query == "token" and options.get("embed"):
            while not let.is_set():
                pass_time()
        return plain(query, **options)

    monkeypatch.setattr(memory, "search", slow)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("p", "slash")
        await typed(pilot, "token")
        await until(pilot, lambda: app.screen.searching.last.query == "token")
        let.set()
        await until(pilot, lambda: ("token", "hybrid", True) in memory.embeds)


def pass_time() -> None:
    import time

    time.sleep(0.005)
