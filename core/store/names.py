"""Store room: whose a workspace folder is, found by hashing what it may have been made from."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from core.store.identity import canonical, folder_of, lossy, normalize_remote_url
from core.store.layout import is_text_name
from core.store.paths import write_private

NameOrigin = Literal["remote", "path", "template", "session-summary", "started-here", "flat", "unknown"]

STARTED_FILE = "started.json"
STARTED_LIMIT = 200

_SUMMARY_LIMIT = 1_000_000
_SUMMARIES_PER_GROUP = 3
_GROUP_LIMIT = 2_000
_TEMPLATE_HEADING = re.compile(r"# Project Memory — (/.*)")


@dataclass(frozen=True, slots=True)
class HumanName:
    """A path or ``org/repo`` whose hash is the folder's, and where it was read."""

    human: str
    origin: NameOrigin


@dataclass(frozen=True, slots=True)
class Started:
    """A working folder memdeck was started in, with its remote (``org/repo``) if it had one."""

    cwd: str
    remote: str | None = None


def heading_path(text: str) -> str | None:
    """The path in the first line of the agent's template, ``# Project Memory — /path``, or None."""
    match = _TEMPLATE_HEADING.match(text)
    return match.group(1).rstrip("\r") if match else None


@dataclass
class HumanNames:
    """Finds the human name of workspace folders; one object a program, since it remembers what it read.

    ``grok_home`` is the agent's home, whose ``sessions/`` name working folders and remotes (None: not
    read); ``started`` are the folders memdeck was started in.  Nothing is guessed: a name is given only
    when its hash is the folder's.
    """

    grok_home: str | None = None
    started: Sequence[Started] = ()
    _known: dict[str, HumanName] = field(default_factory=dict)
    _groups: dict[str, int] = field(default_factory=dict)
    _summaries: dict[str, int] = field(default_factory=dict)

    def find(
        self, folders: Iterable[str], heading: Callable[[str], str | None] = lambda _folder: None
    ) -> dict[str, HumanName]:
        """Map the folders whose name could be found; ``heading`` gives a folder's template path, if any.

        Cheap sources first; the session summaries are opened only while a folder is still unknown.
        """
        wanted = set(folders)
        for entry in self.started:
            self._add_path(entry.cwd, "started-here")
            if entry.remote:
                self._add(entry.remote, "started-here")
        for folder in sorted(self._unknown(wanted)):
            path = heading(folder)
            if path is not None:
                self._add_path(path, "template")
        for read in (self._read_groups, self._read_summaries):
            if self._unknown(wanted):
                read()
        return {folder: self._known[folder] for folder in wanted if folder in self._known}

    def _unknown(self, wanted: set[str]) -> list[str]:
        # Membership only: several threads may look at an overview while another one still adds names.
        return [folder for folder in wanted if folder not in self._known]

    def _add(self, identity: str, origin: NameOrigin) -> None:
        self._known.setdefault(folder_of(identity), HumanName(lossy(identity), origin))

    def _add_path(self, path: str, origin: NameOrigin) -> None:
        if path.startswith("/") and "\0" not in path:
            self._add(path, origin)
            self._add(canonical(path), origin)

    def _sessions(self) -> list[tuple[str, int]]:
        """Folders of ``sessions/`` with their mtime_ns, at most ``_GROUP_LIMIT``."""
        found: list[tuple[str, int]] = []
        if self.grok_home is None:
            return found
        try:
            with os.scandir(os.path.join(self.grok_home, "sessions")) as entries:
                for entry in entries:
                    if len(found) == _GROUP_LIMIT:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        found.append((entry.path, entry.stat(follow_symlinks=False).st_mtime_ns))
        except OSError:
            pass  # no sessions, or not ours to read: the other sources remain
        return found

    def _read_groups(self) -> None:
        for path, mtime in self._sessions():
            if self._groups.get(path) == mtime:
                continue
            self._groups[path] = mtime
            cwd = unquote(os.path.basename(path), errors="surrogateescape")
            if not cwd.startswith("/"):
                cwd = (_small_file(os.path.join(path, ".cwd")) or b"").decode("utf-8", "replace").strip()
            self._add_path(cwd, "session-summary")

    def _read_summaries(self) -> None:
        for path, mtime in self._sessions():
            if self._summaries.get(path) == mtime:
                continue
            self._summaries[path] = mtime
            read = 0
            for session in _newest_folders(path):
                summary = _json_object(_small_file(os.path.join(path, session, "summary.json")))
                if summary is None:
                    continue
                self._add_summary(summary)
                read += 1
                if read == _SUMMARIES_PER_GROUP:
                    break

    def _add_summary(self, summary: dict[str, Any]) -> None:
        info = summary.get("info")
        paths = [summary.get(key) for key in ("previous_cwd", "source_workspace_dir")]
        paths.append(info.get("cwd") if isinstance(info, dict) else None)
        for path in paths:
            if isinstance(path, str):
                self._add_path(path, "session-summary")
        remotes = summary.get("git_remotes")
        for url in remotes if isinstance(remotes, list) else ():
            identity = normalize_remote_url(url) if isinstance(url, str) else None
            if identity is not None:
                self._add(identity, "session-summary")


def _newest_folders(path: str) -> list[str]:
    """Session folders, newest first: their ids are UUIDv7, which sort by time."""
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(names, reverse=True)


def _small_file(path: str) -> bytes | None:
    """The bytes of a regular file that is not a link, at most ``_SUMMARY_LIMIT`` of them."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            return file.read(_SUMMARY_LIMIT) if stat.S_ISREG(os.fstat(handle).st_mode) else None
        except OSError:
            return None


def _json_object(raw: bytes | None) -> dict[str, Any] | None:
    try:
        value = json.loads(raw or b"")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_started(state: str) -> tuple[Started, ...]:
    """Folders memdeck was started in, newest first, from the state folder; empty if none or damaged."""
    value = _json_object(_small_file(os.path.join(state, STARTED_FILE)))
    items = value.get("started") if value else None
    found: list[Started] = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(item.get("cwd"), str):
            remote = item.get("remote")
            found.append(Started(item["cwd"], remote if isinstance(remote, str) else None))
    return tuple(found)


def record_started(state: str, cwd: str, remote: str | None) -> None:
    """Remember that memdeck was started in ``cwd``, at most ``STARTED_LIMIT`` folders, newest first.

    Raises:
        OSError: the state folder cannot be written; nothing depends on the record.
    """
    if not is_text_name(cwd):
        return
    newest = Started(cwd, remote)
    known = read_started(state)
    if known[:1] == (newest,):
        return
    kept = [newest, *(entry for entry in known if entry.cwd != cwd)][:STARTED_LIMIT]
    text = json.dumps({"started": [{"cwd": e.cwd, "remote": e.remote} for e in kept]}, indent=1)
    write_private(os.path.join(state, STARTED_FILE), text.encode())
