"""Store room: what lies under a memory root: files in the agent's order, workspaces, logs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from core.clock import LAST_SECOND
from core.store.entries import Part, curated, folder_link, folder_problem, log, logs, problem_of
from core.store.layout import (
    DREAM_LIMIT,
    DREAM_LOCK,
    MEMORY_FILE,
    SESSIONS_DIR,
    Root,
    is_scaffold,
    is_text_name,
    is_workspace_folder,
    printable,
    workspace_dir,
)
from core.store.model import (
    FileEntry,
    Identity,
    Overview,
    Problem,
    RootInfo,
    SessionLog,
    WorkspaceInfo,
)
from core.store.names import HumanNames, heading_path
from core.store.reading import decode, read_head

DAY = 86_400.0
VERIFY_DAYS = 1.0
STALE_DAYS = 7.0

_TEMPLATE_BYTES = 4_096
_DATED = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:-(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Listing:
    """Files in the agent's order, and entries that are named with a reason instead (or listed, marked).

    A file that cannot be opened for want of permission stands in both.
    """

    files: tuple[FileEntry, ...]
    problems: tuple[Problem, ...] = ()


def list_memory(root: Root, workspace_folder: str) -> Listing:
    """List global MEMORY.md, workspace MEMORY.md and the logs directly in ``sessions/``, by name.

    ``workspace_folder`` is ``""`` for global memory alone, or for a flat root's own files.  Folders are
    never followed through links; nothing is opened and nothing written.

    Raises:
        UsageError: ``workspace_folder`` is not a plain folder name.
    """
    folder = workspace_dir(root, workspace_folder)
    parts = [] if root.flat else [curated(root, root.path, "global")]
    if folder is not None:
        parts += _workspace_parts(root, folder)
    return Listing(
        tuple(file for part in parts for file in part.files),
        tuple(problem for part in parts for problem in part.problems),
    )


def list_one(root: Root, workspace_folder: str, path: str) -> Listing:
    """What ``list_memory`` says of one path (spelled as the root is), without looking at any other."""
    folder = workspace_dir(root, workspace_folder)
    above, name = os.path.split(path)
    part = Part()
    if name == MEMORY_FILE and above == root.path and not root.flat:
        part = curated(root, root.path, "global")
    elif folder is not None and (folder == root.path or folder_problem(folder) is None):
        if name == MEMORY_FILE and above == folder:
            part = curated(root, folder, "workspace")
        elif above == os.path.join(folder, SESSIONS_DIR):
            part = log(root, path)
    return Listing(part.files, part.problems)


def _workspace_parts(root: Root, folder: str) -> tuple[Part, Part]:
    """The curated file and the logs of one workspace folder."""
    broken = folder_problem(folder) if folder != root.path else None
    if broken is not None:
        return Part((), (broken,)), Part()
    return curated(root, folder, "workspace"), logs(root, folder)


def overview(
    roots: Sequence[Root],
    *,
    current: str = "",
    identity: Identity | None = None,
    names: HumanNames | None = None,
    mode: str | None = None,
    ephemeral: str | None = None,
) -> Overview:
    """Everything under some roots that can be listed: the first is the opened one, which ``current`` is in.

    ``identity`` says why ``current`` is the workspace; ``mode`` is the agent's ``[memory] mode``;
    ``ephemeral`` is why the agent keeps no memory of the working folder (see ``ephemeral_reason``).
    Reads the first lines of small MEMORY.md files (templates) and nothing else of the texts.
    """
    lookup = names or HumanNames()
    infos = []
    for number, root in enumerate(roots):
        mine = number == 0
        infos.append(
            _root_info(
                root,
                current if mine else None,
                identity if mine else None,
                lookup,
                ephemeral=ephemeral is not None and mine,
            )
        )
    notes = [f"The agent keeps no memory of this folder: {ephemeral}."] if ephemeral else []
    banner = v2_banner(roots[0], mode) if roots else None
    return Overview(tuple(infos), banner, identity, tuple(notes))


def v2_banner(root: Root, mode: str | None) -> str | None:
    """Which tree the agent uses, when its settings or a ``memory-v2/`` beside say it may not be this one."""
    other = os.path.join(os.path.dirname(root.path), "memory-v2")
    there = os.path.isdir(other)
    if (mode or "").strip().lower() == "v2":
        where = f"{printable(other)}{'' if there else ' (not there yet)'}"
        return f"[memory] mode is v2: the agent uses {where}, not the memory shown here."
    if there:
        return (
            f"{printable(other)} lies beside this memory: with [memory] mode = v2 the agent uses that tree, "
            "not the one shown here."
        )
    return None


def _root_info(
    root: Root, current: str | None, identity: Identity | None, names: HumanNames, *, ephemeral: bool
) -> RootInfo:
    folders, problems = _workspace_folders(root)
    missing = current is not None and current not in folders and bool(current) and not root.flat
    infos = [_workspace_info(root, folder, current == folder) for folder in folders]
    if missing and current is not None:
        path = os.path.join(root.path, current)
        infos.append(WorkspaceInfo(current, path, None, "unknown", None, 0, 0, current=True, exists=False))
    infos = _named(infos, root, identity, names)
    infos = [replace(info, ephemeral=ephemeral and info.current and not root.flat) for info in infos]
    part = Part() if root.flat else curated(root, root.path, "global")
    memory = part.files[0] if part.files else None
    exists = os.path.isdir(root.path)
    return RootInfo(
        kind=root.kind,
        name=root.name,
        path=root.path,
        real=root.real,
        flat=root.flat,
        exists=exists,
        global_memory=memory,
        workspaces=_with_near_duplicates(infos),
        problems=(*problems, *part.problems),
        read_only=exists and not os.access(root.path, os.W_OK | os.X_OK),
        global_scaffold=_template(memory) is not None,
        global_past_dream_limit=memory is not None and memory.size > DREAM_LIMIT,
    )


def _workspace_folders(root: Root) -> tuple[list[str], list[Problem]]:
    """Names of the workspaces under a root (``""`` for a flat one), and what was passed over."""
    if root.flat:
        return [""], []
    found: list[str] = []
    problems: list[Problem] = []
    try:
        with os.scandir(root.path) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                try:
                    link, folder = entry.is_symlink(), entry.is_dir()
                except OSError as error:
                    problems.append(problem_of(entry.path, error))
                    continue
                if not folder or not is_workspace_folder(entry.path, entry.name):
                    continue
                if link:
                    problems.append(folder_link(entry.path))
                elif not is_text_name(entry.name):
                    message = f"{printable(entry.path)}: the name is not UTF-8, so it cannot be opened here"
                    problems.append(Problem(entry.path, "not-utf8", message))
                else:
                    found.append(entry.name)
    except FileNotFoundError:
        pass
    except OSError as error:
        problems.append(problem_of(root.path, error))
    return sorted(found), sorted(problems, key=lambda problem: os.fsencode(problem.path))


def _workspace_info(root: Root, folder: str, current: bool) -> WorkspaceInfo:
    path = os.path.join(root.path, folder) if folder else root.path
    own, kept = _workspace_parts(root, path)
    memory = own.files[0] if own.files else None
    dreamed = last_dream(path)
    stranded = sum(1 for log in kept.files if is_stranded(log, dreamed))
    return WorkspaceInfo(
        folder=folder,
        path=path,
        human=None,
        origin="flat" if root.flat else "unknown",
        memory=memory,
        sessions=len(kept.files),
        session_bytes=sum(log.size for log in kept.files),
        fresh_logs=len(kept.files) - stranded,
        stranded=stranded,
        last_dream=dreamed,
        current=current,
        scaffold_only=_template(memory) is not None,
        past_dream_limit=memory is not None and memory.size > DREAM_LIMIT,
        problems=(*own.problems, *kept.problems),
    )


def last_dream(workspace_path: str) -> float | None:
    """When a workspace was last consolidated (unix seconds), from its dream lock; None: never."""
    try:
        return os.lstat(os.path.join(workspace_path, DREAM_LOCK)).st_mtime
    except OSError:
        return None


def is_stranded(log: FileEntry, dreamed: float | None) -> bool:
    """Whether a log is no newer than the last dream, so that the agent's gate never lists it again."""
    return dreamed is not None and log.mtime_ns / 1e9 <= dreamed


