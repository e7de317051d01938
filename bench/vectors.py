"""Vectors for the bench: made from a text's checksum, so that any size costs nothing and is the same every time."""

from __future__ import annotations

import os
import shutil
import sys
import zlib
from collections.abc import Sequence

import numpy as np

from bench.ground import Ground, probe
from core.embed.local import LocalProvider
from core.embed.provider import Cancel, Progress, Usage, Vector, fingerprint_of
from core.embed.provider import RefusedVector as Refused
from core.embedding import Embedder
from core.memory import Memory

LOCAL = LocalProvider.dimensions


class ChecksumProvider:
    """Unit vectors of ``dimensions`` numbers; at the local model's size they pass for its own."""

    max_input_bytes = 1 << 20
    batch_size = 512
    endpoint = ""
    usage = Usage()

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.fingerprint = (
            LocalProvider.fingerprint
            if dimensions == LOCAL
            else fingerprint_of("bench", "checksum", dimensions)
        )

    def embed(
        self,
        texts: Sequence[str],
        *,
        cancel: Cancel | None = None,
        progress: Progress | None = None,
        patient: bool = True,
    ) -> list[Vector | Refused]:
        """See ``core.embed.provider.Provider.embed``."""
        return list(self.vectors(texts))

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors, none of which is ever refused."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        values = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimensions)
        return bytes((values / np.linalg.norm(values)).astype("<f4").tobytes())

    def close(self) -> None:
        """Nothing to let go of."""


def open_with(ground: Ground, dimensions: int) -> Memory:
    """Open a memory whose vectors are a :class:`ChecksumProvider`'s."""
    memory = ground.open()
    embedder = Embedder(
        memory.settings, ground.environ, state=ground.home / "state", root=ground.root, clock=memory.now
    )
    embedder.use(ChecksumProvider(dimensions))
    memory.use_embedder(embedder)
    return memory


def with_vectors(ground: Ground, dimensions: int) -> Ground:
    """The same memory once more (its files linked), its index filled with vectors; kept for the next run."""
    home = ground.home.with_name(f"{ground.home.name}-v{dimensions}")
    place = Ground(home, ground.chunks)
    done = home / "vectors.done"
    if not done.exists():
        shutil.rmtree(home, ignore_errors=True)
        print(f"  making vectors of {dimensions} numbers in {home} (kept for the next run)", file=sys.stderr)
        shutil.copytree(
            ground.root, place.root, copy_function=_linked, ignore=shutil.ignore_patterns("*.sqlite*")
        )
        if dimensions == LOCAL:
            (home / "config.toml").write_text('[embedding]\nprovider = "local"\n')
        probe("bench.probes.fill", place, str(dimensions))
        done.write_text("")
    probe("bench.probes.sync", place)
    return place


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def drop(ground: Ground) -> None:
    """Remove the copy with vectors."""
    shutil.rmtree(ground.home, ignore_errors=True)
