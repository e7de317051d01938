"""Everything that is not as it should be, each with what it means and what to do; behind ``memdeck doctor``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import apsw

from core.embedding import EmbeddingState
from core.errors import SettingsError
from core.index.chunker import MAX_BYTES, OVERLAP_CHARS
from core.index.database import Database, integrity
from core.index.model import DoctorReport, Finding, SyncReport
from core.index.sync import Index
from core.searching import behind_note
from core.settings import Settings
from core.settings.load import parse, read_text
from core.store.layout import DREAM_LIMIT, Root, is_scaffold, printable
from core.store.listing import list_memory
from core.store.model import Overview, Problem, RootInfo, WorkspaceInfo
from core.store.reading import read_head
from core.wording import plural

HUGE_CHUNK = 4 * MAX_BYTES


@dataclass(frozen=True, slots=True)
class Patient:
    """What is examined: a root with its workspaces, their indexes, and the settings."""

    root: Root
    workspace: str
    overview: Overview
    indexes: Sequence[tuple[Root, str, Index]]
    settings: Settings
    environ: Mapping[str, str]
    now: float
    embedding: EmbeddingState


def examine(patient: Patient) -> DoctorReport:
    """Return every finding, the memory first, then indexes, settings and what leaves the machine."""
    findings: list[Finding] = []
    findings += _roots(patient)
    findings += _files(patient)
    for root, folder, index in patient.indexes:
        findings += _index(patient, root, folder, index)
    findings += _settings(patient)
    findings.append(_vectors(patient.embedding))
    findings.append(upload_line(patient.settings, patient.environ))
    return DoctorReport(tuple(findings))


def _roots(patient: Patient) -> Iterator[Finding]:
    overview = patient.overview
    main = overview.roots[0]
    if not main.exists:
        yield Finding(
            "warning",
            "memory",
            f"{printable(main.path)} is not there",
            "Start the agent once, choose another root with --root, or try `memdeck demo`.",
        )
    else:
        yield Finding(
            "ok", "memory", f"{printable(main.path)} with {plural(len(main.workspaces), 'workspace')}"
        )
    if overview.banner:
        yield Finding("warning", "memory", overview.banner)
    for note in overview.notes:
        yield Finding("info", "memory", note)
    if main.read_only:
        yield Finding("info", "memory", "the memory is read-only; indexes are kept in the cache dir")
    for root in overview.roots:
        for workspace in root.workspaces:
            yield from _workspace(workspace, _whose(root))
        if root.global_past_dream_limit:
            yield _past_limit(f"{printable(root.path)}/MEMORY.md")


def _whose(root: Root | RootInfo) -> str:
    """What tells a workspace of an agent's own memory from the one of that name in the main memory."""
    return "" if root.kind == "main" else f" of agent memory {printable(root.name)}"


def _workspace(workspace: WorkspaceInfo, whose: str) -> Iterator[Finding]:
    name = (printable(workspace.folder) or "this root") + whose
    if workspace.past_dream_limit:
        yield _past_limit(f"{printable(workspace.path)}/MEMORY.md" if whose else f"{name}/MEMORY.md")
    if workspace.near_duplicates:
        others = ", ".join(printable(other) for other in workspace.near_duplicates)
        yield Finding(
            "info",
            "workspaces",
            f"{name} and {others} may be one project under two names",
            "Nothing is merged by itself; compare the two.",
        )
    if workspace.origin == "unknown" and workspace.exists:
        yield Finding(
            "info", "workspaces", f"{name}: origin unknown (nothing in it says which project it belongs to)"
        )
    if workspace.stranded:
        yield Finding(
            "info",
            "dream",
            f"{name}: {plural(workspace.stranded, 'log is', 'logs are')} older than the last dream; the agent's "
            f"gate never lists {'it' if workspace.stranded == 1 else 'them'} again",
        )


