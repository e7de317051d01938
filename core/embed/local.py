"""Embed room: vectors made on this machine by wordllama, whose wheel carries its model; no network.

A word model: a text's vector is the mean of its tokens' rows.  256 numbers, some thousand short texts a
second on one core.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.embed.provider import (
    Cancel,
    EmbeddingError,
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

MODEL = "wordllama-l2_supercat"
DIMENSIONS = 256
_CONFIG = "l2_supercat"
HOW_TO_ADD = 'Install it with: pip install "memdeck[local]" (or uv tool install "memdeck[local]").'

_loading = threading.Lock()
_loaded: Any = None


def installed() -> bool:
    """Whether the extra ``local`` is there; looks without importing it."""
    return importlib.util.find_spec("wordllama") is not None


class LocalProvider:
    """The one provider that needs neither key nor consent: nothing leaves the machine."""

    fingerprint = fingerprint_of("local", MODEL, DIMENSIONS)
    dimensions = DIMENSIONS
    # The mean over more text than this says nothing; it also bounds the memory one text takes (8 MB).
    max_input_bytes = 32_768
    batch_size = 32
    endpoint = ""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        return self._usage

    def embed(
        self,
        texts: Sequence[str],
        *,
        cancel: Cancel | None = None,
        progress: Progress | None = None,
        patient: bool = True,
    ) -> list[Vector | RefusedVector]:
        """See :meth:`core.embed.provider.Provider.embed`.

        The first call loads the model (about half a second).  A text without a known token is refused.

        Raises:
            PermanentError: the extra is not installed, or its model cannot be loaded.
            Cancelled: ``cancel`` was set.
        """
        raise_if_cancelled(cancel)
        if not texts:
            return []
        model = _model()
        vectors: list[Vector | RefusedVector] = []
        for index, text in enumerate(texts):
            raise_if_cancelled(cancel)
            cut = cut_to(text, self.max_input_bytes)
            vectors.append(_vector(model, index, cut))
            self._count(cut)
            if progress is not None and (len(vectors) % self.batch_size == 0 or len(vectors) == len(texts)):
                progress(len(vectors), len(texts))
        return vectors

    def close(self) -> None:
        """Nothing to let go of: the model is shared and stays for the next one who asks."""

    def _count(self, text: str) -> None:
        size = len(text.encode())
        with self._lock:
            used = self._usage
            tokens = used.tokens + estimated_tokens(size)
            self._usage = Usage(used.requests, used.texts + 1, used.bytes + size, tokens)


def _vector(model: Any, index: int, text: str) -> Vector | RefusedVector:
    import numpy as np

    # One text at a time: the library pads a batch to its longest text, which is slower and takes 64 times
    # the memory; and its own normalising divides by zero for a text without tokens.
    tokens = model.tokenizer.encode(text, add_special_tokens=False).ids
    if not tokens:
        return RefusedVector(index, MODEL, "no known word")
    mean = model.embedding[tokens].mean(axis=0, dtype=np.float64)
    length = float(np.sqrt(mean @ mean))
    if not np.isfinite(length) or length == 0.0:
        return RefusedVector(index, MODEL, "its vector is zero or not a number")
    return bytes((mean / length).astype("<f4").tobytes())


def _model() -> Any:
    """The model, loaded by whoever asks first; the others wait for it."""
    global _loaded
    with _loading:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def _load() -> Any:
    error: EmbeddingError
    try:
        wordllama = _import_quietly()
        # Its own folder as the cache, and no download: weights and tokenizer lie in the wheel.
        return wordllama.WordLlama.load(
            _CONFIG, cache_dir=Path(wordllama.__file__).parent, dim=DIMENSIONS, disable_download=True
        )
    except ImportError:
        error = PermanentError("the extra `local` (wordllama) is not installed", hint=HOW_TO_ADD)
    except Exception as trouble:  # whatever a broken install raises, it is one sentence to a person
        error = PermanentError(
            f"wordllama cannot load its model: {type(trouble).__name__}: {trouble}",
            hint="Install it again: pip install --force-reinstall wordllama.",
        )
    raise error


def _import_quietly() -> Any:
    # Importing wordllama calls logging.basicConfig(level=INFO), which would print every library's remarks
    # over the screen.  With a handler there already, it leaves logging as it is.
    root, guard = logging.getLogger(), logging.NullHandler()
    root.addHandler(guard)
    try:
        import wordllama
    finally:
        root.removeHandler(guard)
    return wordllama
