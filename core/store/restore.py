"""Store room: bringing back what lies in the trash, without overwriting anything that came since."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blake3 import blake3

from core.errors import NotFound, UnreadableFile, UsageError
from core.store.entries import is_inside
from core.store.layout import printable
from core.store.model import Receipt
from core.store.paths import sync_dir, write_private
from core.store.trash import MANIFEST, MANIFEST_VERSION, TrashEntry

_NO_HARD_LINK = {errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class _NotRestored(Exception):
    """Something that stays in the trash, with the reason."""


def restore(trash_dir: str | Path, *, roots: Sequence[str], within: Path) -> Receipt:
    """Put everything of one trash folder back where it lay, with its mode and mtime.

    ``within`` is the folder all trash lies in, ``roots`` the real paths of the memories that are open: another
    folder's manifest could name any place on this machine.

    What has been made anew at a place is never overwritten: that entry stays in the trash and is named.
    The trash folder goes when it is empty.  Restored paths are ``done`` (spelled), for the caller to index.

    Raises:
        NotFound: there is no such trash folder.
        UsageError: it is no trash folder of memdeck's, or of a memory that is not open; nothing was changed.
        UnreadableFile: its manifest is damaged; nothing was changed.
    """
    trash = Path(trash_dir)
    if not is_inside(os.path.realpath(within), os.path.realpath(trash)):
        raise UsageError(
            f"{printable(str(trash))} is no trash folder of memdeck's: those lie in {printable(str(within))}",
            data="Nothing was changed.",
            hint="The receipt of what was cleared names the folder.",
        )
    manifest, entries = _read_manifest(trash)
    real_root = manifest["real_root"]
    if real_root not in roots:
        raise UsageError(
            f"what lies there belongs to the memory at {printable(real_root)}, which is not the one opened",
            data="Nothing was changed.",
            hint="Open that one with --root.",
        )
    done: list[str] = []
    failed: list[str] = []
    notes: list[str] = []
    left: list[TrashEntry] = []
    # Folders come last in a manifest, deepest first: backwards they are made before what they hold.
    for entry in reversed(entries):
        try:
            note = _restore_entry(entry, trash, real_root)
        except (OSError, _NotRestored) as error:
            reason = (error.strerror or error) if isinstance(error, OSError) else error
            failed.append(f"{printable(entry.path)}: {reason}")
            left.append(entry)
            continue
        done.append(entry.path)
        if note:
            notes.append(f"{printable(entry.path)}: {note}")
    _set_folder_times([entry for entry in entries if entry.kind == "folder" and entry not in left])
    if left:
        kept = {**manifest, "entries": [asdict(entry) for entry in reversed(left)]}
        write_private(trash / MANIFEST, json.dumps(kept, indent=1, ensure_ascii=True).encode())
    else:
        (trash / MANIFEST).unlink()
        trash.rmdir()
    return Receipt("restore", tuple(sorted(done)), tuple(failed), str(trash) if left else None, tuple(notes))


def _read_manifest(trash: Path) -> tuple[Mapping[str, Any], list[TrashEntry]]:
    path = trash / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["version"] != MANIFEST_VERSION or not isinstance(manifest["real_root"], str):
            raise ValueError("of another version")
        entries = [TrashEntry(**entry) for entry in manifest["entries"]]
    except FileNotFoundError:
        raise NotFound(f"there is nothing to restore in {printable(str(trash))}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableFile(
            f"{printable(str(path))} cannot be used: {error}",
            hint="The files beside it hold the removed texts; the manifest says where each one lay.",
            data="Nothing was changed.",
        ) from None
    return manifest, entries


def _restore_entry(entry: TrashEntry, trash: Path, real_root: str) -> str:
    """Restore one entry and return a note, ``""`` when there is nothing to say."""
    _check_place(entry.path, real_root)
    if entry.kind == "folder":
        if not os.path.isdir(entry.path):
            os.mkdir(entry.path, 0o700)
        os.chmod(entry.path, entry.mode & 0o3777)
        return ""
    if os.path.lexists(entry.path):
        if entry.kind == "file" and not (trash / entry.stored).exists():
            return "it had never left its place"
        raise _NotRestored("something else is there now; it stays in the trash")
    os.makedirs(os.path.dirname(entry.path), exist_ok=True)
    if entry.kind == "link":
        os.symlink(entry.target, entry.path)
    else:
        return _restore_file(entry, trash)
    sync_dir(os.path.dirname(entry.path))
    return ""


def _check_place(path: str, real_root: str) -> None:
    """Refuse to write through a link that has come to stand on the way, or outside the memory."""
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not is_inside(real_root, os.path.realpath(folder)):
        raise _NotRestored("its folder no longer lies inside the memory; it stays in the trash")


def _restore_file(entry: TrashEntry, trash: Path) -> str:
    if os.path.basename(entry.stored) != entry.stored or entry.stored in ("", ".", ".."):
        raise _NotRestored("the manifest names no stored file for it")
    stored = trash / entry.stored
    try:
        data = stored.read_bytes()
    except FileNotFoundError:
        raise _NotRestored("its text is not in the trash") from None
    changed = bool(entry.blake3) and str(blake3(data).hexdigest()) != entry.blake3
    try:
        os.link(stored, entry.path)  # fails, and so never overwrites, if something is there by now
    except FileExistsError:
        raise _NotRestored("something else is there now; it stays in the trash") from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINK:
            raise
        _copy_back(entry, data)
    else:
        os.chmod(entry.path, entry.mode & 0o777)
        if not changed:
            os.utime(entry.path, ns=(entry.mtime_ns, entry.mtime_ns))
    sync_dir(os.path.dirname(entry.path))
    stored.unlink()
    return "it was written to after it had been removed; all of it was restored" if changed else ""


def _copy_back(entry: TrashEntry, data: bytes) -> None:
    temporary = os.path.join(os.path.dirname(entry.path), f".memdeck-{secrets.token_hex(6)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(handle, entry.mode & 0o777)
            os.utime(handle, ns=(entry.mtime_ns, entry.mtime_ns))
            os.fsync(handle)
        try:
            os.link(temporary, entry.path)
        except FileExistsError:
            raise _NotRestored("something else is there now; it stays in the trash") from None
        except OSError as error:
            # No hard links on this filesystem: the smallest window there is without them.
            if error.errno not in _NO_HARD_LINK or os.path.lexists(entry.path):
                raise
            os.rename(temporary, entry.path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _set_folder_times(folders: list[TrashEntry]) -> None:
    for entry in folders:
        try:
            os.utime(entry.path, ns=(entry.mtime_ns, entry.mtime_ns))
        except OSError:
            pass  # a folder's time is a courtesy: gc counts from it, nothing else does
