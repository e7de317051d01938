"""The lab: what is on trial, the questions it asks, and what a person does with the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.widgets import Input

from tui.format import count, milliseconds
from tui.messages import Failed
from tui.screens.lab.compare import Compared, Question, compare
from tui.screens.lab.controls import BY_KEY, CONTROLS, Control, Trial
from tui.screens.lab.desk import DeskScreen
from tui.screens.lab.factors import Side, find_hit
from tui.screens.lab.knobs import ControlList, ControlsPane
from tui.screens.lab.lists import LabResults, SidePane
from tui.screens.lab.measure import MeasureScreen
from tui.screens.lab.messages import Asked, AskFailed, Left, Marked, Written
from tui.screens.lab.moves import moves_in_words
from tui.session import SearchRequest, Session, as_error, text_first
from tui.text import clean
from tui.widgets.confirm import Confirm
from tui.widgets.header import HeaderFacts
from tui.widgets.line_list import LineList
from tui.widgets.search_box import SearchBox

if TYPE_CHECKING:
    from core.memory import Memory, SettingChange

DEBOUNCE = 0.1
"""Seconds without a change before both sides are searched again."""
TRIES = 3
"""How often a question that another search interrupted is asked again."""
_SOURCES = ("workspace", "session", "global")


class LabScreen(DeskScreen[Left]):
    """The chain is a change → Asked → shown; s, p and u → Written → asked again."""

    def __init__(self, session: Session, request: SearchRequest, facts: HeaderFacts) -> None:
        super().__init__(facts)
        self.session = session
        self.query_text = request.query
        self.sources = (request.scope,) if request.scope in _SOURCES else ()
        self.trial = Trial(session.memory.settings, request.profile)
        self.compared: Compared | None = None
        self.generation = 0
        self._entered = (
            request.entered
        )  # whether Enter stood behind this query: an endpoint is asked only then
        self._interrupted = 0
        self._saved = False
        self._one_judgement = asyncio.Lock()

    def on_mount(self) -> None:
        self.box.value = self.query_text
        self.controls.show(self.trial)
        self.ask(at_once=True)
        self.set_focus(self.controls.list)

    # Asking

    def ask(self, *, at_once: bool = False) -> None:
        """Search both sides; an answer still on its way will be stale."""
        self.generation += 1
        query = self.query_text.strip()
        if not query:
            self._say_nothing_asked()
            return
        question = Question(
            query=self.query_text,
            trial=self.trial,
            sources=self.sources,
            sync=not self.session.syncing and not self.session.live,
            embed=self._entered or self.session.embeds_as_you_type,
        )
        self._ask(question, self.generation, at_once)

    def _say_nothing_asked(self) -> None:
        self.compared = None
        for pane in (self.saved_side, self.trial_side):
            pane.results.set_empty("Type a query to see how it ranks on either side.", "/", "types one")
            pane.results.set_rows(())
            pane.set_count()
        self.factors.show(None, None, None, None)
        self.say_profiles(self.trial, "")

    @work(exclusive=True, group="lab", exit_on_error=False, description="search both sides")
    async def _ask(self, question: Question, generation: int, at_once: bool) -> None:
        if not at_once:
            await asyncio.sleep(DEBOUNCE)
        answers = text_first(
            lambda embed: self.session.ask(partial(compare, question=replace(question, embed=embed))),
            embed=question.embed,
            profiles=(question.trial.profile, question.trial.saved_profile),
        )
        try:
            async with aclosing(answers):
                async for compared in answers:
                    self.post_message(Asked(compared, generation))
        except Exception as error:
            self.post_message(AskFailed(as_error(error, "The search"), generation))

    def results_changed(self) -> None:
        """The main screen searched again because files or index changed, so both sides do too."""
        self.ask(at_once=True)

    @on(Asked)
    def _asked(self, event: Asked) -> None:
        if event.generation != self.generation:
            return  # a newer trial is on its way
        if event.compared.stopped and self._interrupted < TRIES:
            self._interrupted += 1
            self.ask()
            return
        self._interrupted = 0
        self.forgive("The search")
        self.compared = compared = event.compared
        self.controls.show(self.trial, compared.trial.report.mode)
        self.saved_side.show(compared.saved, compared.moves, compared.marks)
        self.trial_side.show(compared.trial, compared.moves, compared.marks)
        for pane, prepared in ((self.saved_side, compared.saved), (self.trial_side, compared.trial)):
            report = prepared.report
            kept = f"{len(report.hits)} of {report.candidates}"
            took = f"{kept} · {milliseconds(report.ms)}"
            moved = (f"{moves_in_words(dict(compared.moves))}",) if pane is self.trial_side else ()
            pane.set_count(*moved, took, kept)
        self.say_profiles(self.trial, compared.trial.report.mode)
        self.say(clean(f"judgements are not shown: {compared.note}") if compared.note else "")
        self.refresh_keys()

    @on(AskFailed)
    def _ask_failed(self, event: AskFailed) -> None:
        if event.generation != self.generation:
            return
        self.compared = None
        for pane in (self.saved_side, self.trial_side):
            pane.results.show_failure(event.error)
            pane.set_count("failed")
        self.post_message(Failed("The search", event.error))

    @on(Input.Changed, "#lab-query-box")
    def _typed_query(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.query_text:
            self.query_text = event.value
            self._entered = False
            self.ask()

    @on(SearchBox.Accepted)
    def _query_accepted(self, event: SearchBox.Accepted) -> None:
        self.query_text = event.query
        self._entered = True
        self.ask(at_once=True)
        self.go("trial")

    # The trial

    def try_out(self, trial: Trial) -> None:
        """Put values on trial: drawn at once, searched when the keys rest."""
        self.trial = trial
        self.controls.show(trial, self._mode)
        self.refresh_keys()
        self.ask()

    @property
    def _mode(self) -> str:
        return self.compared.trial.report.mode if self.compared is not None else ""

    @on(LineList.Highlighted, "#controls-list")
    def _control_selected(self) -> None:
        self.refresh_keys()

    @on(ControlList.Turned)
    def _turned(self, event: ControlList.Turned) -> None:
        self.try_out(self.trial.stepped(_control(event.key), event.direction))

    @on(ControlList.Reset)
    def _reset(self, event: ControlList.Reset) -> None:
        self.try_out(self.trial.without(_control(event.key)))

    @on(ControlsPane.Typed)
    def _typed_value(self, event: ControlsPane.Typed) -> None:
        self.try_out(event.trial)

    def action_reset_all(self) -> None:
        self.try_out(Trial(self.trial.saved, self.trial.saved_profile))

    # Saving

    def action_save(self) -> None:
        if self.trial.values:
            self._write(dict(self.trial.values), "Save these settings?")
        elif self.trial.profile != self.trial.saved_profile:
            self._keep_profile()
            self.post_message(Written(f"The main screen ranks as {self.trial.profile} from now on"))
        else:
            self.notify("The trial is what is saved.", markup=False)

    def _keep_profile(self) -> None:
        self.trial = replace(self.trial, saved_profile=self.trial.profile)

    @on(ControlList.Pinned)
    def _pinned(self, event: ControlList.Pinned) -> None:
        control = _control(event.key)
        origin = self.trial.origin(control)
        if origin is None:
            self.notify("No file holds the profile; s gives it to the main screen.", markup=False)
        elif origin.kind == "file" and not self.trial.is_changed(control):
            self.notify(clean(f"It stands in {origin.file} already."), markup=False)
        else:
            self._write({control.key: self.trial.value(control)}, f"Pin {control.label}?", profile=False)

    @work(exclusive=True, group="save", exit_on_error=False, description="save settings, after asking")
    async def _write(self, values: dict[str, object], question: str, profile: bool = True) -> None:
        try:
            changes = await self.session.ask(lambda memory: memory.plan_settings(values))
            if not changes:
                self.notify("The file has these values already.", markup=False)
                return
            consequence = "Comments and layout stay.  Your agent reads this file when it starts; u puts it back as it was."
            if not await self.app.push_screen_wait(
                Confirm(question, diff_lines(changes), consequence, "write it")
            ):
                return
            await self.session.ask(lambda memory: memory.apply_settings(changes))
        except Exception as error:
            self.post_message(Failed("Saving", as_error(error, "Saving the settings")))
            return
        files = ", ".join(change.file for change in changes)
        if profile:
            self._keep_profile()
        self.post_message(Written(f"Written: {files}"))

    @work(exclusive=True, group="save", exit_on_error=False, description="undo the last save")
    async def action_undo(self) -> None:
        try:
            files = await self.session.ask(lambda memory: memory.undo_settings())
        except Exception as error:
            self.post_message(Failed("Undo", as_error(error, "Undoing the save")))
            return
        self.post_message(Written(f"As it was before: {', '.join(files)}"))

    @on(Written)
    def _written(self, event: Written) -> None:
        self.forgive("Saving")
        self._saved = True
        self.trial = self.trial.over(self.session.memory.settings, self.trial.saved_profile)
        self.controls.show(self.trial, self._mode)
        self.ask(at_once=True)
        self.notify(clean(event.said), markup=False, timeout=4)
        overruled = [control.label for control in CONTROLS if self._is_overruled(control)]
        if overruled:
            self.notify(
                f"{', '.join(overruled)}: a variable or flag of this run wins over the file.", markup=False
            )

    def _is_overruled(self, control: Control) -> bool:
        origin = self.trial.origin(control)
        return (
            self.trial.is_changed(control) and origin is not None and origin.kind in ("environment", "flag")
        )

    # The rows

    @on(SidePane.Pointed)
    def _pointed(self, event: SidePane.Pointed) -> None:
        """The side a person is in leads; elsewhere the trial does.  The other side follows where it can."""
        leading = self.saved_side if self.place == "saved" else self.trial_side
        if event.side is not leading or self.compared is None:
            return
        other = self.trial_side if leading is self.saved_side else self.saved_side
        if event.chunk is not None:
            other.point_to(event.chunk)
        self._explain(leading.results, event.chunk)

    def _explain(self, results: LabResults | None, chunk: str | None) -> None:
        item = results.selected if results is not None else None
        compared = self.compared
        if item is None or compared is None or chunk is None:
            self.factors.show(None, None, None, None)
            return
        saved, trial = (
            Side(
                find_hit(prepared.report, chunk),
                prepared.report,
                (settings.search.text_weight, settings.search.vector_weight),
            )
            for prepared, settings in (
                (compared.saved, compared.question.trial.saved),
                (compared.trial, compared.question.trial.settings),
            )
        )
        self.factors.show(item, saved, trial, compared.moves.get(chunk))

    @on(SidePane.Opened)
    def _opened(self) -> None:
        self.go("factors")

    @on(LabResults.Judged)
    def _judged(self, event: LabResults.Judged) -> None:
        if self.compared is not None:
            query, item, good = self.compared.question.query, event.item, event.good
            self._judge(item.id, good, lambda memory: memory.judge(query, item, good))

    @work(group="judge", exit_on_error=False, description="write a judgement")
    async def _judge(self, chunk: str, good: bool | None, write: Callable[[Memory], str]) -> None:
        async with self._one_judgement:
            try:
                file = await self.session.ask(write)
            except Exception as error:
                self.post_message(Failed("Judging", as_error(error, "Writing the judgement")))
            else:
                self.post_message(Marked(chunk, good, file))

    @on(Marked)
    def _marked(self, event: Marked) -> None:
        self.forgive("Judging")
        if self.compared is None:
            return
        marks = {chunk: good for chunk, good in self.compared.marks.items() if chunk != event.chunk}
        if event.good is not None:
            marks[event.chunk] = event.good
        self.compared = replace(self.compared, marks=marks)
        for pane in (self.saved_side, self.trial_side):
            pane.results.dress(self.compared.moves, marks)
        self.say(f"{count(len(marks), 'row')} of this query judged, in {clean(event.file)}")

    # Measuring, leaving

    def action_evaluate(self) -> None:
        self.app.push_screen(MeasureScreen(self.session, self.trial))

    def outcome(self) -> Left:
        return Left(self.query_text, self._entered, self.trial.saved_profile, self._saved)

    def applies(self, binding_id: str) -> bool:
        trial, selected = self.trial, self.controls.selected
        match binding_id:
            case "lab.save":
                return bool(trial.changed)
            case "lab.undo":
                return self.session.memory.can_undo_settings
            case "lab.reset":
                return selected is not None and trial.is_changed(selected)
            case "lab.pin":
                origin = trial.origin(selected) if selected is not None else None
                return origin is not None and origin.assumed
            case "lab.good" | "lab.bad" | "list.open":
                return self.place == "controls" or self.compared is not None
            case _:
                return True


def diff_lines(changes: Sequence[SettingChange]) -> list[str]:
    """What a save would do, to read: each file, its keys with old and new value, and the lines that change."""
    lines: list[str] = []
    for change in changes:
        keys, before, after = (text.split(", ") for text in (change.key, change.before, change.after))
        lines += [change.file, ""]
        lines += [f"{key}  {old} → {new}" for key, old, new in zip(keys, before, after, strict=True)]
        lines.append("")
        lines += [line for line in change.diff.split("\n") if not line.startswith(("---", "+++", "@@"))]
    return lines


def _control(key: str) -> Control:
    return BY_KEY[key]
