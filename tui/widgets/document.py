"""A file made ready to read, off the loop: lines cleaned and told apart, chunks located, rows wrapped to a width."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui import format as fmt
from tui.text import clean
from tui.widgets.marked import pattern_of

if TYPE_CHECKING:
    from core.memory import ChunkSpan, FileText

DREAM_LIMIT = 16_000
"""Bytes of a MEMORY.md that survive the agent's next dream."""
DREAM_RULE = "the agent's next dream keeps nothing below this line (16,000 bytes)"
ORDINALS_FROM = 40
"""Width from which the gutter has room for the numbers of the chunks."""

MATCH_LIMIT = 10_000
"""Places of a text sought in a file that are counted; nobody steps through more."""

TEXT, HEADING, CODE, COMMENT = range(4)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Document:
    """Cleaned lines (the first is line ``first`` of the file), what each is, and the chunks over them.

    ``chunk`` is the selected one; ``limit`` the index of the last line that reaches into the bytes an agent's
    dream keeps, None where nothing is lost; ``banner`` what has to be said before the first line.
    """

    path: str
    first: int
    total: int
    lines: Sequence[str]
    kinds: bytes
    spans: tuple[ChunkSpan, ...] = ()
    chunk: ChunkSpan | None = None
    pattern: re.Pattern[str] | None = None
    limit: int | None = None
    banner: tuple[str, ...] = ()
    _starts: tuple[int, ...] = ()

    def span_at(self, line: int) -> ChunkSpan | None:
        """The chunk that covers a line of the file; the selected one where two overlap."""
        if self.chunk is not None and self.chunk.start_line <= line <= self.chunk.end_line:
            return self.chunk
        index = bisect_right(self._starts, line) - 1
        if index < 0 or line > self.spans[index].end_line:
            return None
        return self.spans[index]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the lines of a document fall at a width: ``tops[i]`` is the first row of line i.

    ``breaks`` holds, for wrapped lines only, the offsets at which their rows start.  The row of the dream
    limit is the last row of its line.
    """

    width: int
    gutter: int
    numbers: int
    ordinals: int
    banner: tuple[str, ...]
    tops: Sequence[int]
    breaks: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return self.tops[-1]

    def line_at(self, row: int) -> tuple[int, int]:
        """(index of the line, which of its rows) for a row at or below the banner."""
        line = bisect_right(self.tops, row) - 1
        return line, row - self.tops[line]

    def slice_of(self, line: int, part: int, length: int) -> tuple[int, int]:
        """Start and end in the line of one of its rows."""
        starts = self.breaks.get(line, (0,))
        if part >= len(starts):
            return length, length
        return starts[part], starts[part + 1] if part + 1 < len(starts) else length


@dataclass(frozen=True, slots=True)
class PreparedPreview:
    """A document and its layout for one width."""

    document: Document
    layout: Layout


def prepare_preview(
    text: FileText,
    spans: Iterable[ChunkSpan] = (),
    *,
    matched: Iterable[str] = (),
    chunk: str | None = None,
    width: int = 80,
) -> PreparedPreview:
    """Make a file ready to show.  Pure and linear; meant for the worker.

    ``matched``: words to mark; ``chunk``: the id of the selected chunk; ``width``: ``PreviewPane.line_width``.
    """
    document = prepare_document(text, spans, matched=matched, chunk=chunk)
    return PreparedPreview(document, lay_out(document, width))


def prepare_document(
    text: FileText, spans: Iterable[ChunkSpan] = (), *, matched: Iterable[str] = (), chunk: str | None = None
) -> Document:
    ordered = tuple(sorted(spans, key=lambda span: (span.start_line, span.ordinal)))
    document = Document(
        path=text.path,
        first=text.first,
        total=text.total,
        lines=[clean(line) for line in text.lines],
        kinds=_kinds(text.lines),
        spans=ordered,
        limit=_limit(text),
        banner=_banner(text),
        _starts=tuple(span.start_line for span in ordered),
    )
    return select_chunk(document, chunk, matched)


def select_chunk(document: Document, chunk: str | None, matched: Iterable[str]) -> Document:
    """The same document with another chunk selected and other words marked; its layouts stay valid."""
    span = next((span for span in document.spans if span.id == chunk), None)
    return replace(document, chunk=span, pattern=pattern_of(matched))


def lay_out(document: Document, width: int) -> Layout:
    """Wrap every line to ``width`` cells less the gutter.  Linear in the text; meant for a thread when large."""
    numbers = len(str(document.first + max(0, len(document.lines) - 1)))
    ordinals = 0
    if document.spans and width >= ORDINALS_FROM:
        ordinals = len(str(max(span.ordinal for span in document.spans)))
    gutter = 1 + numbers + 1 + (2 + ordinals if document.spans else 0)
    room = max(2, width - gutter)
    banner = tuple(row for line in document.banner for row in fmt.wrap(line, max(4, width - 2)))
    breaks: dict[int, tuple[int, ...]] = {}
    tops = array("Q", [len(banner)])
    row = len(banner)
    for index, line in enumerate(document.lines):
        # Lines of single-cell text that fit are by far the most: nothing is measured for them.
        if len(line) <= room and (line.isascii() or cell_len(line) <= room):
            row += 1
        else:
            starts = fmt.wrap_offsets(line, room)
            if len(starts) > 1:
                breaks[index] = tuple(starts)
            row += len(starts)
        if index == document.limit:
            row += 1
        tops.append(row)
    return Layout(width, gutter, numbers, ordinals, banner, tops, breaks)


def _kinds(lines: Sequence[str]) -> bytes:
    """What each line is, so that a line can be styled without reading those before it."""
    kinds = bytearray(len(lines))
    fence = ""
    comment = False
    for index, line in enumerate(lines):
        if fence:
            kinds[index] = CODE
            mark = _FENCE.match(line)
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif comment:
            kinds[index] = COMMENT
            comment = "-->" not in line
        elif mark := _FENCE.match(line):
            kinds[index] = CODE
            fence = mark[1]
        elif _HEADING.match(line):
            kinds[index] = HEADING
        elif line.lstrip().startswith("<!--"):
            comment = "-->" not in line
            if comment or line.rstrip().endswith("-->"):
                kinds[index] = COMMENT
    return bytes(kinds)


def _limit(text: FileText) -> int | None:
    """The index of the line in which the bytes end that a dream keeps; None when all is kept or unknown."""
    if text.path.rsplit("/", 1)[-1] != "MEMORY.md" or text.size <= DREAM_LIMIT or text.first != 1:
        return None
    sizes = [
        len(line) if line.isascii() else len(line.encode("utf-8", "surrogatepass")) for line in text.lines
    ]
    complete = len(sizes) == text.total
    # Lines come without their ends; two bytes an end show in what the file is larger by.
    end = 2 if complete and text.size - sum(sizes) > 1.5 * len(sizes) else 1
    used = 0
    for index, size in enumerate(sizes):
        used += size + end
        if used >= DREAM_LIMIT:
            return index if index < len(sizes) - 1 or not complete else None
    return None


def _banner(text: FileText) -> tuple[str, ...]:
    lines: list[str] = []
    if text.problem is not None:
        lines.append(f"! {text.problem.message}")
    if text.link_target:
        lines.append(f"→ a link to {text.link_target}")
    if text.truncated:
        last = text.first + len(text.lines) - 1
        lines.append(f"… lines {text.first:,}–{last:,} of {text.total:,} are shown")
    return tuple(clean(line) for line in lines)


def matches_in(document: Document, pattern: re.Pattern[str]) -> list[tuple[int, int, int]]:
    """(line index, start, end) of at most ``MATCH_LIMIT`` places, in order.  Linear; meant for a thread."""
    out: list[tuple[int, int, int]] = []
    for index, line in enumerate(document.lines):
        for match in pattern.finditer(line):
            out.append((index, *match.span()))
            if len(out) >= MATCH_LIMIT:
                return out
    return out
