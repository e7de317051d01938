"""The settings as plain frozen values: every key, its default, its range and what it means.

This is the one place a default is written.  The table of keys that reading, checking, listing and writing
use is derived from these classes (``keys.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

OriginKind = Literal["flag", "environment", "file", "default"]
Level = Literal["error", "warning", "note"]

ASSUMED = "default, assumed: your agent's build or server may differ"


def _setting(
    default: Any,
    help_text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    clamp: bool = False,
    env: str | None = None,
    choices: tuple[str, ...] = (),
    variable: bool = False,
) -> Any:
    """A field whose metadata says how a value is checked and what it is for.

    ``low``/``high`` are inclusive; ``choices`` are the only texts allowed; ``variable`` means that the value
    names an environment variable (a value that does not is never repeated: it may be the secret itself).
    """
    meta = {
        "help": help_text,
        "low": low,
        "high": high,
        "clamp": clamp,
        "env": env,
        "choices": choices,
        "variable": variable,
    }
    return field(default=default, metadata=meta)


@dataclass(frozen=True, slots=True)
class MemorySwitch:
    """``[memory]``: whether the agent remembers at all, and in which tree."""

    enabled: bool = _setting(False, "the agent keeps and uses memory", env="GROK_MEMORY")
    mode: str = _setting("legacy", "which tree the agent uses: legacy or v2")


@dataclass(frozen=True, slots=True)
class TemporalDecay:
    enabled: bool = _setting(True, "session logs lose score with age")
    half_life_days: float = _setting(30.0, "days after which a log's score is halved; 0 or less: no decay")


@dataclass(frozen=True, slots=True)
class Mmr:
    enabled: bool = _setting(False, "rerank for diversity")
    lambda_: float = _setting(0.7, "1 is relevance alone, 0 diversity alone", low=0, high=1, clamp=True)


SOURCE_WEIGHTS: Mapping[str, float] = MappingProxyType({"workspace": 1.0, "session": 1.0, "global": 1.0})


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """``[memory.search]``, the agent's: what its searches use."""

    max_results: int = _setting(6, "results of one search", low=0)
    min_score: float = _setting(0.7, "the floor: a lower score is not shown to the agent")
    vector_weight: float = _setting(0.7, "weight of the vector similarity", low=0)
    text_weight: float = _setting(0.3, "weight of the text score", low=0)
    recency_decay: float = _setting(0.95, "old form of the decay, used when temporal_decay is off")
    temporal_decay: TemporalDecay = field(default_factory=TemporalDecay)
    mmr: Mmr = field(default_factory=Mmr)
    source_weights: Mapping[str, float] = field(
        default_factory=lambda: SOURCE_WEIGHTS,
        metadata={"help": "multiplier of a source", "low": None, "high": None, "clamp": False, "env": None},
    )


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """``[memory.embedding]``: the agent's embedder; without a model it searches text only."""

    provider: str = _setting("api", "the agent's embedding provider")
    model: str | None = _setting(None, "the agent's embedding model; unset: text only")
    dimensions: int = _setting(1024, "numbers in one vector", low=1)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """``[memory.index]``: the agent's sync ignores it, the shared index always uses 1600/320."""

    max_chunk_chars: int = _setting(1600, "largest chunk; ignored by the agent's sync", low=1)
    chunk_overlap_chars: int = _setting(320, "overlap of chunks; ignored by the agent's sync", low=0)


@dataclass(frozen=True, slots=True)
class InjectionSettings:
    enabled: bool = _setting(True, "memory is put into a session's first turn")
    min_score: float = _setting(0.9, "the floor for the first turn")


@dataclass(frozen=True, slots=True)
class SessionSettings:
    save_on_end: bool = _setting(True, "the agent writes a short log when a session ends")


@dataclass(frozen=True, slots=True)
class WatcherSettings:
    enabled: bool = _setting(True, "outside edits are noticed as they happen")
    stale_claim_secs: int = _setting(60, "seconds after which another's reindex claim is void", low=0)


@dataclass(frozen=True, slots=True)
class GcSettings:
    max_age_days: int = _setting(30, "age at which the agent removes a workspace without sessions", low=0)


@dataclass(frozen=True, slots=True)
class DreamSettings:
    enabled: bool = _setting(True, "the agent dreams by itself")
    min_hours: int = _setting(24, "hours between two dreams", low=0)
    min_sessions: int = _setting(5, "new logs a dream waits for", low=0)
    stale_lock_secs: int = _setting(3600, "seconds after which a dream's lock is void", low=0)
    check_interval_secs: int = _setting(3600, "seconds between two looks at the gates; 0: off", low=0)


@dataclass(frozen=True, slots=True)
class MemoryFlushSettings:
    """``[compaction.memory_flush]``."""

    enabled: bool = _setting(True, "the agent saves what matters before it compacts")
    soft_threshold_tokens: int = _setting(4000, "tokens of headroom that trigger a flush", low=0)
    max_flush_write_chars: int = _setting(8000, "longest text one flush may write", low=0)
    idle_timeout_secs: int = _setting(300, "idle seconds before a flush; 0: off", low=0)
    semantic_dedup_threshold: float = _setting(
        0.92, "similarity above which a flush counts as known", low=0, high=1, clamp=True
    )
    flush_model: str | None = _setting(None, "model of the flush; unset: the session's own")


