"""How many of what, as every line of text says it."""

from __future__ import annotations


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 file``, ``2 files``, ``1,200 files``; ``many`` where the plural is not the word with an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
