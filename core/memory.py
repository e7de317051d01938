"""The façade: the one way into core for every face — open a memory, list, read, search, explain, mend."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core import doctor as doctor_room
from core import everywhere as everywhere_room
from core.clock import Clock, clock_from
from core.embed.consent import Disclosure
from core.embed.provider import Cancel, Usage
from core.embedding import Embedder, EmbeddingState, FillReport
from core.errors import UsageError
from core.index.chunker import chunk_markdown
from core.index.model import (
    ChunkSpan,
    ClaimHolder,
    DoctorReport,
    Finding,
    IndexStatus,
    SyncReport,
    WatchStatus,
)
from core.index.sync import Index
from core.index.watcher import Watcher, WatchEvent
from core.indexes import Edits, Indexes, indexed_hashes
from core.opening import Opened, every_workspace, find_memory, find_workspace, name_others
from core.search.report import (
    Also,
    Factors,
    Hit,
    SearchReport,
    Stage,
    WhyReport,
)
from core.searching import Searcher, SearchRequest
from core.settings import SettingChange, Settings
from core.settings.model import DreamSettings
from core.store import clear as clear_room
from core.store import gc as gc_room
from core.store import restore as restore_room
from core.store.identity import GitRunner
from core.store.layout import (
    Root,
    workspace_dir,
)
from core.store.listing import list_memory, overview, session_logs
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
from core.store.paths import state_dir
from core.store.reading import Located, decode, read_bytes, read_text, resolve
from core.tuning import Tuning

if TYPE_CHECKING:
    from core.evaluation.judgements import Judgements
    from core.evaluation.model import EvalReport
    from core.evaluation.run import Options

__all__ = [
    "Also",
    "Cancel",
    "ChunkSpan",
    "ClaimHolder",
    "Disclosure",
    "DoctorReport",
    "DreamSettings",
    "EmbeddingState",
    "Factors",
    "FileEntry",
    "FileText",
    "FillReport",
    "Finding",
    "GcCandidate",
    "GcReport",
    "Hit",
    "Identity",
    "IndexStatus",
    "Memory",
    "Overview",
    "Problem",
    "Receipt",
    "RootInfo",
    "SearchReport",
    "SessionLog",
    "SettingChange",
    "Settings",
    "Stage",
    "SyncReport",
    "Usage",
    "WatchEvent",
    "WatchStatus",
    "Watcher",
    "WhyReport",
    "WorkspaceInfo",
]

Scope = Literal["workspace", "global", "all"]


class Memory:
    """One opened memory, looking at one workspace.

    Every method blocks and may be called from any thread.  Opening does no database work and writes
    nothing.  Failures of the index never keep Markdown from being listed and read.
    """

    def __init__(
        self,
        found: Opened,
        *,
        environ: Mapping[str, str],
        clock: Clock,
        embedder: Embedder | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        self._found = found
        self._root = found.root
        self._roots = found.roots
        self._environ = environ
        self._clock = clock
        self._embedder = embedder or Embedder(
            found.settings,
            environ,
            state=state_dir(environ),
            root=found.root.real,
            clock=clock,
        )
        self._owns_embedder = embedder is None
        self._tuning = tuning or Tuning(found.settings, found.reload)
        self.workspace = found.workspace
        self._indexes = Indexes(environ, clock, lambda: self.settings)
        self._edits = Edits(found.roots, found.workspace, self._indexes.is_network)

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(
        cls,
        root: str | None = None,
        *,
        workspace: str | None = None,
        cwd: str | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        home: str | None = None,
        flags: Mapping[str, str] | None = None,
        run_git: GitRunner | None = None,
        temp_dir: str | None = None,
    ) -> Memory:
        """Open the memory at ``root`` (default ``$GROK_HOME/memory``) with a workspace selected.

        ``workspace`` is a folder name, a unique prefix of one, or ``org/repo``; without it the workspace of
        ``cwd`` is found as the agent finds it.  ``flags`` are settings by dotted key that win over files.

        Raises:
            UsageError: the root is not a folder, or the workspace is unknown or ambiguous.
            SettingsError: a flag is wrong.
        """
        found = find_memory(
            root,
            workspace=workspace,
            cwd=cwd,
            environ=environ,
            home=home,
            flags=flags,
            run_git=run_git,
            temp_dir=temp_dir,
        )
        return cls(found, environ=environ, clock=clock or clock_from(environ))

    def at(self, workspace: str, root: str | None = None) -> Memory:
        """The same memory looking at another workspace (``""``: global memory alone, or a flat root).

        Raises:
            UsageError: there is no such workspace under that root.
        """
        chosen = self._root if root is None else self._root_at(root, flat=not workspace)
        name = "" if chosen.flat else workspace
        if (
            name in (".", "..")
            or "/" in name
            or (name and not os.path.isdir(os.path.join(chosen.path, name)))
        ):
            name = find_workspace(chosen, workspace, self._found.names)
        found = replace(
            self._found,
            root=chosen,
            roots=(chosen, *(item for item in self._roots if item != chosen)),
            workspace=name,
            identity=Identity("chosen", workspace, name, "chosen by name"),
            ephemeral=None,
        )
        # Consent is given for a root, so another root has a provider of its own.
        shared = self._embedder if chosen.real == self._root.real else None
        return Memory(found, environ=self._environ, clock=self._clock, embedder=shared, tuning=self._tuning)

    def _root_at(self, path: str, *, flat: bool) -> Root:
        # An agent's folder that holds both shapes stands twice in the list.
        found = sorted(
            (item for item in self._roots if item.path == path), key=lambda item: item.flat != flat
        )
        if found:
            return found[0]
        raise UsageError(f"{path} is no root of this memory", hint="Open it with --root.")

    # ── what is there ────────────────────────────────────────────────────────────────────────────────

    @property
    def root(self) -> str:
        """The root as it is spelled in the index (absolute, links unresolved)."""
        return self._root.path

    @property
    def identity(self) -> Identity:
        """Why this workspace is the one that is looked at."""
        return self._found.identity

    def now(self) -> float:
        """The product's clock, in unix seconds."""
        return self._clock()

    def overview(self) -> Overview:
        """List every root and workspace with sizes, counts and marks; opens no index."""
        return overview(
            self._roots,
            current=self.workspace,
            identity=self._found.identity,
            names=self._found.names,
            mode=self.settings.memory.mode,
            ephemeral=self._found.ephemeral,
        )

    def sessions(self, workspace: str | None = None) -> tuple[SessionLog, ...]:
        """The logs of a workspace (default: this one), newest first."""
        return session_logs(self._root, self.workspace if workspace is None else workspace, self.now())

    def problems(self) -> tuple[Problem, ...]:
        """Entries of this workspace that could not be listed, read or decoded, each with the reason."""
        listed = list_memory(self._root, self.workspace).problems
        return tuple(dict.fromkeys((*listed, *self._index().problems)))

    def resolve(self, path: str) -> str:
        """Find a file: absolute, else relative to the workspace, else to the root; returns its spelled path.

        Raises:
            NotFound, OutsideRoot, UnreadableFile: see the message.
        """
        return resolve(self._root, self.workspace, path).path

    def read(self, path: str, first: int = 1, lines: int | None = None) -> FileText:
        """Read lines ``first`` … (1-based) of a file of this memory; see ``FileText``."""
        return read_text(self._locate(path), first, lines)

    def spans(self, path: str) -> tuple[ChunkSpan, ...]:
        """Where the chunker cuts a file as it is on disk now, and which of those chunks are indexed."""
        located = self._locate(path)
        text, _ = decode(read_bytes(located).data)
        index = self._index()
        spelled = index.to_index(located.path)
        known = indexed_hashes(index, spelled)
        return tuple(
            ChunkSpan(
                id=f"{spelled}:{ordinal}",
                ordinal=ordinal,
                start_line=chunk.start_line + 1,
                end_line=max(chunk.end_line, chunk.start_line + 1),
                size=len(chunk.text.encode()),
                indexed=known.get(f"{spelled}:{ordinal}") == chunk.hash,
            )
            for ordinal, chunk in enumerate(chunk_markdown(text))
        )

    def _locate(self, path: str) -> Located:
        index = self._indexes.known(self._root, self.workspace)
        spelled = index.to_disk(path) if index is not None else path
        for root in self._roots:
            if spelled.startswith(root.path + "/"):
                return resolve(root, self.workspace if root == self._root else "", spelled)
        return resolve(self._root, self.workspace, spelled)

    # ── settings ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def settings(self) -> Settings:
        """The settings in use; the same for every workspace looked at."""
        return self._tuning.settings

    def plan_settings(self, values: Mapping[str, object]) -> tuple[SettingChange, ...]:
        """Prepare writing settings by dotted key, as diffs to look at; nothing is written.

        Raises:
            SettingsError: a wrong key or value, or a file that cannot be changed safely.
        """
        return self._tuning.plan(values)

    def apply_settings(self, changes: Sequence[SettingChange]) -> Settings:
        """Write what was planned and use it from now on; raises SettingsError when a file changed since."""
        return self._tuning.apply(changes)

    def undo_settings(self) -> tuple[str, ...]:
        """Put the files of the last save back as they were; raises SettingsError when one changed since."""
        return self._tuning.undo()

    @property
    def can_undo_settings(self) -> bool:
        """Whether settings were saved that were not put back."""
        return self._tuning.can_undo

    # ── searching ────────────────────────────────────────────────────────────────────────────────────

    def search(
        self,
        query: str,
        *,
        profile: str | None = None,
        everywhere: bool = False,
        limit: int | None = None,
        min_score: float | None = None,
        sources: Sequence[str] = (),
        max_age_days: float | None = None,
        sync: bool = True,
        embed: bool = True,
        settings: Settings | None = None,
    ) -> SearchReport:
        """Search as the agent of this workspace would; ``""`` lists the newest chunks instead.

        A person's search: access counts never change.  ``everywhere`` asks each workspace's own index and
        merges by rank position.  ``sync`` False searches what is indexed already; ``embed`` False leaves the
        query without a vector for now; ``settings`` are tried for this search alone.

        Raises:
            UsageError: an unknown profile or source, or a limit below zero.
        """
        request = SearchRequest(query, profile, limit, min_score, tuple(sources), max_age_days, embed)
        started = time.perf_counter()
        if everywhere:
            report = everywhere_room.search_everywhere(
                [(root, folder, self._index_of(root, folder)) for root, folder in self._every_workspace()],
                self._searcher(settings),
                request,
                current=(self._root.path, self.workspace),
                sync=sync,
            )
        else:
            dirty = self._edits.take() if sync else set()
            done = False
            try:
                report = self._searcher(settings).search(self._index(), request, sync=sync, dirty=dirty)
                done = report.status is not None and report.status.state not in ("behind", "failed")
            finally:
                if not done:
                    self._edits.give_back(dirty)
        if not os.path.isdir(self._root.path):
            missing = (
                f"there is no memory at {self._root.path}: choose another with --root, or try `memdeck demo`"
            )
            report = replace(report, notes=(missing, *report.notes))
        elif not everywhere and not report.hits and (elsewhere := name_others(self._root, self.workspace)):
            report = replace(report, notes=(elsewhere, *report.notes))
        return replace(report, ms=round((time.perf_counter() - started) * 1000, 3))

    def recall(self, query: str, *, limit: int | None = None, min_score: float | None = None) -> SearchReport:
        """Search as an agent does: with its rules, and each hit's access is counted."""
        return self._searcher().recall(self._index(), SearchRequest(query, "agent", limit, min_score))

    def why(self, query: str, chunk: str) -> WhyReport:
        """Explain why a chunk (full id, or ``PATH#N`` with N its number in the file) is or is not a result.

        Raises:
            NotFound: there is no such chunk in this workspace's index.
            IndexUnavailable: the index cannot be used now.
        """
        return self._searcher().why(self._index(), query, self._chunk_id(chunk))

    def _chunk_id(self, chunk: str) -> str:
        path, mark, number = chunk.rpartition("#")
        if not mark or not re.fullmatch(r"[0-9]{1,18}", number):
            return chunk
        index = self._index()
        index.database()  # opening it tells how the rows spell the root
        return f"{index.to_index(self.resolve(path))}:{int(number)}"

    def interrupt(self) -> None:
        """Stop a running search from another thread; it ends with nothing found and says so."""
        self._indexes.interrupt()

    def _searcher(self, settings: Settings | None = None) -> Searcher:
        return Searcher(settings or self.settings, self._clock, self._embedder)

    # ── judgements ───────────────────────────────────────────────────────────────────────────────────

    def judged(self, query: str, items: Sequence[Hit | Also]) -> dict[str, bool]:
        """How a person judged rows of this query: chunk id → right (True) or wrong; others are left out.

        Raises:
            MemdeckError: the file of judgements is wrong or cannot be read.
        """
        kept = self._judgements()
        verdicts = ((item.id, kept.judged(query, item, root=self.root)) for item in items)
        return {chunk: verdict for chunk, verdict in verdicts if verdict is not None}

    def judge(self, query: str, item: Hit | Also, good: bool | None) -> str:
        """Write a person's judgement of one row (None takes it back); returns the file it lies in.

        Raises:
            MemdeckError: the file is wrong, changed meanwhile, or cannot be written; it is as it was.
        """
        return str(self._judgements().with_judged(query, item, good, root=self.root).save().path)

    def _judgements(self) -> Judgements:
        from core.evaluation.judgements import Judgements, default_file  # only when somebody judges

        return Judgements.load(default_file(self._environ, self.workspace))

    def evaluate(
        self,
        file: str | None = None,
        options: Options | None = None,
        *,
        progress: Callable[[int, int], object] | None = None,
        cancel: Cancel | None = None,
    ) -> EvalReport:
        """Measure the ranking with judged queries (default: this workspace's own file); changes nothing.

        Raises:
            NotFound: nothing is judged yet.
            MemdeckError: the file is wrong, nothing in it can be measured, or it was stopped.
        """
        from core.evaluation.bench import Subject
        from core.evaluation.entry import evaluate_file

        self.sync()
        places = tuple((root, name, self._index_of(root, name)) for root, name in self._every_workspace())
        subject = Subject(
            self.root, self.workspace, self._index(), places, self.settings, self._embedder, self.now()
        )
        return evaluate_file(subject, file, self._environ, options, progress=progress, cancel=cancel)

    def measure(
        self,
        values: Mapping[str, object],
        profile: str,
        *,
        progress: Callable[[int, int], object] | None = None,
        cancel: Cancel | None = None,
    ) -> EvalReport:
        """Measure settings on trial beside the saved ones, with what was judged or else the shipped set.

        Raises:
            MemdeckError: the judgements are wrong, nothing can be measured, or it was stopped.
        """
        from core.measuring import measure  # only when somebody measures

        return measure(self, values, profile, self._environ, progress=progress, cancel=cancel)

    # ── vectors ──────────────────────────────────────────────────────────────────────────────────────

    def use_embedder(self, embedder: Embedder) -> None:
        """Use this source of vectors instead of the one the settings ask for; it is closed with the memory."""
        self._embedder, self._owns_embedder = embedder, True

    def embedding(self) -> EmbeddingState:
        """Whether vectors can be used for this workspace, how many are missing, and what stands in the way."""
        return self._embedder.state(self._index())

    @property
    def embeds_here(self) -> bool:
        """True when embedding a query sends nothing: it is done on this machine, or not at all."""
        return not self._embedder.endpoint

    def embedding_disclosure(self) -> Disclosure | None:
        """What would be sent where, to be shown before it is confirmed; None when nothing leaves the machine."""
        return self._embedder.disclosure(self._index())

    def allow_embedding(self, shown: Disclosure) -> None:
        """Confirm what was shown: for this root, that endpoint and that model texts may be sent from now on."""
        self._embedder.allow(shown)

    def fill_vectors(
        self,
        *,
        again: bool = False,
        cancel: Cancel | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> FillReport:
        """Embed what has no vector yet; ``again`` starts over when the model or its size changed."""
        return self._embedder.fill(self._index(), again=again, cancel=cancel, progress=progress)

    # ── the index ────────────────────────────────────────────────────────────────────────────────────

    def sync(self) -> SyncReport:
        """Bring this workspace's index in step with its files (returns at once when another holds the claim)."""
        dirty = self._edits.take()
        report = self._index().sync(dirty)
        if report.behind:
            self._edits.give_back(dirty)
        if dirty is None:
            self._edits.follow_links()
        return report

    def sync_everywhere(self) -> tuple[SyncReport, ...]:
        """Bring the index of every workspace in step, making those that are missing."""
        return tuple(self._index_of(root, folder).sync() for root, folder in self._every_workspace())

    def reindex(
        self, rebuild: bool = False, progress: Callable[[int, int], object] | None = None
    ) -> SyncReport:
        """Compare every file by text and drop rows of other workspaces; ``rebuild`` writes the index anew."""
        index = self._index()
        if rebuild:
            return index.rebuild(progress=progress)
        return index.sync(progress=progress, drop_foreign=True, force=True)

    def status(self) -> IndexStatus:
        """The state of this workspace's index."""
        return self._index().status()

    def watch(self, on_change: Callable[[WatchEvent], None]) -> Watcher:
        """Start noticing outside edits; ``on_change`` is called on a thread.  Stopped by ``close``."""
        return self._edits.watch(on_change)

    def _index(self) -> Index:
        return self._index_of(self._root, self.workspace)

    def _index_of(self, root: Root, folder: str) -> Index:
        return self._indexes.of(root, folder)

    def _every_workspace(self) -> list[tuple[Root, str]]:
        return every_workspace(self._roots, (self._root, self.workspace))

    # ── keeping order ────────────────────────────────────────────────────────────────────────────────

    def doctor(self) -> DoctorReport:
        """Look for everything that is not as it should be; changes nothing but a stale index."""
        return doctor_room.examine(
            doctor_room.Patient(
                root=self._root,
                workspace=self.workspace,
                overview=self.overview(),
                indexes=[
                    (root, folder, self._index_of(root, folder))
                    for root, folder in self._every_workspace()
                    if workspace_dir(root, folder) is None or os.path.isdir(workspace_dir(root, folder) or "")
                ],
                settings=self.settings,
                environ=self._environ,
                now=self.now(),
                embedding=self.embedding(),
            )
        )

    def gc(self, remove: bool = False) -> GcReport:
        """Say which workspace folders hold nothing and could go; ``remove`` moves them to the trash."""
        return gc_room.gc(
            self._root,
            current=self.workspace,
            now=self.now(),
            max_age_days=float(self.settings.gc.max_age_days),
            remove=remove,
            state=self._state(),
        )

    def clear_preview(self, what: Scope) -> tuple[str, ...]:
        """The paths that ``clear`` would remove."""
        return clear_room.clear_preview(self._root, self.workspace, what)

    def clear(self, what: Scope) -> Receipt:
        """Move a workspace's Markdown, the global one or both to the trash, and out of every index."""
        return clear_room.clear(
            self._root,
            self.workspace,
            what,
            state=self._state(),
            now=self.now(),
            drop_from_indexes=lambda paths: self._indexes.without_files(
                self._every_workspace(), self._root, paths
            ),
        )

    def _state(self) -> Path:
        return state_dir(self._environ)

    def restore(self, trash: str) -> Receipt:
        """Bring back what a clear or gc moved to a trash folder, and index it again; nothing is overwritten."""
        roots = [str(root.real) for root in self._roots]
        receipt = restore_room.restore(trash, roots=roots, within=self._state() / "roots")
        for root, folder in self._every_workspace():
            index = self._index_of(root, folder)
            if root == self._root and index.exists():
                index.sync()
        return receipt

    def close(self) -> None:
        """Stop watching and close every index."""
        self._edits.stop()
        self._indexes.close()
        if self._owns_embedder:
            self._embedder.close()
