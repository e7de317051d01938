"""The endpoint's bad days: what is tried again, what is not, and what a person is told."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
import traceback
from collections.abc import Callable

import pytest
from werkzeug import Response

from core.embed import exchange
from core.embed.provider import (
    BadAnswer,
    Cancel,
    Cancelled,
    DimensionMismatch,
    EmbeddingError,
    PassingError,
    PermanentError,
    RefusedVector,
)
from core.embed.vectors import unit
from tests.core.embed.conftest import (
    DIMENSIONS,
    KEY,
    Endpoint,
    Make,
    Pauses,
    Reply,
    answer,
    embeddings,
    failing,
    good,
    numbers_for,
)


def raw_server(behave: Callable[[socket.socket], None], connections: int) -> tuple[str, threading.Thread]:
    """A server of bare sockets, for what no HTTP server would do; returns its base URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            listener.settimeout(30)
            for _ in range(connections):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(30)
                    behave(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/v1", thread


def test_429_is_waited_out_as_long_as_it_asks(endpoint: Endpoint, make: Make, pauses: Pauses) -> None:
    endpoint.script = [
        failing(429, Retry_After="7"),
        failing(429, Retry_After="Thu, 01 Jan 2026 00:00:45 GMT"),
        failing(429),
    ]
    assert make().embed(["a"]) == [unit(numbers_for("a"))]
    assert pauses.seconds == [7.0, 45.0, 2.0]
    assert len(endpoint.requests) == 4


def test_an_endpoint_that_asks_for_too_long_is_left_alone(
    endpoint: Endpoint, make: Make, pauses: Pauses
) -> None:
    endpoint.script = [failing(429, Retry_After="3600")]
    with pytest.raises(PassingError, match="left alone for 3600 s") as caught:
        make().embed(["a"])
    assert caught.value.retry_after == 3600.0
    assert pauses.seconds == [] and len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_passing_failure_is_tried_up_to_a_bound(
    endpoint: Endpoint, make: Make, pauses: Pauses, status: int
) -> None:
    endpoint.script = [failing(status)] * 9
    provider = make()
    with pytest.raises(PassingError, match=rf"answered {status}: no \(tried 5 times\)"):
        provider.embed(["a"])
    assert pauses.seconds == [0.5, 1.0, 2.0, 4.0]
    assert len(endpoint.requests) == provider.usage.requests == 5
    endpoint.script = []
    assert provider.embed(["a"]) == [unit(numbers_for("a"))]  # no circuit was opened


def test_a_server_that_recovers_is_forgiven(endpoint: Endpoint, make: Make) -> None:
    endpoint.script = [failing(500), failing(503), good]
    assert make().embed(["a"]) == [unit(numbers_for("a"))]


def test_an_impatient_call_tries_once(endpoint: Endpoint, make: Make, pauses: Pauses) -> None:
    endpoint.script = [failing(500), good]
    with pytest.raises(PassingError, match=r"answered 500: no$"):
        make().embed(["a"], patient=False)
    assert pauses.seconds == [] and len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_permanent_failure_opens_the_circuit(endpoint: Endpoint, make: Make, status: int) -> None:
    endpoint.script = [failing(status)]
    provider = make()
    for _ in range(3):
        with pytest.raises(PermanentError, match=f"answered {status}") as caught:
            provider.embed(["a"] * 40)
        assert caught.value.hint
    assert len(endpoint.requests) == 1
    assert f"answered {status}" in provider.broken
    provider.reset()
    assert provider.embed(["a"]) == [unit(numbers_for("a"))] and provider.broken == ""


def test_texts_do_not_follow_a_redirect_to_another_host(endpoint: Endpoint, make: Make) -> None:
    endpoint.script = [lambda texts: Response("", 307, headers={"Location": endpoint.base_url + "/else"})]
    with pytest.raises(PermanentError, match="points to another address"):
        make().embed(["a"])
    assert len(endpoint.server.log) == 1


def test_an_endpoint_that_hangs_is_given_up(endpoint: Endpoint, make: Make) -> None:
    endpoint.script = [endpoint.hang]
    with pytest.raises(PassingError, match=r"did not answer within 0\.3 s"):
        make(timeout=0.3).embed(["a"], patient=False)
    assert len(endpoint.requests) == 1


def test_an_answer_that_drips_is_given_up(make: Make) -> None:
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        try:
            while not over.wait(0.05):
                connection.sendall(b" ")
        except OSError:
            return

    url, thread = raw_server(drip, 1)
    with pytest.raises(PassingError, match="did not answer within 1 s"):
        make(base_url=url, timeout=1.0).embed(["a"], patient=False)
    over.set()
    thread.join(30)


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", b"HTTP/1.1 200 OK\r\nConte"]
)
def test_a_cut_connection_is_tried_again(make: Make, pauses: Pauses, said: bytes) -> None:
    def cut(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(said)

    url, thread = raw_server(cut, 5)
    with pytest.raises(PassingError, match=r"cut the connection.*\(tried 5 times\)"):
        make(base_url=url).embed(["a"])
    thread.join(30)
    assert len(pauses.seconds) == 4


def test_nobody_listening_is_said_so(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(PassingError, match=rf"127\.0\.0\.1:{port} could not be reached"):
        make(base_url=f"http://127.0.0.1:{port}/v1").embed(["a"], patient=False)


def test_wrong_dimensions_name_both_numbers_and_the_setting(endpoint: Endpoint, make: Make) -> None:
    provider = make(dimensions=3)
    with pytest.raises(
        DimensionMismatch, match=r"vectors of 4 numbers, but embedding\.dimensions is 3"
    ) as caught:
        provider.embed(["a"])
    assert (caught.value.got, caught.value.wanted) == (4, 3)
    assert "Set embedding.dimensions to 4, or embedding.shorten to true" in caught.value.hint
    with pytest.raises(DimensionMismatch):
        provider.embed(["a"])
    assert len(endpoint.requests) == 1


def _changed(change: Callable[[list[dict[str, object]]], object]) -> Reply:
    def reply(texts: list[str]) -> Response:
        document = embeddings(texts)
        change(document["data"])
        return answer(document)

    return reply


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (_changed(lambda data: data.pop()), "gave 2 vectors for 3 texts"),
        (_changed(lambda data: data.append(data[0])), "gave 4 vectors for 3 texts"),
        (_changed(lambda data: data[0].update(index=1)), "numbered its vectors wrongly"),
        (_changed(lambda data: data[0].update(index=3)), "numbered its vectors wrongly"),
        (_changed(lambda data: data[0].update(index=True)), "numbered its vectors wrongly"),
        (_changed(lambda data: data[0].pop("index")), "numbered its vectors wrongly"),
        (_changed(lambda data: data[1].update(embedding=["1"] * 4)), "text 1 that is not a list of numbers"),
        (_changed(lambda data: data[1].update(embedding="AAAA")), "text 1 that is not a list of numbers"),
        (_changed(lambda data: data[1].update(embedding=[10**400] * 4)), "text 1 that is not a list of"),
        (lambda texts: Response("<html>Sign in</html>"), "something other than embeddings"),
        (lambda texts: answer({"error": "model not loaded"}), "something other than embeddings"),
        (lambda texts: answer({"data": [1, 2, 3]}), "something other than embeddings"),
        (lambda texts: answer([]), "something other than embeddings"),
        (lambda texts: Response(b"[" * 100_000), "something other than embeddings"),
        (lambda texts: Response(b"\xff\xfe\x00", content_type="application/json"), "something other than"),
    ],
)
def test_an_answer_that_cannot_be_used_is_named_and_not_paid_for_twice(
    endpoint: Endpoint, make: Make, reply: Reply, message: str
) -> None:
    endpoint.script = [reply]
    provider = make()
    for _ in range(2):
        with pytest.raises(BadAnswer, match=message):
            provider.embed(["a", "b", "c"])
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ([0.0] * DIMENSIONS, "it is zero"),
        ([1.0, None, 1.0, 1.0], "it holds NaN or infinity"),
        ([1.0, float("nan"), 1.0, 1.0], "it holds NaN or infinity"),
        ([1.0, float("inf"), 1.0, 1.0], "it holds NaN or infinity"),
    ],
)
def test_one_bad_vector_is_refused_and_its_neighbours_kept(
    endpoint: Endpoint, make: Make, numbers: list[object], why: str
) -> None:
    texts = [f"t{number}" for number in range(34)]
    endpoint.script = [good, _changed(lambda data: data[1].update(embedding=numbers))]
    vectors = make().embed(texts)
    refused = vectors.pop(33)
    assert isinstance(refused, RefusedVector)
    assert str(refused) == f"text 33 has no usable vector from tiny: {why}"
    assert vectors == [unit(numbers_for(text)) for text in texts[:33]]


