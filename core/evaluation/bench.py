"""Evaluation room: asks one arm one query, and knows which chunks a judgement means."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from core.embedding import Embedder
from core.errors import IndexUnavailable
from core.evaluation.arms import DEPTH, Arm
from core.evaluation.judged import JudgedQuery, Target
from core.everywhere import Place, search_everywhere
from core.index.model import ordinal_of
from core.index.sync import Index
from core.rust_text import lower
from core.search.query import extract_keywords, parse_query
from core.search.report import SearchReport
from core.searching import SOURCES, Searcher, SearchRequest
from core.settings import Settings

GREP_LIMIT = 20_000
"""Chunks above which counting substrings in all of them, for each query, would take minutes."""

_TO_THE_SECOND = -1.0 / 86_400.0  # a log written at the moment that is asked about is known then


@dataclass(frozen=True, slots=True)
class Subject:
    """The memory that is measured: its index, the others beside it (for ``everywhere``), settings and vectors."""

    root: str
    workspace: str
    index: Index
    places: tuple[Place, ...]
    settings: Settings
    embedder: Embedder
    now: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """The chunks a judgement means.

    ``relevant`` maps chunk id to grade; where chunks overlap and several hold the phrase, ``same`` maps their
    ids to one of them.  ``lost`` names what is no longer in the memory.
    """

    relevant: Mapping[str, int]
    forbidden: frozenset[str]
    same: Mapping[str, str]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an arm answered: chunk ids best first, the time it took, and the report (None for grep)."""

    ranked: tuple[str, ...]
    milliseconds: float
    report: SearchReport | None


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    text: str
    source: str
    created_at: int


