"""Between façade and embed room: which vectors a search may use, consent, and filling in those that are missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import apsw

from core.clock import Clock
from core.embed.consent import ConsentStore, Disclosure, disclosure_of
from core.embed.factory import agent_fingerprint, provider_from
from core.embed.provider import Cancel, Cancelled, EmbeddingError, NoProvider, Provider, RefusedVector, Usage
from core.errors import MemdeckError
from core.index.database import Database
from core.index.passages import passages_of
from core.index.sync import Index
from core.index.vectors import (
    BadVector,
    TextVectors,
    VectorStatus,
    agent_dimensions,
    drop_orphans,
    missing_texts,
    prepare,
    store,
    stored_for,
    vector_status,
)
from core.search.context import VectorQuery
from core.settings import Settings

PASSAGE_LIMIT = 50_000
"""Chunks above which passages get no vectors of their own: they would be gigabytes."""

QUERY_CACHE = 64


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """Whether vectors can be used, and if not, why.

    ``state``: ``none`` (no provider; ``reason`` and ``hint``), ``unconfirmed`` (an endpoint that nobody has
    confirmed yet), ``filling``, ``complete``, ``changed`` (vectors of another model: paused until they are
    made anew), ``failed``.
    """

    state: Literal["none", "unconfirmed", "filling", "complete", "changed", "failed"]
    fingerprint: str = ""
    endpoint: str = ""
    stored: int = 0
    missing: int = 0
    skipped: int = 0
    reason: str = ""
    hint: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class FillReport:
    """What a fill did: texts that got a vector, texts that have none, texts still missing, and what went wrong."""

    stored: int = 0
    skipped: int = 0
    missing: int = 0
    error: str = ""
    hint: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class QueryVector:
    """An embedded query, or why there is none; ``failed``: it was tried."""

    vector: VectorQuery | None = None
    why: str = ""
    failed: bool = False


class Embedder:
    """The provider of one opened memory, shared by its workspaces; made when first asked for."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], *, state: Path, root: Path, clock: Clock
    ) -> None:
        self.settings = settings
        self._environ = environ
        self._state = state
        self._root = root
        self._clock = clock
        self._consent_store: ConsentStore | None = None
        self._lock = threading.Lock()
        self._provider: Provider | NoProvider | None = None
        self._queries: dict[str, bytes | RefusedVector] = {}
        self._failure = ""

    @property
    def provider(self) -> Provider | NoProvider:
        with self._lock:
            if self._provider is None:
                self._provider = provider_from(
                    self.settings, self._environ, allowed=self._allows, clock=self._clock
                )
            return self._provider

    @property
    def _consent(self) -> ConsentStore:
        """Made when first needed: a state folder at a wrong place keeps nobody from searching."""
        if self._consent_store is None:
            self._consent_store = ConsentStore(self._state, self._root, self._clock)
        return self._consent_store

    def _allows(self, endpoint: str, model: str) -> bool:
        return self._consent.allows(endpoint, model)

    def use(self, provider: Provider | NoProvider) -> None:
        """Use this provider instead of the one the settings ask for."""
        with self._lock:
            self._provider = provider
            self._queries.clear()

    def close(self) -> None:
        provider = self._provider
        if provider is not None and not isinstance(provider, NoProvider):
            provider.close()

    @property
    def endpoint(self) -> str:
        """Where texts would be sent, "" when they stay on this machine."""
        provider = self.provider
        return "" if isinstance(provider, NoProvider) else provider.endpoint

    # ── consent ──────────────────────────────────────────────────────────────────────────────────────

    def _model(self, provider: Provider) -> str:
        return provider.fingerprint.split(":", 1)[1].rsplit(":", 1)[0]

    def unconfirmed(self, provider: Provider) -> bool:
        """True when texts would leave this machine and nobody has confirmed that."""
        if not provider.endpoint:
            return False
        try:
            return self._consent.required(provider.endpoint, self._model(provider))
        except MemdeckError:
            return True

    def disclosure(self, index: Index) -> Disclosure | None:
        """What would be sent where, for the person to see before anything is; None: nothing leaves here."""
        provider = self.provider
        database = index.database()
        if isinstance(provider, NoProvider) or not provider.endpoint or database is None:
            return None
        with database.reading() as reader:
            sizes = [
                int(str(row[0]))
                for row in reader.execute("SELECT length(CAST(text AS BLOB)) FROM chunks GROUP BY hash")
            ]
        return disclosure_of(provider.endpoint, self._model(provider), sizes, provider.max_input_bytes)

    def allow(self, shown: Disclosure) -> None:
        """Remember that the person confirmed what they were shown, for this root, endpoint and model."""
        self._consent.give(shown)

    # ── state ────────────────────────────────────────────────────────────────────────────────────────

    def state(self, index: Index) -> EmbeddingState:
        """How far the vectors of an index are, and what stands in their way."""
        provider = self.provider
        if isinstance(provider, NoProvider):
            return EmbeddingState("none", reason=provider.reason, hint=provider.hint)
        database = index.database()
        if database is None:
            return EmbeddingState("failed", reason="the index cannot be used now")
        problem = database.enable_vectors()
        if problem:
            return EmbeddingState("failed", provider.fingerprint, reason=problem)
        try:
            with database.reading() as reader:
                status = vector_status(reader, provider.fingerprint)
                missing = status.missing
                if status.state == "none":
                    row = reader.execute("SELECT count(DISTINCT hash) FROM chunks").fetchone()
                    missing = int(str(row[0])) if row else 0
        except apsw.Error as error:
            return EmbeddingState(
                "failed", provider.fingerprint, reason=f"the index cannot be read ({error})"
            )
        return self._state_of(provider, status, missing)

    def _state_of(self, provider: Provider, status: VectorStatus, missing: int) -> EmbeddingState:
        name: Literal["unconfirmed", "filling", "complete", "changed", "failed"] = (
            "filling" if missing else "complete"
        )
        reason = ""
        if status.state == "changed":
            name = "changed"
            reason = (
                f"the index holds vectors of {status.fingerprint}, the settings say {provider.fingerprint}"
            )
        elif self.unconfirmed(provider):
            name = "unconfirmed"
            reason = f"nothing was sent to {provider.endpoint} yet: it has to be confirmed first"
        elif self._failure:
            name, reason = "failed", self._failure
        return EmbeddingState(
            state=name,
            fingerprint=provider.fingerprint,
            endpoint=provider.endpoint,
            stored=status.stored,
            missing=missing,
            skipped=status.skipped,
            reason=reason,
            usage=provider.usage,
        )

    # ── the query ────────────────────────────────────────────────────────────────────────────────────

    def query(self, database: Database, text: str, arm: Literal["agent", "ours"]) -> QueryVector:
        """Embed a query for one arm: one try, no waiting; any failure leaves the search to text."""
        provider = self.provider
        if arm == "agent":
            wanted = agent_fingerprint(self.settings)
            if wanted is None:
                return QueryVector(why="your agent's settings name no embedding model")
            if isinstance(provider, NoProvider) or provider.fingerprint != wanted:
                return QueryVector(
                    why=f"your agent's vectors are of {wanted}, and memdeck has no provider of it"
                )
        if isinstance(provider, NoProvider):
            return QueryVector(why=provider.reason)
        if self.unconfirmed(provider):
            return QueryVector(why=f"sending to {provider.endpoint} was not confirmed yet")
        problem = database.enable_vectors() or self._unready(database, provider, arm)
        if problem:
            return QueryVector(why=problem)
        if not text.strip():
            return QueryVector(why="there is no query")
        try:
            blob = self._embedded(provider, text)
        except Cancelled:
            return QueryVector(why="embedding the query was stopped")
        except EmbeddingError as error:
            return QueryVector(why=str(error), failed=True)
        if isinstance(blob, RefusedVector):
            return QueryVector(why=f"the query has no vector: {blob.why}")
        return QueryVector(VectorQuery(arm, blob))

    def _embedded(self, provider: Provider, text: str) -> bytes | RefusedVector:
        if text not in self._queries:
            if len(self._queries) >= QUERY_CACHE:
                self._queries.pop(next(iter(self._queries)))
            self._queries[text] = provider.embed([text], patient=False)[0]
        return self._queries[text]

    @staticmethod
    def _unready(database: Database, provider: Provider, arm: Literal["agent", "ours"]) -> str:
        with database.reading() as reader:
            if arm == "agent":
                if not database.has_vectors or agent_dimensions(reader) != provider.dimensions:
                    return "your agent has no vectors of that size in this index"
                return ""
            before, usable = stored_for(reader, provider.fingerprint)
        if before and before != provider.fingerprint:
            return f"paused: the stored vectors are of {before}"
        return "" if usable else "no vectors are stored yet"

    # ── filling ──────────────────────────────────────────────────────────────────────────────────────

    def fill(
        self,
        index: Index,
        *,
        again: bool = False,
        cancel: Cancel | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> FillReport:
        """Embed what has no vector yet, batch by batch, storing each; ``again`` starts over for a new model.

        The claim is never held across a model call.  What was stored stays when it is stopped or fails.
        """
        started = time.perf_counter()
        provider = self.provider
        database = index.database()
        if isinstance(provider, NoProvider):
            return FillReport(error=provider.reason, hint=provider.hint)
        if database is None or database.vector_problem or database.enable_vectors():
            return FillReport(
                error=(database.vector_problem if database else "") or "the index cannot be used now"
            )
        done = skipped = 0
        error = hint = ""
        try:
            with database.writing() as writer:
                if not prepare(writer, provider.fingerprint, provider.dimensions, again=again):
                    return FillReport(
                        error="vectors of another model are stored; search goes on with text alone",
                        hint="Embed again with the new model: `memdeck reindex --vectors --again`.",
                    )
                drop_orphans(writer)
            total = self._missing(database, provider)
            after, new = "", 0
            while True:
                batch = self._next(database, provider, after)
                if not batch:
                    if not after or not new:
                        break  # nothing is missing, or what is, came to nothing in a whole round
                    after, new = "", 0  # what came meanwhile may sort before what was done
                    continue
                stored, refused = self._fill_batch(database, provider, batch, cancel)
                done, skipped = done + stored, skipped + refused
                after, new = batch[-1][0], new + stored + refused
                if progress is not None:
                    progress(min(done + skipped, total), total)
            self._failure = ""
        except Cancelled:
            error = "stopped"
        except (EmbeddingError, BadVector) as failure:
            error, hint = str(failure), failure.hint
            self._failure = error
        except (apsw.BusyError, apsw.LockedError):
            error = "another process is writing to the index; it goes on later"
        except apsw.Error as failure:
            error = f"vectors could not be stored ({failure})"
        return FillReport(
            done, skipped, self._missing(database, provider), error, hint, time.perf_counter() - started
        )

    def _missing(self, database: Database, provider: Provider) -> int:
        try:
            with database.reading() as reader:
                return vector_status(reader, provider.fingerprint).missing
        except apsw.Error:
            return 0

    def _next(self, database: Database, provider: Provider, after: str) -> list[tuple[str, str]]:
        with database.reading() as reader:
            return missing_texts(reader, provider.batch_size, after)

    def _fill_batch(
        self, database: Database, provider: Provider, batch: list[tuple[str, str]], cancel: Cancel | None
    ) -> tuple[int, int]:
        whole = provider.embed([text for _, text in batch], cancel=cancel)
        with_passages = not provider.endpoint and self._small(database)
        items: list[TextVectors] = []
        refused: list[tuple[str, str]] = []
        for (digest, text), vector in zip(batch, whole, strict=True):
            if isinstance(vector, RefusedVector):
                refused.append((digest, vector.why))
                continue
            pieces = passages_of(text) if with_passages else []
            passages = provider.embed(pieces, cancel=cancel) if pieces else []
            items.append(
                TextVectors(digest, vector, tuple(item for item in passages if isinstance(item, bytes)))
            )
        with database.writing() as writer:
            stored = store(writer, items, refused, fingerprint=provider.fingerprint)
        return stored, len(refused)

    @staticmethod
    def _small(database: Database) -> bool:
        """Passages are worth their room only in a memory of a size that a person keeps."""
        with database.reading() as reader:
            row = reader.execute("SELECT max(rowid) FROM chunks").fetchone()
        return row is None or row[0] is None or int(str(row[0])) <= PASSAGE_LIMIT
