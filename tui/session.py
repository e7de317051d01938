"""The worker's side: every call into the memory goes through here, off the loop, with its errors told apart."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from core.errors import MemdeckError

if TYPE_CHECKING:
    from core.memory import Memory, SearchReport

T = TypeVar("T")

Scope = Literal["agent", "workspace", "session", "global", "everywhere"]
SCOPES: tuple[Scope, ...] = ("agent", "workspace", "session", "global", "everywhere")
SCOPE_TITLES: dict[Scope, str] = {
    "agent": "as the agent",
    "workspace": "its memory only",
    "session": "its sessions only",
    "global": "global only",
    "everywhere": "everywhere",
}
PROFILES: tuple[str, ...] = ("agent", "hybrid", "tuned")
PROFILE_TITLES: dict[str, str] = {"agent": "as the agent", "hybrid": "hybrid", "tuned": "tuned"}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for and where.  ``entered``: the query was confirmed with Enter, not just typed."""

    query: str = ""
    scope: Scope = "agent"
    profile: str = "agent"
    entered: bool = False

    def next_scope(self) -> SearchRequest:
        return replace(self, scope=SCOPES[(SCOPES.index(self.scope) + 1) % len(SCOPES)])


def as_error(error: BaseException, what: str) -> MemdeckError:
    """Return ``error`` as something a person can read; a defect of ours is called one."""
    if isinstance(error, MemdeckError):
        return error
    if isinstance(error, OSError):
        return MemdeckError(
            f"{what}: {error.strerror or error}" + (f" ({error.filename})" if error.filename else ""),
            data="Nothing was changed.",
        )
    return MemdeckError(
        f"{what}: {type(error).__name__}: {error}",
        data="Looking changes nothing, so the Markdown is as it was.",
        hint="This is a defect in memdeck; the message above is what a report needs.",
    )


TEXT_FIRST = 0.12
"""Seconds an answer with vectors may take before what the words alone find is shown."""


async def text_first(
    ask: Callable[[bool], Coroutine[Any, Any, T]], *, embed: bool, profiles: Iterable[str]
) -> AsyncGenerator[T]:
    """Yield the answer of ``ask(embed)``, and before it that of ``ask(False)`` while the query is still embedded.

    No answer is given ahead where every profile is the agent's: it has nothing but words, or vectors of its own.
    """
    whole = asyncio.ensure_future(ask(embed))
    try:
        if embed and set(profiles) != {"agent"}:
            await asyncio.wait({whole}, timeout=TEXT_FIRST)
            if not whole.done():
                yield await ask(False)
        yield await whole
    finally:
        whole.cancel()


class Session:
    """The open memory and the newest search.

    Every method that may take time is a coroutine which does the work in a thread.  ``generation`` counts
    searches: an answer that carries an older one is stale.
    """

    def __init__(self, factory: Callable[[], Memory]) -> None:
        self._factory = factory
        self._looks: dict[tuple[str, str], Memory] = {}
        self._memory: Memory | None = None
        self._home: Memory | None = None
        self._searches = 0
        self.generation = 0
        self.syncing = False
        self.live = False
        self.filling = threading.Event()  # set to stop making vectors

    @property
    def is_open(self) -> bool:
        return self._memory is not None

    @property
    def memory(self) -> Memory:
        """The memory as it looks at the selected workspace."""
        assert self._memory is not None, "asked before the memory was opened"
        return self._memory

    @property
    def home(self) -> Memory:
        """The memory as it was opened, at the workspace of the folder the person started in."""
        assert self._home is not None, "asked before the memory was opened"
        return self._home

    async def open(self) -> Memory:
        memory = await asyncio.to_thread(self._factory)
        self._memory = self._home = memory
        self._looks[(memory.root, memory.workspace)] = memory
        return memory

    async def look_at(self, root: str, workspace: str) -> Memory:
        """Look at another workspace; the one left stays open, going back costs nothing."""
        key = (root, workspace)
        found = self._looks.get(key)
        if found is None:
            found = await asyncio.to_thread(self.memory.at, workspace, root)
            self._looks[key] = found
        self._memory = found
        return found

    async def ask(self, work: Callable[[Memory], T]) -> T:
        """Run ``work(memory)`` in a thread and return what it returns."""
        return await asyncio.to_thread(work, self.memory)

    def supersede(self) -> int:
        """Start a new generation: whatever search is running is stopped and its answer will be stale."""
        self.generation += 1
        if self._searches and self._memory is not None:
            self._memory.interrupt()
        return self.generation

    async def search(
        self, request: SearchRequest, prepare: Callable[[SearchReport], T], *, embed: bool = True
    ) -> T:
        """Search, and make the report ready to draw, both in the thread.

        ``embed`` False leaves the query without a vector.
        """
        everywhere = request.scope == "everywhere"
        # While a sync is under way a search does not queue behind it: it answers from what is indexed, and
        # the list is refreshed when the sync is done.  With live events every change has been synced already,
        # but only in the workspace that is looked at.
        sync = not self.syncing and (everywhere or not self.live)

        def work(memory: Memory) -> T:
            sources = () if request.scope in ("agent", "everywhere") else (request.scope,)
            report = memory.search(
                request.query,
                profile=request.profile,
                everywhere=everywhere,
                sources=sources,
                sync=sync,
                embed=embed,
            )
            return prepare(report)

        self._searches += 1
        try:
            return await self.ask(work)
        finally:
            self._searches -= 1

    @property
    def embeds_as_you_type(self) -> bool:
        """Whether a query is embedded with each key: only when nothing leaves this machine for it."""
        return self.memory.embeds_here

    async def close(self) -> None:
        self.filling.set()
        looks = list(self._looks.values())
        self._looks.clear()

        def work() -> None:
            for memory in looks:
                memory.interrupt()
                memory.close()

        await asyncio.to_thread(work)
