"""Why not this one?  The chunks of a file at the left, and for each where it stands for the query."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip

from tui.actions import QUIT
from tui.format import number, size
from tui.session import Session, as_error
from tui.text import clean, content
from tui.widgets.folded import Folded
from tui.widgets.line_list import LineList, Row, RowState
from tui.widgets.marked import without_comments

if TYPE_CHECKING:
    from core.errors import MemdeckError
    from core.memory import ChunkSpan, FileText, WhyReport

PAUSE = 0.06
"""Seconds the cursor must rest on a chunk before it is asked about."""


class ChunkList(LineList):
    """One chunk a row: lines, size, its first line of text."""

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        span, first = row.data
        left = [(f"{span.start_line:>5}–{span.end_line:<5} ", "muted"), (first, "")]
        right = [(size(span.size) if span.indexed else "not indexed", "muted")]
        return [self.line(width, left, right, row=state.row, dim=state.dim)]


class WhyScreen(ModalScreen[None]):
    """The chains are ChunkList.Highlighted → Answered, and Reread."""

    BINDINGS = [
        QUIT,
        Binding("escape,q", "close", "Close", id="why.close", tooltip="Back to where you were."),
        Binding("y", "copy", "Copy", id="why.copy", tooltip="Copy the explanation."),
    ]

    class Answered(Message):
        """Where one chunk stands, or that it could not be found out."""

        def __init__(self, chunk: str, answer: WhyReport | MemdeckError) -> None:
            super().__init__()
            self.chunk = chunk
            self.answer = answer

    class Reread(Message):
        """The file and its chunks as they are now."""

        def __init__(self, text: FileText, spans: tuple[ChunkSpan, ...]) -> None:
            super().__init__()
            self.text = text
            self.spans = spans

    def __init__(
        self, session: Session, query: str, text: FileText, spans: tuple[ChunkSpan, ...], chunk: str | None
    ) -> None:
        super().__init__()
        self._session = session
        self._query = query
        self._text = text
        self._spans = spans
        self._chunk = chunk
        self._said = Content("")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialogue -large") as box:
            name = self._text.path.rsplit("/", 1)[-1]
            box.border_title = content(f"Why not?  {name}  for  {self._query}")
            box.border_subtitle = Content("y copies · esc closes")
            with Horizontal():
                yield ChunkList(id="why-chunks")
                with VerticalScroll(id="why-answer", can_focus=True):
                    yield Folded(id="why-text")

    def on_mount(self) -> None:
        chunks = self.query_one(ChunkList)
        chunks.set_empty("This file has no chunks: it is empty.")
        self._list(self._chunk)
        chunks.focus()
        self._reread()

    def _list(self, cursor: str | None) -> None:
        self.query_one(ChunkList).set_rows(
            [Row(span.id, (span, self._first_line(span))) for span in self._spans], cursor=cursor
        )

    @work(exclusive=True, group="why-chunks", exit_on_error=False, description="chunks of the file")
    async def _reread(self) -> None:
        """What the preview read may be older than the index: which chunks are indexed is asked anew."""
        path = self._text.path
        with contextlib.suppress(Exception):  # the file is gone: what the preview holds is all there is
            text, spans = await self._session.ask(lambda memory: (memory.read(path), memory.spans(path)))
            self.post_message(self.Reread(text, spans))

    @on(Reread)
    def _reread_done(self, event: Reread) -> None:
        if (event.text, event.spans) != (self._text, self._spans):
            self._text, self._spans = event.text, event.spans
            self._list(self.query_one(ChunkList).cursor_id)

    def _first_line(self, span: ChunkSpan) -> str:
        offset = self._text.first
        lines = self._text.lines[span.start_line - offset : span.end_line - offset + 1]
        said = (without_comments(line.strip()).strip() for line in lines)
        return next(
            (line for line in said if line), next((line.strip() for line in lines if line.strip()), "")
        )

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if event.row_id is not None:
            self._ask(event.row_id)

    @work(exclusive=True, group="why", exit_on_error=False, description="why not")
    async def _ask(self, chunk: str) -> None:
        await asyncio.sleep(PAUSE)
        try:
            answer: WhyReport | MemdeckError = await self._session.ask(
                lambda memory: memory.why(self._query, chunk)
            )
        except Exception as error:
            answer = as_error(error, "The explanation")
        self.post_message(self.Answered(chunk, answer))

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        if event.chunk != self.query_one(ChunkList).cursor_id:
            return
        self._said = (
            error_body(event.answer) if isinstance(event.answer, Exception) else why_body(event.answer)
        )
        self.query_one("#why-text", Folded).update(self._said)
        self.query_one("#why-answer").scroll_home(animate=False)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._said.plain)
        self.notify("The explanation: sent to the terminal (OSC 52)", title="Copied", markup=False, timeout=3)


def error_body(error: Exception) -> Content:
    """An error in the place of an explanation."""
    parts = [str(error), getattr(error, "data", ""), getattr(error, "hint", "")]
    return Content.assemble(("✗ ", "bold $text-error"), content("\n".join(part for part in parts if part)))


def why_body(report: WhyReport) -> Content:
    """The verdict first, then the numbers it rests on, then the text."""
    lines = [content(report.verdict, "bold"), Content("")]

    def fact(name: str, text: str) -> None:
        lines.append(Content.assemble((f"{name:<9}", "$text-muted"), clean(text)))

    if report.hit is not None:
        kept = "kept" if report.hit.rank else f"dropped: {report.hit.why or report.hit.reason}"
        fact("score", f"{number(report.hit.score)} of at least {number(report.hit.factors.floor)}, {kept}")
    if report.place is not None:
        cut = f", the first {report.cut_at} are taken" if report.cut_at else ""
        fact("place", f"{report.place} of {report.matches} matches{cut}")
    if report.bm25 is not None:
        fact("bm25", number(report.bm25))
    if report.present:
        fact("has", ", ".join(report.present))
    if report.missing:
        fact("lacks", ", ".join(report.missing))
    for note in report.notes:
        fact("note", note)
    lines += [Content(""), content(report.snippet, "$text-muted")]
    return Content("\n").join(lines)
