from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.journal.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "state" / "roots" / "0123abcd")
    yield made
    made.journal.close()
