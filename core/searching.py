"""Between façade and search room: settings to parameters, sync before a search, failures into notes."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import apsw

from core.clock import LAST_SECOND, Clock
from core.embed.factory import agent_fingerprint
from core.embedding import Embedder, QueryVector
from core.errors import IndexUnavailable, NotFound, UsageError
from core.index.database import Database
from core.index.indexer import record_access
from core.index.model import IndexStatus, SyncReport
from core.index.stems import bring_in_step
from core.index.sync import Index
from core.search.candidates import COLUMNS, row_of
from core.search.engine import SearchContext, search_index
from core.search.explain import explain
from core.search.query import Filters, Query, parse_query
from core.search.report import SearchReport, WhyReport
from core.search.scoring import ScoringParams, effective_half_life
from core.search.tuned import TunedParams
from core.settings import Settings
from core.store.layout import is_text_name
from core.wording import plural

PROFILES = ("agent", "hybrid", "tuned")
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)
SOURCES = ("global", "workspace", "session")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a face asks for; None keeps the setting.  ``max_age_days`` and ``sources`` narrow.

    ``min_age_days`` leaves out what is younger.  ``embed`` False: the query is not embedded (yet), whatever the
    profile.
    """

    query: str
    profile: str | None = None
    limit: int | None = None
    min_score: float | None = None
    sources: tuple[str, ...] = ()
    max_age_days: float | None = None
    embed: bool = True
    min_age_days: float | None = None

    @property
    def chosen_profile(self) -> str:
        return self.profile or "agent"


