"""A memory made of plain values, with the façade's methods, for states that are hard to make real."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.embed.consent import Disclosure
from core.embedding import EmbeddingState, FillReport
from core.errors import MemdeckError, NotFound
from core.index.model import ChunkSpan, DoctorReport, Finding, IndexStatus, SyncReport, WatchStatus
from core.search.report import Also, Factors, Hit, SearchReport, Stage, WhyReport
from core.settings import Settings
from core.store.model import (
    FileEntry,
    FileText,
    GcCandidate,
    GcReport,
    Identity,
    Overview,
    Problem,
    Receipt,
    RootInfo,
    SessionLog,
    WorkspaceInfo,
)

NOW = 1_784_419_200.0  # 2026-07-19 00:00 UTC
ROOT = "/home/mona/.grok/memory"
DAY = 86_400.0

AUTH = """# Widgets

## Auth

### Token refresh
Access tokens rotate every 15 minutes; the refresh token rotates with each use.
A refresh token that is used twice ends the whole session.

## Build
Run `make all` before a release; the CI caches the wheel by lock file.
"""


def settings(**keys: str) -> Settings:
    return Settings(keys={name.replace("_", "."): value for name, value in keys.items()})


def entry(path: str, source: Any, size: int) -> FileEntry:
    return FileEntry(path, source, size, int(NOW * 1e9), 1)


def workspace(folder: str, **known: Any) -> WorkspaceInfo:
    path = f"{ROOT}/{folder}"
    base = WorkspaceInfo(
        folder=folder,
        path=path,
        human=None,
        origin="unknown",
        memory=entry(f"{path}/MEMORY.md", "workspace", 12_400),
        sessions=12,
        session_bytes=48_000,
    )
    return replace(base, **known)


def overview() -> Overview:
    return Overview(
        roots=(
            RootInfo(
                kind="main",
                name="memory",
                path=ROOT,
                real=Path(ROOT),
                flat=False,
                exists=True,
                global_memory=entry(f"{ROOT}/MEMORY.md", "global", 3_100),
                workspaces=(
                    workspace(
                        "widgets-a3f7b2c9",
                        human="acme/widgets",
                        origin="remote",
                        current=True,
                        fresh_logs=6,
                        last_dream=NOW - 31 * 3600,
                        stranded=2,
                    ),
                    workspace("api-1f2e3d4c", human="/home/mona/src/api", origin="path", sessions=3),
                    workspace("widgets-77c01d2e", sessions=1, near_duplicates=("widgets-a3f7b2c9",)),
                    workspace("notes-9b8a7c6d", human="mona/notes", origin="remote", past_dream_limit=True),
                ),
                problems=(Problem(f"{ROOT}/old", "dangling-link", "the link leads nowhere: /mnt/old"),),
            ),
            RootInfo(
                kind="agent-user",
                name="reviewer",
                path="/home/mona/.grok/agent-memory/reviewer",
                real=Path("/home/mona/.grok/agent-memory/reviewer"),
                flat=False,
                exists=True,
                global_memory=entry("/home/mona/.grok/agent-memory/reviewer/MEMORY.md", "global", 900),
                workspaces=(),
            ),
        ),
        identity=Identity(
            "remote", "acme/widgets", "widgets-a3f7b2c9", "origin is git@github.com:acme/widgets.git"
        ),
    )


def log(name: str, day: str, slug: str, age: float, **known: Any) -> SessionLog:
    path = f"{ROOT}/widgets-a3f7b2c9/sessions/{name}"
    staleness: Any = "fresh" if age <= 1 else "verify" if age <= 7 else "stale"
    return SessionLog(entry(path, "session", 4_096), day, slug, "0a1b2c3d", age, staleness, **known)


def logs() -> tuple[SessionLog, ...]:
    return (
        log("2026-07-18-auth-0a1b2c3d.md", "2026-07-18", "auth", 0.4),
        log("2026-07-16-build-1b2c3d4e.md", "2026-07-16", "build", 3),
        log("2026-07-02-deploy-2c3d4e5f.md", "2026-07-02", "deploy", 17, state="stranded"),
        log("2026-06-11-配置-3d4e5f60.md", "2026-06-11", "配置", 38, state="consolidated"),
    )


def hit(rank: int, place: str, heading: str, snippet: str, score: float, **known: Any) -> Hit:
    path, lines = place.split(":")
    start, end = (int(part) for part in lines.split("-"))
    age = known.pop("age_days", 0.0)
    decay = known.pop("decay", 1.0)
    factors = Factors(
        bm25=-7.31 + rank,
        text=min(1.0, score / decay),
        vector=None,
        merged=min(1.0, score / decay),
        decay=decay,
        age_days=age,
        half_life_days=30.0,
        source_weight=1.0,
        access=1.05 if rank == 1 else 1.0,
        access_count=2 if rank == 1 else 0,
        raw=score * (1.05 if rank == 1 else 1.0),
        score=score,
        floor=0.7,
    )
    full = f"{ROOT}/widgets-a3f7b2c9/{path}"
    source: Any = "session" if "sessions/" in path else "workspace"
    return Hit(
        rank=rank,
        id=f"{full}:{known.pop('ordinal', 0)}",
        path=full,
        start_line=start,
        end_line=end,
        source=source,
        heading=heading,
        snippet=snippet,
        created_at=int(NOW - age * DAY),
        access_count=factors.access_count,
        factors=factors,
        workspace="widgets-a3f7b2c9",
        staleness="fresh" if source == "workspace" or age <= 1 else "verify" if age <= 7 else "stale",
        age="" if source == "workspace" else f"{age:.0f} days ago",
        **known,
    )


STATUS = IndexStatus(
    "ready", f"{ROOT}/widgets-a3f7b2c9/index.sqlite", chunks=412, files=38, journal_mode="wal"
)


def report(query: str = "refresh token rotation") -> SearchReport:
    words = tuple(query.lower().split())
    hits = (
        hit(1, "MEMORY.md:5-7", "Token refresh", AUTH, 1.0, matched=words[:2]),
        hit(
            2,
            "sessions/2026-07-02-deploy-2c3d4e5f.md:1-9",
            "Deploy",
            "# Deploy\nThe refresh endpoint returned 401 because the clock of the box was off.\n",
            0.71,
            age_days=17.0,
            decay=0.71,
            matched=words[:1],
        ),
    )
    dropped = (
        hit(
            0,
            "sessions/2026-06-11-配置-3d4e5f60.md:1-4",
            "配置",
            "# 配置\nrefresh 令牌\n",
            0.31,
            age_days=64.0,
            decay=0.22,
            reason="below_floor",
            stage="floor",
            why="0.31 is below the floor 0.70; decay × 0.22 sank it",
            matched=words[:1],
        ),
    )
    also = (
        Also(
            id=f"{ROOT}/widgets-a3f7b2c9/sessions/2026-06-11-配置-3d4e5f60.md:1",
            path=f"{ROOT}/widgets-a3f7b2c9/sessions/2026-06-11-配置-3d4e5f60.md",
            start_line=3,
            end_line=4,
            source="session",
            heading="配置",
            snippet="# 配置\nrefresh 令牌\n",
            created_at=int(NOW - 38 * DAY),
            access_count=0,
            matched_by="CJK words",
        ),
    )
    stages = (Stage("keywords", True, "3 words", 0.1), Stage("vectors", False, "no embedder is configured"))
    return SearchReport(
        query,
        "agent",
        "text only",
        "widgets-a3f7b2c9",
        hits,
        dropped,
        also,
        stages,
        keywords=words,
        status=STATUS,
        ms=4.2,
    )


class Watcher:
    def __init__(self, status: WatchStatus) -> None:
        self._status = status
        self.stopped = False

    @property
    def status(self) -> WatchStatus:
        return self._status

    def stop(self) -> None:
        self.stopped = True


class FakeMemory:
    """Everything can be replaced: assign to ``answers`` (query → report, error or callable)."""

    def __init__(self, workspace: str = "widgets-a3f7b2c9", root: str = ROOT) -> None:
        self.root = root
        self.workspace = workspace
        self.settings = settings()
        self.survey = overview()
        self.index = STATUS
        self.logs = logs()
        self.texts: dict[str, str] = {}
        self.answers: dict[str, SearchReport | Exception | Callable[[], SearchReport]] = {}
        self.synced = SyncReport(files_seen=38)
        self.calls: list[str] = []
        self.embeds: list[tuple[str, object, object]] = []
        self.gate: threading.Event | None = None
        self.on_change: Callable[[Any], None] | None = None
        self.watcher = Watcher(WatchStatus("live"))

    def now(self) -> float:
        return NOW

    def overview(self) -> Overview:
        self.calls.append("overview")
        return self.survey

    def sessions(self, workspace: str | None = None) -> tuple[SessionLog, ...]:
        return self.logs

    def at(self, workspace: str, root: str | None = None) -> FakeMemory:
        other = FakeMemory(workspace, root or self.root)
        other.__dict__.update({**self.__dict__, "workspace": workspace, "root": root or self.root})
        return other

    def read(self, path: str, first: int = 1, lines: int | None = None) -> FileText:
        if path.endswith("gone.md"):
            raise NotFound(f"{path} is no longer there", hint="Look again with r.")
        text = self.texts.get(path, AUTH)
        rows = tuple(text.split("\n"))
        return FileText(path, path, 1, rows, len(rows), len(text.encode()), NOW)

    def spans(self, path: str) -> tuple[ChunkSpan, ...]:
        return (
            ChunkSpan(f"{path}:0", 0, 1, 4, 30, True),
            ChunkSpan(f"{path}:1", 1, 5, 8, 160, True),
            ChunkSpan(f"{path}:2", 2, 9, 11, 90, True),
        )

    embeds_here = True
    embedding_state = EmbeddingState(
        "none", reason="no embedding provider is set", hint="Set embedding.provider."
    )
    disclosure: Disclosure | None = None
    filled = FillReport()

    def embedding(self) -> EmbeddingState:
        return self.embedding_state

    def embedding_disclosure(self) -> Disclosure | None:
        return self.disclosure

    def allow_embedding(self, shown: Disclosure) -> None:
        self.calls.append(f"allow {shown.endpoint}")
        self.embedding_state = replace(self.embedding_state, state="filling")

    def fill_vectors(self, *, again: bool = False, cancel: Any = None, progress: Any = None) -> FillReport:
        self.calls.append("fill again" if again else "fill")
        if progress is not None:
            progress(1, 2)
        self.embedding_state = replace(self.embedding_state, state="complete", missing=0)
        return self.filled

    def search(self, query: str, **options: Any) -> SearchReport:
        self.calls.append(f"search {query}")
        self.embeds.append((query, options.get("profile"), options.get("embed", True)))
        if self.gate is not None:
            self.gate.wait(5)
        answer = self.answers.get(query)
        if callable(answer):
            return answer()
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        found = report(query)
        if query:
            return replace(found, everywhere=bool(options.get("everywhere")))
        return replace(found, mode="newest", dropped=(), also=())

    def why(self, query: str, chunk: str) -> WhyReport:
        return WhyReport(
            query=query,
            chunk_id=chunk,
            path=chunk.rsplit(":", 1)[0],
            start_line=9,
            end_line=11,
            source="workspace",
            snippet="## Build\nRun `make all` before a release.\n",
            verdict="Not among the results: it has none of the words of the query.",
            place=57,
            matches=210,
            cut_at=18,
            bm25=-1.2,
            missing=("refresh", "token", "rotation"),
        )

    def sync(self) -> SyncReport:
        self.calls.append("sync")
        return self.synced

    def reindex(
        self, rebuild: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> SyncReport:
        self.calls.append("rebuild" if rebuild else "reindex")
        if progress is not None:
            progress(38, 38)
        return self.synced

    def status(self) -> IndexStatus:
        return self.index

    def watch(self, on_change: Callable[[Any], None]) -> Watcher:
        self.on_change = on_change
        return self.watcher

    def doctor(self) -> DoctorReport:
        return DoctorReport((Finding("ok", "index", "38 files, 412 chunks, in step"),))

    def gc(self, remove: bool = False) -> GcReport:
        kept = GcCandidate("widgets-77c01d2e", f"{ROOT}/widgets-77c01d2e", True, "empty for 31 days", 31.0)
        return GcReport((kept,), Receipt("gc", (kept.path,)) if remove else None)

    def clear_preview(self, what: str) -> tuple[str, ...]:
        return (f"{ROOT}/widgets-a3f7b2c9/MEMORY.md", f"{ROOT}/widgets-a3f7b2c9/sessions (12 logs)")

    def clear(self, what: str) -> Receipt:
        self.calls.append(f"clear {what}")
        return Receipt(
            f"clear {what}", self.clear_preview(what), trash="/home/mona/.local/state/memdeck/trash/1"
        )

    def resolve(self, path: str) -> str:
        return path

    def interrupt(self) -> None:
        self.calls.append("interrupt")

    def close(self) -> None:
        self.calls.append("close")


def failing(message: str, **parts: str) -> Callable[[], Any]:
    """A factory that fails the way a memory can."""

    def factory() -> Any:
        raise MemdeckError(message, **parts)

    return factory


SOURCES: Sequence[str] = ("workspace", "session", "global")
