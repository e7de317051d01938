"""Evaluation room: the arms that are compared — whose rules, which settings, what is left out."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args, get_type_hints

from core.errors import UsageError
from core.search.tuned import TunedParams
from core.searching import PROFILES
from core.settings import Settings, find_key, with_flags

DEPTH = 10
"""Results that are compared when ranking alone is measured."""

BASE = "agent"
"""The arm that the others are compared with."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to answer the queries.

    ``limit`` and ``floor``: None for what the settings say (what one really gets), else ranking alone is
    compared: ``DEPTH`` results whatever they score.  ``without``: parts left out (``ScoringParams``);
    ``embed`` False: no vectors; ``grep``: no search at all, but counting substrings.
    """

    name: str
    what: str
    settings: Settings
    profile: str = "agent"
    tuned: TunedParams = field(default_factory=TunedParams)
    without: frozenset[str] = frozenset()
    embed: bool = True
    limit: int | None = DEPTH
    floor: float | None = 0.0
    grep: bool = False


def standard_arms(settings: Settings, *, vectors: bool) -> tuple[Arm, ...]:
    """The arms of every report; those that need vectors only where there are some."""
    arms = [
        Arm(
            "saved", "your settings, with their floor and number of results", settings, limit=None, floor=None
        ),
        Arm("text only", "the agent's formula over words alone", settings, embed=False),
    ]
    if vectors:
        arms.append(
            Arm("vectors only", "the nearest vectors alone", settings, "hybrid", without=frozenset({"text"}))
        )
    arms.append(Arm(BASE, "what the agent ranks, with its own vectors if it has any", settings))
    if vectors:
        arms.append(Arm("hybrid", "the agent's formula over memdeck's vectors", settings, "hybrid"))
    arms += [
        Arm("tuned", "memdeck's own ranking", settings, "tuned"),
        Arm("grep", "most words of the query as substrings, newest first", settings, grep=True),
    ]
    return tuple(arms)


def variant(text: str, settings: Settings) -> Arm:
    """Read ``NAME=key=value,key=value``: settings by dotted key, ``tuned.<field>``, or ``profile``.

    It is measured as one would get it: with its own floor and number of results.

    Raises:
        UsageError: not of this form, or an unknown profile or field.
        SettingsError: an unknown setting or a wrong value.
    """
    name, equals, rest = text.partition("=")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair.strip()]
    if not name.strip() or not equals or not pairs or not all(key.strip() and eq for key, eq, _ in pairs):
        raise UsageError(
            f"--variant {text!r} is not of the form NAME=key=value,key=value",
            hint="Such as: --variant low=search.min_score=0.4,search.max_results=10",
        )
    arm = Arm(name.strip(), rest.strip(), settings, limit=None, floor=None)
    for key, _, value in pairs:
        arm = with_value(arm, key.strip(), value.strip())
    return arm


def with_value(arm: Arm, key: str, value: str) -> Arm:
    """The arm with one key set, as typed on a command line; a ``tuned.*`` key chooses that profile.

    Raises:
        UsageError: an unknown profile or field.
        SettingsError: an unknown setting or a wrong value.
    """
    if key == "profile":
        if value not in PROFILES:
            raise UsageError(f"there is no profile {value!r}", hint=f"Profiles are {', '.join(PROFILES)}.")
        return replace(arm, profile=value)
    if key.startswith("tuned."):
        changed = _tuned_value(key.removeprefix("tuned."), value)
        return replace(arm, profile="tuned", tuned=replace(arm.tuned, **changed))
    return replace(arm, settings=with_flags(arm.settings, {key: value}))


def value_of(arm: Arm, key: str) -> str:
    """The value a key has in an arm, as one would type it.

    Raises:
        UsageError, SettingsError: as in :func:`with_value`.
    """
    if key == "profile":
        return arm.profile
    if key.startswith("tuned."):
        name = key.removeprefix("tuned.")
        _tuned_kind(name)
        return _typed(getattr(arm.tuned, name))
    return _typed(find_key(key).value_in(arm.settings))


def _typed(value: object) -> str:
    if value is None:
        return "off"
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _tuned_kind(name: str) -> tuple[Any, ...]:
    known = [item.name for item in fields(TunedParams)]
    if name not in known:
        raise UsageError(f"there is no tuned.{name}", hint=f"One of: {', '.join(known)}.")
    kind = get_type_hints(TunedParams)[name]
    return get_args(kind) or (kind,)


def _tuned_value(name: str, text: str) -> dict[str, Any]:
    kinds = _tuned_kind(name)
    word = text.lower()
    try:
        if bool in kinds:
            return {name: {"true": True, "on": True, "false": False, "off": False}[word]}
        if word == "off" and type(None) in kinds:
            return {name: None}
        number = int(word) if int in kinds else float(word)
        if not 0 <= number < float("inf"):
            raise ValueError
    except (ValueError, KeyError):
        wanted = "true or false" if bool in kinds else "a number of 0 or more"
        raise UsageError(f"tuned.{name} cannot be {text!r}", hint=f"It must be {wanted}.") from None
    return {name: number}
