"""Vectors: making those that are missing beside everything else, and asking before anything is sent anywhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from textual import on, work

from tui.format import count
from tui.messages import Embedded, Embedding, Failed, Synced
from tui.screens.live import LiveScreen
from tui.session import as_error
from tui.text import clean
from tui.widgets.confirm import Confirm

if TYPE_CHECKING:
    from core.memory import Disclosure, EmbeddingState

LULL = 1.0
"""Seconds after the index is in step before vectors are made: the first searches come first."""


class VectorsScreen(LiveScreen):
    """The flow Synced → Embedding … → Embedded → the list refreshed, when the profile uses vectors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._embedding: tuple[int, int] | None = None
        self._embedding_trouble = ""

    @on(Synced)
    def _then_embed(self, event: Synced) -> None:
        if event.report is not None and event.workspace == self.session.memory.workspace:
            self.set_timer(LULL, self._embed_missing)

    def _embed_missing(self, *, again: bool = False, asked: bool = False) -> None:
        self._embed(again, asked)

    @work(exclusive=True, group="vectors", exit_on_error=False, description="make missing vectors")
    async def _embed(self, again: bool, asked: bool) -> None:
        memory = self.session.memory
        try:
            state = await asyncio.to_thread(memory.embedding)
            if state.state == "filling" or again or (asked and state.state == "failed"):
                report = await asyncio.to_thread(
                    memory.fill_vectors,
                    again=again,
                    cancel=self.session.filling,
                    progress=lambda done, total: self.post_message(Embedding(done, total)),
                )
                self.post_message(Embedded(memory.workspace, report, asked))
            elif state.state == "changed":
                self._embedding_trouble = f"vectors are paused: {state.reason}"
                self._say_notes()
        except Exception as error:
            self.post_message(Failed("Making vectors", as_error(error, "Making vectors")))

    @on(Embedding)
    def _embedding_went_on(self, event: Embedding) -> None:
        self._embedding = (event.done, event.total)
        self._say_notes()

    @on(Embedded)
    def _embedded(self, event: Embedded) -> None:
        report = event.report
        self._embedding = None
        stopped = self.session.filling.is_set()
        self._embedding_trouble = f"no vectors: {report.error}" if report.error and not stopped else ""
        if event.asked:
            self.notify(
                clean(
                    f"{count(report.stored, 'text')} embedded, {report.missing} missing {report.error}".strip()
                ),
                markup=False,
            )
        if report.stored and self.searching.request.profile != "agent":
            self.searching.refresh_results()
        self._say_notes()

    def _notes(self) -> list[str]:
        notes = super()._notes()
        if self._embedding is not None:
            done, total = self._embedding
            notes.append(f"making vectors, {done:,} of {total:,} texts; everything else works meanwhile")
        elif self._embedding_trouble:
            notes.append(clean(self._embedding_trouble))
        return notes

    @work(exclusive=True, group="ask-vectors", exit_on_error=False, description="ask about vectors")
    async def action_embed(self) -> None:
        """Make what is missing; what would leave the machine is shown first, and another model is confirmed."""
        memory = self.session.memory
        try:
            state = await asyncio.to_thread(memory.embedding)
            shown = await asyncio.to_thread(memory.embedding_disclosure)
            if state.state == "none":
                self.notify(clean(f"Text only: {state.reason}. {state.hint}"), markup=False, timeout=8)
                return
            if state.state == "unconfirmed" and shown is not None:
                if not await self.app.push_screen_wait(_may_send(shown)):
                    return
                await asyncio.to_thread(memory.allow_embedding, shown)
            elif state.state == "changed":
                if not await self.app.push_screen_wait(_start_over(state)):
                    return
            if state.state == "complete":
                self.notify(
                    clean(f"Nothing is missing: {count(state.stored, 'text')} have a vector."), markup=False
                )
                return
            self._embed_missing(again=state.state == "changed", asked=True)
        except Exception as error:
            self.post_message(Failed("Making vectors", as_error(error, "Making vectors")))


def _may_send(shown: Disclosure) -> Confirm:
    lines = [
        f"to {shown.endpoint}",
        f"model {shown.model}",
        f"{count(shown.chunks, 'chunk')}, {shown.bytes:,} bytes, about {shown.tokens:,} tokens",
    ]
    if not shown.encrypted:
        lines.append("not encrypted on the way")
    return Confirm(
        "Send the texts of this memory?",
        lines,
        "Asked once for this memory, endpoint and model. From then on new texts and your queries go there too.",
        "send them",
    )


def _start_over(state: EmbeddingState) -> Confirm:
    return Confirm(
        "Make all vectors anew?",
        [state.reason, f"{count(state.stored, 'vector')} of the other model would go"],
        "The Markdown and the agent's own vectors are not touched.",
        "make them anew",
    )
