"""Journal room: texts removed for good.  First the record that says so, then the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from core.errors import NotFound, UsageError
from core.journal.disk import refusing
from core.journal.journal import new_record
from core.journal.lines import is_id
from core.journal.model import PURGE, Actor, BadText, PurgeReceipt
from core.journal.objects import salvage

if TYPE_CHECKING:
    from core.journal.journal import Journal

_IDS_A_RECORD = 1_000


def purge(
    journal: Journal, which: Iterable[str] | Callable[[bytes], bool], actor: Actor, reason: str
) -> PurgeReceipt:
    with journal.hold():
        if callable(which):
            chosen, unjudged = _judge(journal, which)
        else:
            chosen, unjudged = _checked(which), []
        records = journal.append(
            [
                new_record(actor, PURGE, "", None, None, reason=reason, purged=tuple(part))
                for part in (chosen[at : at + _IDS_A_RECORD] for at in range(0, len(chosen), _IDS_A_RECORD))
            ]
        )
        removed: list[str] = []
        failed: list[BadText] = []
        for ident in chosen:
            try:
                journal.objects.remove(ident)
            except OSError as error:
                failed.append(BadText(ident, error.strerror or str(error)))
            else:
                removed.append(ident)
        with refusing(journal.folder):
            journal.objects.sweep()
            journal.objects.sync()
    return PurgeReceipt(tuple(removed), tuple(failed), tuple(unjudged), tuple(records))


def _checked(idents: Iterable[str]) -> list[str]:
    chosen = list(dict.fromkeys(idents))
    for ident in chosen:
        if not is_id(ident):
            raise UsageError(f"{ident[:64]!r} is no text's id", data="Nothing was removed.")
    return chosen


def _judge(journal: Journal, wanted: Callable[[bytes], bool]) -> tuple[list[str], list[str]]:
    """(texts to remove, damaged texts that may hold more than could be looked at)."""
    chosen: list[str] = []
    unjudged: list[str] = []
    for ident in journal.objects.all():
        try:
            text, whole = journal.objects.get(ident), True
        except NotFound:
            text, whole = _what_is_left(journal, ident), False
        if wanted(text):
            chosen.append(ident)
        elif not whole:
            unjudged.append(ident)
    return chosen, unjudged


def _what_is_left(journal: Journal, ident: str) -> bytes:
    try:
        return salvage(journal.objects.raw(ident))
    except OSError:
        return b""