def test_a_model_that_gives_nothing_but_zeros_is_stopped(endpoint: Endpoint, make: Make) -> None:
    endpoint.script = [
        lambda texts: answer({"data": [{"embedding": [0.0] * DIMENSIONS} for _ in texts]}),
    ]
    with pytest.raises(BadAnswer, match="no usable vector for any of 2 texts"):
        make().embed(["a", "b"])


def test_cancel_before_anything_is_sent(endpoint: Endpoint, make: Make) -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        make().embed(["a"], cancel=cancel)
    assert endpoint.requests == []


def test_cancel_between_two_batches(endpoint: Endpoint, make: Make) -> None:
    cancel = Cancel()
    with pytest.raises(Cancelled):
        make().embed(["a"] * 40, cancel=cancel, progress=lambda done, total: cancel.set())
    assert len(endpoint.requests) == 1


def test_cancel_during_a_wait(endpoint: Endpoint, make: Make) -> None:
    endpoint.script = [failing(429, Retry_After="100")]
    cancel, seen = Cancel(), []

    def pause(seconds: float, event: Cancel | None) -> None:
        assert event is not None
        seen.append(provider.usage.waiting)
        threading.Thread(target=cancel.set).start()
        assert event.wait(60)

    provider = make(pause=pause)
    with pytest.raises(Cancelled):
        provider.embed(["a"], cancel=cancel)
    assert len(endpoint.requests) == 1
    assert seen == [f"{endpoint.host} answered 429: no; next try in 100 s"]
    assert provider.usage.waiting == ""