def _template(memory: FileEntry | None) -> str | None:
    """The text of a MEMORY.md that is still the agent's template, else None."""
    if memory is None or memory.size > _TEMPLATE_BYTES:
        return None
    raw = read_head(memory.path, _TEMPLATE_BYTES)
    text = decode(raw)[0] if raw is not None else ""
    return text if is_scaffold(text) else None


def _named(
    infos: Sequence[WorkspaceInfo], root: Root, identity: Identity | None, names: HumanNames
) -> list[WorkspaceInfo]:
    """Put human names to workspaces: the identity's own first, then what hashing finds."""
    if root.flat:
        return [replace(info, human=root.name or root.path) for info in infos]
    by_folder = {info.folder: info for info in infos}

    def heading(folder: str) -> str | None:
        memory = by_folder[folder].memory
        raw = read_head(memory.path, _TEMPLATE_BYTES) if memory is not None else None
        return heading_path(decode(raw)[0]) if raw is not None else None

    sure = identity if identity is not None and identity.kind in ("remote", "path") else None
    unsure = [folder for folder in by_folder if sure is None or folder != sure.folder]
    found = names.find(unsure, heading)
    out = []
    for info in infos:
        if sure is not None and info.folder == sure.folder:
            out.append(replace(info, human=sure.value, origin="remote" if sure.kind == "remote" else "path"))
        elif info.folder in found:
            out.append(replace(info, human=found[info.folder].human, origin=found[info.folder].origin))
        else:
            out.append(info)
    return out


