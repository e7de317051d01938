"""The controls of the lab, as plain values: what each is, how it steps, and the values that are on trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.settings import Origin, Settings, find_key, with_flags

Kind = Literal["number", "whole", "switch", "choice"]
PROFILE = "profile"
"""The key of the one control that no file holds."""
PROFILE_CHOICES = ("agent", "hybrid", "tuned")
_SEARCH = "memory.search"


@dataclass(frozen=True, slots=True)
class Control:
    """One knob.  ``key`` is its dotted settings key; ``low``/``high`` bound the steps, not what can be typed."""

    key: str
    label: str
    group: str
    kind: Kind = "number"
    step: float = 0.05
    low: float = 0.0
    high: float = 1.0

    @property
    def help(self) -> str:
        """What it does, as a sentence without a full stop."""
        return _PROFILE_HELP if self.key == PROFILE else find_key(self.key).help


_PROFILE_HELP = "the rules that rank: your agent's, the same over memdeck's vectors, or memdeck's own"

CONTROLS: tuple[Control, ...] = (
    Control(PROFILE, "profile", "rules", "choice"),
    Control(f"{_SEARCH}.text_weight", "text", "weights"),
    Control(f"{_SEARCH}.vector_weight", "vector", "weights"),
    Control(f"{_SEARCH}.source_weights.global", "global", "sources", high=10),
    Control(f"{_SEARCH}.source_weights.workspace", "workspace", "sources", high=10),
    Control(f"{_SEARCH}.source_weights.session", "session", "sources", high=10),
    Control(f"{_SEARCH}.temporal_decay.enabled", "decay", "age", "switch"),
    Control(f"{_SEARCH}.temporal_decay.half_life_days", "half-life", "age", step=1, low=1, high=3650),
    Control(f"{_SEARCH}.min_score", "floor", "what is kept"),
    Control(f"{_SEARCH}.mmr.enabled", "mmr", "what is kept", "switch"),
    Control(f"{_SEARCH}.mmr.lambda", "λ", "what is kept"),
    Control(f"{_SEARCH}.max_results", "results", "what is kept", "whole", step=1, low=1, high=50),
)
BY_KEY: dict[str, Control] = {control.key: control for control in CONTROLS}

_TUNED_HAS_ITS_OWN = ("text_weight", "vector_weight", "half_life_days", "min_score")


@dataclass(frozen=True, slots=True)
class Trial:
    """Values laid over the saved ones; what equals the saved value is not kept as changed."""

    saved: Settings
    saved_profile: str = "agent"
    changed: Mapping[str, object] = field(default_factory=dict)

    def saved_value(self, control: Control) -> object:
        return self.saved_profile if control.key == PROFILE else self.saved.value(control.key)

    def value(self, control: Control) -> object:
        return self.changed.get(control.key, self.saved_value(control))

    def is_changed(self, control: Control) -> bool:
        return control.key in self.changed

    def with_value(self, control: Control, value: object) -> Trial:
        others = {key: old for key, old in self.changed.items() if key != control.key}
        if value != self.saved_value(control):
            others[control.key] = value
        return Trial(self.saved, self.saved_profile, others)

    def without(self, control: Control) -> Trial:
        return self.with_value(control, self.saved_value(control))

    def stepped(self, control: Control, direction: int) -> Trial:
        """One step up (1) or down (−1); a switch is on or off, a choice goes round."""
        value = self.value(control)
        if control.kind == "switch":
            return self.with_value(control, direction > 0)
        if control.kind == "choice":
            at = PROFILE_CHOICES.index(str(value)) if value in PROFILE_CHOICES else 0
            return self.with_value(control, PROFILE_CHOICES[(at + direction) % len(PROFILE_CHOICES)])
        assert isinstance(value, int | float)
        return self.with_value(control, _next(control, value, direction))

    def toggled(self, control: Control) -> Trial:
        """The other state of a switch, the next of a choice."""
        return self.stepped(control, -1 if control.kind == "switch" and self.value(control) else 1)

    def typed(self, control: Control, text: str) -> Trial:
        """Take a value as a person typed it.

        Raises:
            SettingsError: it is not one the setting takes.
        """
        text = text.strip().replace(",", ".")
        return self.with_value(control, with_flags(self.saved, {control.key: text}).value(control.key))

    @property
    def profile(self) -> str:
        return str(self.changed.get(PROFILE, self.saved_profile))

    @property
    def values(self) -> dict[str, object]:
        """What a file would hold: every changed setting, by its dotted key."""
        return {key: value for key, value in self.changed.items() if key != PROFILE}

    @property
    def settings(self) -> Settings:
        """The settings to search with."""
        flags = {key: _as_text(value) for key, value in self.values.items()}
        return with_flags(self.saved, flags) if flags else self.saved

    def over(self, saved: Settings, profile: str) -> Trial:
        """The same trial over other saved settings."""
        base = Trial(saved, profile)
        for key, value in self.changed.items():
            base = base.with_value(BY_KEY[key], value)
        return base

    def origin(self, control: Control) -> Origin | None:
        """Where the saved value comes from; None for the profile, which no file holds."""
        return None if control.key == PROFILE else self.saved.origin(control.key)

    def idle(self, control: Control, mode: str = "") -> str:
        """Why a control changes nothing now ("" when it may); ``mode`` is how the last search was made."""
        name = control.key.rsplit(".", 1)[-1]
        if self.profile == "tuned" and name in _TUNED_HAS_ITS_OWN:
            return "no effect: tuned has its own"
        if name in ("text_weight", "vector_weight") and mode.startswith("text") and mode != "text+vectors":
            return "no effect: no vectors in this search"
        if name == "half_life_days" and not self.settings.search.temporal_decay.enabled:
            return "no effect: decay is off"
        if name == "lambda" and not self.settings.search.mmr.enabled:
            return "no effect: mmr is off"
        return ""


def shown(control: Control, value: object) -> str:
    """A value as the lab writes it: ``.70``, ``1.00``, ``30 d``, ``on``, ``hybrid``."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float) and control.kind == "number":
        if control.key.endswith("_days"):
            return f"{value:g} d"
        text = f"{abs(value):.2f}" if abs(value - round(value, 2)) < 1e-9 else f"{abs(value):.4g}"
        text = text[1:] if text.startswith("0.") else text
        return f"−{text}" if value < 0 else text
    return str(value)


def origin_tag(origin: Origin | None) -> str:
    """In a word where a saved value comes from: ``file``, ``assumed``, ``default``, ``env``, ``flag``."""
    if origin is None:
        return "chosen"
    if origin.kind == "default":
        return "assumed" if origin.assumed else "default"
    return {"environment": "env"}.get(origin.kind, origin.kind)


def _next(control: Control, value: float, direction: int) -> float:
    step = control.step
    if control.key.endswith("_days"):
        edge = value if direction > 0 else value - 1e-9
        step = 1 if edge < 14 else 7 if edge < 90 else 30
    if (value >= control.high and direction > 0) or (value <= control.low and direction < 0):
        return value
    moved = min(max(value + direction * step, control.low), control.high)
    return int(moved) if control.kind == "whole" else round(moved, 4)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
