"""The measuring panel: every arm over the judged queries, in a thread, with progress, stopped at any time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from tui.actions import QUIT
from tui.format import bar, count, fit, number
from tui.screens.lab.controls import Trial
from tui.session import Session, as_error
from tui.text import clean, content

if TYPE_CHECKING:
    from core.errors import MemdeckError
    from core.evaluation.model import ArmResult, EvalReport

ORDER = ("saved", "trial", "agent", "hybrid", "tuned", "text only", "vectors only", "grep")
_ARM = 13
_WIDE_FROM = 74
_BAR = 24
_SHIPPED = "the shipped set"
_LEGEND = (
    "R@k: share found among the first k · bad: what must not be found, among the first five",
    "p50, p95: milliseconds of one search, embedding apart",
    "saved and trial as one gets them, with their floor; the others ten results without one",
)
_GLANCE = 0.5
"""Seconds between two looks at the clock while it runs."""


@dataclass
class Measuring(Message):
    """How far it is, in queries."""

    done: int
    total: int

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Measuring)


@dataclass
class Measured(Message):
    """It ended: with a report, or with the reason why there is none."""

    report: EvalReport | None
    error: MemdeckError | None = None


class MeasureScreen(ModalScreen[None]):
    """The chain is Measuring… → Measured; ``esc`` stops, and then closes."""

    BINDINGS = [
        QUIT,
        Binding("escape,q", "stop", "Stop", id="measure.stop", tooltip="Stop measuring, or close this."),
        Binding("y", "copy", "Copy", id="measure.copy", tooltip="Copy the table as text."),
        Binding("r", "again", "Again", id="measure.again", tooltip="Measure once more."),
        Binding("j,down", "scroll(1)", "Down", id="measure.down", tooltip="One line down."),
        Binding("k,up", "scroll(-1)", "Up", id="measure.up", tooltip="One line up."),
    ]

    def __init__(self, session: Session, trial: Trial) -> None:
        super().__init__()
        self._session = session
        self._trial = trial
        self._cancel = threading.Event()
        self._busy = False
        self._progress = (0, 0)
        self._since = 0.0
        self._report: EvalReport | None = None
        self._ticker: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialogue", id="measure") as box:
            box.border_title = Content("Measure")
            with VerticalScroll(classes="dialogue-body"):
                yield Static(id="measure-table", classes="reading")
            yield Static(id="measure-state", classes="dialogue-note")

    def on_mount(self) -> None:
        self._ticker = self.set_interval(_GLANCE, self._say_progress, pause=True)
        self.action_again()

    def on_unmount(self) -> None:
        self._cancel.set()

    # Measuring

    def action_again(self) -> None:
        if self._busy:
            return
        self._busy = True
        self._cancel.clear()
        self._progress = (0, 0)
        self._since = asyncio.get_running_loop().time()
        if self._ticker is not None:
            self._ticker.resume()
        self._say_progress()
        self._measure()

    @work(exclusive=True, group="measure", exit_on_error=False, description="measure the ranking")
    async def _measure(self) -> None:
        trial, cancel = self._trial, self._cancel

        def told(done: int, total: int) -> None:
            self.post_message(Measuring(done, total))  # called on the thread that measures

        try:
            report = await self._session.ask(
                lambda memory: memory.measure(trial.values, trial.profile, progress=told, cancel=cancel)
            )
        except Exception as error:
            self.post_message(Measured(None, as_error(error, "Measuring")))
        else:
            self.post_message(Measured(report))

    @on(Measuring)
    def _measuring(self, event: Measuring) -> None:
        self._progress = (event.done, event.total)
        self._say_progress()

    def _say_progress(self) -> None:
        if not self._busy:
            return
        done, total = self._progress
        seconds = asyncio.get_running_loop().time() - self._since
        share = bar(done / total if total else 0.0, _BAR)
        said = f"{done:,} of {count(total, 'query', 'queries')}" if total else "making ready"
        self._say(
            Content.assemble(
                f"{share}▏ {said} · {seconds:.0f} s  ", ("esc", "bold"), (" stops", "$text-muted")
            )
        )

    @on(Measured)
    def _measured(self, event: Measured) -> None:
        self._busy = False
        if self._ticker is not None:
            self._ticker.pause()
        if event.report is not None:
            self._report = event.report
            self._draw()
            self._say(Content.assemble(("y", "bold"), (" copies  ", "$text-muted"), ("r", "bold"),
                                       (" again  ", "$text-muted"), ("esc", "bold"), (" closes", "$text-muted")))  # fmt: skip
        elif event.error is not None:
            parts = [str(event.error), event.error.data, event.error.hint]
            self._say(Content.assemble(("✗ ", "bold $text-error"), content("\n".join(filter(None, parts)))))

    def _say(self, said: Content) -> None:
        self.query_one("#measure-state", Static).update(said)

    @on(events.Resize)
    def _draw(self) -> None:
        if self._report is not None:
            width = self.query_one(VerticalScroll).scrollable_content_region.width - 2
            table = Content("\n").join(content(line, look) for line, look in table_lines(self._report, width))
            self.query_one("#measure-table", Static).update(table)

    # Keys

    def action_stop(self) -> None:
        if self._busy and not self._cancel.is_set():
            self._cancel.set()
            self._say(content("stopping after this query…  esc closes", "$text-muted"))
        else:
            self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_copy(self) -> None:
        if self._report is not None:
            text = "\n".join(line for line, _ in table_lines(self._report, _WIDE_FROM))
            self.app.copy_to_clipboard(text)
            self.notify("The table: sent to the terminal (OSC 52)", title="Copied", markup=False, timeout=3)


def table_lines(report: EvalReport, width: int) -> list[tuple[str, str]]:
    """The report as lines with their looks: what was asked, one line an arm, what to know."""
    wide = width >= _WIDE_FROM
    named = {arm.name: arm for arm in report.arms}
    arms = [named[name] for name in ORDER if name in named]
    lines = [
        (clean(f"{count(report.queries, 'query', 'queries')} of {report.source}"), "$text-muted"),
        ("", ""),
    ]
    heads = ["R@1", "R@3", "R@5", "R@10", "MRR", "nDCG", "bad", "p50", "p95"]
    if not wide:
        heads = ["R@5", "MRR", "bad", "p50"]
    cells = [max(5, len(head) + 1) for head in heads]
    lines.append((_row("", heads, cells), "$text-muted"))
    lines += [
        (_row(arm.name, _values(arm, wide), cells), "bold" if arm.name == "trial" else "") for arm in arms
    ]
    missing = [name for name in ORDER if name not in named]
    lines.append(("", ""))
    if missing:
        lines.append((f"not measured: {', '.join(missing)}", "$text-muted"))
    lines += [(clean(note), "$text-muted") for note in _short(report.notes)]
    return [*lines, *((line, "$text-muted") for line in _LEGEND)]


def _row(name: str, values: Sequence[str], cells: Sequence[int]) -> str:
    numbers = "".join(f"{value:>{room}}" for value, room in zip(values, cells, strict=True))
    return f"{fit(name, _ARM):<{_ARM}}{numbers}"


def _values(arm: ArmResult, wide: bool) -> list[str]:
    total = arm.shares["all"]
    recall = {cut: number(value) for cut, value in total.recall.items()}
    times = [f"{total.p50_ms:.1f}", f"{total.p95_ms:.1f}"]
    if not wide:
        return [recall[5], number(total.mrr), str(total.forbidden), times[0]]
    return [
        *(recall[cut] for cut in (1, 3, 5, 10)),
        number(total.mrr),
        number(total.ndcg),
        str(total.forbidden),
        *times,
    ]


def _short(notes: Sequence[str], limit: int = 4) -> list[str]:
    more = len(notes) - limit
    return [*notes[:limit], *([f"… and {count(more, 'more note')}"] if more > 0 else [])]