@pytest.mark.parametrize("way", ["cancel", "close"])
def test_a_request_under_way_is_dropped_and_its_connection_closed(make: Make, way: str) -> None:
    arrived, last_word = threading.Event(), []

    def wait_for_the_end(connection: socket.socket) -> None:
        while b"\r\n\r\n" not in connection.recv(65536):
            pass
        arrived.set()
        data = connection.recv(65536)
        while data:  # what is left of the body; b"" is the end of the connection
            data = connection.recv(65536)
        last_word.append(data)

    url, thread = raw_server(wait_for_the_end, 1)
    provider, cancel = make(base_url=url, timeout=60.0), Cancel()

    def stop() -> None:
        arrived.wait(30)
        if way == "cancel":
            cancel.set()
        else:
            provider.close()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(Cancelled):
        provider.embed(["a"], cancel=cancel)
    stopper.join(30)
    thread.join(30)
    assert last_word == [b""]


def test_a_closed_provider_sends_nothing(endpoint: Endpoint, make: Make) -> None:
    provider = make()
    provider.embed(["a"])
    provider.close()
    provider.close()
    with pytest.raises(Cancelled):
        provider.embed(["b"])
    assert len(endpoint.requests) == 1


def echoing(status: int, *, whole: bool = True) -> Reply:
    message = f"the key {KEY} is wrong" if whole else f"({KEY[:14]}…) and {KEY[-9:]} are wrong"
    return failing(status, message)


