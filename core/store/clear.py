"""Store room: clearing a workspace, global memory or both, by way of the trash."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from core.errors import UsageError
from core.store.layout import (
    MEMORY_FILE,
    SESSIONS_DIR,
    Root,
    is_log_name,
    is_text_name,
    printable,
    workspace_dir,
    workspace_folders,
)
from core.store.model import Receipt
from core.store.trash import throw_away

Scope = Literal["workspace", "global", "all"]
DropFromIndexes = Callable[[Sequence[str]], tuple[list[str], list[str]]]
"""Takes the removed paths (spelled) out of every index; returns what was reached and what was not."""


def clear_preview(root: Root, workspace: str, what: Scope) -> tuple[str, ...]:
    """The paths ``clear`` would remove, in listing order; a link is shown with its target, which stays.

    Folders that cannot be looked into follow, each with the reason: what they hold stays.

    Raises:
        UsageError: there is nothing of that kind in this root.
    """
    paths, unseen = _doomed(root, workspace, what)
    return (*(_described(path) for path in paths), *unseen)


def _described(path: str) -> str:
    try:
        target = os.readlink(path)
    except OSError:
        return printable(path)
    return f"{printable(path)} → {printable(target)} (only the link is removed)"


def clear(
    root: Root,
    workspace: str,
    what: Scope,
    *,
    state: Path,
    now: float,
    drop_from_indexes: DropFromIndexes,
) -> Receipt:
    """Move MEMORY.md and the logs of a workspace, global MEMORY.md, or everything under the root to the trash.

    Index files stay where they are, since an agent may have one open: once the files are gone,
    ``drop_from_indexes`` takes their rows out of every index.  Other files in the folders are left alone.
    ``now`` is in unix seconds.  The receipt names every place reached and not.

    Raises:
        UsageError: there is nothing of that kind in this root, or the state folder lies inside it.
        MemdeckError: the trash cannot be written; nothing was removed.
    """
    paths, unseen = _doomed(root, workspace, what)
    action = f"clear {what}"
    if not paths:
        notes = () if unseen else ("There was nothing to remove.",)
        return Receipt(action, (), unseen, notes=notes)
    thrown = throw_away(paths, root=root, state=state, now=now, action=action)
    removed = [entry.path for entry in thrown.done]
    indexable = [path for path in removed if is_text_name(path)]
    reached, missed = drop_from_indexes(indexable) if indexable else ([], [])
    return Receipt(
        action,
        (*(printable(path) for path in removed), *reached),
        (*unseen, *thrown.failed, *missed),
        str(thrown.trash) if thrown.trash else None,
    )


def _doomed(root: Root, workspace: str, what: Scope) -> tuple[list[str], tuple[str, ...]]:
    """The paths to remove, and a line for each folder that could not be looked into."""
    folder = workspace_dir(root, workspace)
    if what == "workspace" and folder is None:
        raise UsageError(
            "no workspace is selected, so there is none to clear",
            hint="Name one with --workspace, or clear global memory.",
        )
    if what == "global" and root.flat:
        raise UsageError(
            "this agent memory has no global part", hint="Clear the workspace: it is all there is here."
        )
    paths: list[str] = []
    unseen: list[str] = []
    if what != "workspace" and not root.flat and _listable(root.path, unseen):
        paths += _memory_file(root.path)
    folders = [folder] if folder is not None else []
    if what == "all" and not root.flat:
        folders = [os.path.join(root.path, name) for name in workspace_folders(root)]
    for each in folders if what != "global" else []:
        _refuse_folder_link(each, root)
        if _listable(each, unseen):
            paths += _memory_file(each)
            paths += _log_files(each, unseen)
    return paths, tuple(unseen)


def _listable(folder: str, unseen: list[str]) -> bool:
    """Whether a folder can be looked into; if it is there and cannot, that is added to ``unseen``."""
    return _names_in(folder, unseen) is not None


def _names_in(folder: str, unseen: list[str]) -> list[str] | None:
    try:
        names = os.listdir(folder)
        os.lstat(os.path.join(folder, "."))  # listing it takes another right than reaching what it lists
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        unseen.append(f"{printable(folder)}: cannot be looked into ({error.strerror}); what it holds stays")
        return None
    return names


def _refuse_folder_link(folder: str, root: Root) -> None:
    if folder != root.path and os.path.islink(folder):
        raise UsageError(
            f"{printable(folder)} is a link; folder links are not followed",
            hint="Open the folder it leads to as a root of its own.",
        )


def _memory_file(folder: str) -> list[str]:
    path = os.path.join(folder, MEMORY_FILE)
    return [path] if os.path.isfile(path) or os.path.islink(path) else []


def _log_files(folder: str, unseen: list[str]) -> list[str]:
    """Everything named as a log in ``sessions/``, readable or not: dangling links go as well."""
    sessions = os.path.join(folder, SESSIONS_DIR)
    names = None if os.path.islink(sessions) else _names_in(sessions, unseen)
    paths = [
        os.path.join(sessions, name) for name in sorted(names or (), key=os.fsencode) if is_log_name(name)
    ]
    return [path for path in paths if os.path.islink(path) or os.path.isfile(path)]
