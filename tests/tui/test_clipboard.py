"""The two ways of copying, and what is said of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui.clipboard import copy_natively, native_command, routes_in_words


@pytest.mark.parametrize(
    ("environ", "platform", "tools", "command"),
    [
        ({}, "darwin", {"pbcopy"}, "pbcopy"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", {"wl-copy", "xclip"}, "wl-copy"),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", {"xsel"}, "xsel"),
        ({"DISPLAY": ":0"}, "linux", {"wl-copy", "xclip"}, "xclip"),
        ({}, "linux", {"wl-copy", "xclip"}, None),
        ({"DISPLAY": ":0"}, "linux", set(), None),
    ],
)
def test_the_tool_fits_the_session(monkeypatch, environ, platform, tools, command) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name if name in tools else None)
    found = native_command(environ, platform)
    assert (found[0] if found else None) == command


def test_the_tool_gets_the_text_and_its_failure_is_no_success(tmp_path: Path, monkeypatch) -> None:
    tool = tmp_path / "xclip"
    tool.write_text(f'#!/bin/sh\ncat > "{tmp_path}/taken"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert copy_natively("配置\n", {"DISPLAY": ":0"}) == "xclip"
    assert (tmp_path / "taken").read_text() == "配置\n"
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert copy_natively("x", {"DISPLAY": ":0"}) == ""


def test_the_words() -> None:
    assert routes_in_words(True, "") == "sent to the terminal (OSC 52)"
    assert routes_in_words(False, "pbcopy") == "given to pbcopy"
    assert routes_in_words(False, "") == ""
