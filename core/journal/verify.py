"""Journal room: the walk through all records and all texts that names what is broken, missing or damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.errors import MemdeckError
from core.journal.lines import GENESIS, Broken, fields_of, is_sound, stated_id
from core.journal.log import lines
from core.journal.model import BadText, BrokenLine, Verdict

if TYPE_CHECKING:
    from core.journal.journal import Journal


@dataclass
class _Walk:
    records: int = 0
    broken: list[BrokenLine] = field(default_factory=list)
    unfinished: bool = False
    texts: set[bytes] = field(default_factory=set)  # named by a record
    purged: set[bytes] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def verify(journal: Journal) -> Verdict:
    walk = _Walk()
    try:
        vanished = journal.index.vanished()
    except MemdeckError:
        vanished = ""  # the journal cannot be read: the walk says so
    try:
        with journal.log.reading() as handle:
            if handle is not None:
                _walk_lines(walk, handle)
    except OSError as error:
        walk.problems.append(f"the journal cannot be read: {error.strerror or error}")
    present: set[bytes] = set()
    bad: list[BadText] = []
    for ident in journal.objects.all():
        present.add(bytes.fromhex(ident))
        _state, why = journal.objects.check(ident)
        if why:
            bad.append(BadText(ident, why))
    missing = walk.texts - present - walk.purged
    return Verdict(
        records=walk.records,
        texts=len(present),
        broken=tuple(walk.broken),
        missing=tuple(BadText(ident, "its file is gone") for ident in _hexes(missing)),
        corrupt=(*bad, *journal.objects.foreign()),
        purged=tuple(_hexes(walk.purged)),
        lingering=tuple(_hexes(walk.purged & present)),
        unreferenced=len(present - walk.texts),
        unfinished=walk.unfinished,
        set_aside=journal.log.set_aside(),
        vanished=vanished,
        problems=tuple(walk.problems),
    )


def _walk_lines(walk: _Walk, handle: int) -> None:
    expected: str | None = GENESIS
    for number, (offset, line) in enumerate(lines(handle), start=1):
        if not line.endswith(b"\n"):
            walk.unfinished = True
            if is_sound(line[:-1]):
                walk.broken.append(BrokenLine(number, offset, stated_id(line), "its end was overwritten"))
            return
        try:
            fields = fields_of(line)
        except Broken as error:
            walk.broken.append(BrokenLine(number, offset, stated_id(line), str(error)))
            expected = None  # what comes after a broken line names what that was
            continue
        walk.records += 1
        if expected is not None and fields["prev"] != expected:
            why = "it does not follow the record before it"
            walk.broken.append(BrokenLine(number, offset, fields["id"], why))
        expected = fields["id"]
        for name in ("before", "after"):
            if fields[name] is not None:
                walk.texts.add(bytes.fromhex(fields[name]))
        if fields["after"] is not None:
            walk.purged.discard(bytes.fromhex(fields["after"]))  # it came back
        walk.purged.update(bytes.fromhex(ident) for ident in fields.get("purged", ()))


def _hexes(idents: set[bytes]) -> Iterator[str]:
    return (ident.hex() for ident in sorted(idents))