def _past_limit(name: str) -> Finding:
    return Finding(
        "warning",
        "dream",
        f"{name} is past {DREAM_LIMIT:,} bytes: what lies beyond is lost at the agent's next dream",
        "Shorten it, or set [memory.dream] enabled = false.",
    )


def _files(patient: Patient) -> Iterator[Finding]:
    for root in patient.overview.roots:
        problems: list[Problem] = list(root.problems)
        for workspace in root.workspaces:
            problems += workspace.problems
        for problem in dict.fromkeys(problems):
            yield _problem(problem)
        yield from _hidden_notes(root)


def _problem(problem: Problem) -> Finding:
    return Finding("warning", "files", problem.message)


def _hidden_notes(root: RootInfo) -> Iterator[Finding]:
    """A real note in a short file that still holds the template: the agent drops the whole chunk."""
    entries = [entry for entry in (root.global_memory, *(item.memory for item in root.workspaces)) if entry]
    for entry in entries:
        if entry.size >= 2 * DREAM_LIMIT:
            continue
        head = read_head(entry.path, 4096)
        text = head.decode("utf-8", "replace") if head is not None else ""
        if is_scaffold(text) and _has_note(text):
            yield Finding(
                "warning",
                "files",
                f"{printable(entry.path)} holds a note, but also the agent's template: under 500 bytes the agent "
                "takes the whole file for empty and never recalls it",
                "Remove the template's lines.",
            )


def _has_note(text: str) -> bool:
    """True when something besides headings, quotes and comments is written."""
    lines = [line.strip() for line in text.splitlines()]
    return any(line and not line.startswith(("#", ">", "<!--")) for line in lines)


def _index(patient: Patient, root: Root, folder: str, index: Index) -> Iterator[Finding]:
    name = printable(folder) if folder else ("global memory" if not root.flat else printable(root.path))
    name += _whose(root)
    current = (root, folder) == (patient.root, patient.workspace)
    if not current and not index.exists():
        yield Finding("info", "index", f"{name}: no index yet")
        return
    synced = index.sync()
    status = index.status()
    if status.state == "failed":
        yield Finding(
            "error",
            "index",
            f"{name}: {status.reason}",
            "The Markdown is untouched; searching it is not possible now.",
        )
        return
    for problem in synced.problems:
        if problem.kind in ("not-utf8", "too-large"):
            yield _problem(problem)
    for note in synced.notes:
        yield Finding("warning", "index", f"{name}: {note}")
    if status.behind:
        yield Finding("warning", "index", f"{name}: {behind_note(status)}", "It follows by itself.")
    if status.reason:
        level = "warning" if os.path.isdir(os.path.join(root.path, folder)) and folder else "info"
        yield Finding(level, "index", f"{name}: memdeck's own copy is used, since {status.reason}")  # type: ignore[arg-type]
    if status.foreign:
        yield Finding(
            "warning",
            "index",
            f"{name}: {plural(status.foreign, 'row belongs', 'rows belong')} to another workspace; the agent "
            f"sees {'it' if status.foreign == 1 else 'them'}",
            f"`memdeck reindex` removes {'it' if status.foreign == 1 else 'them'}.",
        )
    database = index.database()
    if database is not None:
        yield from _database(name, database)
    holds = f"{plural(status.chunks, 'chunk')} of {plural(status.files, 'file')}"
    what = f"{holds}, journal {status.journal_mode}, {status.vectors}"
    yield Finding("ok", "index", f"{name}: {what}")
    yield from _unlisted(name, root, folder, synced)


def _database(name: str, database: Database) -> Iterator[Finding]:
    try:
        flaw = integrity(database)
        with database.reading() as reader:
            huge = list(
                reader.execute(
                    "SELECT id, length(CAST(text AS BLOB)) FROM chunks WHERE length(CAST(text AS BLOB)) > ? LIMIT 5",
                    (HUGE_CHUNK,),
                )
            )
    except apsw.Error as error:
        yield Finding("error", "index", f"{name}: the index cannot be read ({error})")
        return
    if flaw:
        yield Finding(
            "error",
            "index",
            f"{name}: SQLite finds the index damaged ({flaw})",
            "`memdeck reindex --rebuild`.",
        )
    for chunk_id, size in huge:
        yield Finding(
            "info",
            "index",
            f"{printable(str(chunk_id))} has {int(str(size)):,} bytes, over {HUGE_CHUNK:,}: too long to rank or "
            "embed well",
            "Break its long lines with blank lines or headings.",
        )


