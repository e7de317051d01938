"""Embed room: what every provider of vectors promises, and the errors it may raise.

A provider is made cheaply and loads nothing until the first :meth:`Provider.embed`, which blocks and may be
called from any thread, several at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.embed.vectors import Vector, cut_to, estimated_tokens
from core.errors import MemdeckError

__all__ = [
    "BadAnswer",
    "Cancel",
    "Cancelled",
    "DimensionMismatch",
    "EmbeddingError",
    "NoProvider",
    "NotAllowed",
    "PassingError",
    "PermanentError",
    "Progress",
    "Provider",
    "RefusedVector",
    "Usage",
    "Vector",
    "cut_to",
    "estimated_tokens",
    "fingerprint_of",
    "raise_if_cancelled",
]

Cancel = threading.Event
"""Set it from any thread to stop an :meth:`Provider.embed`, which then raises :class:`Cancelled`."""

Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all), in the thread that embeds."""

_TEXT_GOES_ON = "Text search goes on without vectors; nothing of the memory changed."


class EmbeddingError(MemdeckError):
    """Vectors cannot be had; the Markdown and text search are untouched."""

    def __init__(self, message: str, *, hint: str = "", data: str = _TEXT_GOES_ON) -> None:
        super().__init__(message, hint=hint, data=data)


class PassingError(EmbeddingError):
    """It may work later: too many requests, a server's failure, a time-out, a cut connection.

    ``retry_after`` is the number of seconds the endpoint asked to be left alone, None if it named none.
    """

    retry_after: float | None = None


class PermanentError(EmbeddingError):
    """It will not work until something is changed: a wrong key, address, model or setting."""


class BadAnswer(PermanentError):
    """An answer that cannot be used: not JSON, other than asked for, too few or too many vectors."""


class DimensionMismatch(BadAnswer):
    """The model gives vectors of ``got`` numbers; the settings say ``wanted``."""

    got = 0
    wanted = 0


class NotAllowed(EmbeddingError):
    """Nothing was sent: a person has not confirmed that this memory's texts go to this endpoint."""


class Cancelled(EmbeddingError):
    """The person stopped it."""


class RefusedVector(EmbeddingError):
    """One text has no usable vector (zero, NaN, or no known word); its neighbours may.

    It stands in the result in the vector's place rather than being raised, so that one odd text does not
    keep the others from being found.  ``index`` is the text's place in the call, ``why`` a few words.
    """

    def __init__(self, index: int, model: str, why: str) -> None:
        super().__init__(
            f"text {index} has no usable vector from {model}: {why}",
            data="That text is found by its words only.",
        )
        self.index = index
        self.model = model
        self.why = why


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider has been given so far; for ``api``, what has left this machine, repeats included.

    ``tokens`` is an estimate.  ``waiting`` is "" or why it waits now, and for how long.
    """

    requests: int = 0
    texts: int = 0
    bytes: int = 0
    tokens: int = 0
    waiting: str = ""


class Provider(Protocol):
    """Turns texts into unit vectors."""

    @property
    def fingerprint(self) -> str:
        """``provider:model:dimensions``; vectors of two fingerprints do not compare."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in one vector."""
        ...

    @property
    def max_input_bytes(self) -> int:
        """Longest text in UTF-8 bytes; longer ones are cut at a character boundary before they are used."""
        ...

    @property
    def batch_size(self) -> int:
        """Texts that travel together: callers who store as they go give this many in one call."""
        ...

    @property
    def endpoint(self) -> str:
        """Where texts are sent, as ``https://host:port``; "" when they stay on this machine."""
        ...

    @property
    def usage(self) -> Usage:
        """A snapshot of the counter."""
        ...

    def embed(
        self,
        texts: Sequence[str],
        *,
        cancel: Cancel | None = None,
        progress: Progress | None = None,
        patient: bool = True,
    ) -> list[Vector | RefusedVector]:
        """Return one vector for each text, in order; a text without one has a :class:`RefusedVector`.

        ``patient=False`` is for a query someone waits for: one try, no waiting.  What was made before an
        error is lost with it.

        Raises:
            EmbeddingError: one of its kinds above.
        """
        ...

    def close(self) -> None:
        """Let go of connections and threads; who is waiting for vectors gets :class:`Cancelled`."""
        ...


@dataclass(frozen=True, slots=True)
class NoProvider:
    """No vectors: ``reason`` fits after "text only: ", ``hint`` says what to do about it."""

    reason: str
    hint: str = ""


def fingerprint_of(provider: str, model: str, dimensions: int) -> str:
    """``provider:model:dimensions``."""
    return f"{provider}:{model}:{dimensions}"


def raise_if_cancelled(cancel: Cancel | None) -> None:
    """Raise :class:`Cancelled` if ``cancel`` is set."""
    if cancel is not None and cancel.is_set():
        raise Cancelled("embedding was cancelled", data="Vectors stored before that stay.")
