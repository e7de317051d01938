"""Store room: whether a folder lies on a local or a network filesystem (journal mode and watching differ)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

FilesystemKind = Literal["local", "network"]

# fmt: off
_NETWORK_TYPES = frozenset({
    "9p", "acfs", "afpfs", "afs", "auristorfs", "beegfs", "ceph", "cifs",
    "coda", "davfs", "gfs", "gfs2", "glusterfs", "gpfs", "lustre", "macfuse",
    "ncp", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "osxfuse",
    "panfs", "pvfs2", "smb2", "smb3", "smbfs", "sshfs", "virtiofs", "webdav",
})
# fmt: on
_OCTAL = re.compile(r"\\([0-7]{3})")
_MOUNT_LINE = re.compile(r".+? on (/.*) \(([^,)]+)")


def filesystem_kind(path: str, *, mounts: str | None = None, platform: str = sys.platform) -> FilesystemKind:
    """``network`` for NFS, SMB, 9p, FUSE and the like, else ``local`` (also when it cannot be known).

    ``mounts`` is the text of ``/proc/self/mountinfo`` (Linux) or the output of ``mount`` (macOS); None
    reads it from the system.  The longest mount point above the canonical path decides.
    """
    if mounts is None:
        mounts = _system_mounts(platform)
    real = os.path.realpath(path)
    table = _mac_mounts(mounts) if platform == "darwin" else _linux_mounts(mounts)
    best, kind = -1, ""
    for point, name in table:
        base = point.rstrip("/")
        # A later line at the same point is mounted over the earlier one, hence >=.
        if (real == base or real.startswith(base + "/")) and len(base) >= best:
            best, kind = len(base), name
    return "network" if _is_network(kind) else "local"


def _is_network(kind: str) -> bool:
    kind = kind.lower()
    return kind in _NETWORK_TYPES or kind.startswith("fuse")


def _system_mounts(platform: str) -> str:
    try:
        if platform == "darwin":
            done = subprocess.run(["/sbin/mount"], capture_output=True, timeout=3, check=False)
            return os.fsdecode(done.stdout)
        return os.fsdecode(Path("/proc/self/mountinfo").read_bytes())
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _linux_mounts(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        left, dash, right = line.partition(" - ")
        fields, types = left.split(" "), right.split(" ")
        if dash and len(fields) > 4 and types[0]:
            yield _unescape(fields[4]), types[0]


def _unescape(point: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), point)


def _mac_mounts(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        match = _MOUNT_LINE.match(line)
        if match:
            yield match.group(1), match.group(2)
