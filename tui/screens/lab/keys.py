"""What a person can do in the lab: keys, footer, palette and help of it come from here."""

from __future__ import annotations

from typing import Literal

from textual.binding import Binding

from tui.actions import Action

LabPlace = Literal["controls", "saved", "trial", "factors"]
LAB_PLACES: tuple[LabPlace, ...] = ("controls", "saved", "trial", "factors")
LAB_TITLES: dict[LabPlace, str] = {
    "controls": "Controls",
    "saved": "Saved",
    "trial": "Trial",
    "factors": "Factors",
}

LAB_ACTIONS: tuple[Action, ...] = (
    Action("lab.query", "slash", "focus_query", "Lab: Type a query", "Go to the query box."),
    Action("lab.save", "s", "save", "Lab: Save the trial…",
           "Shows what would change in config.toml; written when you confirm."),
    Action("lab.undo", "u", "undo", "Lab: Undo the last save", "The file gets back the bytes it had before."),
    Action("lab.reset-all", "R", "reset_all", "Lab: Forget the trial", "Every control back to what is saved."),
    Action("lab.evaluate", "E", "evaluate", "Lab: Measure…",
           "Recall, MRR, nDCG, forbidden hits and latency: saved, trial, profiles, single arms, grep."),
    Action("lab.copy", "y", "copy", "Lab: Copy", "The factors of the selected row, both sides, as text."),
    Action("lab.controls", "1", "pane('controls')", "Lab: Controls", "Go to the controls."),
    Action("lab.saved", "2", "pane('saved')", "Lab: Saved", "Go to the results under the saved settings."),
    Action("lab.trial", "3", "pane('trial')", "Lab: Trial", "Go to the results under the trial settings."),
    Action("lab.factors", "4", "pane('factors')", "Lab: Factors", "Go to the factors of the selected row."),
    Action("lab.next", "tab", "step_pane(1)", "Lab: Next pane", "Go to the next pane."),
    Action("lab.previous", "shift+tab", "step_pane(-1)", "Lab: Pane before", "Go to the pane before."),
    Action("lab.zoom", "z", "zoom", "Lab: Zoom", "Give the whole screen to this pane, and back."),
    Action("lab.theme", "t", "theme", "Lab: Theme…", "Choose the colours."),
    Action("lab.help", "question_mark", "help", "Lab: Help", "What this pane is, and the keys that work here."),
    Action("lab.leave", "escape", "leave", "Lab: Leave",
           "Out of the query box, a message or the zoom, else back to the main screen."),
)  # fmt: skip

FOOTERS: dict[LabPlace | Literal["query", "value"], tuple[tuple[tuple[str, ...], str], ...]] = {
    "query": ((("query.results",), "to the results"), (("query.leave",), "leave")),
    "value": ((("value.cancel",), "as it was"),),
    "controls": (
        (("lab.less", "lab.more"), "change"),
        (("list.open",), "type"),
        (("lab.reset",), "as saved"),
        (("lab.pin",), "pin"),
        (("lab.save",), "save"),
        (("lab.undo",), "undo"),
        (("lab.query",), "query"),
        (("lab.help",), "help"),
        (("lab.leave",), "back"),
    ),
    "saved": (
        (("lab.query",), "query"),
        (("lab.good", "lab.bad"), "good, bad"),
        (("list.open",), "factors"),
        (("lab.save",), "save"),
        (("lab.undo",), "undo"),
        (("lab.evaluate",), "measure"),
        (("lab.help",), "help"),
        (("lab.leave",), "back"),
    ),
    "factors": (
        (("lab.query",), "query"),
        (("lab.copy",), "copy"),
        (("lab.save",), "save"),
        (("lab.undo",), "undo"),
        (("lab.evaluate",), "measure"),
        (("lab.help",), "help"),
        (("lab.leave",), "back"),
    ),
}
FOOTERS["trial"] = FOOTERS["saved"]
"""What the footer shows where: binding ids whose keys stand together, and their label."""

LAB_BINDINGS: list[Binding] = [
    Binding(
        action.keys,
        action.run,
        action.verb,
        id=action.id,
        show=False,
        tooltip=action.help,
        # As on the main screen: what moves the focus acts before the next key is looked at.
        priority=action.run.startswith(("pane(", "step_pane", "focus_query")),
    )
    for action in LAB_ACTIONS
]
