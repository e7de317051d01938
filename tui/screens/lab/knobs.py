"""The controls pane: one line a control — on trial, saved, where from — what it means, and a box to type into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from core.errors import SettingsError
from tui.format import fit, width_of
from tui.screens.lab.controls import BY_KEY, CONTROLS, Control, Trial, origin_tag, shown
from tui.screens.lab.frame import LabPane
from tui.text import clean, content
from tui.widgets.line_list import LineList, Row, RowState

_LABEL, _VALUE = 9, 6
_FULL = 6 + len(CONTROLS)
"""Lines of the list with a rule above each group and the line of headings."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One control as it stands, ready to draw."""

    label: str
    trial: str
    saved: str
    origin: str
    changed: bool
    idle: bool


class ControlList(LineList):
    """The controls; posts what the keys ask for, changes nothing itself."""

    BINDING_GROUP_TITLE = "Controls"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,minus", "turn(-1)", "Less", id="lab.less", show=False, tooltip="One step down, or off"),
        Binding("right,plus", "turn(1)", "More", id="lab.more", show=False, tooltip="One step up, or on"),
        Binding("0,backspace", "reset", "As saved", id="lab.reset", show=False,
                tooltip="This control back to what is saved"),
        Binding("p", "pin", "Pin", id="lab.pin", show=False,
                tooltip="Write this one value into config.toml, so that it is no longer assumed"),
    ]  # fmt: skip

    @dataclass
    class Turned(Message):
        """A control is to go one step up (1) or down (−1)."""

        key: str
        direction: int

    @dataclass
    class Reset(Message):
        """A control is to go back to its saved value."""

        key: str

    @dataclass
    class Pinned(Message):
        """A control's value is to be written into its file."""

        key: str

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        if isinstance(row.data, str):
            return [self.rule(row.data, width)]
        if row.data is None:
            text = f"{'':{_LABEL}} {'trial':>{_VALUE}} {'saved':>{_VALUE}} from"
            return [self.line(width, [(text, "muted")])]
        knob: Knob = row.data
        return [
            self.line(
                width,
                [
                    (f"{knob.label:<{_LABEL}}", "muted" if knob.idle else ""),
                    ("*" if knob.changed else " ", "strong"),
                    (f"{knob.trial:>{_VALUE}}", "strong" if knob.changed else ""),
                    (f" {knob.saved:>{_VALUE}} ", "muted"),
                    (knob.origin, "" if knob.origin == "assumed" else "muted"),
                ],
                row=state.row,
            )
        ]

    def action_turn(self, direction: int) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Turned(self.cursor_id, direction))

    def action_reset(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Reset(self.cursor_id))

    def action_pin(self) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Pinned(self.cursor_id))


class ValueBox(Input):
    """Where a value is typed; Enter takes it, Escape leaves it as it was."""

    BINDING_GROUP_TITLE = "Value"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "As it was", id="value.cancel", show=False, tooltip="Leave it as it was"),
    ]

    class Cancelled(Message):
        """Nothing was typed after all."""

    def __init__(self) -> None:
        super().__init__(id="lab-value", max_length=40, select_on_focus=True, compact=True)
        self.cursor_blink = False

    def action_cancel(self) -> None:
        self.post_message(self.Cancelled())

    def on_blur(self) -> None:
        self.action_cancel()


class ControlsPane(LabPane):
    """Draws a trial; the values themselves are the screen's."""

    HELP = (
        "The steps of the ranking, as your agent's settings have them.  Each line: the value on trial, the value that "
        "is saved, and where that comes from; * marks what differs.  “assumed” is a default that no file sets: your "
        "agent's build or server may use another, and p writes it into config.toml so that it holds.  Every change "
        "is searched at once and nothing is written before s."
    )

    @dataclass
    class Typed(Message):
        """A value was typed that the control takes."""

        trial: Trial

    def __init__(self) -> None:
        super().__init__("controls")
        self._trial: Trial | None = None
        self._mode = ""

    def compose(self) -> ComposeResult:
        yield ControlList(id="controls-list")
        yield Static(id="lab-about")
        yield ValueBox()

    @property
    def list(self) -> ControlList:
        return self.query_one(ControlList)

    @property
    def box(self) -> ValueBox:
        return self.query_one(ValueBox)

    @property
    def selected(self) -> Control | None:
        return BY_KEY.get(self.list.cursor_id or "")

    def on_mount(self) -> None:
        self.box.display = False

    def show(self, trial: Trial, mode: str = "") -> None:
        """Draw the controls as they stand; ``mode`` is how the last search was made."""
        self._trial, self._mode = trial, mode
        self._draw()
        changed = len(trial.changed)
        self.set_count(f"{changed} changed" if changed else "as saved")

    @on(events.Resize)
    def _draw(self) -> None:
        trial = self._trial
        if trial is None:
            return
        rows: list[Row] = [Row("headings", None, selectable=False)]
        group = ""
        roomy = self.list.size.height >= _FULL
        for control in CONTROLS:
            if roomy and control.group != group:
                rows.append(Row(f"group: {control.group}", control.group, selectable=False))
            group = control.group
            knob = Knob(
                label=control.label,
                trial=shown(control, trial.value(control)),
                saved=shown(control, trial.saved_value(control)),
                origin=origin_tag(trial.origin(control)),
                changed=trial.is_changed(control),
                idle=bool(trial.idle(control, self._mode)),
            )
            rows.append(Row(control.key, knob))
        self.list.set_rows(rows)

    @on(LineList.Highlighted)
    def _highlighted(self) -> None:
        self._say_about()

    def _say_about(self) -> None:
        control, trial = self.selected, self._trial
        if control is None or trial is None:
            return
        about = [content(f"{control.help[:1].upper()}{control.help[1:]}.")]
        origin = trial.origin(control)
        if origin is None:
            about.append(content("No file holds it.", "$text-muted"))
        elif origin.kind == "default" and origin.assumed:
            about.append(Content.assemble(clean(str(origin)), ("; p pins it", "$text-muted")))
        else:
            room = max(8, self.list.line_width - 1)
            said = f"from {clean(str(origin))}"
            said = said if width_of(said) <= room else fit(said.removeprefix("from "), room, "left")
            about.append(content(said, "$text-muted"))
        if idle := trial.idle(control, self._mode):
            about.append(content(idle, "$text-muted"))
        self.query_one("#lab-about", Static).update(Content("\n").join(about))

    # Typing a value

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        control, trial = self.selected, self._trial
        if control is None or trial is None:
            return
        if control.kind in ("switch", "choice"):
            self.post_message(self.Typed(trial.toggled(control)))
            return
        self.box.value = f"{cast('float', trial.value(control)):g}"
        self.box.border_title = Content(control.label)
        self.box.display = True
        self.box.focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        control, trial = self.selected, self._trial
        if control is None or trial is None:
            return
        try:
            typed = trial.typed(control, event.value)
        except SettingsError as error:
            self.notify(clean(f"{error}."), markup=False, severity="warning", timeout=6)
            return
        self._close_box()
        self.post_message(self.Typed(typed))

    @on(ValueBox.Cancelled)
    def _close_box(self) -> None:
        if self.box.display:
            had = self.box.has_focus
            self.box.display = False
            if had:
                self.list.focus()
