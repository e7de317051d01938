"""Plain output for people: aligned, one fact a column, every stored string drawn so that nothing is obeyed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from core.index.model import DoctorReport, IndexStatus, SyncReport
from core.safetext import visible_line
from core.store.layout import printable
from core.store.model import (
    FileEntry,
    FileText,
    GcReport,
    Overview,
    Problem,
    Receipt,
    RootInfo,
    WorkspaceInfo,
)
from core.wording import plural

LETTERS = {"global": "G", "workspace": "W", "session": "S"}


def cells(text: str) -> int:
    """Terminal columns of a text: wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - cells(text))


def cut(text: str, columns: int) -> str:
    """Shorten to a number of columns, ending in … when something was left off."""
    if cells(text) <= columns:
        return text
    kept = text[: max(0, columns - 1)]
    while kept and cells(kept) > columns - 1:
        kept = kept[:-1]
    return kept + "…"


def size(count: int) -> str:
    """Bytes as people say them: ``940 B``, ``12 kB``, ``1.2 MB`` (powers of 1000)."""
    if count < 1000:
        return f"{count} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if count < scale * 1000 or unit == "GB":
            amount = count / scale
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
    raise AssertionError("unreachable: GB takes everything")


def table(rows: Iterable[Sequence[str]], *, right: Sequence[int] = (), indent: str = "") -> list[str]:
    """Align columns, two spaces apart; ``right`` names the columns that end flush."""
    lines = [list(row) for row in rows]
    if not lines:
        return []
    widths = [max(cells(row[at]) for row in lines) for at in range(len(lines[0]))]
    shown = []
    for row in lines:
        parts = [
            " " * (widths[at] - cells(cell)) + cell if at in right else pad(cell, widths[at])
            for at, cell in enumerate(row)
        ]
        shown.append((indent + "  ".join(parts)).rstrip())
    return shown


def short_path(path: str, root: str, workspace: str) -> str:
    """A path as a person may give it back: relative to the workspace, else to the root, else whole."""
    if workspace and path.startswith(f"{root}/{workspace}/"):
        return path[len(root) + len(workspace) + 2 :]
    return path[len(root) + 1 :] if path.startswith(f"{root}/") else path


