"""Where things live: the agent's home, and memdeck's own files (never under a memory root)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

APP = "memdeck"


@dataclass(frozen=True, slots=True)
class Places:
    """memdeck's own places, as absolute paths that need not exist yet."""

    config_file: str
    config_dir: str
    state_dir: str
    cache_dir: str


def home_of(environ: Mapping[str, str]) -> str:
    """The person's home folder: ``$HOME``, else what the system knows."""
    return environ.get("HOME") or str(Path.home())


def _user_dir(environ: Mapping[str, str], home: str, xdg: str, mac: str, unix: str) -> str:
    # The same folders platformdirs gives; computed here because the environment and the home folder are
    # passed in, and platformdirs reads the process's own.
    base = environ.get(xdg, "")
    if base.startswith("/"):  # a relative one is to be ignored (XDG base directory specification)
        return os.path.join(base, APP)
    return os.path.join(home, mac if sys.platform == "darwin" else unix, APP)


def places(environ: Mapping[str, str], home: str | None = None) -> Places:
    """Find memdeck's own places.

    ``$MEMDECK_CONFIG`` names the config file, ``$MEMDECK_STATE`` and ``$MEMDECK_CACHE`` folders; else the
    user's config, state and cache folders.
    """
    home = home or home_of(environ)
    support = os.path.join("Library", "Application Support")
    config_dir = _user_dir(environ, home, "XDG_CONFIG_HOME", support, ".config")
    config_file = _absolute(environ.get("MEMDECK_CONFIG", ""), home) or os.path.join(
        config_dir, "config.toml"
    )
    if environ.get("MEMDECK_CONFIG"):
        config_dir = os.path.dirname(config_file)
    state = _absolute(environ.get("MEMDECK_STATE", ""), home) or _user_dir(
        environ, home, "XDG_STATE_HOME", support, os.path.join(".local", "state")
    )
    cache = _absolute(environ.get("MEMDECK_CACHE", ""), home) or _user_dir(
        environ, home, "XDG_CACHE_HOME", os.path.join("Library", "Caches"), ".cache"
    )
    return Places(config_file, config_dir, state, cache)


def _absolute(path: str, home: str) -> str:
    if not path:
        return ""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.abspath(path)


def grok_home(environ: Mapping[str, str], home: str | None = None) -> str:
    """The agent's home as the agent spells it: ``$GROK_HOME``, else ``~/.grok``; links unresolved."""
    home = home or home_of(environ)
    return _absolute(environ.get("GROK_HOME", ""), home) or os.path.join(home, ".grok")


def grok_home_for(root: str | None, environ: Mapping[str, str], home: str | None = None) -> str | None:
    """The agent's home a memory root belongs to, for its ``config.toml``.

    ``None`` as root is the agent's own (``$GROK_HOME/memory``); ``X/memory`` belongs to ``X``; any other
    folder belongs to no home, and the answer is ``None``.
    """
    if root is None:
        return grok_home(environ, home)
    parent, name = os.path.split(_absolute(root, home or home_of(environ)))
    return parent if name == "memory" else None
