"""What Scopes lists, as rows: every root, its global memory, its workspaces, and what lies in an opened one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.format import age, count, fit, size, width_of
from tui.text import clean
from tui.widgets.line_list import Row
from tui.widgets.line_view import Piece

if TYPE_CHECKING:
    from core.memory import DreamSettings, FileEntry, Overview, RootInfo, WorkspaceInfo

Kind = Literal["global", "workspace", "file", "sessions", "fact", "group", "root", "problems"]

AGENTS = "agents"
_LEAST_ASIDE = 9  # cells; less of a human name says nothing

# One cell each, none of them an emoji; the help of the pane and the foot of the list say them in words.
CURRENT = "*"
UNKNOWN_ORIGIN = "?"
NEAR_DUPLICATE = "≈"
PROBLEM = "!"
PAST_LIMIT = "▲"
STRANDED = "▿"


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One row: ``root`` and ``workspace`` say whose it is, ``path`` the file it stands for."""

    kind: Kind
    label: str
    root: str
    workspace: str = ""
    path: str = ""
    depth: int = 0
    marks: str = ""
    aside: str = ""
    right: str = ""
    opened: bool | None = None
    selected: bool = False
    info: WorkspaceInfo | None = None

    def pieces(self, width: int) -> list[Piece]:
        """The left side in at most ``width`` cells: the name gives way before its marks, the aside first."""
        fold = " " if self.opened is None else "▾" if self.opened else "▸"
        start = "  " * self.depth + fold
        marks = f" {self.marks}" if self.marks else ""
        name = fit(clean(self.label), max(4, width - len(start) - len(marks)))
        look = "strong" if self.selected else "muted" if self.kind == "fact" else ""
        pieces: list[Piece] = [(start, "muted"), (name, look), (marks, "strong")]
        room = width - sum(width_of(text) for text, _ in pieces) - 2
        if self.aside and room >= _LEAST_ASIDE:
            pieces.append(("  " + fit(clean(self.aside), room, side="left"), "muted"))
        return pieces


def marks_of(info: WorkspaceInfo) -> str:
    """The marks of a workspace, one cell each and stranded logs with their number."""
    marks = [
        (CURRENT, info.current),
        (UNKNOWN_ORIGIN, info.human is None and info.origin == "unknown"),
        (NEAR_DUPLICATE, bool(info.near_duplicates)),
        (PAST_LIMIT, info.past_dream_limit),
        (PROBLEM, bool(info.problems)),
        (f"{STRANDED}{info.stranded}", info.stranded > 0),
    ]
    return " ".join(mark for mark, applies in marks if applies)


def origin_words(origin: str) -> str:
    """How a human name is known, in words."""
    return {
        "remote": "by remote",
        "path": "by path",
        "template": "by its heading",
        "session-summary": "by a session",
        "started-here": "opened here",
        "flat": "own root",
        "unknown": "origin unknown",
    }.get(origin, origin)


def origin_sentence(origin: str) -> str:
    """The same where nothing else says it."""
    words = origin_words(origin)
    return f"{words} (nothing in it says which project it belongs to)" if origin == "unknown" else words


def dream_words(info: WorkspaceInfo, dream: DreamSettings, now: float) -> str:
    """Whether the agent's dream would start: both gates with their numbers."""
    if not dream.enabled:
        return "dream off"
    logs = count(info.fresh_logs, "log")
    if info.last_dream is None:
        waited, since = True, "never dreamed"
    else:
        hours = max(0.0, (now - info.last_dream) / 3600)
        waited = hours >= dream.min_hours
        since = f"{hours:.0f} h" if hours < 72 else age(hours / 24)
        if not waited:
            since = f"{hours:.0f} of {dream.min_hours} h"
    if info.fresh_logs < dream.min_sessions:
        return f"dream waits: {info.fresh_logs} of {dream.min_sessions} logs, {since}"
    return f"dream {'ready' if waited else 'waits'}: {logs}, {since}"


def warnings_of(info: WorkspaceInfo) -> Iterator[str]:
    """What the marks of a workspace mean, in words."""
    if info.stranded:
        yield f"{STRANDED} {count(info.stranded, 'log')} stranded"
    if info.past_dream_limit:
        yield f"{PAST_LIMIT} past 16,000 bytes"
    if info.near_duplicates:
        yield f"{NEAR_DUPLICATE} like {', '.join(info.near_duplicates)}"
    if info.ephemeral:
        yield "temporary: the agent keeps nothing"
    for problem in info.problems:
        yield f"{PROBLEM} {problem.message.replace(problem.path, problem.path.rsplit('/', 1)[-1])}"


