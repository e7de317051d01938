"""The table of keys, derived from the settings' classes: names, types, ranges, and checking one value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

from core.errors import SettingsError
from core.settings.model import SOURCE_WEIGHTS, Settings

AGENT_PREFIXES = ("memory.", "compaction.")
OWN_TABLES = ("ui", "keys", "model", "embedding", "search", "hooks")
_SECRET_WORDS = ("key", "token", "secret", "password", "passwd", "credential")
_SECTIONS = {"memory_flush": "compaction.memory_flush", "own_embedding": "embedding"}
# Capitals only: a key pasted in the place of its variable's name is then seldom taken for a name.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_MAX_INT = 2**63 - 1  # what a TOML integer and the agent's numbers hold

_KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text in quotes",
    "str | None": "a text in quotes",
}


@dataclass(frozen=True, slots=True)
class Spec:
    """One key: dotted name in its file, where it sits in :class:`Settings`, kind, range and meaning."""

    key: str
    path: tuple[str, ...]
    kind: str
    help: str
    low: float | None = None
    high: float | None = None
    clamp: bool = False
    env: str | None = None
    choices: tuple[str, ...] = ()
    variable: bool = False

    @property
    def agent(self) -> bool:
        """Whether it lives in the agent's file; else in memdeck's own."""
        return self.key.startswith(AGENT_PREFIXES)

    @property
    def wants(self) -> str:
        """What a value must be, as words: ``a whole number of 0 or more``."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        what = _KINDS[self.kind]
        if self.low is not None and self.high is not None:
            return f"{what} from {self.low:g} to {self.high:g}"
        return what if self.low is None else f"{what} of {self.low:g} or more"

    def value_in(self, settings: Settings) -> object:
        value: Any = settings
        for part in self.path:
            if isinstance(value, Mapping):
                return value.get(part)
            value = getattr(value, part)
        return value


def _walk(values: Any, names: tuple[str, ...], path: tuple[str, ...]) -> list[Spec]:
    specs: list[Spec] = []
    for item in fields(values):
        value = getattr(values, item.name)
        here = (*names, item.name.rstrip("_"))
        if is_dataclass(value):
            specs += _walk(value, here, (*path, item.name))
        elif "help" in item.metadata:
            meta = dict(item.metadata)
            text = meta.pop("help")
            key, at = ".".join(here), (*path, item.name)
            if isinstance(value, Mapping):
                specs += [
                    Spec(f"{key}.{name}", (*at, name), "float", text, **meta) for name in SOURCE_WEIGHTS
                ]
            else:
                specs.append(Spec(key, at, str(item.type), text, **meta))
    return specs


@cache
def key_table() -> tuple[Spec, ...]:
    """Every key of both files, in the order of the settings' classes (free ``keys.*`` apart)."""
    table = []
    for spec in _walk(Settings(), (), ()):
        section = spec.path[0]
        key = _SECTIONS.get(section, section) + spec.key.removeprefix(section)
        if section not in _SECTIONS and section not in ("memory", "ui"):
            key = f"memory.{key}"
        table.append(replace(spec, key=key))
    return tuple(table)


@cache
def by_key() -> Mapping[str, Spec]:
    return {spec.key: spec for spec in key_table()}


def nearest_key(key: str, among: tuple[str, ...] | None = None) -> str | None:
    """The valid key most like ``key`` (by its whole name, else by its last part), or None."""
    import difflib  # only for a wrong key

    names = among if among is not None else tuple(by_key())
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.75)
    if close:
        return close[0]
    tails: dict[str, str] = {}
    for name in names:
        tails.setdefault(name.rsplit(".", 1)[-1], name)
    close = difflib.get_close_matches(key.rsplit(".", 1)[-1], tuple(tails), n=1, cutoff=0.75)
    return tails[close[0]] if close else None


def find_key(key: str) -> Spec:
    """Find a key by its dotted name, or by a short form when only one key ends so.

    Raises:
        SettingsError: unknown or ambiguous; the hint names what was probably meant.
    """
    table = by_key()
    for name in (key, f"memory.{key}", f"compaction.{key}"):
        if name in table:
            return table[name]
    if key.startswith("keys.") and len(key) > len("keys."):
        return Spec(key, ("keys", key.removeprefix("keys.")), "str", "keys of one action, comma-separated")
    ends = [name for name in table if name.endswith(f".{key}")]
    if len(ends) == 1:
        return table[ends[0]]
    if ends:
        raise SettingsError(f"{key!r} could be several settings", hint=f"One of: {', '.join(ends)}.")
    near = nearest_key(key)
    raise SettingsError(
        f"there is no setting {key!r}",
        hint=f"Did you mean {near}?" if near else "`memdeck config get` lists all settings.",
    )


