"""Settings: typed values, where each came from, and writes that keep a person's comments and layout."""

from __future__ import annotations

from collections.abc import Mapping

from core.settings.keys import Spec, find_key, key_table, nearest_key
from core.settings.load import load_settings, with_flags
from core.settings.model import (
    ASSUMED,
    DreamSettings,
    EmbeddingSettings,
    GcSettings,
    IndexSettings,
    InjectionSettings,
    MemoryFlushSettings,
    MemorySwitch,
    Mmr,
    Origin,
    OwnEmbedding,
    SearchSettings,
    SessionSettings,
    SettingChange,
    SettingProblem,
    SettingRow,
    Settings,
    TemporalDecay,
    UiSettings,
    WatcherSettings,
)

__all__ = [
    "ASSUMED",
    "DreamSettings",
    "EmbeddingSettings",
    "GcSettings",
    "IndexSettings",
    "InjectionSettings",
    "MemoryFlushSettings",
    "MemorySwitch",
    "Mmr",
    "Origin",
    "OwnEmbedding",
    "SearchSettings",
    "SessionSettings",
    "SettingChange",
    "SettingProblem",
    "SettingRow",
    "Settings",
    "Spec",
    "TemporalDecay",
    "UiSettings",
    "WatcherSettings",
    "apply",
    "find_key",
    "key_table",
    "load_settings",
    "nearest_key",
    "set_setting",
    "set_settings",
    "with_flags",
]


def set_setting(settings: Settings, key: str, value: object) -> SettingChange:
    """Prepare a change of one key, as a diff to look at; see :func:`core.settings.write.set_setting`."""
    from core.settings import write  # tomlkit is imported when something is written, not at the start

    return write.set_setting(settings, key, value)


def set_settings(settings: Settings, values: Mapping[str, object]) -> tuple[SettingChange, ...]:
    """Prepare several keys at once, one change a file; see :func:`core.settings.write.set_settings`."""
    from core.settings import write

    return write.set_settings(settings, values)


def apply(change: SettingChange) -> None:
    """Write a prepared change whole or not at all; see :func:`core.settings.write.apply`."""
    from core.settings import write

    write.apply(change)
