"""Reading the two config files: what is right is used, what is wrong is named, nothing raises."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

from core.errors import SettingsError
from core.settings.keys import (
    OWN_TABLES,
    Spec,
    WrongValue,
    by_key,
    check,
    key_table,
    looks_secret,
    nearest_key,
    parse_text,
    shown,
)
from core.settings.model import Level, Origin, SettingProblem, Settings
from core.store.paths import config_file

_MAX_BYTES = 4_000_000
_DEEPEST = 8  # parts of a binding's id; a file nested without end must not end the app
_SWITCH = {"1": True, "true": True, "0": False, "false": False}
NO_HOME = (
    "this root is not the memory folder of an agent's home, so the agent's defaults are used; "
    "no config.toml of an agent was read"
)


def read_text(path: str) -> str | None:
    """The text of a config file, or None when there is none.

    A byte order mark is dropped.

    Raises:
        SettingsError: unreadable, not a regular file, far too large, or not UTF-8 (with the line).
    """
    data = read_bytes(path)
    if data is None:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"is not UTF-8 (at line {line})") from None


def read_bytes(path: str) -> bytes | None:
    """The bytes of a config file, or None when there is none.

    Raises:
        SettingsError: unreadable, not a regular file, or far too large.
    """
    try:
        with open(path, "rb", opener=_open_regular) as file:
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(f"cannot be read: {reason}") from None
    if len(data) > _MAX_BYTES:
        raise SettingsError(f"cannot be read: larger than {_MAX_BYTES:,} bytes")
    return data


def _open_regular(path: str, flags: int) -> int:
    # O_NONBLOCK: a named pipe in the place of a config file must not hang the start.
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise OSError(0, "a folder, not a file" if stat.S_ISDIR(mode) else "not a regular file")
    return handle


def parse(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        SettingsError: it is not valid TOML; the text names the line.
    """
    if not text:
        return {}
    import tomllib  # only when there is something to parse: most first starts have no file

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SettingsError("is not valid TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, and numbers with thousands of digits
        raise SettingsError(f"is not valid TOML: {str(error)[:200]}") from None


def find_line(text: str, key: str) -> int | None:
    """The 1-based line where a dotted key is set, found by reading headers and ``name =`` lines."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?", line)
        if header:
            table = _bare(header.group(1))
            if table == key:
                return number
            continue
        name = re.match(r"\s*([A-Za-z0-9_.\-\"' ]+?)\s*=", line)
        if name:
            full = f"{table}.{_bare(name.group(1))}" if table else _bare(name.group(1))
            if full == key or key.startswith(f"{full}."):
                return number
    return None


def _bare(name: str) -> str:
    return re.sub(r"[\"'\s]", "", name)


@dataclass(slots=True)
class _Reading:
    """What has been gathered so far."""

    values: dict[str, object] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    problems: list[SettingProblem] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)


class _File:
    """One config file being read into a :class:`_Reading`."""

    def __init__(self, path: str, reading: _Reading) -> None:
        self.path = path
        self.reading = reading
        self.text = ""

    def load(self) -> dict[str, Any]:
        try:
            self.text = read_text(self.path) or ""
            return parse(self.text)
        except SettingsError as error:
            line = re.search(r"at line (\d+)", str(error))
            self.reading.problems.append(
                SettingProblem(
                    self.path,
                    "",
                    f"{error}; the defaults are used instead, the file is left as it is",
                    int(line.group(1)) if line else None,
                    level="error",
                )
            )
            return {}

    def problem(self, key: str, what: str, nearest: str | None = None, level: Level = "warning") -> None:
        line = find_line(self.text, key)
        self.reading.problems.append(SettingProblem(self.path, key, f"{key} {what}", line, nearest, level))

    def take(self, spec: Spec, raw: object) -> None:
        try:
            value = check(spec, raw)
        except WrongValue as error:
            if error.clamped is None:
                default = shown(spec.value_in(_DEFAULTS))
                self.problem(spec.key, f"{error}; the default {default} is used instead")
                return
            value = error.clamped
            self.problem(spec.key, f"{error}; {value:g} is used instead", level="note")
        self.reading.values[spec.key] = value
        self.reading.origins[spec.key] = Origin("file", file=self.path)

    def walk(self, table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        """Every (dotted key, value) below a table whose name begins some known key; others as they are."""
        for name, value in table.items():
            key = f"{prefix}{name}"
            if isinstance(value, dict) and any(known.startswith(f"{key}.") for known in by_key()):
                yield from self.walk(value, f"{key}.")
            else:
                yield key, value


_DEFAULTS = Settings()


def _read_agent(file: _File) -> None:
    document = file.load()
    compaction = document.get("compaction")
    flush = compaction.get("memory_flush") if isinstance(compaction, dict) else None
    for prefix, table in (("memory", document.get("memory")), ("compaction.memory_flush", flush)):
        if table is None:
            continue
        if not isinstance(table, dict):
            file.problem(prefix, f"is {shown(table)}, but must be a table; the defaults are used instead")
            continue
        for key, value in file.walk(table, f"{prefix}."):
            spec = by_key().get(key)
            if spec is not None:
                file.take(spec, value)
            elif isinstance(value, dict):
                _unknown_agent_table(file, key)
            else:
                _unknown_agent_key(file, key, value)
    _warn_half_life(file)


def _agent_tables() -> tuple[str, ...]:
    return tuple({spec.key.rsplit(".", 1)[0]: None for spec in key_table() if spec.agent})


def _unknown_agent_table(file: _File, key: str) -> None:
    # The agent has tables we know nothing of: only one that looks misspelled is worth a word.
    near = nearest_key(key, _agent_tables())
    if near:
        file.problem(key, f"is not a table memdeck knows; did you mean [{near}]? It is ignored", near)


def _unknown_agent_key(file: _File, key: str, value: object) -> None:
    if any(known.startswith(f"{key}.") for known in by_key()):
        file.problem(key, f"is {shown(value)}, but must be a table; the defaults are used instead")
        return
    near = nearest_key(key, tuple(spec.key for spec in key_table() if spec.agent))
    if near:
        file.problem(key, f"is not a setting; did you mean {near}? It is ignored", near)
    else:
        file.problem(key, "is not a setting memdeck knows; it is left alone", level="note")


def _warn_half_life(file: _File) -> None:
    key = "memory.search.temporal_decay.half_life_days"
    half_life = file.reading.values.get(key)
    if isinstance(half_life, float) and half_life <= 0:
        file.problem(key, f"is {half_life:g}, which is not above 0: nothing decays with age")


def _read_own(file: _File, agent_file: str | None) -> None:
    for table, content in file.load().items():
        if table in ("memory", "compaction"):
            where = agent_file or "its agent's config.toml"
            file.problem(table, f"belongs in {where}; it is ignored here")
        elif table not in OWN_TABLES:
            near = nearest_key(table, OWN_TABLES)
            meant = f"did you mean [{near}]? It" if near else f"known are {', '.join(OWN_TABLES)}. It"
            file.problem(table, f"is not a table of memdeck's config; {meant} is ignored", near)
        elif not isinstance(content, dict):
            file.problem(table, f"is {shown(content)}, but must be a table; it is ignored")
        elif table == "keys":
            _read_bindings(file, content, "")
        else:
            _read_own_table(file, table, content)


def _read_own_table(file: _File, table: str, content: Mapping[str, Any]) -> None:
    for key, value in file.walk(content, f"{table}."):
        spec = by_key().get(key)
        if spec is not None:
            file.take(spec, value)
        elif looks_secret(key):
            file.problem(
                key,
                "looks like a secret: memdeck reads secrets from environment variables only. It is ignored",
            )
        else:
            near = nearest_key(key, tuple(spec.key for spec in key_table() if not spec.agent))
            meant = f"did you mean {near}? It" if near else "it"
            file.problem(key, f"is not a setting; {meant} is ignored", near)


def _read_bindings(file: _File, table: Mapping[str, Any], prefix: str) -> None:
    for name, value in table.items():
        binding = f"{prefix}{name}"
        if isinstance(value, dict) and binding.count(".") < _DEEPEST:
            _read_bindings(file, value, f"{binding}.")
        elif isinstance(value, str) and value.strip():
            _bind(file, binding, value)
        elif isinstance(value, list) and value and all(isinstance(key, str) and key.strip() for key in value):
            _bind(file, binding, ",".join(value))
        else:
            file.problem(
                f"keys.{binding}",
                f'is {shown(value)}, but must be a text such as "ctrl+f" or a list of such; '
                "the default keys are used instead",
            )


def _bind(file: _File, binding: str, keys: str) -> None:
    file.reading.keys[binding] = keys
    file.reading.origins[f"keys.{binding}"] = Origin("file", file=file.path)


def _read_environment(environ: Mapping[str, str], reading: _Reading) -> None:
    for spec in key_table():
        raw = environ.get(spec.env, "").strip() if spec.env else ""
        if not raw or spec.env is None:
            continue
        if spec.kind == "bool":
            value: object = _SWITCH.get(raw.lower())
            if value is None:
                message = f"{spec.env} is {shown(raw)}, but must be 1 or 0; it is ignored"
                reading.problems.append(SettingProblem(spec.env, spec.key, message))
                continue
        else:
            value = raw
        reading.values[spec.key] = value
        reading.origins[spec.key] = Origin("environment", name=spec.env)


def _built(values: Mapping[str, object], default: Any, path: tuple[str, ...] = ()) -> Any:
    """The default with ``values`` (by dotted key) put in; untouched parts stay the same objects."""
    changes: dict[str, Any] = {}
    by_path = {spec.path: spec.key for spec in key_table()}
    for item in fields(default):
        old = getattr(default, item.name)
        here = (*path, item.name)
        if is_dataclass(old) and not isinstance(old, type):
            new = _built(values, old, here)
            if new is not old:
                changes[item.name] = new
        elif here in by_path:
            if by_path[here] in values:
                changes[item.name] = values[by_path[here]]
        elif isinstance(old, Mapping):
            parts = {
                name: values[by_path[(*here, name)]]
                for name in old
                if (*here, name) in by_path and by_path[(*here, name)] in values
            }
            if parts:
                changes[item.name] = MappingProxyType({**old, **parts})
    return replace(default, **changes) if changes else default


def load_settings(
    environ: Mapping[str, str],
    *,
    grok_home: str | None,
    home: str | None = None,
    flags: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings: flag > environment > file > default, key by key.

    ``grok_home`` is the agent's home whose ``config.toml`` holds the agent's keys; None means that the root
    belongs to no agent's home, so the agent's defaults hold (a note says so).  ``flags`` maps dotted keys to
    values as typed.

    Never raises over what a file or variable holds: a wrong key, type or file is in ``problems`` and the
    default is used.

    Raises:
        SettingsError: a flag's key or value is wrong.
    """
    own_file = str(config_file({**environ, "HOME": home} if home else environ))
    agent_file = os.path.join(grok_home, "config.toml") if grok_home else None
    reading = _Reading()
    if agent_file:
        _read_agent(_File(agent_file, reading))
    _read_own(_File(own_file, reading), agent_file)
    _read_environment(environ, reading)
    settings: Settings = _built(reading.values, _DEFAULTS)
    settings = replace(
        settings,
        keys=MappingProxyType(reading.keys),
        agent_file=agent_file,
        own_file=own_file,
        origins=MappingProxyType(reading.origins),
        problems=tuple(reading.problems),
        notes=() if agent_file else (NO_HOME,),
    )
    return with_flags(settings, flags) if flags else settings


def with_flags(settings: Settings, flags: Mapping[str, str]) -> Settings:
    """The same settings with values given on the command line, which win over everything else.

    Raises:
        SettingsError: an unknown key or a wrong value.
    """
    from core.settings.keys import find_key

    values: dict[str, object] = {}
    origins = dict(settings.origins)
    for name, text in flags.items():
        spec = find_key(name)
        try:
            values[spec.key] = parse_text(spec, text)
        except WrongValue as error:
            raise SettingsError(f"{spec.key} {error}") from None
        origins[spec.key] = Origin("flag", name=name)
    changed: Settings = _built(values, settings)
    return replace(changed, origins=MappingProxyType(origins))