@dataclass(frozen=True, slots=True)
class Searcher:
    """Runs a request on one index.  Without an ``embedder`` every profile searches text alone.

    ``without``: parts left out to measure what they are worth (see ``ScoringParams``).
    """

    settings: Settings
    clock: Clock
    embedder: Embedder | None = None
    tuned: TunedParams = field(default_factory=TunedParams)
    without: frozenset[str] = frozenset()

    def parse(self, request: SearchRequest) -> Query:
        """Take the request apart.

        Raises:
            UsageError: an unknown profile or source, or a limit below zero.
        """
        profile = request.chosen_profile
        if profile not in PROFILES:
            raise UsageError(f"there is no profile {profile!r}", hint=f"Profiles are {', '.join(PROFILES)}.")
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
        if request.min_age_days is not None:
            filters = replace(filters, min_age_days=request.min_age_days)
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
            without=self.without,
        )

    def search(
        self, index: Index, request: SearchRequest, *, sync: bool = True, dirty: Iterable[str] | None = None
    ) -> SearchReport:
        """Sync (unless told not to), then search; what goes wrong ends as an empty reason and notes."""
        query = _under(index, self.parse(request))
        # An index that was removed or replaced meanwhile knows nothing, or something else than the files.
        synced = index.sync(dirty if sync else None) if sync or index.swapped_now() else None
        if synced is not None and synced.failed:  # whoever holds the index was waited for once
            return self._failed(index, query, request.chosen_profile, synced.failed)
        for attempt in (1, 2):
            database = index.database()
            if database is None:
                return self._failed(index, query, request.chosen_profile, index.status().reason)
            try:
                context = self._context(index, database, request, query)
                with database.reading() as reader:
                    report = search_index(reader, query, self.params(request), context)
                return self._finish(index, database, query, report, synced)
            except apsw.InterruptError:
                return self._failed(
                    index, query, request.chosen_profile, "the search was stopped", interrupted=True
                )
            except (apsw.BusyError, apsw.LockedError):
                return self._failed(
                    index,
                    query,
                    request.chosen_profile,
                    "another process is writing to the index; it is tried again",
                )
            except _DAMAGED as error:
                traceback.clear_frames(error.__traceback__)  # statements in there would keep the file open
                if attempt == 1:
                    synced = index.heal(database, str(error))
            except apsw.Error as error:
                return self._failed(
                    index, query, request.chosen_profile, f"the index cannot be read ({error})"
                )
        return self._failed(
            index,
            query,
            request.chosen_profile,
            "the index is damaged and could not be mended; the files are untouched",
        )

    def recall(self, index: Index, request: SearchRequest) -> SearchReport:
        """An agent's search: the same, and each hit is counted as recalled, which lifts it the next time."""
        report = self.search(index, request)
        database = index.database()
        if database is not None and report.hits and report.mode != "newest":
            try:
                with database.writing() as writer:
                    record_access(writer, [hit.id for hit in report.hits], int(self.clock()))
            except apsw.Error as error:
                return replace(report, notes=(*report.notes, f"the recall could not be counted ({error})"))
        return report

    def why(self, index: Index, query: str | SearchRequest, chunk_id: str, *, sync: bool = True) -> WhyReport:
        """Explain a chunk's place in a search; raises NotFound or IndexUnavailable."""
        request = SearchRequest(query) if isinstance(query, str) else query
        parsed = _under(index, self.parse(request))
        if not is_text_name(chunk_id):
            raise NotFound("an id that is not UTF-8 is in no index", hint="Ids are PATH:N or PATH#N.")
        if sync:
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
                context = self._context(index, database, request, parsed)
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

    def _context(
        self, index: Index, database: Database, request: SearchRequest, query: Query
    ) -> SearchContext:
        profile = request.chosen_profile
        notes = list(index.notes)
        if profile == "hybrid" and agent_fingerprint(self.settings) is None:
            notes.append("your agent: text only; this is the same formula over memdeck's vectors")
        if profile == "tuned":
            notes.append("tuned: not what your agent gets")
            bring_in_step(database)
        usual = self.settings.search.max_results
        if request.limit is not None and request.limit != usual and query.text:
            notes.append(
                f"at most {request.limit} results: the rules look at 3 × as many candidates, so scores and order "
                f"can differ from those of the usual {usual}"
            )
        asked = self._query_vector(database, request, query)
        return SearchContext(
            workspace=index.folder,
            curated_paths=index.curated_paths(database),
            now=self.clock(),
            profile=profile,
            is_foreign=index.is_foreign,
            notes=tuple(notes),
            vector=asked.vector,
            no_vector=asked.why,
            vector_failed=asked.failed,
            tuned=self.tuned,
            floor_given=request.min_score is not None,
            limit_given=request.limit is not None,
        )

    def _query_vector(self, database: Database, request: SearchRequest, query: Query) -> QueryVector:
        if self.embedder is None:
            return QueryVector(why="no embedding provider is configured")
        arm: Literal["agent", "ours"] = "agent" if request.chosen_profile == "agent" else "ours"
        if arm == "agent" and agent_fingerprint(self.settings) is None:
            return QueryVector(why="your agent's settings name no embedding model")
        if not query.text:
            return QueryVector(why="there is no query")
        if not request.embed:
            return QueryVector(why="the query is embedded on Enter")
        return self.embedder.query(database, query.text, arm)

    def _finish(
        self,
        index: Index,
        database: Database,
        query: Query,
        report: SearchReport,
        synced: SyncReport | None,
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
            empty = f"index behind by {plural(status.behind, 'file')}"
        foreign = sum(1 for hit in (*report.hits, *report.dropped) if hit.foreign)
        if foreign:
            notes.append(
                f"{plural(foreign, 'of these rows belongs', 'of these rows belong')} to another workspace; `memdeck reindex` removes "
                "them"
            )
        return replace(
            report,
            notes=tuple(dict.fromkeys(notes)),
            status=status,
            empty_reason=empty,
            warnings=query.warnings,
        )

    def _failed(
        self, index: Index, query: Query, profile: str, reason: str, *, interrupted: bool = False
    ) -> SearchReport:
        status = IndexStatus("behind" if interrupted else "failed", "", reason=reason)
        return SearchReport(
            query=query.raw,
            profile=profile,
            mode="text only",
            workspace=index.folder,
            keywords=query.keywords,
            notes=(f"failed: {reason}",),
            empty_reason=f"failed: {reason}",
            status=status,
        )


def _under(index: Index, query: Query) -> Query:
    """The query for one index: a path filter means what follows the root, as this index spells it."""
    if not query.filters.paths:
        return query
    return replace(query, filters=replace(query.filters, under=index.spelling))


def behind_note(status: IndexStatus) -> str:
    """The sentence for an index that is behind: by how much, and who holds the claim since when."""
    import datetime as dt

    if status.holder is None:
        return f"index behind by {plural(status.behind, 'file')} ({status.behind_why or 'another process is writing'})"
    since = dt.datetime.fromtimestamp(min(status.holder.since, LAST_SECOND), dt.UTC).strftime("%H:%M:%S UTC")
    return f"index behind by {plural(status.behind, 'file')} (pid {status.holder.pid} since {since})"


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