@pytest.mark.parametrize(
    "replies",
    [
        [echoing(400)],
        [echoing(400, whole=False)],
        [echoing(401)],
        [echoing(403)],
        [echoing(404)],
        [echoing(500)] * 5,
        [lambda texts: answer({"error": KEY}, 422)],
        [lambda texts: Response(KEY, 400)],
        [lambda texts: Response("", 302, headers={"Location": f"http://127.0.0.1/?key={KEY}"})],
        [lambda texts: Response(KEY)],
        [_changed(lambda data: data[0].update(embedding=KEY))],
    ],
)
def test_the_key_is_in_no_error_and_no_log(
    endpoint: Endpoint, make: Make, caplog: pytest.LogCaptureFixture, replies: list[Reply]
) -> None:
    endpoint.script = replies
    provider = make()
    with caplog.at_level(logging.DEBUG), pytest.raises(EmbeddingError) as caught:
        provider.embed(["a"])
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    link: BaseException | None = caught.value
    while link is not None:
        assert isinstance(link, EmbeddingError | ValueError), "an error of the HTTP library holds the request"
        assert_no_key(str(link), repr(link), repr(vars(link)))
        link = link.__cause__ or link.__context__
    error = caught.value
    assert_no_key(error.hint, error.data, *traceback.format_exception(error))
    assert_no_key(repr(provider), provider.broken, repr(provider.usage), repr(provider._exchange))
    logged = [record.getMessage() for record in caplog.records if record.name != "werkzeug"]
    # At DEBUG the HTTP library repeats the headers it was answered; what it sent it does not.
    assert_no_key(*(text for text in logged if not text.startswith("receive_response_headers.complete")))


@pytest.mark.parametrize("status", [401, 403])
def test_what_an_endpoint_says_about_a_key_is_not_repeated(
    endpoint: Endpoint, make: Make, status: int
) -> None:
    endpoint.script = [failing(status, f"Incorrect API key provided: {KEY[:5]}***{KEY[-4:]}")]
    with pytest.raises(PermanentError) as caught:
        make().embed(["a"])
    assert str(caught.value) == f"{endpoint.host} answered {status}"


def assert_no_key(*texts: str) -> None:
    pieces = {KEY[at : at + 8] for at in range(len(KEY) - 7)}
    for text in texts:
        assert not any(piece in text for piece in pieces), text


def test_the_endpoints_own_words_are_short_and_safe_to_show(endpoint: Endpoint, make: Make) -> None:
    endpoint.script = [failing(400, "bad\n\x1b[31m text \u202e " + "long " * 100)]
    with pytest.raises(PermanentError, match="answered 400: bad ␛") as caught:
        make().embed(["a"])
    assert len(str(caught.value)) < 260 and str(caught.value).isprintable()


def test_an_answer_that_would_fill_the_memory_is_not_read_to_its_end(
    endpoint: Endpoint, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MAX_ANSWER", 2_000_000)
    endpoint.script = [lambda texts: Response(b" " * 2_000_001 + b"{}", 200, content_type="application/json")]
    with pytest.raises(PermanentError, match="answered with more than 2 MB"):
        make().embed(["one"])
    endpoint.script = [lambda texts: Response(b" " * 2_000_001, 500, content_type="application/json")]
    with pytest.raises(PermanentError, match="answered with more than 2 MB"):
        make().embed(["one"])


def test_a_packed_answer_is_neither_asked_for_nor_unpacked(endpoint: Endpoint, make: Make) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    endpoint.script = [
        lambda texts: Response(
            bomb, 200, headers={"content-encoding": "gzip"}, content_type="application/json"
        )
    ]
    with pytest.raises(PermanentError, match="packed form"):
        make().embed(["one"])
    assert endpoint.headers[0]["accept-encoding"] == "identity"
