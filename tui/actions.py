"""The one registry of what a person can do: keys, palette, footer and help all come from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding

Place = Literal["scopes", "sessions", "results", "score", "preview"]
"""A pane a person can be in; the query box belongs to ``results``."""

PLACES: tuple[Place, ...] = ("scopes", "sessions", "results", "score", "preview")
PLACE_TITLES: dict[Place, str] = {
    "scopes": "Scopes",
    "sessions": "Sessions",
    "results": "Search",
    "score": "Score",
    "preview": "Preview",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    ``id`` names its keys in the settings (``[keys] "search.focus" = "f"``); ``keys`` are the keys it comes
    with ("" : palette only); ``run`` is the action of the main screen; ``title`` is ``area: Verb`` as the
    palette lists it.
    """

    id: str
    keys: str
    run: str
    title: str
    help: str

    @property
    def area(self) -> str:
        return self.title.split(": ", 1)[0]

    @property
    def verb(self) -> str:
        return self.title.split(": ", 1)[-1]


ACTIONS: tuple[Action, ...] = (
    Action("search.focus", "slash", "focus_query", "Search: Type a query",
           "Go to the query box; the old query is selected, so typing replaces it. In the preview: find in the file."),
    Action("search.scope", "s", "cycle_scope", "Search: Change the scope",
           "As the agent of this workspace, its memory only, its sessions only, global only, everywhere."),
    Action("search.profile", "p", "cycle_profile", "Search: Change the profile",
           "Which rules rank the hits; its name always stands in the header."),
    Action("search.why", "w", "why", "Search: Why not this one?",
           "Pick any chunk of the file and see where it stands for the query, found or not."),
    Action("search.clear", "", "clear_query", "Search: Clear the query",
           "Back to the newest chunks."),
    Action("lab.open", "L", "lab", "Lab: Ranking lab",
           "Try other weights, floor, age and rules on this query, beside what is saved; measure, and save."),
    Action("copy.selection", "ctrl+c", "copy_selection", "Copy: The marked text",
           "What was marked with the mouse."),
    Action("copy", "y", "copy", "Copy: The selected thing",
           "The chunk, path or explanation under the cursor; the message says by which way it went."),
    Action("pane.scopes", "1", "pane('scopes')", "Pane: Scopes", "Go to the list of memories."),
    Action("pane.sessions", "2", "pane('sessions')", "Pane: Sessions", "Go to the logs of the workspace."),
    Action("pane.results", "3", "pane('results')", "Pane: Search", "Go to what the search found."),
    Action("pane.score", "4", "pane('score')", "Pane: Score", "Go to why the hit ranks where it does."),
    Action("pane.preview", "5", "pane('preview')", "Pane: Preview", "Go to the file."),
    Action("pane.next", "tab", "next_pane", "Pane: Next", "Go to the next pane."),
    Action("pane.previous", "shift+tab", "previous_pane", "Pane: Previous", "Go to the pane before."),
    Action("pane.jump", "ctrl+o", "jump", "Pane: Jump",
           "Letters appear on what can be reached; press one to go there."),
    Action("pane.zoom", "z", "zoom", "Pane: Zoom", "Give the whole screen to this pane, and back."),
    Action("pane.leave", "escape", "leave", "Pane: Leave",
           "Out of the query box, a message or the zoom, whichever is nearest."),
    Action("index.rescan", "r", "rescan", "Index: Look again",
           "Compare every file with the index now and take in what differs."),
    Action("index.rebuild", "", "rebuild", "Index: Rebuild",
           "Index every file again from nothing; counters are carried over."),
    Action("index.embed", "v", "embed", "Index: Make missing vectors…",
           "For the profiles hybrid and tuned; before anything is sent you see what, where to and how much."),
    Action("index.doctor", "", "doctor", "Index: Doctor",
           "Everything that is wrong, or could surprise, and what to do about it."),
    Action("memory.problems", "exclamation_mark", "problems", "Memory: Problems",
           "Files and folders that could not be read, each with the reason."),
    Action("memory.gc", "", "gc", "Memory: Unused workspaces…",
           "What a clean-up would remove and keep; nothing goes before you confirm."),
    Action("memory.clear-workspace", "", "clear('workspace')", "Memory: Clear this workspace…",
           "Shows what would go; it goes to the trash, not before you confirm."),
    Action("memory.clear-global", "", "clear('global')", "Memory: Clear global memory…",
           "Shows what would go, in every workspace's index too; not before you confirm."),
    Action("memory.clear-all", "", "clear('all')", "Memory: Clear everything…",
           "Shows what would go: global and every workspace; not before you confirm."),
    Action("look.theme", "t", "theme", "Look: Theme…", "Choose the colours."),
    Action("help", "question_mark", "help", "Help: This pane", "What this pane is, and the keys that work here."),
    Action("app.palette", "ctrl+p,colon", "command_palette", "Help: Command palette", "Every action by its name."),
    Action("app.quit", "ctrl+q", "quit_app", "App: Quit", "Leave; nothing is unsaved."),
)  # fmt: skip

BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
FOOTER_MAX = 8

FOOTERS: dict[Place | Literal["query"], tuple[tuple[str, str], ...]] = {
    "query": (("query.results", "to the results"), ("query.leave", "leave"), ("pane.jump", "jump")),
    "scopes": (
        ("list.open", "go there"),
        ("scopes.fold", "fold"),
        ("search.focus", "search"),
        ("copy", "copy path"),
        ("memory.problems", "problems"),
        ("pane.zoom", "zoom"),
        ("help", "help"),
    ),
    "sessions": (
        ("list.open", "show"),
        ("search.focus", "search"),
        ("copy", "copy path"),
        ("pane.zoom", "zoom"),
        ("help", "help"),
    ),
    "results": (
        ("search.focus", "search"),
        ("list.open", "open"),
        ("search.scope", "scope"),
        ("search.why", "why not"),
        ("copy", "copy"),
        ("pane.zoom", "zoom"),
        ("lab.open", "lab"),
        ("help", "help"),
    ),
    "score": (
        ("search.focus", "search"),
        ("search.why", "why not"),
        ("lab.open", "lab"),
        ("copy", "copy"),
        ("pane.zoom", "zoom"),
        ("help", "help"),
    ),
    "preview": (
        ("search.focus", "find"),
        ("search.why", "why not"),
        ("copy", "copy"),
        ("pane.zoom", "zoom"),
        ("help", "help"),
    ),
}
"""What the footer shows where: binding id and label; only keys that work at that moment are drawn."""


EVERYWHERE = ("app.palette", "app.quit")
"""What works over a dialogue too; these are the app's, all others the main screen's."""


def _bindings(everywhere: bool) -> list[Binding]:
    # What moves the focus has priority: it acts before the next key is looked at, so that what is typed right
    # behind ``/`` lands in the query box.  A text field still gets the letters it takes: Textual leaves those
    # out.  Everything else waits its turn in the focused widget, behind the cursor keys typed before it.
    return [
        Binding(
            action.keys,
            action.run,
            action.verb,
            id=action.id,
            show=False,
            tooltip=action.help,
            priority=action.id == "search.focus" or action.id.startswith("pane."),
        )
        for action in ACTIONS
        if action.keys and (action.id in EVERYWHERE) is everywhere
    ]


APP_BINDINGS: list[Binding] = _bindings(True)
MAIN_BINDINGS: list[Binding] = _bindings(False)
"""Every binding has an id, so every one can be rebound."""
QUIT = Binding("ctrl+q", "app.quit_app", "Quit", id="app.quit", show=False, tooltip=BY_ID["app.quit"].help)
"""For dialogues, which keep the keys of what is below them from working."""
