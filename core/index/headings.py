"""Index room: the headings a chunk stands under (pure)."""

from __future__ import annotations

import re

from core.index.chunker import heading_level
from core.rust_text import lines, trim

_CONTEXT = re.compile(r"\[Context: (.*)\]\n\n")


def heading_of(text: str) -> str:
    """Return the first heading of a chunk without its marks, else the last of its context, else ""."""
    path = heading_path(text)
    return path[-1] if path else ""


def heading_path(text: str) -> tuple[str, ...]:
    """Return the headings a chunk stands under, outermost first, without their marks."""
    match = _CONTEXT.match(text)
    path = [_bare(part) for part in match.group(1).split(" > ")] if match else []
    body = text[match.end() :] if match else text
    for line in lines(body):
        if line and heading_level(line) is not None:
            path.append(_bare(line))
            break
    return tuple(part for part in path if part)


def _bare(line: str) -> str:
    return trim(trim(line).lstrip("#"))
