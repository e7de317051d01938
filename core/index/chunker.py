"""Index room: cuts Markdown into chunks exactly as the reference does (pure; see the vectors)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from blake3 import blake3

from core.errors import UnreadableFile
from core.index.model import Chunk
from core.rust_text import byte_len, is_blank, lines, trim, trim_start

MAX_BYTES = 1600
OVERLAP_CHARS = 320

CONTEXT_LIMIT = 64 * 1024 * 1024
"""Characters that the headings repeated in the chunks of one file may have together."""

_HASHES = re.compile(r"#+")


def heading_level(line: str) -> int | None:
    """Return the number of ``#`` of a heading line, or None.

    A heading is any count of ``#`` (seven and more too) followed by a space or the end of the line;
    leading White_Space is allowed.  A tab or CR after the marks makes it no heading.
    """
    text = trim_start(line)
    match = _HASHES.match(text)
    if match is None:
        return None
    level = match.end()
    if level < len(text) and text[level] != " ":
        return None
    return level


def chunk_hash(text: str) -> str:
    """BLAKE3 hex of the chunk text."""
    return blake3(text.encode("utf-8")).hexdigest()


def chunk_markdown(content: str, *, max_bytes: int = MAX_BYTES, overlap: int = OVERLAP_CHARS) -> list[Chunk]:
    """Cut a file's text into chunks, in order.

    Lengths are UTF-8 bytes, except the overlap tail, which is characters.  Lines are 0-based, end
    exclusive.  A file within ``max_bytes`` is one chunk, kept verbatim; an empty one has none.

    Raises:
        UnreadableFile: headings nested thousands deep, each chunk of which would repeat all above it.
    """
    if not content:
        return []
    if byte_len(content) <= max_bytes:
        return [Chunk(content, 0, len(lines(content)), chunk_hash(content))]
    # The lines as one string: most sections are cut out of it whole, and never taken apart.
    text = "\n".join(lines(content)) if "\r" in content else content.removesuffix("\n")
    out: list[Chunk] = []
    context = 0
    for section in _sections(text):
        prefix = f"[Context: {' > '.join(section.ancestors)}]\n\n" if section.ancestors else ""
        if byte_len(section.text) <= max_bytes:
            pieces = [(section.text, section.first, section.last)]
        else:
            pieces = _split_section(section, max_bytes, overlap)
        context += len(prefix) * len(pieces)
        if context > CONTEXT_LIMIT:
            raise UnreadableFile(
                "its headings are nested so deep that their repetition in each chunk would fill the index",
                hint="Headings of six levels are plenty.",
            )
        for piece, first, last in pieces:
            whole = prefix + piece
            out.append(Chunk(whole, first, last, chunk_hash(whole)))
    return out


class _Section(NamedTuple):
    """A section's text, its lines (0-based, end exclusive) and the heading lines above it."""

    text: str
    first: int
    last: int
    ancestors: list[str]


def _headings(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield (line number, offset, level, line) of every heading line."""
    number = counted = 0
    mark = text.find("#")
    while mark >= 0:
        begin = text.rfind("\n", 0, mark) + 1
        end = text.find("\n", mark)
        end = len(text) if end < 0 else end
        line = text[begin:end]
        level = heading_level(line)
        if level is not None:
            number += text.count("\n", counted, begin)
            counted = begin
            yield number, begin, level, line
        mark = text.find("#", end)


def _sections(text: str) -> list[_Section]:
    """Return every section in order; a section begins at a heading."""
    out: list[_Section] = []
    stack: list[tuple[int, str]] = []
    first = start = 0
    ancestors: list[str] = []
    for number, begin, level, line in _headings(text):
        if number > first:
            out.append(_Section(text[start : begin - 1], first, number, ancestors))
        while stack and stack[-1][0] >= level:
            stack.pop()
        ancestors = [heading for _, heading in stack]
        stack.append((level, trim(line)))
        first, start = number, begin
    out.append(_Section(text[start:], first, first + text.count("\n", start) + 1, ancestors))
    return out


def _split_section(section: _Section, max_bytes: int, overlap: int) -> list[tuple[str, int, int]]:
    """Split a section over the limit at blank lines and before lines that push it over.

    Two quirks of the reference are kept, since ids and hashes hang on them: empty lines at the start of a
    piece vanish from its text but not from its line range, and when such a piece meets a line that is
    over the limit by itself, that line is taken into the piece that ends before it.
    """
    out: list[tuple[str, int, int]] = []
    text = ""
    size = 0  # bytes of text
    first = section.first
    for number, line in enumerate(section.text.split("\n"), section.first):
        length = byte_len(line)
        if text and size + length > max_bytes and is_blank(line):
            trimmed = trim(text)
            out.append((trimmed, first, number))
            text = trimmed[-overlap:] if overlap else ""
            size = byte_len(text)
            first = number + 1
            continue
        before = text
        if text:
            text += "\n" + line
            size += 1 + length
        else:
            text, size = line, length
        if size > max_bytes and number > first:
            if before:
                out.append((trim(before), first, number))
                text, size = line, length
            else:
                out.append((trim(text), first, number))
                text, size = "", 0
            first = number
    if not is_blank(text):
        out.append((trim(text), first, section.last))
    return out
