"""Consent: for one memory, endpoint and model, and nothing is sent before it."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from core.embed.consent import ConsentStore, Disclosure, disclosure_of
from core.embed.factory import provider_from
from core.embed.provider import EmbeddingError, NotAllowed
from core.embed.vectors import unit
from core.errors import UsageError
from core.settings.model import OwnEmbedding, Settings
from tests.core.embed.conftest import DIMENSIONS, NOW, Endpoint, numbers_for

OPENAI = "https://api.openai.com:443"
SHOWN = Disclosure(OPENAI, "small", chunks=412, bytes=400_000, tokens=100_123)

Open = Callable[..., ConsentStore]


@pytest.fixture
def store(tmp_path: Path) -> Open:
    def open_(root: str = "memory", now: float = NOW) -> ConsentStore:
        return ConsentStore(tmp_path / "state", tmp_path / root, lambda: now)

    return open_


def test_what_was_shown_is_kept_with_the_time(store: Open) -> None:
    assert store().required(OPENAI, "small") and not store().allows(OPENAI, "small")
    store().give(SHOWN)
    kept = store(now=NOW + 99).given(OPENAI, "small")
    assert kept is not None and (kept.shown, kept.time) == (SHOWN, NOW)
    assert not store().required(OPENAI, "small") and store().allows(OPENAI, "small")


@pytest.mark.parametrize(
    ("root", "endpoint", "model"),
    [
        ("memory", "https://api.openai.com:8443", "small"),
        ("memory", "http://api.openai.com:443", "small"),
        ("memory", "https://api.openai.com.evil.example:443", "small"),
        ("memory", OPENAI, "large"),
        ("other-memory", OPENAI, "small"),
    ],
)
def test_another_host_model_or_memory_asks_again(store: Open, root: str, endpoint: str, model: str) -> None:
    store().give(SHOWN)
    assert store(root).required(endpoint, model)


def test_what_stays_on_this_machine_needs_no_consent(store: Open) -> None:
    assert not store().required("", "wordllama")


def test_it_can_be_taken_back_and_given_anew(store: Open) -> None:
    consents = store()
    consents.give(SHOWN)
    consents.give(Disclosure(OPENAI, "large", 1, 2, 3))
    assert consents.take_back(OPENAI, "small") and not consents.take_back(OPENAI, "small")
    assert consents.required(OPENAI, "small") and not consents.required(OPENAI, "large")
    consents.give(SHOWN)
    consents.give(SHOWN)
    assert [item.shown.model for item in consents.all()] == ["large", "small"]


def test_the_file_is_private_and_outside_the_memory(store: Open, tmp_path: Path) -> None:
    consents = store()
    assert not consents.file.exists()
    consents.give(SHOWN)
    assert stat.S_IMODE(consents.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(consents.file.parent.stat().st_mode) == 0o700
    with pytest.raises(UsageError, match="inside the memory"):
        ConsentStore(tmp_path / "memory" / "state", tmp_path / "memory", lambda: NOW)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b'{"consents": 3}',
        b'{"consents": [{}]}',
        b'{"consents": [{"shown": {"endpoint": "https://api.openai.com:443"}, "time": 1}]}',
        b'{"consents": [{"shown": null, "time": 1}]}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_no_consent(store: Open, damage: bytes) -> None:
    consents = store()
    consents.give(SHOWN)
    consents.file.write_bytes(damage)
    assert consents.required(OPENAI, "small")
    consents.give(SHOWN)
    assert not consents.required(OPENAI, "small")


def test_consent_that_cannot_be_written_does_not_hold(store: Open, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    with pytest.raises(EmbeddingError, match="cannot be written") as caught:
        store().give(SHOWN)
    assert "Nothing was sent" in caught.value.data
    assert store().required(OPENAI, "small")


def test_what_would_be_sent_is_counted_after_the_cut() -> None:
    shown = disclosure_of(OPENAI, "small", [3, 5000, 9000], max_input_bytes=8000)
    assert shown == Disclosure(OPENAI, "small", chunks=3, bytes=13_003, tokens=1 + 1250 + 2000)
    assert shown.encrypted and not Disclosure("http://10.0.0.7:80", "m", 1, 1, 1).encrypted


def test_not_one_request_leaves_before_consent(endpoint: Endpoint, store: Open) -> None:
    wanted = OwnEmbedding(provider="api", base_url=endpoint.base_url, model="tiny", dimensions=DIMENSIONS)
    consents = store()
    settings = Settings(own_embedding=wanted)
    provider = provider_from(settings, {}, allowed=consents.allows, clock=lambda: NOW)
    consents.give(Disclosure(provider.endpoint, "another-model", 1, 1, 1))
    consents.give(Disclosure("http://127.0.0.1:1", "tiny", 1, 1, 1))
    for texts in (["a"], ["a"] * 100, ["query"]):
        with pytest.raises(NotAllowed):
            provider.embed(texts)
    assert endpoint.server.log == []

    consents.give(disclosure_of(provider.endpoint, "tiny", [1], provider.max_input_bytes))
    assert provider.embed(["a"]) == [unit(numbers_for("a"))]
    consents.take_back(provider.endpoint, "tiny")
    with pytest.raises(NotAllowed):
        provider.embed(["b"])
    provider.close()
    assert len(endpoint.server.log) == 1
    assert json.loads(consents.file.read_text())["consents"][0]["shown"]["model"] == "another-model"
