"""Journal room: a record as a line of the journal, and the chain through the lines.

A line is ``{"id":"<64 hex>","prev":"<64 hex>",…}``: compact JSON, ASCII only, so that names of any bytes
(surrogates) survive.  ``id`` is the BLAKE3 of the rest of the line as it stands, brace included, and that rest
holds the id of the record before; no text is in it, so the chain stays whole when a text is purged.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from blake3 import blake3

from core.errors import UsageError
from core.journal.disk import shown
from core.journal.model import Record

GENESIS = "0" * 64
"""The ``prev`` of the first record."""

_REASON_LIMIT = 2_000
_HEAD = re.compile(rb'\{"id":"([0-9a-f]{64})",')
_HEAD_LENGTH = len('{"id":"') + 64 + len('",')
_ID = re.compile(r"[0-9a-f]{64}")


class Broken(Exception):
    """A line is not as it was written, with the reason."""


def is_id(value: object) -> bool:
    """Whether ``value`` has the shape of a record's or a text's id."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def hash_of(data: bytes) -> str:
    """The id of a text: BLAKE3, hex."""
    return str(blake3(data).hexdigest())


def check_path(path: str) -> str:
    """Return ``path`` if it is one below a root.

    Raises:
        UsageError: absolute, empty, with ``.``, ``..`` or empty parts, or nothing a file could be named.
    """
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        wrong = True
    else:
        wrong = "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/"))
    if wrong:
        raise UsageError(
            f"{shown(path)!r} is no path below the root",
            hint="The journal takes paths relative to the memory root.",
            data="Nothing was changed.",
        )
    return path


def clip(reason: str) -> str:
    """A reason is a sentence, not a text."""
    return reason if len(reason) <= _REASON_LIMIT else reason[: _REASON_LIMIT - 1] + "…"


def draft(record: Record) -> dict[str, Any]:
    """The fields of a record as they stand in a line, but for ``id`` and ``prev``; empty ones are left out."""
    fields: dict[str, Any] = {
        "time": record.time,
        "actor": record.actor,
        "action": record.action,
        "path": record.path,
        "before": record.before,
        "after": record.after,
    }
    for name in ("reason", "group", "undo_of", "purged"):
        if value := getattr(record, name):
            fields[name] = value
    if record.file_time is not None:
        fields["file_time"] = record.file_time
    return fields


def seal(prev: str, fields: dict[str, Any]) -> tuple[str, bytes]:
    """Return (id, line) of a record that follows ``prev``."""
    content = {"prev": prev, **fields}
    body = json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()
    ident = hash_of(body)
    return ident, b'{"id":"' + ident.encode() + b'",' + body[1:] + b"\n"


def stated_id(line: bytes) -> str:
    """The id a line says it has, sound or not; "" when it says none."""
    match = _HEAD.match(line)
    return match.group(1).decode() if match else ""


def fields_of(line: bytes) -> dict[str, Any]:
    """The fields of a line (its end included or not), checked against its id.

    Raises:
        Broken: it is not as it was written.
    """
    ident = stated_id(line)
    if not ident:
        raise Broken("it does not begin like a record")
    body = b"{" + line[_HEAD_LENGTH:].removesuffix(b"\n")
    if hash_of(body) != ident:
        raise Broken("its content does not match its hash")
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise Broken("it is not JSON") from None
    if not _well_formed(fields):
        raise Broken("it is not a record this version knows")
    fields["id"] = ident
    return fields  # type: ignore[no-any-return]


def _well_formed(fields: Any) -> bool:
    if not isinstance(fields, dict):
        return False
    get = fields.get
    before, after, path = get("before"), get("after"), get("path")
    return (  # written out: a hundred thousand of these make an index anew
        is_id(get("prev"))
        and _number(get("time"))
        and isinstance(get("actor"), str)
        and isinstance(get("action"), str)
        and isinstance(path, str)
        and (before is None or is_id(before))
        and (after is None or is_id(after))
        and isinstance(get("reason", ""), str)
        and isinstance(get("group", ""), str)
        and ("undo_of" not in fields or is_id(fields["undo_of"]))
        and ("file_time" not in fields or _number(fields["file_time"]))
        and ("purged" not in fields or _ids(fields["purged"]))
        and (path.isascii() or _encodable(path))
    )


def _ids(value: object) -> bool:
    return isinstance(value, list) and all(is_id(item) for item in value)


def _number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _encodable(path: str) -> bool:
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def record_from(fields: dict[str, Any]) -> Record:
    """A record from fields that were checked."""
    seen = fields.get("file_time")
    return Record(
        id=fields["id"],
        prev=fields["prev"],
        time=float(fields["time"]),
        actor=fields["actor"],
        action=fields["action"],
        path=fields["path"],
        before=fields["before"],
        after=fields["after"],
        reason=fields.get("reason", ""),
        group=fields.get("group", ""),
        undo_of=fields.get("undo_of", ""),
        file_time=None if seen is None else float(seen),
        purged=tuple(fields.get("purged", ())),
    )


def parse(line: bytes) -> Record:
    """The record of a line.

    Raises:
        Broken: it is not as it was written.
    """
    return record_from(fields_of(line))


def link(line: bytes) -> str:
    """What the record after ``line`` names as ``prev``: its id, or the hash of a line that is broken."""
    try:
        return str(fields_of(line)["id"])
    except Broken:
        return hash_of(line.removesuffix(b"\n"))


def is_sound(line: bytes) -> bool:
    """Whether ``line``, its end not included, is a whole record."""
    try:
        fields_of(line)
    except Broken:
        return False
    return not line.endswith(b"\n")
