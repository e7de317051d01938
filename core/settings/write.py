"""Changing one setting: comments and layout kept, previewed as a diff, written whole or not at all."""

from __future__ import annotations

import copy
import difflib
import os
import re
import tempfile
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from core.errors import SettingsError
from core.safetext import visible
from core.settings.keys import Spec, WrongValue, check, find_key, looks_secret, parse_text, shown
from core.settings.load import parse, read_bytes, read_text
from core.settings.model import SettingChange, Settings

_BOM = b"\xef\xbb\xbf"
_LONE_FEED = re.compile(r"(?<!\r)\n")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNCHANGED = "Nothing was written; the file is as it was."


def set_setting(settings: Settings, key: str, value: object) -> SettingChange:
    """Prepare writing ``value`` (typed, or text as typed by a person) to the one file ``key`` lives in.

    Raises:
        SettingsError: unknown key, wrong value, a secret, a root without an agent's config, or a file that
            cannot be changed safely.
    """
    return set_settings(settings, {key: value})[0]


def set_settings(settings: Settings, values: Mapping[str, object]) -> tuple[SettingChange, ...]:
    """Prepare writing several keys at once: one change, with one diff, for each file concerned.

    ``key``, ``before`` and ``after`` of a change list what it holds, comma-separated.  Raises like
    :func:`set_setting`.
    """
    by_file: dict[str, list[tuple[Spec, object]]] = {}
    for key, value in values.items():
        _refuse_secret(key, value)
        spec = find_key(key)
        wanted = _typed(spec, value)
        file = settings.agent_file if spec.agent else settings.own_file
        if file is None:
            raise SettingsError(
                f"{spec.key} is the agent's setting, and this root belongs to no agent's home",
                hint="Open the root as X/memory, where X holds the agent's config.toml.",
            )
        by_file.setdefault(file, []).append((spec, wanted))
    return tuple(_prepared(file, wanted) for file, wanted in by_file.items())


def _prepared(file: str, values: Sequence[tuple[Spec, object]]) -> SettingChange:
    old = _bytes(file)
    text = new_text = _text(file)
    befores: list[str] = []
    same = True
    for spec, wanted in values:
        document = parse_for_change(file, new_text)
        parts = _parts(spec, document)
        before = _at(document, parts)
        befores.append(shown(before))
        if before == wanted and type(before) is type(wanted):
            continue
        same = False
        try:
            changed = _with_value(file, new_text, parts, wanted)
            _verify(file, document, changed, parts, wanted)
        except RecursionError:
            raise SettingsError(
                f"{file} is nested too deeply to be changed safely", data=_UNCHANGED
            ) from None
        new_text = changed
    new = (_BOM if old and old.startswith(_BOM) else b"") + new_text.encode()
    if same:
        new = old if old is not None else new
    return SettingChange(
        file,
        ", ".join(spec.key for spec, _ in values),
        ", ".join(befores),
        ", ".join(shown(wanted) for _, wanted in values),
        _diff(file, text, new.decode("utf-8-sig")),
        old,
        new,
    )


