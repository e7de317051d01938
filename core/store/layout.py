"""Store room: where things lie under a memory root, and what the agent calls each of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from core.rust_text import byte_len, trim
from core.store.model import RootKind, Source

MEMORY_FILE = "MEMORY.md"
SESSIONS_DIR = "sessions"
INDEX_FILE = "index.sqlite"
DREAM_LOCK = ".dream-lock"
AGENT_DIRS: tuple[tuple[str, RootKind], ...] = (
    ("agent-memory", "agent-project"),
    ("agent-memory-local", "agent-local"),
)

DREAM_LIMIT = 16_000
"""Bytes of a MEMORY.md that the agent's next dream reads; what lies beyond is lost then."""

SCAFFOLD_MARKERS = (
    "Auto-populated by dream consolidation",
    "Add project-specific knowledge here",
    "Add any cross-project preferences here",
)
SCAFFOLD_LIMIT = 500

_HASH_SUFFIX = re.compile(r".*-[0-9a-f]{8}\Z", re.DOTALL)
_WALK_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Root:
    """A memory root: ``path`` as spelled (absolute, links unresolved), ``real`` where it really lies.

    ``flat``: the root is its own workspace (no folders below, no global memory of its own).
    """

    path: str
    real: Path
    kind: RootKind = "main"
    name: str = ""
    flat: bool = False


def printable(name: str) -> str:
    r"""A file name for a message: bytes that are not UTF-8 as ``\xff``, everything else as it is."""
    try:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # no file can be named so, but a person can ask for one
        return name.encode("utf-8", "backslashreplace").decode()


def is_text_name(name: str) -> bool:
    """Whether ``name`` is valid UTF-8; other names can be neither indexed nor written to JSON."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_log_name(name: str) -> bool:
    """Whether the agent takes a file of this name in ``sessions/`` for a log (extension exactly ``md``)."""
    return name.endswith(".md") and name != ".md"


def has_hash_suffix(folder: str) -> bool:
    """Whether a folder is named as the agent names workspaces: ``{slug}-{8 hex}``."""
    return _HASH_SUFFIX.match(folder) is not None


def default_root(environ: Mapping[str, str], home: str) -> str:
    """``$GROK_HOME/memory``, else ``~/.grok/memory``, spelled as the agent spells it (unresolved)."""
    return os.path.join(environ.get("GROK_HOME") or os.path.join(home, ".grok"), "memory")


def grok_home_of(root_path: str) -> str | None:
    """The agent's home that a root ``X/memory`` belongs to: X; None for a root of any other name."""
    parent, name = os.path.split(os.path.abspath(root_path))
    return parent if name == "memory" else None


def open_root(path: str, *, kind: RootKind = "main", name: str = "", flat: bool | None = None) -> Root:
    """Describe the root at ``path``, which need not exist; nothing is read but the shape on disk.

    ``flat`` None: decided by what is there (a ``sessions/`` folder and no workspace folders → flat), and
    with neither by where it lies (a project's or local agent memory is flat).

    Raises:
        UsageError: ``path`` is empty, holds a NUL, or is something other than a folder.
    """
    if not path or "\0" in path:
        raise UsageError("the memory root has no usable path", hint="Give a folder, such as ~/.grok/memory.")
    spelled = os.path.abspath(path)
    try:
        real = Path(os.path.realpath(spelled))
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        raise UsageError(f"there is no folder {printable(path)}", hint="Give another root.") from None
    if os.path.exists(real) and not os.path.isdir(real):
        raise UsageError(
            f"{printable(spelled)} is not a folder",
            hint="A memory root is a folder such as ~/.grok/memory.",
            data="Nothing was touched.",
        )
    if flat is None:
        has_sessions, has_workspaces = shape_on_disk(spelled)
        flat = not has_workspaces and (has_sessions or _lies_where_flat_ones_do(spelled))
    return Root(spelled, real, kind, name, flat)


def _lies_where_flat_ones_do(path: str) -> bool:
    above = os.path.dirname(path)
    grok_home, name = os.path.split(above)
    if os.path.basename(grok_home) != ".grok":
        return False
    # ~/.grok/agent-memory belongs to the user: there the agent's own memory lies beside it.
    beside_memory = os.path.lexists(os.path.join(grok_home, "memory"))
    return name == "agent-memory-local" or (name == "agent-memory" and not beside_memory)


def shape_on_disk(path: str) -> tuple[bool, bool]:
    """Return (has a ``sessions/`` folder of its own, has workspace folders); (False, False) if unreadable."""
    has_sessions = has_workspaces = False
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    continue
                if entry.name == SESSIONS_DIR:
                    has_sessions = True
                elif not entry.name.startswith(".") and is_workspace_folder(entry.path, entry.name):
                    has_workspaces = True
    except OSError:
        pass
    return has_sessions, has_workspaces


def is_workspace_folder(path: str, name: str) -> bool:
    """Whether a folder under a root counts as a workspace: named like one, or holding what one holds."""
    if name.startswith("."):
        return False
    return has_hash_suffix(name) or any(
        os.path.lexists(os.path.join(path, part)) for part in (MEMORY_FILE, SESSIONS_DIR, INDEX_FILE)
    )


