"""Settings: what is right is used, what is wrong is named and never stops the start."""

from __future__ import annotations

import datetime
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from core.errors import SettingsError
from core.settings import (
    ASSUMED,
    SettingProblem,
    Settings,
    find_key,
    key_table,
    load_settings,
    set_setting,
)


class Home:
    """A home folder with the agent's config and memdeck's own, both written as bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.agent = path / ".grok" / "config.toml"
        self.own = path / ".config" / "memdeck" / "config.toml"
        self.environ = {"HOME": str(path), "XDG_CONFIG_HOME": str(path / ".config")}

    def load(self, agent: str | bytes | None = None, own: str | bytes | None = None) -> Settings:
        for file, content in ((self.agent, agent), (self.own, own)):
            if content is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_settings(self.environ, grok_home=str(self.agent.parent))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def only(settings: Settings) -> SettingProblem:
    (problem,) = settings.problems
    return problem


def test_the_defaults_are_the_documented_ones(home: Home) -> None:
    settings = home.load()
    assert settings.problems == () and settings.notes == ()
    listed = {row.key: row.value for row in settings.rows()}
    assert listed == {
        "memory.enabled": False,
        "memory.mode": "legacy",
        "memory.search.max_results": 6,
        "memory.search.min_score": 0.7,
        "memory.search.vector_weight": 0.7,
        "memory.search.text_weight": 0.3,
        "memory.search.recency_decay": 0.95,
        "memory.search.temporal_decay.enabled": True,
        "memory.search.temporal_decay.half_life_days": 30.0,
        "memory.search.mmr.enabled": False,
        "memory.search.mmr.lambda": 0.7,
        "memory.search.source_weights.workspace": 1.0,
        "memory.search.source_weights.session": 1.0,
        "memory.search.source_weights.global": 1.0,
        "memory.embedding.provider": "api",
        "memory.embedding.model": None,
        "memory.embedding.dimensions": 1024,
        "memory.index.max_chunk_chars": 1600,
        "memory.index.chunk_overlap_chars": 320,
        "memory.initial_injection.enabled": True,
        "memory.initial_injection.min_score": 0.9,
        "memory.session.save_on_end": True,
        "memory.watcher.enabled": True,
        "memory.watcher.stale_claim_secs": 60,
        "memory.gc.max_age_days": 30,
        "memory.dream.enabled": True,
        "memory.dream.min_hours": 24,
        "memory.dream.min_sessions": 5,
        "memory.dream.stale_lock_secs": 3600,
        "memory.dream.check_interval_secs": 3600,
        "compaction.memory_flush.enabled": True,
        "compaction.memory_flush.soft_threshold_tokens": 4000,
        "compaction.memory_flush.max_flush_write_chars": 8000,
        "compaction.memory_flush.idle_timeout_secs": 300,
        "compaction.memory_flush.semantic_dedup_threshold": 0.92,
        "compaction.memory_flush.flush_model": None,
        "embedding.provider": "none",
        "embedding.base_url": None,
        "embedding.model": None,
        "embedding.dimensions": 1024,
        "embedding.shorten": False,
        "embedding.key_env": None,
        "embedding.max_input_bytes": 8000,
        "embedding.timeout_secs": 30.0,
        "ui.theme": "memdeck-dark",
    }


def test_a_default_of_the_agent_is_only_assumed(home: Home) -> None:
    settings = home.load("[memory.search]\nmax_results = 9\n")
    assert str(settings.origin("memory.search.min_score")) == ASSUMED
    assert settings.origin("memory.search.min_score").assumed
    assert settings.origin("search.max_results").kind == "file"
    assert str(settings.origin("search.max_results")) == str(home.agent)
    assert str(settings.origin("ui.theme")) == "default"


def test_both_files_are_read_key_by_key(home: Home) -> None:
    settings = home.load(
        """
        [memory]
        enabled = true
        mode = "v2"
        dream.min_hours = 4
        session = { save_on_end = false }
        [memory.search]
        min_score = 0
        source_weights = { session = 0.5 }
        [memory.search.temporal_decay]
        half_life_days = 7
        [compaction.memory_flush]
        flush_model = "small"
        """,
        '[ui]\ntheme = "nord"\n[keys]\n"app.help" = "f1"\nsearch.focus = ["slash", "ctrl+f"]\n',
    )
    assert settings.problems == ()
    assert (settings.memory.enabled, settings.memory.mode) == (True, "v2")
    assert settings.search.min_score == 0.0 and isinstance(settings.search.min_score, float)
    assert dict(settings.search.source_weights) == {"workspace": 1.0, "session": 0.5, "global": 1.0}
    assert settings.search.temporal_decay.half_life_days == 7.0
    assert (settings.dream.min_hours, settings.session.save_on_end) == (4, False)
    assert settings.memory_flush.flush_model == "small"
    assert settings.ui.theme == "nord"
    assert dict(settings.keys) == {"app.help": "f1", "search.focus": "slash,ctrl+f"}
    assert settings.rows()[-1].key == "keys.search.focus"


def test_flag_wins_over_environment_over_file_over_default(home: Home) -> None:
    assert home.load().memory.enabled is False
    settings = home.load("[memory]\nenabled = true\n")
    assert settings.memory.enabled is True
    home.environ["GROK_MEMORY"] = "0"
    settings = home.load()
    assert settings.memory.enabled is False
    assert str(settings.origin("memory.enabled")) == "environment variable GROK_MEMORY"
    settings = load_settings(home.environ, grok_home=str(home.agent.parent), flags={"memory.enabled": "on"})
    assert settings.memory.enabled is True
    assert settings.origin("memory.enabled").kind == "flag"


def test_a_wrong_flag_is_an_error_and_a_wrong_variable_is_a_problem(home: Home) -> None:
    with pytest.raises(SettingsError, match="whole number"):
        load_settings(home.environ, grok_home=None, flags={"search.max_results": "many"})
    home.environ["GROK_MEMORY"] = "perhaps"
    settings = home.load("[memory]\nenabled = true\n")
    assert settings.memory.enabled is True
    assert only(settings).file == "GROK_MEMORY"


@pytest.mark.parametrize(
    ("text", "key", "nearest", "line"),
    [
        ("[memory.search]\n\nmax_result = 3\n", "memory.search.max_result", "memory.search.max_results", 3),
        ("[memory]\nenabeld = true\n", "memory.enabeld", "memory.enabled", 2),
        ("memory.dream.min_hour = 3\n", "memory.dream.min_hour", "memory.dream.min_hours", 1),
        ("[memory.serach]\nmax_results = 3\n", "memory.serach", "memory.search", 1),
        ("[memory]\nmin_score = 0.2\n", "memory.min_score", "memory.search.min_score", 2),
    ],
)
def test_a_wrong_key_names_file_line_and_nearest_key(
    home: Home, text: str, key: str, nearest: str, line: int
) -> None:
    problem = only(home.load(text))
    assert (problem.file, problem.key, problem.nearest, problem.line) == (str(home.agent), key, nearest, line)
    assert str(problem).startswith(f"{home.agent}:{line}: {key} is not a")
    assert f"did you mean {nearest}" in str(problem).replace("[", "").replace("]", "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[memory.search]\nmax_results = "six"\n', 'is "six", but must be a whole number of 0 or more'),
        ("[memory.search]\nmax_results = 6.5\n", "is 6.5, but must be a whole number"),
        ("[memory.search]\nmax_results = true\n", "is true, but must be a whole number"),
        ("[memory.search]\nmax_results = -1\n", "the default 6 is used instead"),
        ("[memory.search]\nmin_score = nan\n", "is nan, but must be a number"),
        ("[memory.search]\nmin_score = inf\n", "the default 0.7 is used instead"),
        ("[memory.dream]\nenabled = 1\n", "is 1, but must be true or false"),
        ("[memory.embedding]\nmodel = 3\n", "is 3, but must be a text"),
        ("[memory.embedding]\ndimensions = 0\n", "a whole number of 1 or more"),
        ("[memory.gc]\nmax_age_days = 1979-05-27\n", "is a date or time"),
        ("memory.search = 3\n", "is 3, but must be a table"),
        ("[[memory.search]]\nmax_results = 3\n", "is a list, but must be a table"),
        ("memory = 1\n", "is 1, but must be a table"),
        ("compaction.memory_flush = 1\n", "is 1, but must be a table"),
    ],
)
def test_a_wrong_value_is_named_and_the_default_used(home: Home, text: str, says: str) -> None:
    settings = home.load(text)
    assert says in str(only(settings))
    assert settings.search == Settings().search and settings.dream == Settings().dream


def test_lambda_and_threshold_are_clamped_with_a_note(home: Home) -> None:
    settings = home.load(
        "[memory.search.mmr]\nlambda = 1.5\n[compaction.memory_flush]\nsemantic_dedup_threshold = -2\n"
    )
    assert settings.search.mmr.lambda_ == 1.0
    assert settings.memory_flush.semantic_dedup_threshold == 0.0
    assert [problem.level for problem in settings.problems] == ["note", "note"]
    assert "1 is used instead" in str(settings.problems[0])


def test_a_half_life_of_nothing_is_carried_with_a_warning(home: Home) -> None:
    settings = home.load("[memory.search.temporal_decay]\nhalf_life_days = 0\n")
    assert settings.search.temporal_decay.half_life_days == 0.0
    assert "nothing decays" in str(only(settings))


def test_tables_of_the_agent_that_are_not_ours_are_its_own_business(home: Home) -> None:
    settings = home.load(
        '[ui]\nyolo = true\n[mcp_servers.x]\ncommand = "y"\n[compaction.pruning]\nenabled = 3\n'
        "[memory.topology]\nshape = 1\n"
    )
    assert settings.problems == ()


def test_an_unknown_key_like_none_of_ours_is_only_noted(home: Home) -> None:
    problem = only(home.load("[memory.search]\nzzzz = 1\n"))
    assert (problem.level, problem.nearest) == ("note", None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[uii]\n", "did you mean [ui]"),
        ("[plugins]\n", "known are ui, keys"),
        ("[ui]\nthme = 'x'\n", "did you mean ui.theme"),
        ("[ui]\ntheme = 3\n", 'the default "memdeck-dark" is used'),
        ("ui = 3\n", "must be a table"),
        ("[keys]\nhelp = 3\n", "the default keys are used"),
        ("[keys]\nhelp = ''\n", "the default keys are used"),
        ("[memory.search]\nmax_results = 3\n", "belongs in"),
        ("[hooks]\nnothing = 1\n", "is not a setting"),
    ],
)
def test_our_own_file_is_checked_whole(home: Home, text: str, says: str) -> None:
    problem = only(home.load(own=text))
    assert says in str(problem) and problem.file == str(home.own)


def test_a_secret_in_our_file_is_named_but_never_repeated(home: Home) -> None:
    problem = only(home.load(own='[model]\napi_key = "sk-hunter2"\n'))
    assert "environment variables only" in str(problem) and "hunter2" not in str(problem)


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b"[memory]\nenabled = tru\n", 2, "is not valid TOML"),
        (b"[memory]\n\nmode = '\xff'\n", 3, "is not UTF-8"),
        (b"x = " + b"[" * 5000, None, "nested too deeply"),
        (b"x = " + b"9" * 6000, None, "is not valid TOML"),
        (b"x\x00", 1, "is not valid TOML"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    home: Home, content: bytes, line: int | None, says: str
) -> None:
    for settings in (home.load(agent=content), home.load(agent="", own=content)):
        problem = only(settings)
        assert (problem.level, problem.line, problem.key) == ("error", line, "")
        assert says in str(problem) and "defaults are used" in str(problem)
        assert settings.search == Settings().search


def test_what_is_not_a_file_is_named(home: Home) -> None:
    home.agent.mkdir(parents=True)
    home.own.parent.mkdir(parents=True)
    os.mkfifo(home.own)
    settings = home.load()
    assert [problem.file for problem in settings.problems] == [str(home.agent), str(home.own)]
    assert "folder" in str(settings.problems[0]) and "regular file" in str(settings.problems[1])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(home: Home) -> None:
    home.load("[memory]\n")
    home.agent.chmod(0)
    assert "Permission denied" in str(only(home.load()))


def test_a_byte_order_mark_and_windows_lines_are_fine(home: Home) -> None:
    settings = home.load(b"\xef\xbb\xbf[memory.search]\r\nmax_results = 3\r\n")
    assert settings.problems == () and settings.search.max_results == 3


def test_a_root_of_no_agent_home_has_the_defaults_and_says_so(home: Home) -> None:
    settings = load_settings(home.environ, grok_home=None)
    assert settings.agent_file is None
    assert "defaults" in settings.notes[0]


def test_unknown_keys_are_refused_with_the_nearest(home: Home) -> None:
    settings = home.load()
    with pytest.raises(SettingsError) as caught:
        settings.origin("search.max_result")
    assert caught.value.hint == "Did you mean memory.search.max_results?"
    with pytest.raises(SettingsError, match="could be several") as caught:
        settings.value("min_score")
    assert "memory.initial_injection.min_score" in caught.value.hint


def test_our_own_file_is_found_through_the_environment_that_is_passed_in() -> None:
    def own(**environ: str) -> str:
        return load_settings({"HOME": "/home/a", **environ}, grok_home=None).own_file

    assert own().startswith("/home/a/") and own().endswith("/memdeck/config.toml")
    assert own(XDG_CONFIG_HOME="/cfg") == "/cfg/memdeck/config.toml"
    assert own(XDG_CONFIG_HOME="relative/is/ignored") == own()
    assert own(MEMDECK_CONFIG="/m.toml") == "/m.toml"
    assert load_settings({"HOME": "/home/a"}, grok_home=None, home="/b").own_file.startswith("/b/")


def test_a_file_nested_without_end_is_survived(home: Home) -> None:
    deep = "[keys." + "a." * 3000 + "a]\nx = 'y'\n"
    assert "must be a text" in str(only(home.load(own=deep)))
    with pytest.raises(SettingsError, match="safely"):
        set_setting(home.load(), "ui.theme", "nord")
    assert home.own.read_text() == deep


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
KEYS = [spec.key for spec in key_table()] + [
    "memory",
    "memory.search",
    "compaction",
    "ui",
    "keys",
    "keys.a.b",
    "zz.y",
]


@examples(max_examples=60, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5)))
def test_no_file_stops_the_start(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    if isinstance(content, dict):
        content = "".join(f"{key} = {toml(value)}\n" for key, value in content.items()).encode()
    home = Home(tmp_path_factory.mktemp("fuzz"))
    loaded = home.load(agent=content, own=content)
    for row in loaded.rows():
        spec = find_key(row.key)
        assert row.value is None or type(row.value).__name__ == spec.kind.partition(" ")[0]
        if isinstance(row.value, float):
            assert math.isfinite(row.value)
    for problem in loaded.problems:
        assert str(problem).startswith(problem.file)


def toml(value: Any) -> str:
    if isinstance(value, bool | int | float | datetime.date):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {toml(item)}" for name, item in value.items()) + "}"
    return json.dumps("" if value is None else value)


def test_reading_settings_loads_nothing_heavy() -> None:
    code = (
        "import sys; from core.settings import load_settings;"
        "load_settings({}, grok_home='/nowhere', home='/nowhere');"
        "heavy = ('tomlkit', 'pydantic', 'textual', 'apsw', 'tomllib', 'difflib');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_integer_of_hundreds_of_digits_is_named_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f"[memory.gc]\nmax_age_days = {'9' * 400}\n")
    settings = load_settings({"HOME": str(tmp_path)}, grok_home=str(tmp_path), home=str(tmp_path))
    assert settings.gc.max_age_days == 30
    assert ["memory.gc.max_age_days" in str(problem) for problem in settings.problems] == [True]
