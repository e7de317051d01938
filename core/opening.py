"""Between façade and store: which root, which workspace, whose settings — found before anything is opened."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.errors import UsageError
from core.settings import Settings, load_settings
from core.store.identity import GitRunner, canonical, identify
from core.store.layout import (
    Root,
    default_root,
    ephemeral_reason,
    find_roots,
    grok_home_of,
    is_text_name,
    open_root,
    printable,
    workspace_folders,
)
from core.store.model import Identity
from core.store.names import HumanNames, read_started
from core.store.paths import state_dir


@dataclass(frozen=True, slots=True)
class Opened:
    """What opening found out: the root and those beside it, the workspace and why, settings, names.

    ``reload`` reads the settings again, from the same files, variables and flags.
    """

    root: Root
    roots: tuple[Root, ...]
    workspace: str
    identity: Identity
    settings: Settings
    names: HumanNames
    reload: Callable[[], Settings]
    ephemeral: str | None = None


def find_memory(
    root: str | None,
    *,
    workspace: str | None,
    cwd: str | None,
    environ: Mapping[str, str],
    home: str | None,
    flags: Mapping[str, str] | None,
    run_git: GitRunner | None,
    temp_dir: str | None,
) -> Opened:
    """Find the memory to open; the arguments are those of ``Memory.open``."""
    home = home or environ.get("HOME") or _home()
    chosen = _open_root(root if root is not None else default_root(environ, home))
    folder = cwd if cwd is not None else _working_folder(environ)
    if not _is_path(folder):
        raise UsageError("the working folder has no usable path", hint="Give another one with --cwd.")
    grok_home = grok_home_of(chosen.path)
    reload = partial(load_settings, environ, grok_home=grok_home, home=home, flags=flags)
    names = HumanNames(grok_home, read_started(str(state_dir(environ))))
    ephemeral: str | None = None
    if chosen.flat:
        name = ""
        identity = Identity("flat", chosen.path, "", "this memory is its own workspace")
    elif workspace is not None:
        name = find_workspace(chosen, workspace, names)
        own = identify(folder, run_git=run_git)
        # Chosen by name, but this folder's all the same: then the better reason is known.
        identity = own if own.folder == name else Identity("chosen", workspace, name, "chosen by name")
    else:
        identity = identify(folder, run_git=run_git)
        name = identity.folder
        temp = os.path.realpath(tempfile.gettempdir()) if temp_dir is None else temp_dir
        ephemeral = ephemeral_reason(folder, canonical(folder), temp)
    roots = find_roots(chosen, cwd=folder, home=home)
    return Opened(chosen, roots, name, identity, reload(), names, reload, ephemeral)


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:
        raise UsageError(
            "this user has no home folder, where memdeck and the agent keep what is theirs",
            hint="Set HOME to a folder.",
        ) from None


def _open_root(path: str) -> Root:
    try:
        return open_root(path)
    except FileNotFoundError:  # a relative path is completed with the working folder
        raise UsageError(
            f"{printable(path)} is relative to a working folder that is gone",
            hint="Give an absolute path, or change to a folder that exists.",
        ) from None


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _working_folder(environ: Mapping[str, str]) -> str:
    try:
        return os.getcwd()
    except OSError:  # removed, or no longer readable: the shell's word for it still names the workspace
        return environ.get("PWD") or "/"


def every_workspace(roots: Sequence[Root], first: tuple[Root, str]) -> list[tuple[Root, str]]:
    """Every (root, workspace folder) there is, ``first`` first."""
    found = [first]
    for root in roots:
        found += [(root, "")] if root.flat else [(root, name) for name in _named_folders(root)]
    return list(dict.fromkeys(found))


def _named_folders(root: Root) -> list[str]:
    """The workspaces that can be opened: a name that is not UTF-8 fits into no index."""
    return [name for name in workspace_folders(root) if is_text_name(name)]


def name_others(root: Root, workspace: str) -> str:
    """What to say when a folder's workspace does not exist, but others do ("" otherwise)."""
    if not workspace or os.path.isdir(os.path.join(root.path, workspace)):
        return ""
    others = _named_folders(root)
    if not others:
        return ""
    names = ", ".join(others[:4]) + (f" and {len(others) - 4} more" if len(others) > 4 else "")
    return (
        f"there is no workspace {workspace} (this folder's) here: choose one with --workspace ({names}), "
        "or search --everywhere"
    )


def find_workspace(root: Root, wanted: str, names: HumanNames) -> str:
    """Find a workspace by folder name, unique prefix, or the ``org/repo`` or path it was derived from."""
    try:
        os.listdir(root.path)
    except PermissionError as error:
        raise UsageError(
            f"{printable(root.path)} cannot be looked into ({error.strerror}), so no workspace is found by name",
            hint="Ask for the right to list it, or run memdeck as the one whose memory it is.",
        ) from None
    except OSError:
        pass  # a root that is not there yet has no workspaces
    folders = _named_folders(root)
    if wanted in folders:
        return wanted
    matches = [name for name in folders if wanted and name.startswith(wanted)]
    if len(matches) != 1:
        human = {folder: found.human for folder, found in names.find(folders).items()}
        by_name = [folder for folder, name in human.items() if wanted in (name, name.rsplit("/", 1)[-1])]
        matches = by_name if len(by_name) == 1 else matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f"{wanted!r} fits {len(matches)} workspaces: {', '.join(matches[:5])}",
            hint="Give more of the name.",
        )
    known = f"There are: {', '.join(folders[:8])}." if folders else f"There are none under {root.path}."
    raise UsageError(f"there is no workspace {wanted!r}", hint=known)
