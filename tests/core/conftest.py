"""The made-up memory the tests of the façade open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.memory_desk import MemoryDesk


@pytest.fixture
def place(tmp_path: Path) -> Iterator[MemoryDesk]:
    made = MemoryDesk(tmp_path)
    yield made
    for memory in made.opened:
        memory.close()
