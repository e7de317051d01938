"""Scopes: the memories there are.  Enter searches in a workspace or shows a file; folds show what lies inside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static

from tui.format import fit, width_of, wrap
from tui.text import clean, content
from tui.widgets.line_list import LineList, Row, RowState
from tui.widgets.pane import Pane
from tui.widgets.scope_rows import (
    AGENTS,
    ScopeRow,
    dream_words,
    origin_sentence,
    origin_words,
    scope_rows,
    warnings_of,
    workspace_key,
)

if TYPE_CHECKING:
    from core.memory import DreamSettings, Overview


_FOOT_ROWS = 8


def fold_lines(lines: Sequence[str], width: int, limit: int) -> list[str]:
    """Lines wrapped to ``width``, in at most ``limit`` rows; what does not fit is cut with ``…`` in the last."""
    if width < 2:
        return []
    rows = [row for line in lines for row in wrap(clean(line), width, paths=True)]
    if len(rows) > limit:
        rows = [*rows[: limit - 1], fit(" ".join(rows[limit - 1 :]), width)]
    return rows


class ScopesList(LineList):
    """The rows; folding is a key of its own, so that Enter can always mean *go there*."""

    BINDINGS = [
        Binding(
            "space", "fold", "Fold", id="scopes.fold", show=False, tooltip="Show or hide what lies inside"
        ),
        Binding(
            "right", "fold(True)", "Unfold", id="scopes.unfold", show=False, tooltip="Show what lies inside"
        ),
        Binding(
            "left", "fold(False)", "Fold up", id="scopes.fold-up", show=False, tooltip="Hide what lies inside"
        ),
    ]

    @dataclass
    class Folded(Message):
        """A row is to be unfolded (True), folded up (False) or the other of the two (None)."""

        row_id: str
        unfold: bool | None

    def render_row(self, row: Row, width: int, state: RowState) -> Iterable[Strip]:
        data: ScopeRow = row.data
        left = data.pieces(width - width_of(data.right) - 1)
        return [self.line(width, left, [(data.right, "muted")], row=state.row, dim=state.dim)]

    def action_fold(self, unfold: bool | None = None) -> None:
        if self.cursor_id is not None:
            self.post_message(self.Folded(self.cursor_id, unfold))


class ScopesPane(Pane):
    """The list, and at its foot in words what is so with the workspace under the cursor."""

    DEFAULT_CSS = """
    ScopesPane {
        #scopes-foot {
            height: auto; max-height: 9; padding: 0 0 0 1; color: $text-muted; border-top: solid $border-blurred;
            &:ansi { text-style: dim; }
        }
    }
    """
    HELP = (
        "The memories under this root: global, every workspace, and those of agents.  Enter on a workspace "
        "searches there, on a file shows it; space, → and ← unfold and fold.\n\n"
        "Marks: * the workspace of the folder you started in · ? origin unknown · ≈ nearly the same as another · "
        "▲ past the 16,000 bytes the agent keeps when it dreams · ▿2 two logs stranded (older than the last dream, "
        "never read) · ! something could not be read."
    )

    @dataclass
    class WorkspaceChosen(Message):
        """Search in this workspace from now on."""

        root: str
        workspace: str

    @dataclass
    class FileChosen(Message):
        """Show this file."""

        path: str

    @dataclass
    class SessionsChosen(Message):
        """Go to the logs of this workspace."""

        root: str
        workspace: str

    class ProblemsChosen(Message):
        """Show everything that could not be read."""

    def __init__(self) -> None:
        super().__init__("scopes")
        self._overview: Overview | None = None
        self._selected = ("", "")
        self._dream: DreamSettings | None = None
        self._now = 0.0
        self._opened: set[str] = set()
        self._ever_opened: set[str] = set()
        self._said: list[str] = []

    def compose(self) -> ComposeResult:
        yield ScopesList(id="scopes-list")
        yield Static(id="scopes-foot")

    @property
    def listing(self) -> ScopesList:
        return self.query_one(ScopesList)

    def on_mount(self) -> None:
        self.listing.set_empty("Opening the memory…")
        self.query_one("#scopes-foot").display = False

    def show(self, overview: Overview, selected: tuple[str, str], dream: DreamSettings, now: float) -> None:
        """Show this overview; folds and the cursor stay as they were."""
        self._overview, self._selected, self._dream, self._now = overview, selected, dream, now
        key = workspace_key(*selected)
        if key not in self._ever_opened:
            # The selected one unfolds once by itself; folded up by hand it stays folded.
            self._ever_opened.add(key)
            self._opened.add(key)
        self.set_count(str(sum(len(root.workspaces) + (not root.flat) for root in overview.roots)))
        self._refill(key if not self.listing.rows else None)

    def _refill(self, cursor: str | None = None) -> None:
        if self._overview is None:
            return
        self.listing.set_rows(scope_rows(self._overview, self._opened, self._selected), cursor=cursor)
        self.listing.set_empty("No memory here yet.")

    @on(ScopesList.Folded)
    def _folded(self, event: ScopesList.Folded) -> None:
        event.stop()
        row = next((row for row in self.listing.rows if row.id == event.row_id), None)
        if row is None:
            return
        data: ScopeRow = row.data
        if data.opened is None:
            if event.unfold is False:
                self.listing.move_to(workspace_key(data.root, data.workspace))
            return
        unfold = not data.opened if event.unfold is None else event.unfold
        if unfold != data.opened:
            self._opened ^= {row.id}
            self._refill()

    @on(LineList.Opened)
    def _open(self, event: LineList.Opened) -> None:
        event.stop()
        row = self.listing.cursor
        if row is None:
            return
        data: ScopeRow = row.data
        match data.kind:
            case "workspace" | "fact":
                self.post_message(self.WorkspaceChosen(data.root, data.workspace))
            case "global" | "file":
                self.post_message(self.FileChosen(data.path))
            case "sessions":
                self.post_message(self.SessionsChosen(data.root, data.workspace))
            case "problems":
                self.post_message(self.ProblemsChosen())
            case "group" | "root":
                self._opened ^= {row.id}
                self._refill()

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        self._say_foot()

    @on(events.Resize)
    def _say_foot(self) -> None:
        # On a low screen the list needs the room more; rows it leaves empty are the foot's.
        spare = self.size.height - 1 - len(self.listing.rows)
        limit = max(2, self.size.height // 6, min(_FOOT_ROWS, spare))
        said = fold_lines(self._foot_lines(), self.size.width - 1, limit)
        if said == self._said:
            return
        self._said = said
        foot = self.query_one("#scopes-foot", Static)
        foot.display = bool(said)
        foot.update(Content("\n").join(content(line) for line in said))

    def _foot_lines(self) -> list[str]:
        row = self.listing.cursor
        if row is None or self._dream is None:
            return []
        info = row.data.info
        if row.data.kind == "problems":
            return ["Enter lists them, each with its reason."]
        if row.id == AGENTS:
            return ["Memories of agents, user-wide or of a project."]
        if info is None:
            return []
        name = f"{info.human}, {origin_words(info.origin)}" if info.human else origin_sentence(info.origin)
        return [name, dream_words(info, self._dream, self._now), *warnings_of(info)]

    @property
    def copyable(self) -> tuple[str, str] | None:
        """What ``y`` copies here: (what it is, the text)."""
        row = self.listing.cursor
        if row is None:
            return None
        data: ScopeRow = row.data
        path = data.path or (f"{data.root}/{data.workspace}" if data.workspace else data.root)
        return ("the path", path) if path else None
