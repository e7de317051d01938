"""The made-up memory of the bench: the same every time, and of the shape the bars speak of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench.corpus import (
    LOG_BYTES,
    MEMORY_BYTES,
    MEMORY_SECTIONS,
    SECTIONS,
    SEED,
    WORKSPACE,
    Zipf,
    chunks_of,
    frequent_queries,
    log_text,
    logs_for,
    memory_text,
    specific_queries,
    vocabulary,
    write_corpus,
)
from core.index.chunker import chunk_markdown
from core.search.query import extract_keywords


def files_of(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*.md"))
    }


def test_two_runs_write_the_same_bytes_and_times(tmp_path: Path) -> None:
    one = write_corpus(tmp_path / "one", 7)
    two = write_corpus(tmp_path / "two", 7)
    found = files_of(one.root)
    assert found == files_of(two.root)
    assert len(found) == 7 + 2
    assert one.chunks == two.chunks == chunks_of(7)


def test_the_chunker_finds_as_many_chunks_as_promised(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "memory", 25)
    found = [len(chunk_markdown(path.read_text())) for path in corpus.root.rglob("*.md")]
    assert Counter(found) == {SECTIONS: 25, MEMORY_SECTIONS: 2}
    assert sum(found) == corpus.chunks
    assert (corpus.root / WORKSPACE / "MEMORY.md").exists()


def test_the_sizes_that_are_asked_for_come_out_exactly() -> None:
    assert chunks_of(logs_for(10_000)) == 10_000
    assert chunks_of(logs_for(100_000)) == 100_000


def test_files_have_the_size_the_bars_speak_of() -> None:
    words = vocabulary()
    zipf = Zipf(words, SEED)
    mean = sum(len(log_text(zipf)) for _ in range(40)) / 40
    assert abs(mean - LOG_BYTES) < LOG_BYTES * 0.1
    assert abs(len(memory_text(zipf)) - MEMORY_BYTES) < MEMORY_BYTES * 0.1


def test_words_are_drawn_as_zipf_says() -> None:
    words = vocabulary()
    assert len(set(words)) == 30_000
    drawn = Counter(Zipf(words, 1).draw(60_000))
    # H(30,000) ≈ 10.9: the first word is one in eleven, the tenth a tenth of that.
    assert 0.08 < drawn[words[0]] / 60_000 < 0.11
    assert 0.006 < drawn[words[9]] / 60_000 < 0.013


def test_every_query_is_three_keywords_the_agent_searches_for() -> None:
    for query in (*specific_queries(10), *frequent_queries(10)):
        assert len(extract_keywords(query)) == 3