def workspace_folders(root: Root) -> list[str]:
    """The names of the workspace folders under an ordinary root; links are not followed."""
    try:
        names = sorted(os.listdir(root.path))
    except OSError:
        return []
    return [
        name
        for name in names
        if is_workspace_folder(os.path.join(root.path, name), name)
        and not os.path.islink(os.path.join(root.path, name))
        and os.path.isdir(os.path.join(root.path, name))
    ]


def workspace_dir(root: Root, folder: str) -> str | None:
    """The spelled path of a workspace; ``""`` is a flat root itself, and None (global only) elsewhere.

    Raises:
        UsageError: ``folder`` is not a plain folder name.
    """
    if not folder:
        return root.path if root.flat else None
    if "/" in folder or "\0" in folder or folder in (".", ".."):
        raise UsageError(
            f"{printable(folder)!r} is not a workspace", hint="A workspace is a folder name below the root."
        )
    return os.path.join(root.path, folder)


def find_roots(main: Root, *, cwd: str | None = None, home: str = "") -> tuple[Root, ...]:
    """The opened root first, then the agent memories that belong beside it, by name.

    User agents lie in ``agent-memory/`` beside the root (for ``X/memory`` that is the agent's home X);
    project and local agents in ``.grok/`` of ``cwd`` or a folder above it, up to the project (the nearest
    folder with ``.git``; without one up to, not including, ``home``).  ``cwd`` None: no project agents.
    An agent folder that holds both shapes is given twice, ordinary and flat.
    """
    roots = [main]
    seen = {(str(main.real), main.flat)}
    beside = os.path.dirname(main.path)
    places: list[tuple[str, RootKind]] = [(os.path.join(beside, "agent-memory"), "agent-user")]
    if cwd:
        places += _project_places(cwd, beside, home)
    for folder, kind in places:
        for root in _agent_roots(folder, kind):
            key = (str(root.real), root.flat)
            if key not in seen:
                seen.add(key)
                roots.append(root)
    return tuple(roots)


def _project_places(cwd: str, agent_home: str, home: str) -> list[tuple[str, RootKind]]:
    """Agent folders of the nearest level at or above ``cwd`` that has any."""
    skip = {os.path.realpath(agent_home)}
    for level in _levels(os.path.abspath(cwd), home):
        grok = os.path.join(level, ".grok")
        if os.path.realpath(grok) in skip:
            continue
        found: list[tuple[str, RootKind]] = [
            (os.path.join(grok, name), kind)
            for name, kind in AGENT_DIRS
            if os.path.isdir(os.path.join(grok, name))
        ]
        if found:
            return found
    return []


def _levels(start: str, home: str) -> Iterator[str]:
    stop = os.path.abspath(home) if home else ""
    level = start
    for _ in range(_WALK_LIMIT):
        if level == stop:
            return
        yield level
        parent = os.path.dirname(level)
        if parent == level or os.path.lexists(os.path.join(level, ".git")):
            return
        level = parent


def _agent_roots(folder: str, kind: RootKind) -> Iterator[Root]:
    try:
        with os.scandir(folder) as entries:
            names = sorted((e.name for e in entries if _is_agent_folder(e)), key=os.fsencode)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        has_sessions, has_workspaces = shape_on_disk(path)
        if has_sessions == has_workspaces:
            shapes = [False, True] if has_sessions else [kind != "agent-user"]
        else:
            shapes = [has_sessions]
        for flat in shapes:
            yield Root(path, Path(os.path.realpath(path)), kind, name, flat)


def _is_agent_folder(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or not is_text_name(entry.name):
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def classify_source(root_dir: str, workspace_dir: str | None, path: str) -> Source:
    """What the agent takes a path for; purely by spelling, component by component.

    ``workspace_dir`` None or ``""``: there is no workspace, so whatever lies under the root is global.
    """
    if workspace_dir and _under(workspace_dir, path):
        return "workspace" if path.rsplit("/", 1)[-1] == MEMORY_FILE else "session"
    return "global" if _under(root_dir, path) else "session"


def _under(folder: str, path: str) -> bool:
    base = folder.rstrip("/")
    return path == folder or path.rstrip("/") == base or path.startswith(base + "/")


def is_scaffold(text: str) -> bool:
    """Whether a file or chunk is only the agent's template: a marker in under 500 bytes, trimmed."""
    trimmed = trim(text)
    return byte_len(trimmed) < SCAFFOLD_LIMIT and any(marker in trimmed for marker in SCAFFOLD_MARKERS)


def ephemeral_reason(cwd: str, canonical: str, temp_dir: str) -> str | None:
    """Why the agent keeps no memory of a working folder, or None if it does.

    ``cwd`` is the path as given, ``canonical`` with links resolved, ``temp_dir`` the system's temporary
    folder, canonical (passed in, so that tests are not ephemeral); ``""`` means there is none.
    """
    if temp_dir and _under(temp_dir, canonical):
        return f"it lies under the temporary folder {printable(temp_dir)}"
    for prefix in ("", "/private"):
        for folder in ("/tmp/", "/var/tmp/"):
            if cwd.startswith(prefix + folder):
                return f"it lies under {prefix}{folder}"
        folders = prefix + "/var/folders/"
        if cwd.startswith(folders) and "/T/" in cwd[len(folders) - 1 :]:
            return f"it lies in a temporary folder under {folders}"
    return None
