"""Embed room: reading what an endpoint answered; every vector checked, every mistake of it named."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from core.embed.exchange import Answer
from core.embed.provider import (
    BadAnswer,
    DimensionMismatch,
    EmbeddingError,
    PassingError,
    PermanentError,
    RefusedVector,
    Vector,
)
from core.embed.vectors import UnusableNumbers, unit
from core.safetext import visible

_PASSING = frozenset((408, 409, 425, 429))
_LONGEST_REMARK = 200
_PIECE = 8  # characters of a key that may not be repeated, wherever in the key they stand

_HINTS = {
    400: "Check embedding.model and embedding.base_url; if a text was too long, lower embedding.max_input_bytes.",
    401: "Check the environment variable that embedding.key_env names.",
    403: "The key is known but may not use this model; choose another embedding.model, or another key.",
    404: "Check embedding.base_url (it mostly ends in /v1) and embedding.model.",
    413: "Lower embedding.max_input_bytes.",
}


def vectors_of(
    answer: Answer, indexes: Sequence[int], *, host: str, model: str, dimensions: int
) -> list[Vector | RefusedVector]:
    """The vectors of a good answer, in the order of the texts sent, whatever order it lists them in.

    ``indexes`` are the texts' places in the caller's list, for messages.

    Raises:
        BadAnswer: not what was asked for; DimensionMismatch: vectors of another length.
    """
    rows = _rows(answer, len(indexes), host)
    vectors = [_vector(row, at, host, model, dimensions) for row, at in zip(rows, indexes, strict=True)]
    refused = [vector for vector in vectors if isinstance(vector, RefusedVector)]
    if len(refused) == len(vectors) > 1:
        # One odd text is the text's matter; all of them are the model's.
        raise BadAnswer(
            f"{host} gave no usable vector for any of {len(vectors)} texts: {refused[0].why} ({model})",
            hint="The model or its server is broken; try another embedding.model.",
        )
    return vectors


def _rows(answer: Answer, count: int, host: str) -> list[Any]:
    try:
        document = json.loads(answer.body)
        data = document["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        data = None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise BadAnswer(
            f"{host} answered with something other than embeddings",
            hint="Check embedding.base_url: it must be an OpenAI-compatible endpoint (it mostly ends in /v1).",
        )
    if len(data) != count:
        raise BadAnswer(
            f"{host} gave {len(data)} vectors for {count} texts, so none of them can be trusted to be whose",
            hint="The endpoint is broken; embed again, or use another.",
        )
    if all("index" not in item for item in data):
        return [item.get("embedding") for item in data]
    places: dict[int, Any] = {}
    for item in data:
        place = item.get("index")
        if type(place) is not int or not 0 <= place < count or place in places:
            raise BadAnswer(
                f"{host} numbered its vectors wrongly, so it cannot be told which text each belongs to",
                hint="The endpoint is broken; embed again, or use another.",
            )
        places[place] = item.get("embedding")
    return [places[place] for place in range(count)]


def _vector(row: Any, index: int, host: str, model: str, dimensions: int) -> Vector | RefusedVector:
    if not isinstance(row, list):
        raise BadAnswer(f"{host} gave a vector for text {index} that is not a list of numbers ({model})")
    if len(row) != dimensions:
        raise _mismatch(host, model, len(row), dimensions)
    # Strict JSON has no NaN: servers that mean it write null.
    numbers = [float("nan") if number is None else number for number in row]
    try:
        return unit(numbers)
    except UnusableNumbers as error:
        return RefusedVector(index, model, f"it {error}")
    except (TypeError, OverflowError):
        raise BadAnswer(
            f"{host} gave a vector for text {index} that is not a list of numbers ({model})"
        ) from None


def _mismatch(host: str, model: str, got: int, wanted: int) -> DimensionMismatch:
    error = DimensionMismatch(
        f"{model} at {host} gives vectors of {got} numbers, but embedding.dimensions is {wanted}",
        hint=f"Set embedding.dimensions to {got}"
        + (f", or embedding.shorten to true to ask for {wanted}." if got > wanted else "."),
    )
    error.got, error.wanted = got, wanted
    return error


def trouble_of(answer: Answer, *, host: str, key: str) -> EmbeddingError | None:
    """The error an answer's status means, or None for a good one.

    The endpoint's own words are added where they help, never when it refuses the key: some repeat it.
    """
    status = answer.status
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return PermanentError(
            f"{host} answered {status}: it points to another address, and texts go only where you agreed",
            hint="Set embedding.base_url to the address it really has.",
        )
    remark = "" if status in (401, 403, 407) else remark_of(answer, key)
    said = f"{host} answered {status}" + (f": {remark}" if remark else "")
    if status in _PASSING or status >= 500:
        return PassingError(said, hint="It may pass; embedding goes on when you ask again.")
    return PermanentError(said, hint=_HINTS.get(status, "Check the settings under [embedding]."))


def remark_of(answer: Answer, key: str) -> str:
    """What an endpoint says in its error body: one short line, safe to show, without the key or parts of it."""
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    error = document.get("error", document) if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    if not isinstance(message, str):
        return ""
    line = visible(without_key(" ".join(message.split()), key)).replace("\n", " ")
    return line if len(line) <= _LONGEST_REMARK else line[: _LONGEST_REMARK - 1] + "…"


def without_key(text: str, key: str) -> str:
    """``text`` with every word masked that holds the key or a piece of it."""
    if not key:
        return text
    width = min(_PIECE, len(key))
    pieces = {key[at : at + width] for at in range(len(key) - width + 1)}
    return re.sub(
        r"\S+",
        lambda word: "[hidden]" if any(piece in word.group() for piece in pieces) else word.group(),
        text,
    )
