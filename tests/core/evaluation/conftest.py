"""The shipped set in a throwaway copy with vectors of this machine, and small memories judged by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.evaluation.entry import Shipped, prepare_shipped
from core.memory import Memory
from tests.core.memory_desk import MemoryDesk


@dataclass(frozen=True)
class ShippedMemory:
    """The opened copy; ``texts`` maps every chunk id to its text."""

    made: Shipped
    memory: Memory
    texts: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShippedMemory]:
    made = prepare_shipped(tmp_path_factory.mktemp("shipped"))
    assert made.vectors, "the development environment has the extra `local`"
    memory = Memory.open(made.root, workspace=made.workspace, environ=made.environ)
    memory.sync()
    assert memory.fill_vectors().missing == 0
    texts = {}
    for path in sorted(Path(made.root).rglob("*.md")):
        for span in memory.spans(str(path)):
            assert span.indexed
            texts[span.id] = memory.why("word", span.id).snippet
    yield ShippedMemory(made, memory, texts)
    memory.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MemoryDesk]:
    made = MemoryDesk(tmp_path)
    yield made
    for memory in made.opened:
        memory.close()
