"""The JSON a program may rely on, written out key by key (docs/json.md); a renamed field breaks it here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from core.index.model import DoctorReport, SyncReport
from core.search.report import Also, Factors, Hit, SearchReport, Stage, WhyReport
from core.settings.model import SettingRow
from core.store.model import (
    FileEntry,
    FileText,
    GcReport,
    Overview,
    Problem,
    Receipt,
    RootInfo,
    WorkspaceInfo,
)

Json = dict[str, Any]


def dumps(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON in ASCII, so that nothing stored reaches a terminal raw; there is no NaN and no infinity."""
    return json.dumps(_finite(value), ensure_ascii=True, allow_nan=False, indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(content) for name, content in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(content) for content in value]
    return value


def search(report: SearchReport) -> Json:
    """``memdeck search --json``."""
    return {
        "query": report.query,
        "profile": report.profile,
        "mode": report.mode,
        "workspace": report.workspace,
        "hits": [hit(item) for item in report.hits],
        "dropped": [dropped(item) for item in report.dropped],
        "also": [also(item) for item in report.also],
        "stages": [stage(item) for item in report.stages],
        "notes": list(report.notes),
        "everywhere": report.everywhere,
        "keywords": list(report.keywords),
        "empty_reason": report.empty_reason or None,
        "ms": report.ms,
    }


def hit(item: Hit) -> Json:
    return {
        "rank": item.rank,
        "id": item.id,
        "path": item.path,
        "start_line": item.start_line,
        "end_line": item.end_line,
        "source": item.source,
        "heading": item.heading,
        "score": item.score,
        "raw_score": item.raw_score,
        "snippet": item.snippet,
        "created_at": item.created_at,
        "access_count": item.access_count,
        "factors": factors(item.factors),
        "matched": list(item.matched),
        "workspace": item.workspace,
        "foreign": item.foreign,
        "staleness": item.staleness,
        "age": item.age,
    }


def dropped(item: Hit) -> Json:
    return {**hit(item), "reason": item.reason, "stage": item.stage, "why": item.why}


def factors(item: Factors) -> Json:
    return {
        "bm25": item.bm25,
        "text": item.text,
        "vector": item.vector,
        "merged": item.merged,
        "decay": item.decay,
        "age_days": item.age_days,
        "half_life_days": item.half_life_days,
        "source_weight": item.source_weight,
        "access": item.access,
        "raw": item.raw,
        "score": item.score,
        "floor": item.floor,
        "mmr": item.mmr,
        "mmr_against": item.mmr_against,
        "extras": dict(item.extras),
        "trust": item.trust,
    }


def also(item: Also) -> Json:
    return {
        "id": item.id,
        "path": item.path,
        "start_line": item.start_line,
        "end_line": item.end_line,
        "source": item.source,
        "heading": item.heading,
        "snippet": item.snippet,
        "created_at": item.created_at,
        "access_count": item.access_count,
        "matched_by": item.matched_by,
        "matched": list(item.matched),
        "workspace": item.workspace,
    }


def stage(item: Stage) -> Json:
    return {"name": item.name, "ran": item.ran, "why": item.why, "ms": item.ms}


def why(report: WhyReport) -> Json:
    """``memdeck why --json``."""
    return {
        "query": report.query,
        "chunk": report.chunk_id,
        "path": report.path,
        "start_line": report.start_line,
        "end_line": report.end_line,
        "source": report.source,
        "snippet": report.snippet,
        "verdict": report.verdict,
        "candidate": None if report.hit is None else dropped(report.hit),
        "place": report.place,
        "matches": report.matches,
        "cut_at": report.cut_at,
        "bm25": report.bm25,
        "present": list(report.present),
        "missing": list(report.missing),
        "notes": list(report.notes),
    }


def overview(report: Overview, workspace: str, files: Mapping[str, Sequence[FileEntry]] | None) -> Json:
    """``memdeck ls --json``; ``files`` by spelled path of their workspace when they were asked for."""
    identity = report.identity
    return {
        "workspace": workspace,
        "banner": report.banner,
        "identity": None
        if identity is None
        else {"kind": identity.kind, "value": identity.value, "reason": identity.reason},
        "roots": [_root(item, files) for item in report.roots],
        "notes": list(report.notes),
    }


