"""Evaluation room: a person's file of judgements — loaded, added to, saved with its comments kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import MemdeckError
from core.evaluation.judged import HINT, JudgedQuery, Target, parse
from core.index.chunker import heading_level
from core.rust_text import lines, trim
from core.search.report import Also, Hit
from core.store.paths import config_dir, write_private

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HEADER = """\
# Judged queries: what a search must find, and what it must not.  `memdeck eval` measures the ranking with them.
# A chunk is named by its file and a phrase that it holds.  docs/evaluation.md lists the other keys.
"""
_LONGEST = 120
_MAX_BYTES = 8_000_000


def default_file(environ: Mapping[str, str], workspace: str) -> Path:
    """Where the judgements about a workspace lie: ``judgements/<folder>.toml`` beside the settings."""
    return config_dir(environ) / "judgements" / f"{workspace or 'global'}.toml"


@dataclass(frozen=True, slots=True)
class Judgements:
    """A file of judged queries; ``text`` is what it holds, ``old`` the bytes it was read from (None: no file)."""

    path: Path
    now: float | None = None
    queries: tuple[JudgedQuery, ...] = ()
    text: str = ""
    old: bytes | None = None

    @classmethod
    def load(cls, path: Path) -> Judgements:
        """Read a file; one that is not there yet has no queries.

        Raises:
            UsageError: what it holds is wrong: file, query and key are named.
            MemdeckError: it cannot be read.
        """
        data = _bytes(path)
        if data is None:
            return cls(path)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _unreadable(path, "it is not UTF-8") from None
        now, queries = parse(text, str(path))
        return cls(path, now, queries, text, data)

    def judged(self, query: str, hit: Hit | Also, *, root: str) -> bool | None:
        """How a chunk was judged for a query: good, bad, or None."""
        for item in self.queries:
            if item.text != query or item.as_of is not None:
                continue
            if any(_is_of(target, hit, root) for target in item.find):
                return True
            if any(_is_of(target, hit, root) for target in item.avoid):
                return False
        return None

    def with_judged(self, query: str, hit: Hit | Also, good: bool | None, *, root: str) -> Judgements:
        """The same judgements with a chunk of a result judged good, bad, or (None) no longer judged.

        ``root`` is the memory's root, which paths in the file are relative to.

        Raises:
            MemdeckError: the file is laid out in a way that cannot be edited safely.
        """
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document = tomlkit.parse(self.text or _HEADER)
            _edit(document, query, hit, good, root)
            text = tomlkit.dumps(document)
            now, queries = parse(text, str(self.path))
        except (TOMLKitError, RecursionError) as error:
            raise MemdeckError(
                f"{self.path} cannot be edited: {error}", hint="Edit it by hand.", data="It is as it was."
            ) from None
        return replace(self, now=now, queries=queries, text=text)

    def save(self) -> Judgements:
        """Write the file whole or not at all; what is returned can be edited on.

        Raises:
            MemdeckError: it changed since it was loaded, or cannot be written.
        """
        if _bytes(self.path) != self.old:
            raise MemdeckError(
                f"{self.path} changed since it was read",
                hint="Judge again.",
                data="The file was left as it is; this judgement was not written.",
            )
        data = self.text.encode()
        try:
            write_private(os.path.realpath(self.path), data)
        except OSError as error:
            raise MemdeckError(
                f"{self.path} cannot be written: {error.strerror or error}", data="The file is as it was."
            ) from None
        return replace(self, old=data)


def _bytes(path: Path) -> bytes | None:
    try:
        if path.exists() and not path.is_file():
            raise _unreadable(path, "it is not a file")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from None
    if len(data) > _MAX_BYTES:
        raise _unreadable(path, f"it is larger than {_MAX_BYTES:,} bytes")
    return data


def _unreadable(path: Path, why: str) -> MemdeckError:
    return MemdeckError(f"{path} cannot be read: {why}", hint=HINT)


def distinctive_line(text: str) -> str:
    """The line of a chunk to know it by: the longest that is neither heading nor comment, cut to fit."""
    rows = [trim(line) for line in lines(text)]
    said = [
        row
        for row in rows
        if row and heading_level(row) is None and not row.startswith(("<!--", "[Context:"))
    ]
    return max(said or [row for row in rows if row] or [""], key=len)[:_LONGEST].rstrip()


def relative(path: str, root: str) -> str:
    """A path as a file of judgements names it: relative to the root where it can be."""
    return path[len(root) + 1 :] if path.startswith(f"{root}/") else path


def _is_of(target: Target, hit: Hit | Also, root: str) -> bool:
    """Whether a target means this chunk; a path relative to the workspace ends alike."""
    if hit.path != target.path and not hit.path.endswith(f"/{target.path}"):
        return False
    if target.ordinal is not None:
        return hit.id == f"{hit.path}:{target.ordinal}"
    return target.text in hit.snippet


def _edit(document: TOMLDocument, query: str, hit: Hit | Also, good: bool | None, root: str) -> None:
    import tomlkit

    tables: Any = document.get("query")
    if tables is None:
        tables = tomlkit.aot()
        document["query"] = tables
    place = next(
        (at for at, table in enumerate(tables) if table.get("text") == query and "as_of" not in table), None
    )
    if place is None:
        if good is None:
            return
        made = tomlkit.table()
        made["text"] = query
        made.trivia.indent = "\n"
        tables.append(made)
        place = len(tables) - 1
    found: Any = tables[place]
    for key in ("find", "avoid"):
        _remove(found, key, hit, root)
    if good is not None:
        _add(found, "find" if good else "avoid", hit, root)
    elif not found.get("find") and not found.get("avoid"):
        del tables[place]


def _remove(table: Any, key: str, hit: Hit | Also, root: str) -> None:
    entries = table.get(key)
    if entries is None:
        return
    for place in reversed(range(len(entries))):
        entry = entries[place]
        if "id" in entry:
            path, _, number = str(entry["id"]).rpartition("#" if "#" in str(entry["id"]) else ":")
            target = Target(path, "", ordinal=int(number))
        else:
            target = Target(str(entry["path"]), str(entry["text"]))
        if _is_of(target, hit, root):
            del entries[place]
    if not len(entries):
        del table[key]


def _add(table: Any, key: str, hit: Hit | Also, root: str) -> None:
    import tomlkit
    from tomlkit.items import AoT

    entries = table.get(key)
    if isinstance(entries, AoT):
        entry: Any = tomlkit.table()
    else:
        entry = tomlkit.inline_table()
        if entries is None:
            table[key] = tomlkit.array().multiline(True)
            entries = table[key]
    entry["path"] = relative(hit.path, root)
    entry["text"] = distinctive_line(hit.snippet)
    entries.append(entry)