def looks_secret(key: str) -> bool:
    """Whether a key's own name says that its value would be a secret (``api_key``, ``token``)."""
    if key.startswith("keys."):
        return False
    words = key.rsplit(".", 1)[-1].lower().replace("-", "_").split("_")
    return any(word.rstrip("s") in _SECRET_WORDS for word in words) and words[-1] not in ("tokens", "env")


def shown(value: object) -> str:
    """A value as a config file would write it, short enough for a message."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value if len(value) <= 40 else value[:39] + "…"
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, int | float):
        return f"{value}"
    return {"dict": "a table", "list": "a list"}.get(type(value).__name__, "a date or time")


class WrongValue(ValueError):
    """A value that a key cannot take; the text says why, ``clamped`` is what is used instead if it can be."""

    def __init__(self, why: str, clamped: float | None = None) -> None:
        super().__init__(why)
        self.clamped = clamped


def check(spec: Spec, raw: object) -> object:
    """Return ``raw`` as the key's own type, exactly typed as TOML has it.

    Raises:
        WrongValue: another type, out of range, or not finite.
    """
    if spec.kind == "bool":
        fits = isinstance(raw, bool)
    elif spec.kind.startswith("str"):
        fits = isinstance(raw, str)
    elif spec.kind == "int":
        fits = isinstance(raw, int) and not isinstance(raw, bool)
    else:
        fits = isinstance(raw, int | float) and not isinstance(raw, bool)
    if not fits:
        raise WrongValue(f"is {shown(raw)}, but must be {spec.wants}")
    if isinstance(raw, str):
        return _text(spec, raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return raw
    return _in_range(spec, raw)


def _text(spec: Spec, raw: str) -> str:
    if spec.path[0] == "keys" and not raw.replace(",", "").strip():
        raise WrongValue("is empty, but must name one key or several, comma-separated")
    if spec.choices and raw not in spec.choices:
        import difflib  # only for a wrong value

        near = difflib.get_close_matches(raw, spec.choices, n=1)
        if near:
            raise WrongValue(f"is {shown(raw)}; the nearest one there is, is {shown(near[0])}")
        raise WrongValue(f"is {shown(raw)}, but must be {spec.wants}")
    if spec.variable and not _VARIABLE.fullmatch(raw):
        raise WrongValue(
            "must be the name of an environment variable, in capitals; "
            "what it is set to is not shown, for it may be the secret itself"
        )
    return raw


def _in_range(spec: Spec, raw: float) -> float:
    # An integer of hundreds of digits is no float at all, so it is compared before it becomes one.
    if (isinstance(raw, int) and abs(raw) > _MAX_INT) or not math.isfinite(raw) or abs(raw) > _MAX_INT:
        raise WrongValue(f"is {shown(raw)[:40]}, but must be {spec.wants}")
    low, high = spec.low, spec.high
    if (low is not None and raw < low) or (high is not None and raw > high):
        clamped = None
        if spec.clamp and low is not None and high is not None:
            clamped = float(min(max(raw, low), high))
        raise WrongValue(f"is {shown(raw)}, but must be {spec.wants}", clamped)
    return float(raw) if spec.kind == "float" else raw


def parse_text(spec: Spec, text: str) -> object:
    """Read a value typed on a command line as the key's type.

    Raises:
        WrongValue: it is not one.
    """
    if spec.kind.startswith("str"):
        return check(spec, text)
    word = text.strip().lower()
    if spec.kind == "bool":
        if word in ("true", "on", "yes", "1"):
            return True
        if word in ("false", "off", "no", "0"):
            return False
        raise WrongValue(f"is {shown(text)}, but must be {spec.wants}")
    try:
        number: int | float = int(word) if spec.kind == "int" else float(word)
    except ValueError:
        raise WrongValue(f"is {shown(text)}, but must be {spec.wants}") from None
    return check(spec, number)