def near_key(human: str) -> str:
    """What a human name comes down to when case, ``.git`` and surplus slashes do not count."""
    folded = re.sub(r"/+", "/", human.casefold()).rstrip("/")
    while folded.endswith(".git"):
        folded = folded.removesuffix(".git").rstrip("/")
    return folded


def _with_near_duplicates(infos: Iterable[WorkspaceInfo]) -> tuple[WorkspaceInfo, ...]:
    listed = sorted(infos, key=lambda info: info.folder)
    groups: dict[str, list[str]] = {}
    for info in listed:
        if info.human is not None:
            groups.setdefault(near_key(info.human), []).append(info.folder)
    return tuple(
        replace(info, near_duplicates=_others(groups, info)) if info.human is not None else info
        for info in listed
    )


def _others(groups: Mapping[str, Sequence[str]], info: WorkspaceInfo) -> tuple[str, ...]:
    return tuple(folder for folder in groups[near_key(info.human or "")] if folder != info.folder)


def session_logs(root: Root, folder: str, now: float) -> tuple[SessionLog, ...]:
    """The logs of one workspace, newest first: by the name's date (else the mtime's UTC date), then mtime.

    ``now`` is in unix seconds.

    Raises:
        UsageError: ``folder`` is not a plain folder name.
    """
    path = workspace_dir(root, folder)
    if path is None:
        return ()
    dreamed = last_dream(path)
    found = [_session_log(entry, dreamed, now) for entry in _workspace_parts(root, path)[1].files]
    found.sort(key=_recency, reverse=True)
    return tuple(found)


def _recency(log: SessionLog) -> tuple[str, int, str]:
    seconds = min(max(log.entry.mtime_ns / 1e9, 0.0), LAST_SECOND)
    day = log.day or datetime.fromtimestamp(seconds, UTC).date().isoformat()
    return day, log.entry.mtime_ns, log.entry.path


def _session_log(entry: FileEntry, dreamed: float | None, now: float) -> SessionLog:
    day, slug, session_id = parse_log_name(entry.name)
    age = (now - entry.mtime_ns / 1e9) / DAY
    return SessionLog(
        entry=entry,
        day=day,
        slug=slug,
        session_id=session_id,
        age_days=age,
        staleness="stale" if age > STALE_DAYS else "verify" if age > VERIFY_DAYS else "fresh",
        state="stranded" if is_stranded(entry, dreamed) else "new",
    )


def parse_log_name(name: str) -> tuple[str | None, str, str]:
    """Split ``YYYY-MM-DD-{slug}-{sid8}.md`` into (day or None, slug, session id); missing: ``""``."""
    stem = name.removesuffix(".md")
    match = _DATED.match(stem)
    if match is None or not _is_day(match.group(1)):
        return None, stem, ""
    slug, dash, session_id = (match.group(2) or "").rpartition("-")
    return (match.group(1), slug, session_id) if dash else (match.group(1), session_id, "")


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
