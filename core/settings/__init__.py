"""Settings: typed values, where each came from, and writes that keep a person's comments and layout."""

from __future__ import annotations

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
    SearchSettings,
    SessionSettings,
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
    "SearchSettings",
    "SessionSettings",
    "SettingProblem",
    "SettingRow",
    "Settings",
    "Spec",
    "TemporalDecay",
    "UiSettings",
    "WatcherSettings",
    "find_key",
    "key_table",
    "load_settings",
    "nearest_key",
    "with_flags",
]
