"""Store room: where memdeck's own things lie, never under a memory root, and how private they are."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from blake3 import blake3

from core.errors import UsageError
from core.store.layout import printable


def _user_dir(environ: Mapping[str, str], xdg: str, mac: str, unix: str) -> Path:
    # The folders platformdirs would give; found here because it reads the process's own environment, and
    # home folder and environment are passed in.
    base = environ.get(xdg, "")
    if os.path.isabs(base):  # a relative one is to be ignored (XDG base directory specification)
        return Path(base) / "memdeck"
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(os.path.abspath(home)) / (mac if sys.platform == "darwin" else unix) / "memdeck"


_SUPPORT = "Library/Application Support"


def state_dir(environ: Mapping[str, str]) -> Path:
    """``$MEMDECK_STATE``, else the user's state folder."""
    chosen = environ.get("MEMDECK_STATE")
    return (
        Path(os.path.abspath(chosen))
        if chosen
        else _user_dir(environ, "XDG_STATE_HOME", _SUPPORT, ".local/state")
    )


def config_file(environ: Mapping[str, str]) -> Path:
    """``$MEMDECK_CONFIG``, else ``config.toml`` in the user's config folder."""
    chosen = environ.get("MEMDECK_CONFIG")
    if chosen:
        return Path(os.path.abspath(chosen))
    return _user_dir(environ, "XDG_CONFIG_HOME", _SUPPORT, ".config") / "config.toml"


def config_dir(environ: Mapping[str, str]) -> Path:
    """The folder of the config file, where judgements lie as well."""
    return config_file(environ).parent


def cache_dir(environ: Mapping[str, str]) -> Path:
    """``cache/`` in ``$MEMDECK_STATE``, so that one variable moves all; else the user's cache folder."""
    if environ.get("MEMDECK_STATE"):
        return state_dir(environ) / "cache"
    return _user_dir(environ, "XDG_CACHE_HOME", "Library/Caches", ".cache")


def root_key(real: Path) -> str:
    """First 8 hex digits of BLAKE3 over a root's canonical path."""
    return str(blake3(os.fsencode(real)).hexdigest()[:8])


def root_state_dir(state: Path, real: Path) -> Path:
    """Where a root's journal, trash and the rest lie: ``roots/<hash8 of the canonical root>``.

    Raises:
        UsageError: that is inside the memory root, where the agent's clear and gc would remove it.
    """
    place = Path(os.path.realpath(state))
    if place == real or real in place.parents:
        raise UsageError(
            f"memdeck's state folder {printable(str(state))} lies inside the memory {printable(str(real))}",
            hint="Set MEMDECK_STATE to a folder outside the memory.",
            data="Nothing was written.",
        )
    return state / "roots" / root_key(real)


def make_private_dir(path: Path) -> Path:
    """Create a folder and what is missing above it, 0700 whatever the umask; existing ones are left alone."""
    missing: list[Path] = []
    level = path
    while not level.exists():
        missing.append(level)
        level = level.parent
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
        os.chmod(folder, 0o700)
    return path


def write_private(path: str | Path, data: bytes) -> None:
    """Replace a file of ours whole: 0600 temporary beside it, fsync, rename, folder fsync.

    Raises:
        OSError: the folder cannot be made or written; the old file is then untouched.
    """
    target = Path(path)
    make_private_dir(target.parent)
    temporary = target.with_name(f".memdeck-{secrets.token_hex(6)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_dir(target.parent)


def sync_dir(path: str | Path) -> None:
    """Make a folder's entries durable; filesystems that cannot do it are left to their own."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
