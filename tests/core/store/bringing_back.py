"""Bringing back a trash folder of a test, wherever that test keeps it."""

from __future__ import annotations

import json
from pathlib import Path

from core.store import restore as room
from core.store.model import Receipt
from core.store.trash import MANIFEST


def restore(trash: str | Path) -> Receipt:
    """As the façade does, with the memory that the manifest names as the one that is open."""
    try:
        roots = [json.loads((Path(trash) / MANIFEST).read_bytes())["real_root"]]
    except (OSError, ValueError, KeyError, TypeError):
        roots = []
    return room.restore(trash, roots=roots, within=Path(trash).parent)
