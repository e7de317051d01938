"""Journal room: the journal of one root: every change to its Markdown, in order, with the texts to undo it.

``$MEMDECK_STATE/roots/<hash8>/`` holds ``journal`` (the records), ``objects/`` (the texts), ``journal.index`` (derived),
``locks/journal`` and, if a writer was ever killed in mid-line, ``torn/``.  Opening and asking make no folder
and no file; the first record does.  A :class:`Journal` may be used by several threads, and by any number of
processes at once.
"""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from core.clock import Clock
from core.errors import NotFound, UsageError
from core.journal.disk import LOCK_SECONDS, Disk, Lock, refusing, shown
from core.journal.index import Index, Query
from core.journal.lines import check_path, clip, draft, is_id, parse, seal
from core.journal.log import Log
from core.journal.model import (
    ACTORS,
    BASELINE,
    Actor,
    Change,
    Current,
    Observed,
    PurgeReceipt,
    Record,
    Stamp,
    TextPurged,
    TextStatus,
    UndoPlan,
    Verdict,
)
from core.journal.objects import Objects

_HEX = frozenset("0123456789abcdef")


class Journal:
    """See the module.  Make one with :meth:`open`."""

    def __init__(
        self, folder: Path, clock: Clock, *, network: bool, disk: Disk, lock_seconds: float = LOCK_SECONDS
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.disk = disk
        self.log = Log(folder, disk)
        self.objects = Objects(folder, disk)
        self.index = Index(folder / "journal.index", self.log, network=network)
        self._lock = Lock(folder / "locks" / "journal", disk, seconds=lock_seconds)

    @classmethod
    def open(cls, folder: Path, clock: Clock, *, network: bool = False, disk: Disk | None = None) -> Journal:
        """Open the journal in a root's state folder, which need not be there yet; reads and writes nothing.

        ``network``: the folder lies on a network filesystem, where the index must do without shared memory.
        """
        return cls(folder, clock, network=network, disk=disk or Disk())

    def close(self) -> None:
        self.index.close()

    # Writing

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Keep every other writer and observer out; inside, record a change and make it.

        Without it another process may look between the two, and record an edit back and forth.

        Raises:
            JournalError: the lock cannot be had.
        """
        with contextlib.ExitStack() as stack:
            with refusing(self.folder):
                first = stack.enter_context(self._lock.held())
                if first:
                    self.objects.sweep_once()
                    self.log.mend()
            yield

    def ready(self) -> None:
        """Find out whether the journal can be written, as far as that shows without writing.

        Raises:
            JournalError: it cannot.
        """
        with self.hold(), refusing(self.folder), self.log.end():
            pass

    def record(self, change: Change) -> Record:
        """Record one change, durably, with its texts; see :meth:`record_all`."""
        return self.record_all((change,))[-1]

    def record_all(self, changes: Sequence[Change]) -> tuple[Record, ...]:
        """Record the changes of one step, all or none of them, in order.

        Several get a common ``group`` if they have none.  Where ``before`` is not what the journal last knew
        of a file, somebody else changed it: that is recorded first, as a record of its own by ``external``.
        Returns the records of ``changes`` only.

        Raises:
            JournalError: nothing was recorded; the change must not be made.
            UsageError: a path, an actor or an id that is none, or changes that do not fit together.
        """
        for change in changes:
            check_path(change.path)
            if change.actor not in ACTORS or not change.action:
                raise UsageError(f"{change.actor!r} is no actor, or the action {change.action!r} is none")
        step = secrets.token_hex(8) if len(changes) > 1 else ""
        with self.hold():
            gaps: list[Record] = []
            mine: list[Record] = []
            state: dict[str, str | None] = {}
            for change in changes:
                path, before, after = change.path, self._keep(change.before), self._keep(change.after)
                if path not in state:
                    gaps += self._gap(path, before)
                elif state[path] != before:
                    raise UsageError(
                        f"two changes of one step do not fit together: {shown(path)}",
                        hint="The second must begin with what the first leaves.",
                        data="Nothing was recorded.",
                    )
                state[path] = after
                mine.append(
                    new_record(
                        change.actor,
                        change.action,
                        path,
                        before,
                        after,
                        reason=change.reason,
                        group=change.group or step,
                        undo_of=change.undo_of,
                    )
                )
            # What others did lies before the step, never inside: the step is undone as a whole.
            return tuple(self.append([*gaps, *mine])[len(gaps) :])

    def _keep(self, text: bytes | str | None) -> str | None:
        if isinstance(text, bytes):
            with refusing(self.folder):
                return self.objects.put(text)
        if text is not None and not (is_id(text) and self.objects.has(text)):
            raise UsageError(
                f"the journal has no text {text[:64]!r}",
                hint="Give the bytes themselves.",
                data="Nothing was recorded.",
            )
        return text

    def _gap(self, path: str, before: str | None) -> list[Record]:
        """The record of what somebody else did to a file since the journal last knew it, if they did."""
        was_known, last = self.index.latest(path)
        if before == last and not (before and self.index.purged(before)):
            return []
        first_look = not was_known and not self.index.has_baseline()
        action = BASELINE if first_look else action_for(last, before)
        reason = "found when the next change was made"
        return [new_record("external", action, path, last, before, reason=reason)]

    def append(self, drafts: Sequence[Record]) -> list[Record]:
        """Write records (without id, prev, time) in one go.  Needs :meth:`hold`; texts must be kept already.

        Raises:
            JournalError: nothing was recorded.
        """
        now = self.clock()
        written: list[bytes] = []
        with refusing(self.folder):
            self.objects.sync()
            with self.log.end() as end:
                prev = end.link
                for record in drafts:
                    prev, line = seal(prev, draft(replace(record, time=now, reason=clip(record.reason))))
                    written.append(line)
                if written:
                    self.log.append(end, b"".join(written))
        return [parse(line) for line in written]

    def observe(
        self,
        files: Mapping[str, Stamp],
        read: Callable[[str], bytes],
        *,
        within: Callable[[str], bool] | None = None,
    ) -> Observed:
        """Record, by ``external``, what became of the files since the last known state.

        ``files``: every file there is now, by path relative to the root, with its stamp (taken before this
        call).  ``read`` gives a file's bytes; FileNotFoundError or NotFound: it is not there.  It is called
        for files whose stamp differs from the remembered one, was remembered while the file was younger than
        two seconds, or whose last record says something else; and for those that seem gone.  ``within``
        tells of which known paths ``files`` speaks (all, if None): the others are not taken for gone.
        The first look ever records each file as ``baseline``.

        Raises:
            JournalError: the journal cannot be written; what was recorded until then stays.
        """
        from core.journal.observe import observe

        return observe(self, files, read, within or (lambda path: True))

    def purge(
        self,
        which: Iterable[str] | Callable[[bytes], bool],
        *,
        actor: Actor = "user",
        reason: str = "",
    ) -> PurgeReceipt:
        """Remove texts for good, by id or by what is in them; their records stay and say so.

        What is undone, shown or diffed with such a text is refused from then on.  Texts that belong to no
        record are judged as well, and temporaries of killed writers go in any case.

        Raises:
            JournalError: the purge could not be recorded; nothing was removed.
        """
        from core.journal.purge import purge

        return purge(self, which, actor, reason)

    # Asking

    def history(
        self,
        path: str | None = None,
        actor: str | None = None,
        *,
        since: float | None = None,
        until: float | None = None,
        group: str | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> tuple[Record, ...]:
        """Records, newest first.  ``before``: the id of the last record of the page before.

        ``since`` and ``until`` are in unix seconds, both inclusive.
        """
        if before is not None and not is_id(before):
            raise UsageError(f"{before[:64]!r} is no record's id")
        if path:
            check_path(path)
        query = Query(path, actor, since, until, group)
        return tuple(self.index.records(query, limit, before))

    def find(self, record_id: str) -> Record:
        """The record with this id, or with the one id that begins so (4 hex digits at least).

        Raises:
            NotFound: there is none, or there are several.
        """
        prefix = record_id.lower()
        found = self.index.find(prefix) if 4 <= len(prefix) <= 64 and _HEX.issuperset(prefix) else []
        if len(found) != 1:
            raise NotFound(
                f"{'several records begin' if found else 'no record begins'} with {record_id[:64]!r}",
                hint="memdeck history lists the records with their ids.",
                data="Nothing was changed.",
            )
        return found[0]

    def step(self, record: Record) -> tuple[Record, ...]:
        """All records of the step a record belongs to, oldest first; itself when it stands alone."""
        return tuple(self.index.step(record.group)) if record.group else (record,)

    def undone_by(self, record_id: str) -> Record | None:
        """The record that undid this one last, unless that was undone itself (which may have been undone …)."""
        chain: list[Record] = []
        ident = record_id
        while is_id(ident) and (found := self.index.undoing(ident)):
            chain.append(found[0])
            ident = found[0].id
        return chain[0] if len(chain) % 2 else None

    def text(self, object_id: str) -> bytes:
        """The bytes of a text.

        Raises:
            TextPurged: it was removed on request.
            NotFound: it is not there, or damaged.
        """
        if not is_id(object_id):
            raise NotFound(f"{object_id[:64]!r} is no text's id", data="Nothing was changed.")
        try:
            return self.objects.get(object_id)
        except NotFound:
            if self.index.purged(object_id) and not self.objects.has(object_id):
                raise TextPurged(
                    f"the text {object_id[:12]} was purged",
                    hint="Texts that were purged cannot be had again.",
                    data="Its record stays; the Markdown itself is not touched by this.",
                ) from None
            raise

    def status(self, object_id: str) -> TextStatus:
        """Whether a text is there, was purged, or is missing (it is not looked into)."""
        if is_id(object_id) and self.objects.has(object_id):
            return "kept"
        return "purged" if is_id(object_id) and self.index.purged(object_id) else "missing"

    def state_at(self, time: float) -> dict[str, str]:
        """Path → text id of every file, as far as was recorded at ``time`` (unix seconds)."""
        return self.index.state_at(time)

    def plan_undo(self, record_id: str, current: Current, *, whole_step: bool = True) -> UndoPlan:
        """What each path must get so that a record, with its step, is undone.  Writes nothing.

        Raises:
            NotFound: there is no such record.
        """
        from core.journal.undo import plan_undo

        return plan_undo(self, self.find(record_id), current, whole_step)

    def verify(self) -> Verdict:
        """Walk the chain and read every text; whatever is found, it is in the answer, never raised."""
        from core.journal.verify import verify

        return verify(self)

    def rebuild(self) -> None:
        """Make the index anew from the journal; files are read again at the next look."""
        self.index.rebuild()


def action_for(before: str | None, after: str | None) -> str:
    if before is None:
        return "create"
    return "delete" if after is None else "edit"


def new_record(
    actor: str,
    action: str,
    path: str,
    before: str | None,
    after: str | None,
    *,
    reason: str = "",
    group: str = "",
    undo_of: str = "",
    file_time: float | None = None,
    purged: tuple[str, ...] = (),
) -> Record:
    """A record as yet without id, prev and time."""
    if file_time is not None and not math.isfinite(file_time):
        file_time = None
    return Record("", "", 0.0, actor, action, path, before, after, reason, group, undo_of, file_time, purged)
