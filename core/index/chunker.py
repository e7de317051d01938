"""Index room: cuts Markdown into chunks exactly as the reference does (pure; see the vectors)."""

from __future__ import annotations

import re

from blake3 import blake3

from core.index.model import Chunk
from core.rust_text import byte_len, is_blank, lines, trim, trim_start

MAX_BYTES = 1600
OVERLAP_CHARS = 320

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
    """
    if not content:
        return []
    if byte_len(content) <= max_bytes:
        return [Chunk(content, 0, len(lines(content)), chunk_hash(content))]
    out: list[Chunk] = []
    all_lines = lines(content)
    for start, end, ancestors in _sections(all_lines):
        prefix = f"[Context: {' > '.join(ancestors)}]\n\n" if ancestors else ""
        body = "\n".join(all_lines[start:end])
        if byte_len(body) <= max_bytes:
            pieces = [(body, start, end)]
        else:
            pieces = _split_section(all_lines, start, end, max_bytes, overlap)
        for text, first, last in pieces:
            whole = prefix + text
            out.append(Chunk(whole, first, last, chunk_hash(whole)))
    return out


def _sections(all_lines: list[str]) -> list[tuple[int, int, list[str]]]:
    """Return (start, end, ancestor heading lines) of every section; a section begins at a heading."""
    out: list[tuple[int, int, list[str]]] = []
    stack: list[tuple[int, str]] = []
    start = 0
    ancestors: list[str] = []
    for number in [number for number, line in enumerate(all_lines) if "#" in line]:
        line = all_lines[number]
        level = heading_level(line)
        if level is None:
            continue
        if number > start:
            out.append((start, number, ancestors))
        while stack and stack[-1][0] >= level:
            stack.pop()
        ancestors = [text for _, text in stack]
        stack.append((level, trim(line)))
        start = number
    if start < len(all_lines):
        out.append((start, len(all_lines), ancestors))
    return out


def _split_section(
    all_lines: list[str], start: int, end: int, max_bytes: int, overlap: int
) -> list[tuple[str, int, int]]:
    """Split a section over the limit at blank lines and before lines that push it over.

    Two quirks of the reference are kept, since ids and hashes hang on them: empty lines at the start of a
    piece vanish from its text but not from its line range, and when such a piece meets a line that is
    over the limit by itself, that line is taken into the piece that ends before it.
    """
    out: list[tuple[str, int, int]] = []
    text = ""
    size = 0  # bytes of text
    first = start
    for number in range(start, end):
        line = all_lines[number]
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
        out.append((trim(text), first, end))
    return out