@dataclass(frozen=True, slots=True)
class OwnEmbedding:
    """``[embedding]``, memdeck's own: what turns texts into vectors for ``hybrid`` and ``tuned``."""

    provider: str = _setting(
        "none", "what makes vectors: none, local or api", choices=("none", "local", "api")
    )
    base_url: str | None = _setting(None, "api: the endpoint, such as https://api.openai.com/v1")
    model: str | None = _setting(None, "api: the embedding model")
    dimensions: int = _setting(1024, "api: numbers in one vector of that model", low=1, high=8192)
    shorten: bool = _setting(False, "api: ask for vectors of `dimensions` (models that can be shortened)")
    key_env: str | None = _setting(
        None, "api: the environment variable that holds the key; unset: no key is sent", variable=True
    )
    max_input_bytes: int = _setting(8000, "api: longer texts are cut here before they are sent", low=64)
    timeout_secs: float = _setting(30.0, "api: seconds one request may take", low=0.1, high=3600)


THEMES = (
    *("memdeck-dark", "memdeck-light", "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light"),
    *("catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula"),
    *("flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn", "rose-pine-moon"),
    *("solarized-dark", "solarized-light", "textual-dark", "textual-light", "tokyo-night"),
)
"""The names the app knows: ours and those Textual brings."""


@dataclass(frozen=True, slots=True)
class UiSettings:
    """``[ui]``, memdeck's own: how the app looks."""

    theme: str = _setting(
        "memdeck-dark", "a theme of memdeck or Textual", env="TEXTUAL_THEME", choices=THEMES
    )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from.

    ``file`` is the config file (kind ``file``), ``name`` the variable or flag (kinds ``environment`` and
    ``flag``); ``assumed`` marks a default of the agent, whose build or server may use another.
    """

    kind: OriginKind
    file: str | None = None
    name: str = ""
    assumed: bool = False

    def __str__(self) -> str:
        if self.kind == "file":
            return self.file or ""
        if self.kind == "environment":
            return f"environment variable {self.name}"
        if self.kind == "flag":
            return f"flag {self.name}"
        return ASSUMED if self.assumed else "default"


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """Something wrong in a config file or variable; the rest of it is used.

    ``file`` is a path (or the variable's name), ``line`` 1-based where it could be found, ``key`` dotted
    ("" when the whole file is meant), ``nearest`` the valid key probably meant, ``message`` a sentence that
    also says what is used instead.
    """

    file: str
    key: str
    message: str
    line: int | None = None
    nearest: str | None = None
    level: Level = "warning"

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of the list of all settings: dotted key, value, where it comes from, what it is for."""

    key: str
    value: object
    origin: Origin
    help: str


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change of one key that has not been written yet.

    ``before`` and ``after`` are the values as a config file writes them (``unset`` when the file does not
    set it); ``diff`` shows only lines that change, so that nothing else a config file holds is printed.
    """

    file: str
    key: str
    before: str
    after: str
    diff: str
    old: bytes | None = field(repr=False, default=None)
    new: bytes = field(repr=False, default=b"")

    @property
    def changed(self) -> bool:
        return self.old != self.new


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, and where each came from.

    ``search`` … ``memory_flush`` are the agent's (``agent_file``, None when this root belongs to no agent
    home), ``own_embedding`` (``[embedding]``), ``ui`` and ``keys`` (binding id → keys, comma-separated) are
    memdeck's own (``own_file``).
    """

    memory: MemorySwitch = field(default_factory=MemorySwitch)
    search: SearchSettings = field(default_factory=SearchSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    initial_injection: InjectionSettings = field(default_factory=InjectionSettings)
    session: SessionSettings = field(default_factory=SessionSettings)
    watcher: WatcherSettings = field(default_factory=WatcherSettings)
    gc: GcSettings = field(default_factory=GcSettings)
    dream: DreamSettings = field(default_factory=DreamSettings)
    memory_flush: MemoryFlushSettings = field(default_factory=MemoryFlushSettings)
    own_embedding: OwnEmbedding = field(default_factory=OwnEmbedding)
    ui: UiSettings = field(default_factory=UiSettings)
    keys: Mapping[str, str] = field(default_factory=dict)
    agent_file: str | None = None
    own_file: str = ""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    problems: tuple[SettingProblem, ...] = ()
    notes: tuple[str, ...] = ()

    def origin(self, key: str) -> Origin:
        """Where the value of a dotted key (``memory.search.min_score``, ``ui.theme``) comes from.

        Short forms without ``memory.`` are taken too.

        Raises:
            SettingsError: no such key; the nearest one is named.
        """
        from core.settings.keys import find_key

        spec = find_key(key)
        if spec.key in self.origins:
            return self.origins[spec.key]
        return Origin("default", assumed=spec.agent)

    def value(self, key: str) -> object:
        """The value of a dotted key; raises like :meth:`origin`."""
        from core.settings.keys import find_key

        return find_key(key).value_in(self)

    def rows(self) -> tuple[SettingRow, ...]:
        """All settings in the order of the files, with value and origin; then the rebound keys."""
        from core.settings.keys import find_key, key_table

        known = [spec.key for spec in key_table()]
        rebound = [f"keys.{binding}" for binding in self.keys]
        return tuple(
            SettingRow(key, self.value(key), self.origin(key), find_key(key).help) for key in known + rebound
        )
