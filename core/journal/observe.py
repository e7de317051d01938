"""Journal room: the look at a root: what others did to its files since the last known state."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from core.errors import MemdeckError, NotFound
from core.journal.disk import refusing
from core.journal.index import Known
from core.journal.journal import action_for, new_record
from core.journal.lines import check_path, hash_of
from core.journal.model import BASELINE, Observed, Record, Stamp
from core.store.model import stamp_numbers

if TYPE_CHECKING:
    from core.journal.journal import Journal

BATCH_FILES = 64
"""Files looked at under one hold of the lock: other writers wait for a moment, not for a whole first look."""

RACY_SECONDS = 2.0
"""A file this young may change once more within the same tick of its filesystem's clock."""

Read = Callable[[str], bytes]


@dataclass
class _Look:
    """What one call has found so far."""

    journal: Journal
    files: Mapping[str, Stamp]
    read: Read
    baseline: bool
    records: list[Record] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    read_count: int = 0


def observe(
    journal: Journal, files: Mapping[str, Stamp], read: Read, within: Callable[[str], bool]
) -> Observed:
    known = journal.index.known()
    stamps = {check_path(path): stamp_numbers(*stamp) for path, stamp in files.items()}
    changed = [path for path, stamp in stamps.items() if not _settled(known.get(path), stamp)]
    gone = [
        path for path, one in known.items() if one.object is not None and path not in stamps and within(path)
    ]
    first = not journal.index.has_baseline()
    look = _Look(journal, stamps, read, first)
    # Gone ones first: a file that only moved is found in the batch that has both.
    suspects = iter([*sorted(gone), *sorted(changed)])
    while batch := list(islice(suspects, BATCH_FILES)):
        _look_at(look, batch)
    if first:
        _close_baseline(look)
    return Observed(tuple(look.records), tuple(look.unread), look.read_count, len(stamps) - len(changed))


def _settled(known: Known | None, stamp: Stamp) -> bool:
    """Nothing can have happened: same stamp as when it was read, and no record has spoken of it since."""
    return known is not None and known.stamp == stamp and known.seen == known.object


def _look_at(look: _Look, batch: list[str]) -> None:
    journal = look.journal
    drafts: list[Record] = []
    sights: list[tuple[str, Stamp, str]] = []
    with journal.hold():
        for path, data in _contents(look, batch):
            was_known, last = journal.index.latest(path)
            now = None if data is None else hash_of(data)
            stamp = look.files.get(path)
            if now is not None and stamp is not None and _old_enough(stamp, journal.clock()):
                sights.append((path, stamp, now))
            if now == last:
                continue
            if data is not None:
                with refusing(journal.folder):
                    journal.objects.put(data)
            action = BASELINE if look.baseline and not was_known else action_for(last, now)
            seen = stamp[1] / 1e9 if stamp is not None and now is not None else None
            drafts.append(new_record("external", action, path, last, now, file_time=seen))
        if drafts:
            look.records += journal.append(_with_renames(drafts))
        journal.index.remember(sights)


def _contents(look: _Look, batch: list[str]) -> Iterator[tuple[str, bytes | None]]:
    for path in batch:
        try:
            data = look.read(path)
        except (FileNotFoundError, NotADirectoryError, NotFound):
            yield path, None
        except (OSError, MemdeckError) as error:
            look.unread.append((path, getattr(error, "strerror", None) or str(error)))
        else:
            look.read_count += 1
            yield path, data


def _old_enough(stamp: Stamp, now: float) -> bool:
    return abs(now - stamp[1] / 1e9) >= RACY_SECONDS


def _with_renames(drafts: list[Record]) -> list[Record]:
    """A file gone and a new one with the same text, found together, are one that was renamed."""
    gone = {one.before: number for number, one in enumerate(drafts) if one.action == "delete"}
    result = list(drafts)
    for number, one in enumerate(drafts):
        if one.action == "create" and (other := gone.pop(one.after, None)) is not None:
            group = secrets.token_hex(8)
            old = drafts[other]
            for place, record in ((other, old), (number, one)):
                result[place] = new_record(
                    "external",
                    "rename",
                    record.path,
                    record.before,
                    record.after,
                    reason=f"{old.path!a} → {one.path!a}",
                    group=group,
                    file_time=record.file_time,
                )
    return result


def _close_baseline(look: _Look) -> None:
    """One record about the whole root, after which what is new was created."""
    journal = look.journal
    with journal.hold():
        if not journal.index.has_baseline():
            reason = f"first look: {len(look.files)} files"
            look.records += journal.append([new_record("external", BASELINE, "", None, None, reason=reason)])
