"""The command line run in this process over a made-up memory, with nothing of the machine's around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from core.embedding import FillReport
from core.errors import NotFound
from core.index.model import ChunkSpan, DoctorReport, Finding, IndexStatus, SyncReport
from core.search.report import Also, Factors, Hit, SearchReport, Stage, WhyReport
from core.settings import load_settings
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

ROOT = "/home/mona/.grok/memory"
WORKSPACE = "widgets-a3f7b2c9"
HERE = f"{ROOT}/{WORKSPACE}"
HOSTILE = "\x1b]0;owned\x07\x9b2J\u202etxt\u200b"
LOG = f"{HERE}/sessions/2026-07-17-auth-0a1b2c3d.md"


def file(path: str, source: Any, size: int, link: str | None = None) -> FileEntry:
    return FileEntry(path, source, size, 1_784_246_400_000_000_000, 1, link)


def factors(**known: Any) -> Factors:
    base = Factors(
        bm25=-7.31,
        text=1.0,
        vector=None,
        merged=1.0,
        decay=1.0,
        age_days=0.0,
        half_life_days=30.0,
        source_weight=1.0,
        access=1.0549,
        access_count=2,
        raw=1.0549,
        score=1.0,
        floor=0.7,
    )
    return replace(base, **known)


CURATED = Hit(
    rank=1,
    id=f"{HERE}/MEMORY.md:3",
    path=f"{HERE}/MEMORY.md",
    start_line=24,
    end_line=31,
    source="workspace",
    heading="Token refresh",
    snippet="### Token refresh\nSessions end after a day.\nAccess tokens rotate every 15 minutes.\n",
    created_at=1_784_000_000,
    access_count=2,
    factors=factors(),
    matched=("tokens", "rotate"),
    workspace=WORKSPACE,
)
AGED = Hit(
    rank=0,
    id=f"{LOG}:0",
    path=LOG,
    start_line=1,
    end_line=1,
    source="session",
    heading="Auth",
    snippet="# Auth\nThe refresh endpoint returned 401.",
    created_at=1_781_000_000,
    access_count=0,
    factors=factors(
        bm25=-2.0,
        text=0.4,
        merged=0.4,
        decay=0.5,
        age_days=30.0,
        access=1.0,
        access_count=0,
        raw=0.2,
        score=0.2,
    ),
    matched=("refresh",),
    reason="below_floor",
    stage="floor",
    why="shown 0.20 is below the floor 0.70",
    workspace=WORKSPACE,
    staleness="stale",
    age="4 weeks ago",
)
REPORT = SearchReport(
    query="token refresh",
    profile="agent",
    mode="text only",
    workspace=WORKSPACE,
    hits=(CURATED,),
    dropped=(AGED,),
    also=(
        Also(
            id=f"{HERE}/sessions/x.md:0",
            path=f"{HERE}/sessions/x.md",
            start_line=2,
            end_line=2,
            source="session",
            heading="配置",
            snippet="令牌 刷新",
            created_at=1,
            access_count=0,
            matched_by="CJK words",
            matched=("刷新",),
        ),
    ),
    stages=(
        Stage("fts", True, "2 of 2 matches", 0.42),
        Stage("knn", False, "no embedding model is set", 0.0),
    ),
    notes=("index behind by 2 files",),
    keywords=("token", "refresh"),
    ms=4.2,
)


@dataclass
class FakeMemory:
    """The façade's surface as far as the command line uses it; remembers what it was asked."""

    environ: Mapping[str, str]
    root: str = ROOT
    workspace: str = WORKSPACE
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    report: SearchReport = REPORT
    healthy: bool = True
    behind: int = 0
    rebuilds: bool = True
    failed: tuple[str, ...] = ()
    closed: bool = False
    breaks: Exception | None = None
    notes: tuple[str, ...] = ()
    fill: FillReport = field(default_factory=FillReport)
    unknown: bool = False

    def __post_init__(self) -> None:
        home = self.environ["HOME"]
        self.settings = load_settings(self.environ, grok_home=f"{home}/.grok")

    def overview(self) -> Overview:
        if self.breaks is not None:
            raise self.breaks
        return Overview(
            roots=(
                RootInfo(
                    kind="main",
                    name="memory",
                    path=ROOT,
                    real=Path(ROOT),
                    flat=False,
                    exists=True,
                    global_memory=file(f"{ROOT}/MEMORY.md", "global", 3_100),
                    workspaces=(
                        WorkspaceInfo(
                            folder=WORKSPACE,
                            path=HERE,
                            human="acme/widgets",
                            origin="remote",
                            memory=file(f"{HERE}/MEMORY.md", "workspace", 12_400),
                            sessions=1,
                            session_bytes=4_096,
                            fresh_logs=6,
                            stranded=2,
                            current=True,
                        ),
                        WorkspaceInfo(
                            folder="odd-1f2e3d4c",
                            path=f"{ROOT}/odd-1f2e3d4c",
                            human=HOSTILE,
                            origin="path",
                            memory=None,
                            sessions=0,
                            session_bytes=0,
                            problems=(Problem(f"{HOSTILE}.md", "not-utf8", f"{HOSTILE}.md is not UTF-8"),),
                        ),
                    ),
                    problems=(Problem(f"{ROOT}/old", "dangling-link", "the link leads nowhere"),),
                ),
            ),
            banner="the agent uses memory-v2",
            identity=Identity("remote", "acme/widgets", WORKSPACE, "origin is acme/widgets"),
        )

    def sessions(self) -> tuple[SessionLog, ...]:
        return (SessionLog(file(LOG, "session", 4_096), "2026-07-17", "auth", "0a1b2c3d", 2.0, "verify"),)

    def read(self, path: str, first: int = 1, lines: int | None = None) -> FileText:
        self.asked.append(("read", path, first, lines))
        if path == "gone.md":
            raise NotFound("gone.md is not there", hint="`memdeck ls --files` lists what is.")
        found = ("# One", HOSTILE, "three")[first - 1 :][: lines or None]
        return FileText(f"{HERE}/{path}", f"{HERE}/{path}", first, found, 3, 40, 1_784_246_400.5)

    def search(self, query: str, **options: Any) -> SearchReport:
        self.asked.append(("search", query, options))
        return self.report

    def why(self, query: str, chunk: str) -> WhyReport:
        self.asked.append(("why", query, chunk))
        if self.unknown:
            raise NotFound(f"there is no chunk {chunk}", hint="Ids are PATH:N.")
        return WhyReport(
            query=query,
            chunk_id=AGED.id,
            path=AGED.path,
            start_line=1,
            end_line=1,
            source="session",
            snippet=AGED.snippet,
            verdict="not among the candidates",
            place=57,
            matches=210,
            cut_at=18,
            bm25=-0.5,
            present=("refresh",),
            missing=("token",),
            notes=("index behind by 2 files",),
        )

    def reindex(
        self, rebuild: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> SyncReport:
        self.asked.append(("reindex", rebuild))
        return SyncReport(
            files_seen=41,
            files_indexed=2,
            added=3,
            moved=1,
            behind=self.behind,
            seconds=0.25,
            notes=self.notes,
            rebuilt=rebuild and self.rebuilds,
        )

    def status(self) -> IndexStatus:
        return IndexStatus("ready", f"{HERE}/index.sqlite", chunks=178, files=1)

    def spans(self, path: str) -> tuple[ChunkSpan, ...]:
        self.asked.append(("spans", path))
        return tuple(ChunkSpan(f"{path}:{at}", at, 1, 1, 9, True) for at in range(12))

    def embedding_disclosure(self) -> None:
        return None

    def fill_vectors(self, **_options: Any) -> FillReport:
        return self.fill

    def doctor(self) -> DoctorReport:
        findings = [Finding("ok", "index", "in step with 41 files")]
        if not self.healthy:
            findings.append(Finding("error", "settings", f"a wrong key {HOSTILE}", "Put it right."))
        return DoctorReport(tuple(findings))

    def gc(self, remove: bool = False) -> GcReport:
        self.asked.append(("gc", remove))
        going = GcCandidate("tmp-1f2e3d4c", f"{ROOT}/tmp-1f2e3d4c", True, "empty", 9.0)
        kept = GcCandidate(WORKSPACE, HERE, False, "it has real content", 1.0)
        return GcReport((kept, going), Receipt("gc", (going.path,), self.failed) if remove else None)

    def clear_preview(self, what: str) -> tuple[str, ...]:
        return (f"{HERE}/MEMORY.md", LOG)

    def clear(self, what: str) -> Receipt:
        self.asked.append(("clear", what))
        if self.breaks is not None:
            raise self.breaks
        return Receipt(f"clear {what}", self.clear_preview(what), self.failed, trash="/state/trash/1")

    def close(self) -> None:
        self.closed = True


@dataclass
class Ran:
    code: int
    out: str
    err: str


class Cli:
    """Runs command lines; ``memory`` is the last one opened, ``opened`` what it was opened with."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.environ = {
            "HOME": str(home),
            "MEMDECK_CONFIG": str(home / "own.toml"),
            "MEMDECK_STATE": str(home),
        }
        self.capture = capture
        self.known: dict[str, Any] = {}
        self.memory: FakeMemory | None = None
        self.opened: dict[str, Any] = {}

    def _open(self, root: str | None, **where: Any) -> Any:
        self.opened = {"root": root, "workspace": where["workspace"], "cwd": where["cwd"]}
        self.memory = FakeMemory(self.environ, **self.known)
        return self.memory

    def __call__(self, *argv: str, real: bool = False) -> Ran:
        code = main(argv, environ=self.environ, opener=None if real else self._open)
        captured = self.capture.readouterr()
        return Ran(code, captured.out, captured.err)

    def asked(self) -> Sequence[tuple[Any, ...]]:
        assert self.memory is not None
        return self.memory.asked


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("COLUMNS", "100")
    return Cli(tmp_path, capsys)
