"""A real HTTP server on loopback that answers as each test scripts it, and providers that are closed again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from core.embed.api import ApiProvider

KEY = "sk-loopback-3f9c2b7e41d84a6ab5"
KEY_ENV = "LOOPBACK_KEY"
DIMENSIONS = 4
NOW = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC, which the servers' dates are told from

Reply = Callable[[list[str]], Response]


def numbers_for(text: str) -> list[float]:
    """The vector the server gives for a text: never zero, and different for different texts."""
    digest = hashlib.blake2b(text.encode(), digest_size=DIMENSIONS).digest()
    return [byte + 1.0 for byte in digest]


def embeddings(texts: list[str]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": at, "embedding": numbers_for(t)} for at, t in enumerate(texts)]
    return {"object": "list", "data": data, "model": "tiny", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def answer(document: object, status: int = 200, **headers: str) -> Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json.dumps(document), status, headers=sent, content_type="application/json")


def good(texts: list[str]) -> Response:
    return answer(embeddings(texts))


def failing(status: int, message: str = "no", **headers: str) -> Reply:
    return lambda texts: answer({"error": {"message": message}}, status, **headers)


@dataclass
class Endpoint:
    """The server: ``script`` holds the next replies (then ``good``), ``requests`` what it was sent."""

    server: HTTPServer
    script: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)

    @property
    def base_url(self) -> str:
        return self.server.url_for("/v1")

    @property
    def host(self) -> str:
        return f"{self.server.host}:{self.server.port}"

    def handle(self, request: Request) -> Response:
        body = json.loads(request.get_data())
        self.requests.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        reply = self.script.pop(0) if self.script else good
        return reply(body["input"])

    def hang(self, texts: list[str]) -> Response:
        """Answer only when the test is over."""
        self.arrived.set()
        self.release.wait(30)
        return good(texts)


@pytest.fixture(scope="session")
def loopback() -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        yield server


@pytest.fixture
def endpoint(loopback: HTTPServer) -> Iterator[Endpoint]:
    loopback.clear()
    made = Endpoint(loopback)
    loopback.expect_request("/v1/embeddings", method="POST").respond_with_handler(made.handle)
    yield made
    made.release.set()


@dataclass
class Pauses:
    """Notes how long it would have waited, and does not wait."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float, cancel: threading.Event | None) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


Make = Callable[..., ApiProvider]


@pytest.fixture
def make(endpoint: Endpoint, pauses: Pauses) -> Iterator[Make]:
    made: list[ApiProvider] = []

    def provider(**changes: Any) -> ApiProvider:
        arguments: dict[str, Any] = {
            "base_url": endpoint.base_url,
            "model": "tiny",
            "dimensions": DIMENSIONS,
            "key_env": KEY_ENV,
            "environ": {KEY_ENV: KEY},
            "allowed": lambda: True,
            "clock": lambda: NOW,
            "timeout": 20.0,
            "pause": pauses,
            "random": lambda: 0.0,
        }
        made.append(ApiProvider(**(arguments | changes)))
        return made[-1]

    yield provider
    for item in made:
        item.close()
