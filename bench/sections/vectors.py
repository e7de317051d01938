"""Bars of vectors: a hybrid search beside its bare SQL and KNN, and how fast texts become vectors on this machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from bench.corpus import SEED, Zipf, frequent_queries, log_text, specific_queries, vocabulary
from bench.ground import ground, probe
from bench.measure import Row, beside, by_turns, percentile, seconds
from bench.peers.sql import BareSql
from bench.sections.app import stroke_rows
from bench.sections.search import measure
from bench.vectors import LOCAL, ChecksumProvider, drop, open_with, with_vectors
from core.embed.local import LocalProvider

PEER = "bare SQL + KNN"
SIZES = (LOCAL, 1_024)


def medium(quick: bool) -> Iterator[Row]:
    """On 10,000 chunks, with vectors of both sizes."""
    for dimensions in SIZES:
        yield from _section(10_000, dimensions, 12 if quick else 30, 3 if quick else 5)


def large(quick: bool) -> Iterator[Row]:
    """On 100,000 chunks; the copy with the longer vectors is not kept."""
    for dimensions in SIZES:
        yield from _section(100_000, dimensions, 5 if quick else 12, 3)


def _section(chunks: int, dimensions: int, count: int, rounds: int) -> Iterator[Row]:
    place = with_vectors(ground(chunks), dimensions)
    kinds = (("specific", specific_queries(count)), ("frequent", frequent_queries(count)))
    provider = ChecksumProvider(dimensions)
    asked = [query for _, queries in kinds for query in queries]
    vectors = dict(zip(asked, provider.vectors(asked), strict=True))
    memory = open_with(place, dimensions)
    peer = BareSql(place.index, vectors=vectors)
    try:
        for kind, queries in kinds:
            for query in queries:  # embeds it: what follows has its vector at hand
                report = memory.search(query, profile="hybrid", sync=False)
                if report.mode != "text+vectors":
                    raise RuntimeError(f"not searched by vectors: {report.mode}, {report.notes}")
            times = measure(
                {
                    "hybrid": lambda query: memory.search(query, profile="hybrid", sync=False),
                    PEER: peer.search,
                },
                queries,
                rounds,
            )
            for share in (0.5, 0.95):
                yield beside(
                    "vectors",
                    f"{place.chunks:,} chunks × {dimensions}: hybrid, {kind} words, p{share * 100:.0f}",
                    "ms",
                    [percentile(found, share) for found in times["hybrid"]],
                    [percentile(found, share) for found in times[PEER]],
                    PEER,
                    bar=1.5,
                )
    finally:
        peer.close()
        memory.close()
    if chunks * dimensions > 50_000_000:
        drop(place)


def keys(quick: bool) -> Iterator[Row]:
    """Queries typed letter by letter over 10,000 chunks, each embedded by the local model."""
    place = with_vectors(ground(10_000), LOCAL)
    found = probe("bench.probes.keys", place, "2" if quick else "5", "hybrid")
    yield from stroke_rows("keys-vectors", f"{place.chunks:,} chunks, hybrid", found)


def throughput(quick: bool) -> Iterator[Row]:
    """Texts of 1 kB through the local provider, beside the library called by itself."""
    from core.embed.local import _model

    zipf = Zipf(vocabulary(), SEED)
    texts = list(itertools.islice(_pieces(zipf), 256 if quick else 1_024))
    model, provider = _model(), LocalProvider()
    mine, theirs = by_turns(
        3 if quick else 5,
        lambda: seconds(lambda: provider.embed(texts)),
        lambda: seconds(lambda: model.embed(texts, norm=True, batch_size=32)),
    )
    yield beside(
        "embed",
        f"{len(texts):,} texts of about 1 kB into vectors of {LOCAL}",
        "texts/s",
        [len(texts) / took for took in mine],
        [len(texts) / took for took in theirs],
        "wordllama alone",
        bar=None,
    )


def _pieces(zipf: Zipf) -> Iterator[str]:
    while True:
        text = log_text(zipf)
        yield from (text[start : start + 1_000] for start in range(0, len(text) - 1_000, 1_000))
