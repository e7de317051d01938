"""Store room: which workspace a working folder belongs to, and whose a workspace folder is."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from blake3 import blake3

from core.store.model import Identity

SLUG_LENGTH = 40
GIT_TIMEOUT = 3.0

_NOT_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """The URL of ``origin`` as git gives it (``insteadOf`` applied), or None and why there is none."""

    url: str | None
    why: str = ""


GitRunner = Callable[[str], GitAnswer]
"""Asks git for the origin of a working folder."""


def slugify(text: str, max_len: int) -> str:
    """Lower-case ASCII letters and digits, every other run one ``-``, at most ``max_len`` characters."""
    return _NOT_SLUG.sub("-", text.lower())[:max_len].strip("-")


def hash8(identity: str) -> str:
    """First 8 hex digits of BLAKE3 over an identity; bytes that are not UTF-8 count as U+FFFD."""
    return str(blake3(lossy(identity).encode()).hexdigest()[:8])


def lossy(text: str) -> str:
    """Undecodable bytes of a path as U+FFFD, as the agent turns paths into text."""
    if text.isascii():
        return text
    try:
        return os.fsencode(text).decode("utf-8", "replace")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte: no folder is named so
        return text.encode("utf-8", "replace").decode()


def normalize_remote_url(url: str) -> str | None:
    """Reduce a remote's URL to its path, ``org/repo``; None when it gives no identity.

    Host, user, scheme and port do not count; case does.  A local path has no identity.
    """
    before, colon, after = url.partition(":")
    if not colon:
        return None
    if "@" in before and "/" not in before:
        path = after
    else:
        pieces = url.split("//")
        if len(pieces) < 2:
            return None
        _, slash, path = pieces[1].partition("/")
        if not slash:
            return None
    while path.endswith(".git"):
        path = path[: -len(".git")]
    path = path.rstrip("/").lstrip("/")
    return path if "/" in path else None


def folder_of(identity: str, last: str | None = None) -> str:
    """The workspace folder of an identity: a remote's path or a canonical folder path.

    ``last`` is the name its slug is made of; by default the last segment of ``identity``.
    """
    name = last_segment(identity) if last is None else last
    return f"{slugify(lossy(name), SLUG_LENGTH) or 'workspace'}-{hash8(identity)}"


def last_segment(path: str) -> str:
    """The last named component of a path, ``""`` for ``/`` and for a path that ends in ``..``."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return parts[-1] if parts and parts[-1] != ".." else ""


def canonical(path: str) -> str:
    """The path with links resolved; the path itself when it is not there (or cannot be resolved)."""
    try:
        return os.path.realpath(path, strict=True)
    except (OSError, ValueError):
        return path


def workspace_folder_name(cwd: str, origin: str | None = None) -> str:
    """The folder the agent keeps a working folder's memory in, given git's URL of ``origin`` (or None)."""
    remote = normalize_remote_url(origin) if origin is not None else None
    return folder_of(remote if remote is not None else canonical(cwd))


def identify(cwd: str, *, run_git: GitRunner | None = None) -> Identity:
    """Find the workspace of a working folder, by its git remote or else by its path, and say why."""
    answer = (run_git or ask_git)(cwd)
    remote = normalize_remote_url(answer.url) if answer.url is not None else None
    if remote is not None:
        return Identity("remote", remote, folder_of(remote), f"by the git remote origin, {remote}")
    why = answer.why or "the git remote origin has no org/repo path"
    path = canonical(cwd)
    return Identity("path", lossy(path), folder_of(path), f"by its path, since {why}")


def ask_git(cwd: str, *, program: str = "git", timeout: float = GIT_TIMEOUT) -> GitAnswer:
    """Run ``git remote get-url origin`` in a folder; ``timeout`` in seconds.  Never raises."""
    try:
        if not os.path.isdir(cwd):
            return GitAnswer(None, "the folder does not exist")
        done = subprocess.run(
            [program, "-C", cwd, "remote", "get-url", "origin"],
            env=_git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        return GitAnswer(None, "git is not installed")
    except subprocess.TimeoutExpired:
        return GitAnswer(None, f"git did not answer within {timeout:g} s")
    except (OSError, ValueError) as error:
        return GitAnswer(None, f"git could not be run ({getattr(error, 'strerror', None) or error})")
    if done.returncode == 0:
        return GitAnswer(done.stdout.decode("utf-8", "replace").removesuffix("\n"))
    return GitAnswer(None, _git_refusal(done.stderr.decode("utf-8", "replace")))


def _git_environment() -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("GIT_DIR", "GIT_WORK_TREE")}
    environment.update(LC_ALL="C", GIT_TERMINAL_PROMPT="0", GIT_OPTIONAL_LOCKS="0")
    return environment


def _git_refusal(stderr: str) -> str:
    if "not a git repository" in stderr:
        return "it is not in a git repository"
    if "No such remote" in stderr:
        return "its git repository has no remote origin"
    if "dubious ownership" in stderr:
        return "git refuses the repository, which belongs to another user"
    return "git gives no remote origin"
