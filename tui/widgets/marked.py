"""Finding the words of a query in text, off the loop: which line of a chunk says most, and where to mark it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tui.format import ELLIPSIS, width_of
from tui.text import clean
from tui.widgets.line_view import Piece

Span = tuple[int, int]
"""Start and end of a marked word, as offsets into the cleaned text."""

_CONTEXT = re.compile(r"\[Context: (.*)\]\s*")
_HEADING = re.compile(r"\s*#{1,6}(?:\s|$)")
_COMMENT = re.compile(r"\s*<!--.*-->\s*")
_INNER_COMMENT = re.compile(r" ?<!--.*?-->")
_HEADING_KEPT = 300
_MARKUP_ONLY = re.compile(r"\s*(?:`{3}|~{3})|[-*_=|:\s]*$")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_UNSPACED = re.compile("[\u0e00-\u0e7f\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_KEPT = 400
_LEAD = 60


def pattern_of(words: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for whole words, any case; runs of Han, Kana, Hangul or Thai match inside longer runs too."""
    spaced: list[str] = []
    inner: list[str] = []
    for word in sorted({clean(word) for word in words if word.strip()}, key=len, reverse=True):
        (inner if _UNSPACED.search(word) else spaced).append(re.escape(word))
    parts = [rf"(?<![^\W_])(?:{'|'.join(spaced)})(?![^\W_])"] if spaced else []
    parts += ["|".join(inner)] if inner else []
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def spans_in(text: str, pattern: re.Pattern[str] | None) -> tuple[Span, ...]:
    """Where the words are in a cleaned text."""
    return tuple(match.span() for match in pattern.finditer(text)) if pattern is not None else ()


def context_of(snippet: str) -> tuple[str, ...]:
    """The headings above a chunk, from the ``[Context: A > B]`` line it may start with."""
    match = _CONTEXT.fullmatch(snippet.partition("\n")[0])
    return tuple(part.strip().lstrip("#").strip() for part in match[1].split(" > ")) if match else ()


def is_text(line: str) -> bool:
    """Whether a line says something: not blank, a heading, an HTML comment, a fence or a rule of a table."""
    return not (
        _MARKUP_ONLY.match(line) or _HEADING.match(line) or _COMMENT.fullmatch(line) or line.isspace()
    )


def without_comments(heading: str) -> str:
    """A heading as a person reads it, at most so long: what stands in HTML comments is for programs."""
    heading = heading[:_HEADING_KEPT]
    return _INNER_COMMENT.sub("", heading) if "<!--" in heading else heading


def best_line(snippet: str, pattern: re.Pattern[str] | None) -> tuple[str, tuple[Span, ...]]:
    """The line with most different words of the query, cleaned, with its marks; the first of equals.

    A heading or comment is taken only where there is no line of text, since the row shows the heading anyway.
    The bullet of a list item is left out; a very long line is cut around its first mark.
    """
    best, best_rank = "", (-1, -1)
    for index, line in enumerate(snippet.split("\n")):
        if not line or line.isspace() or (index == 0 and _CONTEXT.fullmatch(line)):
            continue
        found = {match[0].lower() for match in pattern.finditer(line)} if pattern is not None else ()
        rank = (int(is_text(line)), len(found))
        if rank > best_rank:
            best, best_rank = line, rank
    text = best.strip()
    bullet = _BULLET.match(text)
    if bullet and best_rank[0] > 0:
        text = text[bullet.end() :]
    if len(text) > _KEPT:
        first = pattern.search(text) if pattern is not None else None
        start = max(0, first.start() - _LEAD) if first else 0
        text = (ELLIPSIS if start else "") + text[start : start + _KEPT]
    text = clean(text)
    return text, spans_in(text, pattern)


def marked(text: str, spans: Sequence[Span], look: str = "", mark: str = "mark") -> list[Piece]:
    """The text as pieces, the marked words in their own look."""
    pieces: list[Piece] = []
    at = 0
    for start, end in spans:
        if start > at:
            pieces.append((text[at:start], look))
        pieces.append((text[start:end], f"{look} {mark}".strip()))
        at = end
    if at < len(text):
        pieces.append((text[at:], look))
    return pieces


def around(text: str, spans: Sequence[Span], width: int) -> tuple[str, tuple[Span, ...]]:
    """Drop text on the left until the first mark is within ``width`` cells, a third of them before it."""
    if not spans or width_of(text[: spans[0][1]]) <= width - 1:
        return text, tuple(spans)
    start = spans[0][0]
    room = width // 3
    while start > 0 and width_of(text[start - 1 : spans[0][0]]) < room:
        start -= 1
    shift = start - 1  # one cell for the ellipsis
    return ELLIPSIS + text[start:], tuple((a - shift, b - shift) for a, b in spans)


def painted(
    text: str, low: int, start: int, end: int, look: str, layers: list[tuple[tuple[Span, ...], str]]
) -> list[Piece]:
    """``text[start:end]`` as pieces in ``look``, each layer's spans (offsets from ``low``) adding its own."""
    edges = {start, end}
    inside: list[tuple[int, int, str]] = []
    for spans, name in layers:
        for left, right in spans:
            left, right = max(start, left + low), min(end, right + low)
            if left < right:
                edges.update((left, right))
                inside.append((left, right, name))
    cuts = sorted(edges)
    pieces: list[Piece] = []
    for left, right in pairwise(cuts):
        names = [name for a, b, name in inside if a <= left and right <= b]
        pieces.append((text[left:right], " ".join([look, *names]).strip()))
    return pieces
