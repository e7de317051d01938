"""Index room: where a workspace's index lies, and how the agent spells the paths in it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from core.index.database import Place, index_name, journal_mode
from core.store.layout import MEMORY_FILE, Root, is_text_name, workspace_dir


def choose_place(
    root: Root, folder: str, *, cache_dir: str, network: bool, environ: Mapping[str, str], host: str
) -> Place:
    """Return where the index of a workspace lies (nothing is created).

    The agent's own file inside an existing, writable workspace folder; else ours in the cache dir, with
    the reason.  ``folder`` "" is a flat root itself, or global memory alone.
    """
    mode = journal_mode(network, environ)
    directory = workspace_dir(root, folder)
    if directory is None:
        return cache_place(root, folder, cache_dir, "there is no workspace folder to keep an index in")
    name = index_name(network, host)
    if directory != root.path and os.path.islink(directory):
        return cache_place(root, folder, cache_dir, "the workspace's folder is a link, which is not followed")
    if not os.path.isdir(directory):
        return cache_place(root, folder, cache_dir, "the workspace has no folder yet")
    path = os.path.join(directory, name)
    if not is_text_name(path):
        return cache_place(root, folder, cache_dir, "the memory's path is not UTF-8")
    if not os.access(directory, os.W_OK | os.X_OK):
        return cache_place(root, folder, cache_dir, "the memory is read-only")
    if os.path.islink(path) and not _is_filled(path):
        # Opening would make a database wherever it leads.
        return cache_place(root, folder, cache_dir, f"{name} is a link to nothing that is an index")
    if os.path.lexists(path) and not os.path.isfile(path):
        return cache_place(root, folder, cache_dir, f"{name} is not a file")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        return cache_place(root, folder, cache_dir, "the index file is read-only")
    return Place(path, mode, shared=True)


def _is_filled(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.path.getsize(path) > 0
    except OSError:
        return False


def cache_place(root: Root, folder: str, cache_dir: str, reason: str) -> Place:
    """Our own copy in the cache dir, for a memory whose own index must not or cannot be used."""
    from blake3 import blake3

    key = blake3(os.fsencode(str(root.real))).hexdigest()[:8]
    directory = os.path.join(cache_dir, "indexes", key)
    return Place(os.path.join(directory, f"{folder or '_global'}.sqlite"), "wal", shared=False, reason=reason)


def choose_spelling(root: Root, folder: str, paths: Iterable[str]) -> str:
    """Return how the rows of an index spell the root: ours, unless they use another name of the same folder.

    A root that is opened by a link and by its real path thereby has one set of chunks.
    """
    own = root.path.rstrip("/") + "/"
    found: Counter[str] = Counter()
    canonical: dict[str, bool] = {}
    for path in paths:
        prefix = root.path if path.startswith(own) else _prefix(path, folder)
        if prefix is None:
            continue
        if prefix not in canonical:
            canonical[prefix] = prefix == root.path or os.path.realpath(prefix) == str(root.real)
        if canonical[prefix]:
            found[prefix] += 1
    if not found:
        return root.path
    most = max(found.values())
    return root.path if found[root.path] == most else next(name for name, n in found.items() if n == most)


def _prefix(path: str, folder: str) -> str | None:
    """Cut off what lies under the root: ``/folder/…``, ``/sessions/…`` or ``/MEMORY.md``."""
    if folder:
        head, mark, _ = path.rpartition(f"/{folder}/")
        if mark:
            return head or None
    else:
        head, mark, _ = path.rpartition("/sessions/")
        if mark:
            return head or None
    head, _, name = path.rpartition("/")
    return head if head and name == MEMORY_FILE else None
