"""A dialogue to read: problems, findings, receipts, help.  Nothing in it changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from tui.actions import QUIT
from tui.text import clean, content
from tui.widgets.folded import Folded

if TYPE_CHECKING:
    from core.memory import DoctorReport, GcReport, Problem, Receipt


class ReadingScreen(ModalScreen[None]):
    """Shows ``body`` (already through the gate) under a title; ``esc`` closes."""

    BINDINGS = [
        QUIT,
        Binding(
            "escape,q,question_mark", "close", "Close", id="reading.close", tooltip="Back to where you were."
        ),
        Binding("j,down", "scroll(1)", "Down", id="reading.down", tooltip="One line down."),
        Binding("k,up", "scroll(-1)", "Up", id="reading.up", tooltip="One line up."),
        Binding("pagedown,space", "page(1)", "Page down", id="reading.pagedown", tooltip="One page down."),
        Binding("pageup", "page(-1)", "Page up", id="reading.pageup", tooltip="One page up."),
        Binding("g,home", "end(-1)", "Top", id="reading.top", tooltip="To the top."),
        Binding("G,end", "end(1)", "Bottom", id="reading.bottom", tooltip="To the bottom."),
    ]

    def __init__(self, title: str, body: Content) -> None:
        super().__init__()
        self._title = title
        self._body = body

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialogue") as box:
            box.border_title = Content(clean(self._title))
            box.border_subtitle = Content("esc closes")
            with VerticalScroll(classes="dialogue-body"):
                yield Folded(self._body, classes="reading")

    @property
    def _scroll(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        self._scroll.scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        self._scroll.scroll_relative(y=pages * max(1, self._scroll.size.height - 1), animate=False)

    def action_end(self, end: int) -> None:
        if end < 0:
            self._scroll.scroll_home(animate=False)
        else:
            self._scroll.scroll_end(animate=False)


MAX_LINES = 400
"""Lines a dialogue shows; the command line prints the rest."""


def _body(entries: list[Content], command: str) -> Content:
    shown = entries[:MAX_LINES]
    if len(entries) > MAX_LINES:
        shown.append(Content.styled(f"… and {len(entries) - MAX_LINES:,} more: {command}", "$text-muted"))
    return Content("\n").join(shown)


def problems_body(problems: Sequence[Problem]) -> Content:
    """Each entry with its reason."""
    entries = [
        Content.assemble(
            ("! ", "bold"),
            clean(problem.path),
            "\n  ",
            (clean(problem.message.removeprefix(f"{problem.path} ")), "$text-muted"),
        )
        for problem in problems
    ]
    return _body(entries, "memdeck doctor")


_LEVELS = {"ok": ("✓", "$text-success"), "info": ("·", "$text-muted"), "warning": ("!", "$text-warning")}


def findings_body(report: DoctorReport) -> Content:
    """Findings, the worst first, each with what to do."""
    order = ("error", "warning", "info", "ok")
    entries: list[Content] = []
    for finding in sorted(report.findings, key=lambda finding: order.index(finding.level)):
        glyph, style = _LEVELS.get(finding.level, ("✗", "$text-error"))
        line = Content.assemble((f"{glyph} ", f"bold {style}"), (clean(finding.topic), "bold"), "  ")
        line = Content.assemble(line, content(finding.message))
        if finding.hint:
            line = Content.assemble(line, "\n  ", (clean(finding.hint), "$text-muted"))
        entries.append(line)
    return _body(entries, "memdeck doctor")


def receipt_body(receipt: Receipt) -> Content:
    """What was reached, what was not and why, and where it lies now."""
    entries = [Content(f"✓ {clean(line)}") for line in receipt.done]
    entries += [Content.assemble(("✗ not reached: ", "bold"), clean(line)) for line in receipt.failed]
    if receipt.trash:
        entries.append(Content.assemble(("in the trash: ", "bold"), clean(receipt.trash)))
    entries += [Content.styled(clean(note), "$text-muted") for note in receipt.notes]
    return _body(entries, "memdeck doctor")


def gc_lines(report: GcReport) -> list[str]:
    """What a clean-up would remove, and after that what it keeps; [] when nothing would go."""
    going = [f"goes   {one.folder}: {one.reason}" for one in report.candidates if one.remove]
    kept = [f"stays  {one.folder}: {one.reason}" for one in report.candidates if not one.remove]
    return [*going, *kept] if going else []
