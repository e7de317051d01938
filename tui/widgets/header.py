"""The top line: which memory, whether it is live, how much is indexed, by which means and rules it is searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.session import PROFILE_TITLES
from tui.text import clean

if TYPE_CHECKING:
    from core.memory import IndexStatus, WatchStatus


@dataclass(frozen=True, slots=True)
class HeaderFacts:
    """What the line says; every text may be stored text."""

    workspace: str = ""
    human: str = ""
    origin: str = ""
    watch: WatchStatus | None = None
    status: IndexStatus | None = None
    mode: str = "text only"
    profile: str = "agent"
    opening: bool = True
    demo: bool = False


class Header(Widget):
    """One line; when it does not fit, the least needed part goes first, the profile never."""

    DEFAULT_CSS = """
    Header { height: 1; background: $background; color: $foreground; padding: 0 1; }
    """

    facts: reactive[HeaderFacts] = reactive(HeaderFacts)

    def render(self) -> Content:
        facts = self.facts
        width = self.size.width
        full = [self._left(facts, level) for level in range(4)]
        for level in range(6):
            left, right = full[min(level, 3)], self._right(facts, level)
            gap = width - left.cell_length - right.cell_length
            if gap >= 2:
                break
        else:
            gap = max(1, gap)
            left = left.truncate(max(0, width - right.cell_length - 1), ellipsis=True)
        return Content.assemble(left, " " * gap, right)

    @staticmethod
    def _left(facts: HeaderFacts, level: int) -> Content:
        parts: list[Content | tuple[str, str]] = [("memdeck", "bold")] if level < 3 else []
        if facts.demo:
            parts.append(("  demo" if parts else "demo", "$text-muted"))
        if facts.opening:
            return Content.assemble(*parts, ("  opening…" if parts else "opening…", "$text-muted"))
        name = clean(facts.workspace) or "no workspace here"
        parts.append(("  " if parts else "") + name)  # type: ignore[arg-type]
        said = clean(facts.human)
        if said and level < 2:
            if facts.origin and level < 1:
                said += f", {clean(facts.origin)}"
            parts.append((f" · {said}", "$text-muted"))
        return Content.assemble(*parts)

    @staticmethod
    def _right(facts: HeaderFacts, level: int) -> Content:
        profile = PROFILE_TITLES.get(facts.profile, clean(facts.profile))
        if facts.opening:
            return Content(profile)
        words = [_watch_words(facts.watch, short=level >= 3), _index_words(facts.status, short=level >= 4)]
        if level < 5:
            words.append(clean(facts.mode))
        said = " · ".join(word for word in words if word)
        return Content.assemble((f"{said} · " if said else "", "$text-muted"), profile)


def _watch_words(watch: WatchStatus | None, *, short: bool) -> str:
    if watch is None:
        return ""
    if watch.mode == "live":
        return "live"
    word = "polling" if watch.mode == "polling" else "not watching"
    return word if short or not watch.reason else f"{word}: {clean(watch.reason)}"


def _index_words(status: IndexStatus | None, *, short: bool) -> str:
    if status is None:
        return ""
    chunks = f"{status.chunks:,} chunks" if status.chunks != 1 else "1 chunk"
    match status.state:
        case "behind":
            return f"behind by {status.behind}" if short else f"{chunks}, behind by {status.behind}"
        case "building":
            return "indexing…"
        case "cached":
            return f"{chunks}, own index"
        case "none":
            return "nothing indexed"
        case "failed":
            return "index failed"
        case _:
            return chunks