def _unlisted(name: str, root: Root, folder: str, synced: SyncReport) -> Iterator[Finding]:
    listed = len(list_memory(root, folder).files)
    more = synced.files_seen - listed
    if more > 0:
        yield Finding(
            "info",
            "index",
            f"{name}: {plural(more, 'indexed file is', 'indexed files are')} not in the agent's own listing; its "
            f"watcher took {'it' if more == 1 else 'them'} up",
        )


def _settings(patient: Patient) -> Iterator[Finding]:
    settings = patient.settings
    for problem in settings.problems:
        yield Finding("warning", "settings", str(problem))
    for note in settings.notes:
        yield Finding("info", "settings", note)
    index = settings.index
    if (index.max_chunk_chars, index.chunk_overlap_chars) != (MAX_BYTES, OVERLAP_CHARS):
        yield Finding(
            "info",
            "settings",
            f"[memory.index] sets {index.max_chunk_chars}/{index.chunk_overlap_chars}, but the agent's sync ignores "
            f"it: the shared index always uses {MAX_BYTES}/{OVERLAP_CHARS}",
        )
    origin = settings.origin("memory.search.min_score")
    yield Finding(
        "info",
        "settings",
        f"what scores below the floor {settings.search.min_score:g} ({origin}) is not recalled",
        "`memdeck search --explain QUERY` shows what falls below it; `memdeck config set search.min_score X` "
        "moves it.",
    )


def _vectors(state: EmbeddingState) -> Finding:
    if state.state == "none":
        return Finding("info", "vectors", f"text only: {state.reason}", state.hint)
    counts = (
        f"{plural(state.stored, 'text has', 'texts have')} a vector, {plural(state.missing, 'is', 'are')} missing, "
        f"{state.skipped:,} can have none"
    )
    if state.state == "changed":
        return Finding("warning", "vectors", f"paused: {state.reason}", "`memdeck reindex --vectors --again`")
    if state.state == "unconfirmed":
        return Finding(
            "info", "vectors", state.reason, "`memdeck reindex --vectors` shows what would be sent, and asks"
        )
    if state.state == "failed":
        return Finding("warning", "vectors", f"{state.fingerprint}: {state.reason}")
    hint = "`memdeck reindex --vectors`" if state.missing else ""
    return Finding("info", "vectors", f"{state.fingerprint}: {counts}", hint)


def upload_line(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """The one line about the agent sending memory away, and which local switch decides it."""
    raw = environ.get("GROK_TELEMETRY_TRACE_UPLOAD")
    value: object = None
    where = "[telemetry] trace_upload in config.toml or GROK_TELEMETRY_TRACE_UPLOAD"
    if raw is not None:
        value, where = (
            raw.strip().lower() not in ("", "0", "false", "off", "no"),
            "GROK_TELEMETRY_TRACE_UPLOAD",
        )
    elif settings.agent_file:
        try:
            table = parse(read_text(settings.agent_file) or "").get("telemetry")
            if isinstance(table, dict) and isinstance(table.get("trace_upload"), bool):
                value, where = (
                    table["trace_upload"],
                    f"[telemetry] trace_upload in {printable(settings.agent_file)}",
                )
        except SettingsError:
            pass  # a broken file is named among the settings
    state = {True: "on", False: "off", None: "not set here, so the agent's build or server decides"}[
        value if isinstance(value, bool) else None
    ]
    return Finding(
        "info",
        "privacy",
        "what your agent recalls goes to its model, and it can upload session traces that hold memory; the local "
        f"switch is {where}: {state}. memdeck itself sends nothing",
    )
