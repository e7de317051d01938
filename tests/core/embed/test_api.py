"""The endpoint's good days: order, batches, cuts, the counter, what is sent and what is not."""

from __future__ import annotations

import threading

import pytest
from werkzeug import Response

from core.embed.provider import NotAllowed, RefusedVector
from core.embed.vectors import unit
from tests.core.embed.conftest import (
    DIMENSIONS,
    KEY,
    Endpoint,
    Make,
    answer,
    embeddings,
    numbers_for,
)

SENT = {
    "host",
    "authorization",
    "content-type",
    "content-length",
    "accept",
    "accept-encoding",
    "connection",
    "user-agent",
    "x-stainless-raw-response",
}


def test_vectors_come_in_the_order_of_the_texts(endpoint: Endpoint, make: Make) -> None:
    texts = [f"text {number}" for number in range(70)]
    steps: list[tuple[int, int]] = []
    vectors = make().embed(texts, progress=lambda done, total: steps.append((done, total)))
    assert vectors == [unit(numbers_for(text)) for text in texts]
    assert [len(request["input"]) for request in endpoint.requests] == [32, 32, 6]
    assert steps == [(32, 70), (64, 70), (70, 70)]


def test_an_answer_in_another_order_is_sorted_by_its_indexes(endpoint: Endpoint, make: Make) -> None:
    def backwards(texts: list[str]) -> Response:
        document = embeddings(texts)
        document["data"].reverse()
        return answer(document)

    endpoint.script = [backwards]
    assert make().embed(["a", "b", "c"]) == [unit(numbers_for(text)) for text in "abc"]


def test_an_answer_without_indexes_is_taken_in_its_order(endpoint: Endpoint, make: Make) -> None:
    def bare(texts: list[str]) -> Response:
        return answer({"data": [{"embedding": numbers_for(text)} for text in texts]})

    endpoint.script = [bare]
    assert make().embed(["a", "b"]) == [unit(numbers_for(text)) for text in "ab"]


def test_the_counter_tells_what_has_left_the_machine(endpoint: Endpoint, make: Make) -> None:
    provider = make(max_input_bytes=10)
    provider.embed(["é" * 20, "word", "   ", ""])
    used = provider.usage
    assert endpoint.requests[0]["input"] == ["é" * 5, "word"]
    assert (used.requests, used.texts, used.bytes, used.tokens) == (1, 2, 14, 3 + 1)


def test_blank_texts_are_refused_without_being_sent(endpoint: Endpoint, make: Make) -> None:
    (refused,) = make().embed(["\n  "])
    assert isinstance(refused, RefusedVector) and refused.why == "the text is empty"
    assert endpoint.requests == []


def test_dimensions_are_asked_for_only_when_set_so(endpoint: Endpoint, make: Make) -> None:
    make().embed(["a"])
    make(shorten=True).embed(["a"])
    assert "dimensions" not in endpoint.requests[0]
    assert endpoint.requests[1]["dimensions"] == DIMENSIONS


def test_nothing_about_the_machine_is_sent_and_the_key_only_when_named(
    endpoint: Endpoint, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These the client library reads from the process's own environment; they are another endpoint's.
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    monkeypatch.setenv("OPENAI_ORG_ID", "another-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "another-project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Extra: another-header")
    make().embed(["a"])
    make(key_env="").embed(["a"])
    named, without = endpoint.headers
    assert named["authorization"] == f"Bearer {KEY}"
    assert set(named) == SENT and named["user-agent"] == "memdeck"
    assert "authorization" not in without
    assert "another" not in str(endpoint.headers)


def test_not_one_request_leaves_before_it_is_allowed(endpoint: Endpoint, make: Make) -> None:
    provider = make(allowed=lambda: False)
    with pytest.raises(NotAllowed, match="nothing was sent to 127"):
        provider.embed(["a", "b"])
    assert endpoint.server.log == [] and provider.usage.requests == 0


def test_permission_taken_back_stops_the_next_batch(endpoint: Endpoint, make: Make) -> None:
    allowed = True

    def first_batch_is_done(done: int, total: int) -> None:
        nonlocal allowed
        allowed = False

    with pytest.raises(NotAllowed):
        make(allowed=lambda: allowed).embed(["x"] * 40, progress=first_batch_is_done)
    assert len(endpoint.requests) == 1


def test_threads_may_embed_at_once(endpoint: Endpoint, make: Make) -> None:
    provider, results = make(), {}

    def work(name: str) -> None:
        results[name] = provider.embed([name] * 33)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {name: [unit(numbers_for(name))] * 33 for name in "abcd"}
    assert provider.usage.requests == 8 and provider.usage.texts == 132


def test_it_is_named_by_provider_model_and_dimensions(make: Make, endpoint: Endpoint) -> None:
    provider = make()
    assert provider.fingerprint == f"api:tiny:{DIMENSIONS}"
    assert provider.endpoint == f"http://{endpoint.host}"