def wrapped(text: str, columns: int) -> list[str]:
    """Break between words so that no line is wider; a word that is (a path) stands whole on its own line."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and cells(lines[-1]) + 1 + cells(word) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def problem(fault: Problem) -> str:
    """What is wrong with an entry; most messages name the path themselves."""
    if printable(fault.path) in fault.message:
        return visible_line(fault.message)
    return f"{visible_line(fault.path)}: {visible_line(fault.message)}"


def overview(report: Overview, files: Mapping[str, Sequence[FileEntry]]) -> str:
    """Roots, their workspaces with human names, sizes, counts and marks; ``*`` is the current one."""
    lines: list[str] = []
    for number, root in enumerate(report.roots):
        if number:
            lines.append("")
        lines += _root(root, files)
    return "\n".join(lines)


def _root(root: RootInfo, files: Mapping[str, Sequence[FileEntry]]) -> list[str]:
    kind = {
        "main": "memory",
        "agent-user": f"agent memory {root.name} (user)",
        "agent-project": f"agent memory {root.name} (project)",
        "agent-local": f"agent memory {root.name} (local)",
    }[root.kind]
    marks = [] if root.exists else ["not there yet"]
    if root.read_only:
        marks.append("read-only")
    tail = f"  ({', '.join(marks)})" if marks else ""
    lines = [f"{visible_line(root.path)}  {visible_line(kind)}{tail}"]
    rows = [[" ", "workspace", "project", "MEMORY.md + logs", "", ""]]
    if root.global_memory is not None:
        glob = _file_marks(root.global_memory, root.global_scaffold, root.global_past_dream_limit)
        rows.append([" ", "Global", "", size(root.global_memory.size), "", ", ".join(glob)])
    rows += [_workspace(space) for space in root.workspaces]
    aligned = table(rows, right=(3, 4), indent="  ") if rows[1:] else []
    first = len(aligned) - len(root.workspaces)
    lines += aligned[:first]
    for line, space in zip(aligned[first:], root.workspaces, strict=True):
        lines.append(line)
        lines += _files(files.get(space.path, ()), space.path)
        lines += [f"      ! {problem(fault)}" for fault in space.problems]
    lines += [f"  ! {problem(fault)}" for fault in root.problems]
    return lines


def _workspace(space: WorkspaceInfo) -> list[str]:
    human = visible_line(space.human) if space.human else "origin unknown"
    if space.human and space.origin == "remote":
        human += ", by remote"
    marks = (
        [] if space.memory is None else _file_marks(space.memory, space.scaffold_only, space.past_dream_limit)
    )
    if not space.exists:
        marks.append("not there yet")
    if space.ephemeral:
        marks.append("temporary folder: the agent keeps nothing for it")
    if space.fresh_logs:
        marks.append(f"{space.fresh_logs} new")
    if space.stranded:
        marks.append(f"{space.stranded} stranded")
    if space.near_duplicates:
        marks.append("much like " + ", ".join(visible_line(name) for name in space.near_duplicates))
    return [
        "*" if space.current else " ",
        visible_line(space.folder) or "(this root)",
        human,
        size(space.session_bytes + (space.memory.size if space.memory else 0)) if space.exists else "-",
        plural(space.sessions, "log"),
        ", ".join(marks),
    ]


def _file_marks(file: FileEntry, scaffold: bool, past_limit: bool) -> list[str]:
    marks = []
    if file.link_target is not None:
        marks.append(f"→ {visible_line(file.link_target)}")
    if scaffold:
        marks.append("template only")
    if past_limit:
        marks.append("past the 16,000 bytes a dream keeps")
    return marks


def _files(files: Sequence[FileEntry], base: str) -> list[str]:
    rows = []
    for file in files:
        name = file.path[len(base) + 1 :] if file.path.startswith(f"{base}/") else file.path
        mark = "" if file.link_target is None else f"→ {visible_line(file.link_target)}"
        rows.append([LETTERS[file.source], visible_line(name), size(file.size), mark])
    return table(rows, right=(2,), indent="      ")


def show(text: FileText) -> str:
    """Lines as ``N→text``, the numbers flush right."""
    last = text.first + len(text.lines) - 1
    digits = max(4, len(str(last)))
    return "\n".join(
        f"{number:>{digits}}→{visible_line(line)}" for number, line in enumerate(text.lines, text.first)
    )


def sync(report: SyncReport, anew: IndexStatus | None = None) -> str:
    """What a reindex did, in one or two lines; ``anew``: the state of the index that was written anew."""
    files = f"{plural(report.files_seen, 'file')} seen, {report.files_indexed:,} indexed"
    if report.files_removed:
        files += f", {report.files_removed:,} gone"
    chunks = [
        f"{count:,} {word}"
        for count, word in (
            (report.added, "added"),
            (report.updated, "changed"),
            (report.moved, "moved"),
            (report.removed, "removed"),
            (report.foreign_removed, "of other workspaces removed"),
        )
        if count
    ]
    taken = f"({report.seconds:.2f} s)"
    compared = f"{files}; chunks: {', '.join(chunks) or 'all as they were'}"
    if anew is None:
        return f"{compared} {taken}"
    holds = f"{plural(anew.chunks, 'chunk')} of {plural(anew.files, 'file')}"
    written = f"the text index was written anew: {holds} {taken}"
    return f"{compared}\n{written}" if report.changed else written


_LEVELS = {"ok": "ok", "info": "info", "warning": "WARNING", "error": "ERROR"}


def doctor(report: DoctorReport, columns: int) -> str:
    """One finding a paragraph, what to do below it."""
    topics = max((cells(item.topic) for item in report.findings), default=0)
    lines = []
    for item in report.findings:
        head = f"{_LEVELS[item.level]:<7}  {pad(visible_line(item.topic), topics)}  "
        indent = " " * cells(head)
        room = max(30, columns - cells(head))
        first, *more = wrapped(visible_line(item.message), room)
        lines.append(head + first)
        lines += [indent + line for line in more]
        lines += [indent + line for line in wrapped(visible_line(item.hint), room) if item.hint]
    lines.append("healthy" if report.healthy else "not healthy")
    return "\n".join(lines)


def gc(report: GcReport) -> str:
    """Each workspace that could go and why; those that stay, with what keeps them."""
    rows = [
        [
            "remove" if item.remove else "keep",
            visible_line(item.folder),
            f"{item.age_days:.0f} d",
            visible_line(item.reason),
        ]
        for item in sorted(report.candidates, key=lambda item: (not item.remove, item.folder))
    ]
    lines = table(rows, right=(2,)) or ["nothing to clean up"]
    if report.receipt is not None:
        lines += ["", receipt(report.receipt)]
    return "\n".join(lines)


def receipt(item: Receipt) -> str:
    """What was reached, what was not, and where it lies until it is purged."""
    lines = [visible_line(item.action)]
    lines += [f"  done    {visible_line(place)}" for place in item.done]
    lines += [f"  FAILED  {visible_line(place)}" for place in item.failed]
    lines += [f"  note    {visible_line(note)}" for note in item.notes]
    if item.trash:
        lines.append(f"  kept in {visible_line(item.trash)}")
    return "\n".join(lines)