def apply(change: SettingChange) -> None:
    """Write a prepared change: a temporary file beside the real one, fsync, rename.

    A linked config file is written where it really lies; mode is kept (a new file gets 0600, new folders
    0700).

    Raises:
        SettingsError: the file changed since the preview, or cannot be written; it is then as it was.
    """
    target = Path(os.path.realpath(change.file))
    temporary: str | None = None
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".memdeck-", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(change.new)
            file.flush()
            _keep_mode(target, file.fileno())
            os.fsync(file.fileno())
        if _bytes(change.file) != change.old:
            raise SettingsError(
                f"{change.file} changed since the change was shown", data=_UNCHANGED, hint="Look again."
            )
        Path(temporary).replace(target)
        temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        raise SettingsError(
            f"{change.file} cannot be written: {error.strerror or error}", data=_UNCHANGED
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _keep_mode(target: Path, handle: int) -> None:
    try:
        status = target.stat()
    except FileNotFoundError:
        return  # mkstemp made it 0600
    os.fchmod(handle, status.st_mode & 0o7777)
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(handle, status.st_uid, status.st_gid)
        except PermissionError:
            pass  # only root may give a file away; the person's own file stays readable to them


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_secret(key: str, value: object) -> None:
    advice = "Put the secret into an environment variable; memdeck never writes one to disk."
    if looks_secret(key):
        raise SettingsError(
            f"there is no setting {key!r}, and should it hold a secret: none is kept in config files",
            hint=advice,
        )
    if (
        key.endswith("base_url")
        and isinstance(value, str)
        and "@" in value.partition("//")[2].partition("/")[0]
    ):
        raise SettingsError(f"{key} must not hold a user or password", hint=advice)
    if key.endswith("_env") and not (isinstance(value, str) and _ENV_NAME.fullmatch(value)):
        raise SettingsError(f"{key} must be the name of an environment variable", hint=advice)


def _typed(spec: Spec, value: object) -> object:
    try:
        if isinstance(value, str):
            return parse_text(spec, value)
        return check(spec, value)
    except WrongValue as error:
        raise SettingsError(f"{spec.key} {error}", data=_UNCHANGED) from None


def _bytes(file: str) -> bytes | None:
    try:
        return read_bytes(file) if os.path.lexists(file) else None
    except SettingsError as error:
        raise SettingsError(f"{file} {error}", data=_UNCHANGED) from None


def _text(file: str) -> str:
    try:
        return read_text(file) or ""
    except SettingsError as error:
        raise SettingsError(f"{file} {error}", data=_UNCHANGED, hint="Put it right by hand first.") from None


def parse_for_change(file: str, text: str) -> dict[str, Any]:
    """The values of a file that is about to be changed.

    Raises:
        SettingsError: it is not valid TOML, so a change would be a guess.
    """
    try:
        return parse(text)
    except SettingsError as error:
        raise SettingsError(f"{file} {error}", data=_UNCHANGED, hint="Put it right by hand first.") from None


def _parts(spec: Spec, document: dict[str, Any]) -> tuple[str, ...]:
    if not spec.key.startswith("keys."):
        return tuple(spec.key.split("."))
    # A binding id has dots of its own: one quoted name, unless the file already nests it.
    nested = tuple(spec.key.split("."))
    binding = spec.key.removeprefix("keys.")
    if _at(document, ("keys", binding)) is None and _at(document, nested) is not None:
        return nested
    return ("keys", binding)


def _at(document: Any, parts: tuple[str, ...]) -> object:
    value = document
    for part in parts:
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _with_value(file: str, text: str, parts: tuple[str, ...], value: object) -> str:
    try:
        document = tomlkit.parse(text)
        table: Any = document
        for depth, part in enumerate(parts[:-1]):
            if part not in table and isinstance(table, InlineTable):
                table[part] = tomlkit.inline_table()
            elif part not in table:
                # A table that only leads to another needs no header line of its own.
                table[part] = tomlkit.table(is_super_table=depth < len(parts) - 2)
            table = table[part]
            if not isinstance(table, MutableMapping):
                raise SettingsError(
                    f"{'.'.join(parts[: depth + 1])} in {file} is not a table", data=_UNCHANGED
                )
        _put(table, parts[-1], value)
        result = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise SettingsError(
            f"{file} cannot be changed safely: {str(error)[:200]}", data=_UNCHANGED, hint="Edit it by hand."
        ) from None
    if "\r\n" in text and not _LONE_FEED.search(text):
        result = _LONE_FEED.sub("\r\n", result)
    return _spaced(text, result)


def _spaced(old: str, new: str) -> str:
    """Keep a blank line between a table that was put in and the header after it."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for tag, _, _, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        follows = after[last : last + 1]
        header = any(line.startswith("[") for line in after[first:last])
        if tag == "insert" and header and follows and follows[0].startswith("[") and after[last - 1].strip():
            after.insert(last, "\r\n" if follows[0].endswith("\r\n") else "\n")
            break
    return "".join(after)


def _put(table: Any, name: str, value: object) -> None:
    item = tomlkit.item(value)
    old = table.get(name)
    if old is not None and hasattr(old, "trivia"):
        item.trivia.indent = old.trivia.indent
        item.trivia.comment_ws = old.trivia.comment_ws
        item.trivia.comment = old.trivia.comment
        item.trivia.trail = old.trivia.trail
    table[name] = item


def _verify(file: str, before: dict[str, Any], new_text: str, parts: tuple[str, ...], wanted: object) -> None:
    """Read the new text with another parser: the key has the value, and nothing else moved."""
    expected = copy.deepcopy(before)
    table = expected
    for part in parts[:-1]:
        table = table.setdefault(part, {})
    table[parts[-1]] = wanted
    try:
        same = _canonical(parse(new_text)) == _canonical(expected)
    except SettingsError:
        same = False
    if not same:
        raise SettingsError(
            f"{file} is laid out in a way that cannot be changed safely",
            data=_UNCHANGED,
            hint=f"Set {'.'.join(parts)} = {shown(wanted)} by hand.",
        )


def _canonical(value: object) -> object:
    # Order aside, and exactly: 1 is not 1.0, and nan is itself.
    if isinstance(value, dict):
        return sorted((name, _canonical(content)) for name, content in value.items())
    if isinstance(value, list):
        return [_canonical(content) for content in value]
    return repr(value)


def _diff(file: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), file, f"{file} (new)", lineterm="", n=0)
    return visible("\n".join(lines))
