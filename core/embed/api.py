"""Embed room: vectors from an OpenAI-compatible endpoint, only after consent, patient but never endless."""

from __future__ import annotations

import copy
import random as _random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from core.clock import Clock
from core.embed import retry
from core.embed.answer import trouble_of, vectors_of
from core.embed.exchange import Answer, Exchange, Lost
from core.embed.provider import (
    Cancel,
    EmbeddingError,
    NotAllowed,
    PassingError,
    PermanentError,
    Progress,
    RefusedVector,
    Usage,
    Vector,
    cut_to,
    estimated_tokens,
    fingerprint_of,
    raise_if_cancelled,
)

BATCH = 32

Pause = Callable[[float, "Cancel | None"], None]
"""Waits for seconds, or until the event is set."""


def _pause(seconds: float, cancel: Cancel | None) -> None:
    if cancel is None:
        time.sleep(seconds)
    else:
        cancel.wait(seconds)


class ApiProvider:
    """Embeds through one endpoint and model; thread-safe.

    ``base_url`` is the endpoint's (``https://api.openai.com/v1``); ``key_env`` names the variable of
    ``environ`` that holds the key, "" sends none.  ``allowed`` is asked before every single request.
    ``shorten`` asks the endpoint for ``dimensions`` numbers; without it the model's own length must be that.
    ``timeout`` bounds one request, in seconds.

    A permanent failure opens a circuit: from then on every call raises it again without a request, until
    :meth:`reset`.  A passing one is tried :data:`core.embed.retry.TRIES` times.

    Raises:
        ValueError: ``base_url`` cannot be used.
    """

    batch_size = BATCH

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        dimensions: int,
        key_env: str,
        environ: Mapping[str, str],
        allowed: Callable[[], bool],
        clock: Clock,
        shorten: bool = False,
        max_input_bytes: int = 8000,
        timeout: float = 30.0,
        pause: Pause = _pause,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self._key = environ.get(key_env, "").strip() if key_env else ""
        self._exchange = Exchange(base_url, self._key, timeout)
        self.endpoint = self._exchange.origin
        self.host = urlsplit(self.endpoint).netloc
        self.model = model
        self.dimensions = dimensions
        self.max_input_bytes = max_input_bytes
        self.fingerprint = fingerprint_of("api", model, dimensions)
        self._shorten = shorten
        self._allowed = allowed
        self._clock = clock
        self._pause = pause
        self._random = random
        self._lock = threading.Lock()
        self._usage = Usage()
        self._broken: EmbeddingError | None = None

    def __repr__(self) -> str:
        return f"ApiProvider({self.endpoint!r}, {self.model!r}, {self.dimensions})"

    @property
    def usage(self) -> Usage:
        return self._usage

    @property
    def broken(self) -> str:
        """Why no request is made any more, or ""."""
        return str(self._broken or "")

    def reset(self) -> None:
        """Close the circuit: the next call asks the endpoint again."""
        with self._lock:
            self._broken = None

    def close(self) -> None:
        """Drop what is under way and close all connections, for good."""
        self._exchange.close()

    def embed(
        self,
        texts: Sequence[str],
        *,
        cancel: Cancel | None = None,
        progress: Progress | None = None,
        patient: bool = True,
    ) -> list[Vector | RefusedVector]:
        """See :meth:`core.embed.provider.Provider.embed`.  Blank texts are refused without being sent.

        Raises:
            NotAllowed: not confirmed; PermanentError (BadAnswer, DimensionMismatch): the circuit is open;
            PassingError: tried often enough; Cancelled: ``cancel`` was set.
        """
        results: list[Vector | RefusedVector] = [
            RefusedVector(index, self.model, "the text is empty") for index in range(len(texts))
        ]
        cut = [(index, cut_to(text, self.max_input_bytes)) for index, text in enumerate(texts)]
        full = [(index, text) for index, text in cut if text.strip()]
        done = len(texts) - len(full)
        for start in range(0, len(full), BATCH):
            batch = full[start : start + BATCH]
            vectors = self._batch(batch, cancel, patient)
            for (index, _), vector in zip(batch, vectors, strict=True):
                results[index] = vector
            done += len(batch)
            if progress is not None:
                progress(done, len(texts))
        return results

    def _batch(
        self, batch: list[tuple[int, str]], cancel: Cancel | None, patient: bool
    ) -> list[Vector | RefusedVector]:
        body: dict[str, Any] = {"model": self.model, "input": [text for _, text in batch]}
        if self._shorten:
            body["dimensions"] = self.dimensions
        attempt = 1
        while True:
            self._may_send(cancel)
            self._count(body["input"])
            outcome = self._exchange.post(body, cancel)
            error = self._error_of(outcome)
            if error is None and isinstance(outcome, Answer):
                return self._read(outcome, [index for index, _ in batch])
            if isinstance(error, PassingError) and patient and attempt < retry.TRIES:
                self._wait(error, attempt, cancel)
                attempt += 1
            elif error is not None:
                raise self._final(error, attempt)

    def _may_send(self, cancel: Cancel | None) -> None:
        raise_if_cancelled(cancel)
        if self._broken is not None:
            raise copy.copy(self._broken)  # a fresh one each time: a traceback belongs to one raise
        if not self._allowed():
            raise NotAllowed(
                f"nothing was sent to {self.host}: you have not confirmed that texts of this memory go there",
                hint="Confirm it on the screen that names what would be sent.",
            )

    def _error_of(self, outcome: Answer | Lost) -> EmbeddingError | None:
        if isinstance(outcome, Lost):
            kind = PassingError if outcome.passing else PermanentError
            return kind(f"{self.host} {outcome.why}", hint="Check embedding.base_url and the network.")
        error = trouble_of(outcome, host=self.host, key=self._key)
        if isinstance(error, PassingError):
            error.retry_after = retry.retry_after(outcome.headers, self._clock())
        return error

    def _read(self, answer: Answer, indexes: list[int]) -> list[Vector | RefusedVector]:
        try:
            return vectors_of(answer, indexes, host=self.host, model=self.model, dimensions=self.dimensions)
        except PermanentError as error:
            raise self._final(error, 1) from None

    def _final(self, error: EmbeddingError, attempts: int) -> EmbeddingError:
        if isinstance(error, PermanentError):
            with self._lock:
                self._broken = copy.copy(error)
            return error
        if attempts == 1:
            return error
        last = PassingError(f"{error} (tried {attempts} times)", hint=error.hint, data=error.data)
        last.retry_after = getattr(error, "retry_after", None)
        return last

    def _wait(self, error: PassingError, attempt: int, cancel: Cancel | None) -> None:
        seconds = retry.backoff(attempt, error.retry_after, self._random)
        if seconds > retry.LONGEST_WAIT:
            late = PassingError(
                f"{error}; it asks to be left alone for {seconds:.0f} s",
                hint="Embed again after that time.",
                data=error.data,
            )
            late.retry_after = error.retry_after
            raise late
        self._waiting(f"{error}; next try in {seconds:.0f} s")
        try:
            self._pause(seconds, cancel)
        finally:
            self._waiting("")

    def _waiting(self, why: str) -> None:
        with self._lock:
            self._usage = replace(self._usage, waiting=why)

    def _count(self, texts: Sequence[str]) -> None:
        size = sum(len(text.encode()) for text in texts)
        tokens = sum(estimated_tokens(len(text.encode())) for text in texts)
        with self._lock:
            used = self._usage
            self._usage = replace(
                used,
                requests=used.requests + 1,
                texts=used.texts + len(texts),
                bytes=used.bytes + size,
                tokens=used.tokens + tokens,
            )