def _root(item: RootInfo, files: Mapping[str, Sequence[FileEntry]] | None) -> Json:
    return {
        "kind": item.kind,
        "name": item.name,
        "path": item.path,
        "real": str(item.real),
        "flat": item.flat,
        "exists": item.exists,
        "read_only": item.read_only,
        "global": None if item.global_memory is None else entry(item.global_memory),
        "workspaces": [_workspace(space, files) for space in item.workspaces],
        "problems": [problem(fault) for fault in item.problems],
    }


def _workspace(item: WorkspaceInfo, files: Mapping[str, Sequence[FileEntry]] | None) -> Json:
    found: Json = {
        "folder": item.folder,
        "path": item.path,
        "human": item.human,
        "origin": item.origin,
        "current": item.current,
        "exists": item.exists,
        "ephemeral": item.ephemeral,
        "memory": None if item.memory is None else entry(item.memory),
        "sessions": item.sessions,
        "session_bytes": item.session_bytes,
        "fresh_logs": item.fresh_logs,
        "stranded": item.stranded,
        "last_dream": item.last_dream,
        "scaffold_only": item.scaffold_only,
        "past_dream_limit": item.past_dream_limit,
        "near_duplicates": list(item.near_duplicates),
        "problems": [problem(fault) for fault in item.problems],
    }
    if files is not None and item.path in files:
        found["files"] = [entry(file) for file in files[item.path]]
    return found


def entry(item: FileEntry) -> Json:
    return {
        "path": item.path,
        "source": item.source,
        "size": item.size,
        "mtime": item.mtime_ns / 1e9,
        "link_target": item.link_target,
    }


def problem(item: Problem) -> Json:
    return {"path": item.path, "kind": item.kind, "message": item.message}


def show(text: FileText) -> Json:
    """``memdeck show --json``."""
    return {
        "path": text.path,
        "real": text.real,
        "first": text.first,
        "lines": list(text.lines),
        "total": text.total,
        "size": text.size,
        "mtime": text.mtime,
        "truncated": text.truncated,
        "link_target": text.link_target,
        "problem": None if text.problem is None else problem(text.problem),
    }


def sync(report: SyncReport) -> Json:
    """``memdeck reindex --json``."""
    holder = report.holder
    return {
        "files_seen": report.files_seen,
        "files_indexed": report.files_indexed,
        "files_removed": report.files_removed,
        "chunks_added": report.added,
        "chunks_updated": report.updated,
        "chunks_moved": report.moved,
        "chunks_removed": report.removed,
        "foreign_removed": report.foreign_removed,
        "behind": report.behind,
        "holder": None if holder is None else {"pid": holder.pid, "since": holder.since},
        "seconds": report.seconds,
        "problems": [problem(item) for item in report.problems],
        "notes": list(report.notes),
        "rebuilt": report.rebuilt,
        "failed": report.failed,
    }


def doctor(report: DoctorReport) -> Json:
    """``memdeck doctor --json``."""
    return {
        "healthy": report.healthy,
        "findings": [
            {"level": item.level, "topic": item.topic, "message": item.message, "hint": item.hint}
            for item in report.findings
        ],
    }


def gc(report: GcReport) -> Json:
    """``memdeck gc --json``."""
    return {
        "candidates": [
            {
                "folder": item.folder,
                "path": item.path,
                "remove": item.remove,
                "reason": item.reason,
                "age_days": item.age_days,
            }
            for item in report.candidates
        ],
        "receipt": None if report.receipt is None else receipt(report.receipt),
    }


def receipt(item: Receipt) -> Json:
    """``memdeck clear --json``, and part of ``gc --json``."""
    return {
        "action": item.action,
        "done": list(item.done),
        "failed": list(item.failed),
        "trash": item.trash,
        "notes": list(item.notes),
    }


def setting(row: SettingRow) -> Json:
    """One setting of ``memdeck config get --json``."""
    return {
        "key": row.key,
        "value": row.value,
        "origin": row.origin.kind,
        "file": row.origin.file,
        "assumed": row.origin.assumed,
        "from": str(row.origin),
        "help": row.help,
    }
