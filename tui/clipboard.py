"""Copying by two ways at once: the terminal (OSC 52) and the system's own tool, when there is one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping

OSC52_LIMIT = 74_000
"""Bytes: many terminals drop a longer clipboard sequence whole, without a word."""

_PATIENCE = 2.0  # seconds a tool may take


def native_command(environ: Mapping[str, str], platform: str = sys.platform) -> list[str] | None:
    """The command that takes text for the clipboard on its standard input, or None when there is none."""
    if platform == "darwin":
        candidates = [["pbcopy"]]
    else:
        candidates = []
        if environ.get("WAYLAND_DISPLAY"):
            candidates.append(["wl-copy"])
        if environ.get("DISPLAY"):
            candidates += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
        if environ.get("WSL_DISTRO_NAME"):
            candidates.append(["clip.exe"])
    return next((command for command in candidates if shutil.which(command[0])), None)


def copy_natively(text: str, environ: Mapping[str, str]) -> str:
    """Hand ``text`` to the system's tool; return the tool's name, or "" when none took it.  Blocking."""
    command = native_command(environ)
    if command is None:
        return ""
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "surrogateescape"),
            stdout=subprocess.DEVNULL,  # xclip stays alive holding its output open
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return command[0] if done.returncode == 0 else ""


def routes_in_words(sent_to_terminal: bool, tool: str) -> str:
    """How it was copied, honestly: the terminal never says whether it took it."""
    ways = []
    if sent_to_terminal:
        ways.append("sent to the terminal (OSC 52)")
    if tool:
        ways.append(f"given to {tool}")
    return " and ".join(ways) if ways else ""
