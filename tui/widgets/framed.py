"""Score and Preview in their frames: what they show is said from outside, what it takes is read in threads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult

from tui.format import count, fit, size
from tui.messages import FileFailed, FileLoaded
from tui.session import Session, as_error
from tui.text import clean
from tui.widgets.pane import Pane
from tui.widgets.preview import PreparedPreview, PreviewPane, prepare_preview
from tui.widgets.score import ScorePane

if TYPE_CHECKING:
    from core.memory import Also, ChunkSpan, FileText, Hit, Memory, SearchReport

PAUSE = 0.05
"""Seconds the cursor must rest on a hit before its file is read."""
_FOUND_CELLS = 20
"""Cells of the frame for what is looked for."""


class ScoreFrame(Pane):
    HELP = (
        "Every factor of the selected hit in the order it applies: what matched, how it was merged, how age, source "
        "and recalls changed it, and the product so far with its bar.  The factor that cost most is marked."
    )

    def __init__(self) -> None:
        super().__init__("score")

    def compose(self) -> ComposeResult:
        yield ScorePane(id="score-view")

    @property
    def view(self) -> ScorePane:
        return self.query_one(ScorePane)

    def show(
        self, item: Hit | Also | None, report: SearchReport | None, weights: tuple[float, float]
    ) -> None:
        self.view.show(item, report, weights)

    @property
    def copyable(self) -> tuple[str, str] | None:
        """What ``y`` copies here: (what it is, the text)."""
        return "the explanation", self.view.plain


class PreviewFrame(Pane):
    """The chain is ``open`` → FileLoaded → shown; of several asked for, the newest wins."""

    HELP = (
        "The file with line numbers.  Rules mark where its chunks begin, the chunk of the selected hit is lit and the "
        "matched words are marked in it."
    )

    @dataclass(frozen=True, slots=True)
    class Place:
        """What is to be seen: a file, and perhaps one chunk of it with the words that matched."""

        path: str
        item: Hit | Also | None = None

    def __init__(self, session: Session) -> None:
        super().__init__("preview")
        self.session = session
        self.file: FileText | None = None
        self.spans: tuple[ChunkSpan, ...] = ()
        self._place: PreviewFrame.Place | None = None
        self._read = ""  # the path the text was read by
        self._generation = 0

    def compose(self) -> ComposeResult:
        yield PreviewPane(id="preview-view")

    @property
    def view(self) -> PreviewPane:
        return self.query_one(PreviewPane)

    @property
    def chunk_id(self) -> str | None:
        """The chunk of the selected hit in this file."""
        return self._place.item.id if self._place is not None and self._place.item is not None else None

    @property
    def shown_path(self) -> str:
        """The path, as it was asked for, of the file that is shown; "" for none."""
        return self._read if self.file is not None else ""

    def open(self, path: str) -> None:
        """Show a file from its start."""
        self._want(self.Place(path))

    def open_item(self, item: Hit | Also) -> None:
        """Show the chunk of a hit in its file."""
        self._want(self.Place(item.path, item))

    def reload(self) -> None:
        """Read the file again: it may have changed on disk."""
        if self._place is not None:
            self._load(self._place, self._next())

    def _want(self, place: PreviewFrame.Place) -> None:
        self._place = place
        generation = self._next()
        if self.file is not None and self._read == place.path:
            # The text is here; only another place in it is asked for.
            self.view.select(self.chunk_id, place.item.matched if place.item is not None else ())
        else:
            self._load(place, generation)

    def _next(self) -> int:
        self._generation += 1
        return self._generation

    @work(exclusive=True, group="preview", exit_on_error=False, description="read the file")
    async def _load(self, place: PreviewFrame.Place, generation: int) -> None:
        await asyncio.sleep(PAUSE)
        try:
            text, spans, prepared = await self.session.ask(partial(_read, place, self.view.line_width))
        except Exception as error:
            self.post_message(FileFailed(place.path, as_error(error, "Reading the file"), generation))
        else:
            self.post_message(FileLoaded(place.path, text, spans, prepared, generation))

    @on(FileLoaded)
    def _loaded(self, event: FileLoaded) -> None:
        if event.generation != self._generation:
            return
        self.file, self.spans, self._read = event.text, event.spans, event.path
        lines = count(event.text.total, "line")
        self.set_count(f"{lines} · {size(event.text.size)}", lines)
        self.view.show(event.prepared)
        self._say_found("")

    @on(FileFailed)
    def _failed(self, event: FileFailed) -> None:
        if event.generation != self._generation:
            return
        self.file, self.spans, self._read = None, (), ""
        self.set_count()
        self.view.show_failure(event.error)
        self._say_found("")

    @on(PreviewPane.Found)
    def _found(self, event: PreviewPane.Found) -> None:
        self._say_found(event.text, event.current, event.total)

    def _say_found(self, text: str, current: int = 0, total: int = 0) -> None:
        """Say in the frame which of the places is in sight; over the text it would hide what it tells of."""
        place = f"{current} of {total}" if total else "not found"
        name = self.TITLES[self.place]
        self.set_title(f"{name} · {place}: {fit(clean(text), _FOUND_CELLS)}" if text else name)

    @property
    def copyable(self) -> tuple[str, str] | None:
        """What ``y`` copies here: (what it is, the text); the chunk of the hit, else the path."""
        if self._place is None or self.file is None:
            return None
        item = self._place.item
        if item is None:
            return "the path", self.file.path
        return f"{item.path.rsplit('/', 1)[-1]}:{item.start_line}–{item.end_line}", item.snippet


def _read(
    place: PreviewFrame.Place, width: int, memory: Memory
) -> tuple[FileText, tuple[ChunkSpan, ...], PreparedPreview]:
    """Read and prepare a file; runs in a thread."""
    text = memory.read(place.path)
    spans = memory.spans(place.path)
    chunk, matched = (place.item.id, place.item.matched) if place.item is not None else (None, ())
    return text, spans, prepare_preview(text, spans, matched=matched, chunk=chunk, width=width)
