"""Index room: the headings a chunk stands under (pure)."""

from __future__ import annotations

import re
from functools import lru_cache

from core.index.chunker import heading_level
from core.rust_text import trim

_CONTEXT = re.compile(r"\[Context: (.*)\]\n\n")


@lru_cache(2_048)  # while a person types, the same chunks come back with every key
def heading_of(text: str) -> str:
    """Return the first heading of a chunk without its marks, else the last of its context, else ""."""
    match = _CONTEXT.match(text) if text.startswith("[Context: ") else None
    own = _first_heading(text, match.end() if match else 0)
    bare = _bare(own) if own else ""
    if bare or match is None:
        return bare
    path = heading_path(text)
    return path[-1] if path else ""


def heading_path(text: str) -> tuple[str, ...]:
    """Return the headings a chunk stands under, outermost first, without their marks."""
    match = _CONTEXT.match(text)
    path = [_bare(part) for part in match.group(1).split(" > ")] if match else []
    path.append(_bare(_first_heading(text, match.end() if match else 0)))
    return tuple([part for part in path if part])


def _first_heading(text: str, start: int) -> str:
    """Return the first heading line from an offset on, "" if there is none."""
    mark = text.find("#", start)
    while mark >= 0:
        begin = max(text.rfind("\n", start, mark) + 1, start)
        end = text.find("\n", mark)
        # As lines are told apart everywhere: one CR before the LF belongs to neither.
        line = text[begin:end].removesuffix("\r") if end >= 0 else text[begin:]
        if heading_level(line) is not None:
            return line
        mark = text.find("#", end) if end >= 0 else -1
    return ""


def _bare(line: str) -> str:
    return trim(trim(line).lstrip("#"))
