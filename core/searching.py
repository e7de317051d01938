"""Between façade and search room: settings to parameters, sync before a search, failures into notes."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace

import apsw

from core.clock import Clock
from core.errors import IndexUnavailable, NotFound, UsageError
from core.index.database import Database
from core.index.model import IndexStatus, SyncReport
from core.index.sync import Index
from core.search.candidates import COLUMNS, row_of
from core.search.engine import SearchContext, search_index
from core.search.explain import explain
from core.search.query import Filters, Query, parse_query
from core.search.report import SearchReport, WhyReport
from core.search.scoring import ScoringParams, effective_half_life
from core.settings import Settings
from core.store.layout import is_text_name

PROFILES = ("agent",)
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)
SOURCES = ("global", "workspace", "session")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a face asks for; None keeps the setting.  ``max_age_days`` and ``sources`` narrow."""

    query: str
    profile: str | None = None
    limit: int | None = None
    min_score: float | None = None
    sources: tuple[str, ...] = ()
    max_age_days: float | None = None


@dataclass(frozen=True, slots=True)
class Searcher:
    """Runs a request on one index."""

    settings: Settings
    clock: Clock

    def parse(self, request: SearchRequest) -> Query:
        """Take the request apart.

        Raises:
            UsageError: an unknown profile or source, or a limit below zero.
        """
        profile = request.profile or "agent"
        if profile not in PROFILES:
            raise UsageError(f"there is no profile {profile!r}", hint=f"There is: {', '.join(PROFILES)}.")
        unknown = [source for source in request.sources if source not in SOURCES]
        if unknown:
            raise UsageError(f"there is no source {unknown[0]!r}", hint=f"Sources are {', '.join(SOURCES)}.")
        if request.limit is not None and request.limit < 0:
            raise UsageError("a limit below zero finds nothing", hint="Leave it out, or give 1 or more.")
        if any(
            value is not None and math.isnan(value) for value in (request.min_score, request.max_age_days)
        ):
            raise UsageError(
                "a floor or an age must be a number", hint="Leave it out, or give one such as 0.5."
            )
        query = parse_query(request.query)
        filters = query.filters
        if request.sources:
            filters = replace(filters, sources=tuple(dict.fromkeys((*filters.sources, *request.sources))))
        if request.max_age_days is not None:
            filters = replace(filters, max_age_days=request.max_age_days)
        return replace(query, filters=filters) if filters != Filters() else query

    def params(self, request: SearchRequest) -> ScoringParams:
        """The scoring parameters: the agent's settings, and what the request overrides."""
        search = self.settings.search
        return ScoringParams(
            max_results=search.max_results if request.limit is None else request.limit,
            min_score=search.min_score if request.min_score is None else request.min_score,
            text_weight=search.text_weight,
            vector_weight=search.vector_weight,
            half_life_days=effective_half_life(
                decay_enabled=search.temporal_decay.enabled,
                half_life_days=search.temporal_decay.half_life_days,
                recency_decay=search.recency_decay,
            ),
            source_weights=search.source_weights,
            mmr_enabled=search.mmr.enabled,
            mmr_lambda=search.mmr.lambda_,
        )

    def search(
        self, index: Index, request: SearchRequest, *, sync: bool = True, dirty: Iterable[str] | None = None
    ) -> SearchReport:
        """Sync (unless told not to), then search; what goes wrong ends as an empty reason and notes."""
        query = self.parse(request)
        synced = index.sync(dirty) if sync else None
        for attempt in (1, 2):
            database = index.database()
            if database is None:
                return self._failed(index, query, index.status().reason)
            try:
                with database.reading() as reader:
                    report = search_index(reader, query, self.params(request), self._context(index, database))
                return self._finish(index, database, report, synced)
            except apsw.InterruptError:
                return self._failed(index, query, "the search was stopped", interrupted=True)
            except (apsw.BusyError, apsw.LockedError):
                return self._failed(
                    index, query, "another process is writing to the index; it is tried again"
                )
            except _DAMAGED as error:
                traceback.clear_frames(error.__traceback__)  # statements in there would keep the file open
                if attempt == 1:
                    synced = index.heal(database, str(error))
            except apsw.Error as error:
                return self._failed(index, query, f"the index cannot be read ({error})")
        return self._failed(
            index, query, "the index is damaged and could not be mended; the files are untouched"
        )

    def why(self, index: Index, query: str, chunk_id: str) -> WhyReport:
        """Explain a chunk's place; raises NotFound or IndexUnavailable."""
        request = SearchRequest(query)
        parsed = self.parse(request)
        if not is_text_name(chunk_id):
            raise NotFound("an id that is not UTF-8 is in no index", hint="Ids are PATH:N or PATH#N.")
        index.sync()
        database = index.database()
        if database is None:
            raise IndexUnavailable(f"the index cannot be used: {index.status().reason}")
        try:
            with database.reading() as reader:
                found = reader.execute(
                    f"SELECT {COLUMNS} FROM chunks c WHERE c.id = ?", (chunk_id,)
                ).fetchone()
                if found is None:
                    raise NotFound(
                        f"there is no chunk {chunk_id} in this workspace's index",
                        hint="Ids are PATH:N as `memdeck search --json` prints them, or PATH#N.",
                    )
                context = self._context(index, database)
                return explain(reader, parsed, row_of(found), self.params(request), context)
        except _DAMAGED as error:
            traceback.clear_frames(error.__traceback__)
            index.heal(database, str(error))
            raise IndexUnavailable(
                "the index was damaged and had to be mended",
                data="The files are untouched.",
                hint="Try again.",
            ) from None
        except apsw.Error as error:
            raise IndexUnavailable(
                f"the index cannot be read now ({error})", data="The files are untouched.", hint="Try again."
            ) from None

    def _context(self, index: Index, database: Database) -> SearchContext:
        return SearchContext(
            workspace=index.folder,
            curated_paths=index.curated_paths(database),
            now=self.clock(),
            is_foreign=index.is_foreign,
            notes=index.notes,
        )

    def _finish(
        self, index: Index, database: Database, report: SearchReport, synced: SyncReport | None
    ) -> SearchReport:
        notes = list(report.notes)
        status = _quick_status(index, database, synced)
        if status.state == "behind":
            notes.insert(0, behind_note(status))
        if not database.place.shared and database.place.reason:
            notes.append(f"searched in memdeck's own copy of the index: {database.place.reason}")
        if synced is not None:
            notes += [note for note in synced.notes if note not in notes]
            notes += [problem.message for problem in synced.problems]
        empty = report.empty_reason
        if empty in ("nothing indexed", "no match") and status.behind:
            empty = f"index behind by {status.behind} files"
        foreign = sum(1 for hit in (*report.hits, *report.dropped) if hit.foreign)
        if foreign:
            notes.append(
                f"{foreign} of these rows belong to another workspace; `memdeck reindex` removes them"
            )
        return replace(report, notes=tuple(dict.fromkeys(notes)), status=status, empty_reason=empty)

    def _failed(self, index: Index, query: Query, reason: str, *, interrupted: bool = False) -> SearchReport:
        status = IndexStatus("behind" if interrupted else "failed", "", reason=reason)
        return SearchReport(
            query=query.raw,
            profile="agent",
            mode="text only",
            workspace=index.folder,
            keywords=query.keywords,
            notes=(f"failed: {reason}",),
            empty_reason=f"failed: {reason}",
            status=status,
        )


_LAST_SECOND = 253_402_300_799  # of the year 9999


def behind_note(status: IndexStatus) -> str:
    """The sentence for an index that is behind: by how much, and who holds the claim since when."""
    import datetime as dt

    if status.holder is None:
        return f"index behind by {status.behind} files ({status.behind_why or 'another process is writing'})"
    since = dt.datetime.fromtimestamp(min(status.holder.since, _LAST_SECOND), dt.UTC).strftime("%H:%M:%S UTC")
    return f"index behind by {status.behind} files (pid {status.holder.pid} since {since})"


def _quick_status(index: Index, database: Database, synced: SyncReport | None) -> IndexStatus:
    behind = synced.behind if synced is not None else 0
    holder = synced.holder if synced is not None else None
    state = "behind" if behind else "ready" if database.place.shared else "cached"
    return IndexStatus(
        state=state,  # type: ignore[arg-type]
        path=database.place.path,
        behind=behind,
        holder=holder,
        reason=database.place.reason,
        vectors=database.vector_problem or "sqlite-vec loaded",
        behind_why=synced.behind_why if synced is not None else "",
    )
