"""Runs a program in a pseudo-terminal and takes the time until its first frame was written."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLUMNS, ROWS = 120, 40
PATIENCE = 30.0
_ESCAPES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\|\x1b.|[\x00-\x1f]"
)
_QUIT = b"\x11"


@dataclass(frozen=True, slots=True)
class FirstFrame:
    """Seconds from the start of the process, and all that was written until then."""

    seconds: float
    output: bytes


def first_frame(command: Sequence[str], environ: Mapping[str, str], *, says: str = "") -> FirstFrame:
    """Start ``command``, wait until half of the screen's cells were written (and ``says`` among them), end it.

    Raises:
        RuntimeError: it ended, or took too long, before its first frame.
    """
    leader, follower = os.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=dict(environ), start_new_session=True
    )
    os.close(follower)
    output = b""
    try:
        while not _painted(output, says.encode()):
            if time.perf_counter() - started > PATIENCE:
                raise RuntimeError(f"no first frame of {command[0]} in {PATIENCE:.0f} s: {output[-300:]!r}")
            output += _read(leader, 0.5, command[0], output)
        took = time.perf_counter() - started
        os.write(leader, _QUIT)
        _end(process, leader)
    finally:
        os.close(leader)
        if process.poll() is None:
            process.kill()
            process.wait()
    return FirstFrame(took, output)


def _painted(output: bytes, says: bytes) -> bool:
    cells = _ESCAPES.sub(b"", output)
    return says in cells and len(cells.decode(errors="ignore")) >= COLUMNS * ROWS // 2


def _read(descriptor: int, wait: float, name: str, before: bytes) -> bytes:
    if not select.select([descriptor], [], [], wait)[0]:
        return b""
    try:
        data = os.read(descriptor, 1 << 16)
    except OSError:
        data = b""
    if not data:
        raise RuntimeError(f"{name} ended before its first frame: {before[-300:]!r}")
    return data


def _end(process: subprocess.Popen[bytes], leader: int) -> None:
    """Let it leave by its quit key, reading what it still writes; else tell it to."""
    deadline = time.perf_counter() + 5.0
    while process.poll() is None and time.perf_counter() < deadline:
        if select.select([leader], [], [], 0.05)[0]:
            try:
                os.read(leader, 1 << 16)
            except OSError:
                break
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
