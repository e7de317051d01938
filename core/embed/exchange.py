"""Embed room: one request to an OpenAI-compatible endpoint, on a thread of its own, so that it can be dropped.

The request runs as a task of an event loop: cancelling the task closes its connection at once, which a
blocking read in the caller's thread could not be made to do.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError as Dropped
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from core.embed.provider import Cancel, Cancelled, raise_if_cancelled

T = TypeVar("T")

_POLL = 0.05  # seconds between two looks at the cancel event while a request is under way
_CONNECT_SECS = 10.0
_DEFAULT_PORTS = {"https": 443, "http": 80}

# All that an endpoint is told besides the body.  The client library adds the operating system, and headers
# from OPENAI_* variables (organization, project, custom ones), which are meant for one endpoint and would
# go to any.
_HEADERS = frozenset(
    (
        "host",
        "authorization",
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "connection",
        "x-stainless-raw-response",  # says nothing, but the library looks for it in the request it sent
    )
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status, headers (lower-case names) and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer: ``why`` continues a sentence that begins with the host; ``passing``: worth another try."""

    why: str
    passing: bool = True


MAX_ANSWER = 32_000_000
"""Bytes of one answer; 32 vectors of 8,192 numbers take a quarter of it."""


def origin_of(base_url: str) -> str:
    """``https://host:port`` of a base URL: what a person confirms, and all of it that is ever shown.

    Raises:
        ValueError: it cannot be used; the text says why and repeats nothing that could be a secret.
    """
    try:
        parts: SplitResult = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise ValueError("must begin with https:// (or http://) and a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a user or password; name the key's variable in embedding.key_env")
    if parts.query or parts.fragment:
        raise ValueError("must not have a ? or # part")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port or _DEFAULT_PORTS[parts.scheme]}"


def is_loopback(origin: str) -> bool:
    """Whether an origin is this machine itself."""
    host = urlsplit(origin).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class Exchange:
    """Posts embedding requests to one endpoint; thread-safe, reusing connections.

    ``key`` is sent as a bearer token and kept out of every ``repr`` and message; "" sends none.
    ``timeout`` is in seconds and bounds a whole request, however slowly the answer drips.
    """

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        self.origin = origin_of(base_url)
        self._base_url = base_url.strip()
        self._key = key
        self._timeout = timeout
        self._lock = threading.Lock()
        self._runner: _Runner | None = None
        self._closed = False
        self._client: Any = None

    def __repr__(self) -> str:
        return f"Exchange({self.origin!r})"

    def post(self, body: Mapping[str, Any], cancel: Cancel | None) -> Answer | Lost:
        """Send one request and wait for its end.

        Raises:
            Cancelled: ``cancel`` was set, or it was closed meanwhile; the connection of the dropped request
                is closed as well.
        """
        with self._lock:
            if self._closed:
                raise _closed()
            if self._runner is None:
                self._runner = _Runner(self._close_client)
            runner = self._runner
        return runner.run(self._post(body), cancel)

    def close(self) -> None:
        """Drop what is under way, close all connections, end the thread; for good."""
        with self._lock:
            self._closed = True
            runner, self._runner = self._runner, None
        if runner is not None:
            runner.stop()

    async def _post(self, body: Mapping[str, Any]) -> Answer | Lost:
        try:
            import openai
        except ImportError:
            return Lost("cannot be asked: the package `openai` is not installed as it should be", False)
        try:
            async with asyncio.timeout(self._timeout):
                create = self._opened(openai).embeddings.with_raw_response.create
                raw = await create(**body, encoding_format="float")
                return Answer(raw.status_code, _lowered(raw.headers), raw.content)
        except openai.APIStatusError as error:
            return Answer(error.status_code, _lowered(error.response.headers), error.response.content)
        except TimeoutError:
            return Lost(f"did not answer within {self._timeout:g} s")
        except openai.APIConnectionError as error:
            return _lost(error, self._timeout)
        except _Unfit as error:
            return Lost(str(error), passing=False)
        except Exception as error:  # a bug of a library under it: named, but its text may quote the request
            return Lost(f"could not be asked ({type(error).__name__})", passing=False)

    def _opened(self, openai: Any) -> Any:
        if self._client is None:
            # Reading may take all of the time that _post allows; only connecting has a bound of its own.
            timeout = openai.Timeout(self._timeout, connect=min(_CONNECT_SECS, self._timeout))
            self._client = openai.AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key or "none",  # never sent: the hook below decides what is
                max_retries=0,
                timeout=timeout,
                http_client=openai.DefaultAsyncHttpxClient(
                    # An endpoint must not pass texts on to a host nobody confirmed, nor must a proxy be
                    # asked for what lies on this machine.
                    follow_redirects=False,
                    trust_env=not is_loopback(self.origin),
                    timeout=timeout,
                    event_hooks={"request": [self._only_what_is_needed], "response": [_bounded]},
                ),
            )
        return self._client

    async def _only_what_is_needed(self, request: Any) -> None:
        for name in list(request.headers):
            if name.lower() not in _HEADERS:
                del request.headers[name]
        request.headers["user-agent"] = "memdeck"
        request.headers["accept-encoding"] = "identity"  # what unpacks to gigabytes is not asked for
        if self._key:
            request.headers["authorization"] = f"Bearer {self._key}"
        else:
            request.headers.pop("authorization", None)

    async def _close_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class _Unfit(Exception):
    """An answer that is not read to its end, and why."""


