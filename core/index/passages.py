"""Index room: cuts a chunk into passages — bullets, paragraphs, table rows — each with its heading (pure).

A vector of a whole chunk is a mean of everything in it; a question is usually about one line.
"""

from __future__ import annotations

import re

from core.index.chunker import heading_level
from core.index.comments import without_comments
from core.rust_text import lines, trim

MIN_CHARS = 20
MAX_PASSAGES = 24
_CONTEXT = re.compile(r"\[Context: (.*)\]\n\n")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")


def passages_of(text: str) -> list[str]:
    """Return the passages of a chunk, in order, at most ``MAX_PASSAGES``; [] when it is only one."""
    match = _CONTEXT.match(text)
    heading = trim(match.group(1).rsplit(" > ", 1)[-1].lstrip("#")) if match else ""
    body = without_comments(text[match.end() :] if match else text, " ")
    found: list[str] = []
    current: list[str] = []

    def close() -> None:
        passage = " ".join(current).strip()
        if len(passage) >= MIN_CHARS:
            found.append(f"{heading}. {passage}" if heading else passage)
        current.clear()

    for line in lines(body):
        stripped = trim(line)
        if heading_level(line) is not None:
            close()
            heading = trim(stripped.lstrip("#"))
            continue
        if not stripped or _ITEM.match(line) or stripped.startswith("|"):
            close()
        if stripped:
            current.append(stripped)
    close()
    return found[:MAX_PASSAGES] if len(found) > 1 else []