class Bench:
    """One evaluation's view of a memory; nothing is written and nothing is synced while it measures."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._rows: dict[bool, list[_Row]] = {}
        self._paths: dict[tuple[str, bool], list[tuple[str, str]]] = {}

    # ── what a judgement means ───────────────────────────────────────────────────────────────────────

    def wanted(self, query: JudgedQuery) -> Wanted:
        """Find the chunks of a judgement in the index as it is now."""
        relevant: dict[str, int] = {}
        forbidden: set[str] = set()
        same: dict[str, str] = {}
        lost: list[str] = []
        for good, target in (*((True, it) for it in query.find), *((False, it) for it in query.avoid)):
            ids = self._chunks(target, everywhere=query.scope == "everywhere")
            if not ids:
                lost.append(f"{query.id}: {target.path} has no chunk with {target.text or target.ordinal!r}")
                continue
            same.update(dict.fromkeys(ids, ids[0]))
            if good:
                relevant[ids[0]] = max(target.grade, relevant.get(ids[0], 1))
            else:
                forbidden.add(ids[0])
        return Wanted(relevant, frozenset(forbidden), same, tuple(lost))

    def _chunks(self, target: Target, *, everywhere: bool) -> list[str]:
        subject = self.subject
        folders = [f"{subject.root}/{subject.workspace}", subject.root]
        if everywhere:
            folders += [
                f"{root.path}/{name}".rstrip("/") for root, name, index in subject.places if index.exists()
            ]
        paths = [target.path] if target.path.startswith("/") else [f"{it}/{target.path}" for it in folders]
        for path in dict.fromkeys(paths):
            chunks = self._chunks_of(path, everywhere=everywhere)
            found = [
                name
                for name, text in chunks
                if (ordinal_of(name) == target.ordinal if target.ordinal is not None else target.text in text)
            ]
            if found:
                return found
        return []

    def _chunks_of(self, path: str, *, everywhere: bool) -> list[tuple[str, str]]:
        key = (path, everywhere)
        if key not in self._paths:
            found: dict[str, str] = {}
            for index in self._indexes(everywhere):
                database = index.database()
                if database is None:
                    continue
                with database.reading() as reader:
                    rows = reader.execute(
                        "SELECT id, text FROM chunks WHERE path = ?", (index.to_index(path),)
                    ).fetchall()
                found.update({on_disk(index, str(name)): str(text) for name, text in rows})
            self._paths[key] = sorted(found.items(), key=lambda item: ordinal_of(item[0]))
        return self._paths[key]

    def _indexes(self, everywhere: bool) -> list[Index]:
        own = self.subject.index
        if not everywhere:
            return [own]
        return [own, *(index for *_, index in self.subject.places if index is not own and index.exists())]

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────

    def embed(self, query: JudgedQuery) -> tuple[float, str]:
        """Embed a query once, so that no arm's time holds it; returns milliseconds and why there is no vector."""
        database = self.subject.index.database()
        if database is None:
            return 0.0, "the index cannot be used now"
        started = time.perf_counter()
        asked = self.subject.embedder.query(database, parse_query(query.text).text, "ours")
        return (time.perf_counter() - started) * 1000.0, asked.why

    def ask(self, arm: Arm, query: JudgedQuery, *, now: float) -> Asked:
        """Let one arm answer one query, as of the query's day.

        Raises:
            IndexUnavailable: the index cannot be searched now.
        """
        at = query.asked_at(now)
        started = time.perf_counter()
        if arm.grep:
            ranked = self._grep(query, at)
            return Asked(ranked, (time.perf_counter() - started) * 1000.0, None)
        request = request_for(arm, query)
        report = self._search(searcher_for(arm, self.subject, at), request, query)
        taken = (time.perf_counter() - started) * 1000.0
        if report.status is not None and report.status.state == "failed":
            raise IndexUnavailable(f"the index cannot be searched: {report.status.reason}")
        ids = tuple(on_disk(self.subject.index, hit.id) for hit in report.hits)
        return Asked(ids[:DEPTH], taken, report)

    def _search(self, searcher: Searcher, request: SearchRequest, query: JudgedQuery) -> SearchReport:
        subject = self.subject
        if query.scope != "everywhere":
            return searcher.search(subject.index, request, sync=False)
        current = (subject.root, subject.workspace)
        return search_everywhere(subject.places, searcher, request, current=current, sync=False)

    def hides(self, query: JudgedQuery, chunk: str, *, now: float) -> bool:
        """Whether a chunk of this workspace is outside a query's scope, or newer than the day it asks about."""
        index = self.subject.index
        database = index.database()
        path, _, number = chunk.rpartition(":")
        if database is None:
            return False
        with database.reading() as reader:
            row = reader.execute(
                "SELECT source, created_at FROM chunks WHERE id = ?", (f"{index.to_index(path)}:{number}",)
            ).fetchone()
        if row is None:
            return False
        wrong_source = query.scope in SOURCES and str(row[0]) != query.scope
        return wrong_source or (query.as_of is not None and float(str(row[1])) > query.asked_at(now))

    # ── counting substrings ──────────────────────────────────────────────────────────────────────────

    def can_grep(self) -> bool:
        """Whether the memory is small enough to look through for every query."""
        return len(self._all_rows(everywhere=False)) <= GREP_LIMIT

    def _grep(self, query: JudgedQuery, at: float) -> tuple[str, ...]:
        words = extract_keywords(query.text)
        source = query.scope if query.scope in SOURCES else ""
        scored = [
            (-sum(word in row.text for word in words), -row.created_at, row.id)
            for row in self._all_rows(everywhere=query.scope == "everywhere")
            if (not source or row.source == source) and (query.as_of is None or row.created_at <= at)
        ]
        return tuple(name for count, _, name in sorted(scored) if count)[:DEPTH]

    def _all_rows(self, *, everywhere: bool) -> list[_Row]:
        if everywhere not in self._rows:
            rows: dict[str, _Row] = {}
            for index in self._indexes(everywhere):
                database = index.database()
                if database is None:
                    continue
                with database.reading() as reader:
                    for name, text, source, born in reader.execute(
                        "SELECT id, text, source, created_at FROM chunks LIMIT ?", (GREP_LIMIT + 1,)
                    ):
                        own = on_disk(index, str(name))
                        rows[own] = _Row(own, lower(str(text)), str(source), int(float(str(born))))
            self._rows[everywhere] = list(rows.values())
        return self._rows[everywhere]


def searcher_for(arm: Arm, subject: Subject, at: float) -> Searcher:
    """The searcher of an arm, with its clock at a moment."""
    embedder = subject.embedder if arm.embed else None
    return Searcher(arm.settings, lambda: at, embedder, arm.tuned, arm.without)


def request_for(arm: Arm, query: JudgedQuery) -> SearchRequest:
    """The request an arm makes of a query: its depth and floor, the query's scope and day."""
    return SearchRequest(
        query.text,
        arm.profile,
        arm.limit,
        arm.floor,
        (query.scope,) if query.scope in SOURCES else (),
        min_age_days=None if query.as_of is None else _TO_THE_SECOND,
    )


def on_disk(index: Index, chunk: str) -> str:
    """A chunk id with its path spelled as the root was opened."""
    path, mark, number = chunk.rpartition(":")
    return f"{index.to_disk(path)}{mark}{number}"
