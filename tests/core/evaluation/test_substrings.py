"""What a substring search finds ``tuned`` finds too: inner words of CJK and Thai, and parts of identifiers."""

from __future__ import annotations

import random
import re

from core.index.grams import UNSPACED_RUN
from core.search.query import STOP_WORDS
from core.search.scoring import is_content_free
from core.search.tuned import TunedParams
from tests.core.evaluation.conftest import ShippedMemory

_IDENTIFIER = re.compile(
    r"[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)+|[a-z0-9]+(?:[A-Z][a-z0-9]+)+|[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+"
)
_JOINT = re.compile(r"[-_./]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def ranking_chunks(shipped: ShippedMemory) -> dict[str, str]:
    """Every chunk that may rank at all: those of headings alone never do."""
    return {name: text for name, text in shipped.texts.items() if not is_content_free(text, "session")}


def found(shipped: ShippedMemory, query: str) -> set[str]:
    report = shipped.memory.search(
        query, profile="tuned", limit=len(shipped.texts), min_score=0.0, sync=False
    )
    return {hit.id for hit in report.hits}


def test_every_inner_word_of_cjk_and_thai(shipped: ShippedMemory) -> None:
    texts = ranking_chunks(shipped)
    runs = {run for text in texts.values() for run in UNSPACED_RUN.findall(text)}
    inner = {
        run[start : start + size] for run in runs for size in (2, 3) for start in range(len(run) - size + 1)
    }
    sample = random.Random(20_260_628).sample(sorted(inner), 120)
    assert {bool(re.search("[\u0e00-\u0e7f]", word)) for word in sample} == {True, False}
    lost = {
        word: sorted(missing)
        for word in sample
        if (missing := {name for name, text in texts.items() if word in text} - found(shipped, word))
    }
    assert lost == {}


def test_every_part_of_an_identifier(shipped: ShippedMemory) -> None:
    where: dict[str, set[str]] = {}
    for name, text in ranking_chunks(shipped).items():
        for identifier in _IDENTIFIER.findall(_COMMENT.sub(" ", text)):
            for part in _JOINT.split(identifier):
                if len(part) >= 2 and part.lower() not in STOP_WORDS:
                    where.setdefault(part.lower(), set()).add(name)
    assert len(where) > 300
    assert max(len(names) for names in where.values()) <= TunedParams().pool
    sample = random.Random(20_260_628).sample(sorted(where), 150)
    lost = {part: sorted(missing) for part in sample if (missing := where[part] - found(shipped, part))}
    assert lost == {}


def test_an_identifier_is_found_however_it_is_spelled(shipped: ShippedMemory) -> None:
    """A camelCase name by its snake_case spelling, and the other way round."""
    camel = sorted(
        {
            word
            for text in ranking_chunks(shipped).values()
            for word in re.findall(r"\b[a-z]+(?:[A-Z][a-z]+)+\b", text)
        }
    )
    assert camel
    for word in random.Random(3).sample(camel, min(20, len(camel))):
        snake = "_".join(part.lower() for part in _JOINT.split(word))
        wanted = {name for name, text in ranking_chunks(shipped).items() if word in text}
        assert wanted <= found(shipped, snake), snake
