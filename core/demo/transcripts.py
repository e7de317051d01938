"""The demo's conversations as the agent keeps them, which tie a checkout to its workspace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from urllib.parse import quote

from blake3 import blake3

from core.demo.layout import PROJECTS, Layout
from core.store.identity import canonical, lossy

_GROUP_BYTES = 255  # longest percent-encoded folder name the agent makes before it hashes


@dataclass(frozen=True, slots=True)
class _Session:
    project: str
    id: str
    title: str
    day: date
    begun: str
    ended: str
    messages: int
    chat: str | None = None


_SESSIONS = (
    _Session(
        "widgets",
        "019f17c3-0e51-7c40-9d2b-5a1f6e0c7734",
        "Staging red: kiosk suite against the old token lifetime",
        date(2026, 6, 30),
        "07:58:12",
        "09:02:40",
        18,
        "widgets.jsonl",
    ),
    _Session(
        "larder",
        "019f088a-51c2-7a0e-8f63-2b9d4c1e7a05",
        "Merge duplicate pantry items after an import",
        date(2026, 6, 27),
        "09:31:02",
        "10:05:20",
        12,
    ),
    _Session(
        "tsubame",
        "019f12d0-77aa-7d19-b3e4-0c6a8e5f2d91",
        "地図タイルの配置を直す",
        date(2026, 6, 29),
        "09:12:44",
        "09:58:31",
        14,
    ),
)


def group_name(cwd: str) -> str:
    """Folder of a working directory's sessions: percent-encoded, or slug and hash when that is too long."""
    encoded = quote(cwd, safe="")
    if len(encoded) <= _GROUP_BYTES:
        return encoded
    # The demo's checkouts have slugs for names.
    return f"{Path(cwd).name}-{blake3(cwd.encode()).hexdigest()[:16]}"


def write_sessions(layout: Layout) -> None:
    """Write one session folder a project: its summary, and its conversation where there is one."""
    projects = {project.name: project for project in PROJECTS}
    for session in _SESSIONS:
        project = projects[session.project]
        cwd = lossy(canonical(str(layout.checkout(project))))
        group = layout.grok_home / "sessions" / group_name(cwd)
        hours, minutes, seconds = (int(part) for part in session.ended.split(":"))
        written = (session.day, hours * 3600 + minutes * 60 + seconds)
        day = layout.shift.day(session.day)
        begun, ended = f"{day}T{session.begun}Z", f"{day}T{session.ended}Z"
        summary = {
            "info": {"id": session.id, "cwd": cwd},
            "session_summary": session.title,
            "created_at": begun,
            "updated_at": ended,
            "last_active_at": ended,
            "num_messages": session.messages,
            "num_chat_messages": session.messages,
            "current_model_id": "grok-build",
            "chat_format_version": 1,
            "git_root_dir": cwd,
            "git_remotes": [project.remote] if project.remote else [],
            "head_branch": "main",
            "generated_title": session.title,
        }
        folder = group / session.id
        layout.put(folder / "summary.json", json.dumps(summary, ensure_ascii=False, indent=2), *written)
        if group.name != quote(cwd, safe=""):
            layout.put(group / ".cwd", cwd, *written)
        if session.chat is not None:
            chat = layout.read(f"transcripts/{session.chat}").replace("{path}", cwd)
            layout.put(folder / "chat_history.jsonl", chat, *written)