def scope_rows(overview: Overview, opened: set[str], selected: tuple[str, str]) -> list[Row]:
    """Every row in order.  ``opened`` holds the ids of unfolded rows, ``selected`` (root, workspace)."""
    rows: list[ScopeRow] = []
    ids: list[str] = []

    def add(row_id: str, row: ScopeRow) -> None:
        ids.append(row_id)
        rows.append(row)

    main = [root for root in overview.roots if root.kind == "main"]
    agents = [root for root in overview.roots if root.kind != "main"]
    for root in main:
        _add_root(add, root, opened, selected, 0)
    if agents:
        unfolded = AGENTS in opened
        add(AGENTS, ScopeRow("group", "agents", "", right=str(len(agents)), opened=unfolded))
        for root in agents if unfolded else ():
            key = f"root {root.path}"
            shown = key in opened
            add(
                key,
                ScopeRow(
                    "root",
                    root.name,
                    root.path,
                    depth=1,
                    aside=root.kind.removeprefix("agent-"),
                    opened=shown,
                    selected=selected[0] == root.path,
                ),
            )
            if shown:
                _add_root(add, root, opened, selected, 2)
    return [Row(row_id, row) for row_id, row in zip(ids, rows, strict=True)]


def _add_root(add: object, root: RootInfo, opened: set[str], selected: tuple[str, str], depth: int) -> None:
    assert callable(add)
    if not root.flat and root.global_memory is not None:
        add(
            f"global {root.path}",
            ScopeRow(
                "global",
                "Global",
                root.path,
                path=root.global_memory.path,
                depth=depth,
                marks=PAST_LIMIT if root.global_past_dream_limit else "",
                aside="only the template" if root.global_scaffold else "",
                right=size(root.global_memory.size),
            ),
        )
    for info in root.workspaces:
        _add_workspace(add, root, info, opened, selected, depth)
    if root.problems:
        add(
            f"problems {root.path}",
            ScopeRow(
                "problems",
                f"{PROBLEM} {count(len(root.problems), 'problem')}",
                root.path,
                depth=depth,
            ),
        )


def workspace_key(root: str, workspace: str) -> str:
    """The id of a workspace's row."""
    return f"workspace {root} {workspace}"


def _add_workspace(
    add: object, root: RootInfo, info: WorkspaceInfo, opened: set[str], selected: tuple[str, str], depth: int
) -> None:
    assert callable(add)
    key = workspace_key(root.path, info.folder)
    unfolded = key in opened
    total = info.session_bytes + (info.memory.size if info.memory else 0)
    add(
        key,
        ScopeRow(
            "workspace",
            info.folder or root.name,
            root.path,
            info.folder,
            info.memory.path if info.memory else "",
            depth,
            marks_of(info),
            info.human or "",
            size(total) if info.exists else "not there",
            unfolded,
            (root.path, info.folder) == selected,
            info,
        ),
    )
    if not unfolded:
        return

    def child(name: str, kind: Kind, label: str, right: str = "", path: str = "", marks: str = "") -> None:
        row = ScopeRow(kind, label, root.path, info.folder, path, depth + 1, marks, "", right, info=info)
        add(f"{name} {root.path} {info.folder}", row)

    child("human", "fact", info.human or "unknown", origin_words(info.origin))
    _memory_child(child, info.memory, info)
    child(
        "sessions",
        "sessions",
        "sessions",
        str(info.sessions),
        marks=f"{STRANDED}{info.stranded}" if info.stranded else "",
    )


def _memory_child(child: object, memory: FileEntry | None, info: WorkspaceInfo) -> None:
    assert callable(child)
    if memory is None:
        child("memory", "fact", "no MEMORY.md yet")
        return
    right = "template" if info.scaffold_only else size(memory.size)
    marks = PAST_LIMIT if info.past_dream_limit else ""
    label = "MEMORY.md" + (" →" if memory.link_target else "")
    child("memory", "file", label, right, memory.path, marks)