async def _bounded(response: Any) -> None:
    """Let no answer be packed, or longer than any batch of vectors can be: it would be held in memory whole."""
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise _Unfit(f"answered in a packed form ({packed[:20]}) that was not asked for")
    body = response.stream

    async def pieces(self: Any) -> AsyncIterator[bytes]:
        size = 0
        async for piece in body:
            size += len(piece)
            if size > MAX_ANSWER:
                raise _Unfit(f"answered with more than {MAX_ANSWER // 1_000_000} MB")
            yield piece

    async def aclose(self: Any) -> None:
        await body.aclose()

    # Whichever HTTP library `openai` brings, the stream must be of its own kind.
    kind = next(base for base in type(body).__mro__ if base.__name__ == "AsyncByteStream")
    response.stream = type("Bounded", (kind,), {"__aiter__": pieces, "aclose": aclose})()


class _Runner:
    """An event loop on a daemon thread of its own."""

    def __init__(self, at_end: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._at_end = at_end
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main(ready)), name="memdeck-embed", daemon=True
        )
        self._thread.start()
        self._loop, self._over = ready.result()

    async def _main(self, ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
        over = asyncio.Event()
        ready.set_result((asyncio.get_running_loop(), over))
        await over.wait()
        # Requests first: one whose client is closed under it would look like a cut connection.
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._at_end()

    def run(self, work: Coroutine[Any, Any, T], cancel: Cancel | None) -> T:
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop was closed since
            work.close()
            raise _closed() from None
        try:
            while not future.done():
                wait([future], timeout=_POLL)
                if not future.done():
                    raise_if_cancelled(cancel)
                    if not self._thread.is_alive():  # closed before the loop had seen the request
                        raise _closed()
            return future.result()
        except Dropped:
            raise _closed() from None
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(timeout=5)


def _closed() -> Cancelled:
    return Cancelled("embedding was stopped", data="Vectors stored before that stay.")


def _lowered(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _lost(error: BaseException, timeout: float) -> Lost:
    """Say in our own words why there was no answer: a library's text may quote the request."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    unfit = next((link for link in chain if isinstance(link, _Unfit)), None)
    if unfit is not None:
        return Lost(str(unfit), passing=False)
    if any(isinstance(link, ssl.SSLCertVerificationError) for link in chain):
        return Lost("has a certificate that is not trusted", passing=False)
    names = {type(link).__name__ for link in chain}
    reason = next((link.strerror for link in chain if isinstance(link, OSError) and link.strerror), "")
    tail = f": {reason}" if reason else ""
    if names & {"ConnectError", "ConnectTimeout", "ProxyError"}:
        return Lost(f"could not be reached{tail}")
    if names & {"ReadTimeout", "WriteTimeout", "PoolTimeout"}:
        return Lost(f"did not answer within {timeout:g} s")
    if names & {"LocalProtocolError", "UnsupportedProtocol", "InvalidURL"}:
        return Lost("could not be asked: the request is not valid HTTP", passing=False)
    return Lost(f"cut the connection{tail}")
