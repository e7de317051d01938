"""Changing a setting keeps everything a person wrote, and writes whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import SettingChange, apply, load_settings, set_setting


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def prepare(home: Path, key: str, value: object, agent: bytes | None = None) -> SettingChange:
    if agent is not None:
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_bytes(agent)
    environ = {"HOME": str(home), "MEMDECK_CONFIG": str(home / "own" / "memdeck.toml")}
    return set_setting(load_settings(environ, grok_home=str(home)), key, value)


def written(home: Path, key: str, value: object, agent: bytes | None = None) -> bytes:
    change = prepare(home, key, value, agent)
    apply(change)
    return Path(change.file).read_bytes()


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        (
            b"# mine\n[memory.search]  # tuned\n max_results   =   6   # enough\nmin_score=0.5\n",
            "search.max_results",
            "8",
            b"# mine\n[memory.search]  # tuned\n max_results   =   8   # enough\nmin_score=0.5\n",
        ),
        (
            b"[memory.search]\r\nmax_results = 6\r\n",
            "search.text_weight",
            "1",
            b"[memory.search]\r\nmax_results = 6\r\ntext_weight = 1.0\r\n",
        ),
        (
            b"\xef\xbb\xbf[memory]\nenabled=true",
            "memory.enabled",
            "off",
            b"\xef\xbb\xbf[memory]\nenabled=false",
        ),
        (
            b"[memory]\nenabled = true\n\n[zoo]\nx = 1\n",
            "search.max_results",
            3,
            b"[memory]\nenabled = true\n\n[memory.search]\nmax_results = 3\n\n[zoo]\nx = 1\n",
        ),
        (
            b"memory = { enabled = true }\n",
            "search.mmr.lambda",
            "0.5",
            b"memory = { enabled = true, search = {mmr = {lambda = 0.5}}}\n",
        ),
        (
            b"memory.search.min_score = 0.5\n",
            "search.max_results",
            "3",
            b"memory.search.min_score = 0.5\nmemory.search.max_results = 3\n",
        ),
        (
            b"[memory.search.mmr]\nenabled=true\n[a]\nx=nan\n[memory.search]\nmin_score=0.2\n",
            "search.max_results",
            "3",
            b"[memory.search.mmr]\nenabled=true\n[a]\nx=nan\n[memory.search]\nmin_score=0.2\n"
            b"max_results = 3\n",
        ),
    ],
)
def test_only_the_one_key_changes(home: Path, before: bytes, key: str, value: object, after: bytes) -> None:
    assert written(home, key, value, before) == after


def test_a_key_goes_into_its_own_file(home: Path) -> None:
    agent = prepare(home, "dream.enabled", "false")
    own = prepare(home, "ui.theme", "nord")
    assert Path(agent.file) == home / "config.toml"
    assert Path(own.file) == home / "own" / "memdeck.toml"
    assert written(home, "dream.enabled", "false") == b"[memory.dream]\nenabled = false\n"
    assert written(home, "ui.theme", "nord") == b'[ui]\ntheme = "nord"\n'


def test_new_files_and_folders_are_private(home: Path) -> None:
    written(home, "ui.theme", "nord")
    assert (home / "own").stat().st_mode & 0o777 == 0o700
    assert (home / "own" / "memdeck.toml").stat().st_mode & 0o777 == 0o600


def test_a_binding_with_dots_is_one_quoted_key_unless_it_is_nested_already(home: Path) -> None:
    assert written(home, "keys.app.help", "f1") == b'[keys]\n"app.help" = "f1"\n'
    (home / "own" / "memdeck.toml").write_bytes(b'[keys.app]\nhelp = "f1"\n')
    assert written(home, "keys.app.help", "f2") == b'[keys.app]\nhelp = "f2"\n'


def test_the_preview_shows_before_after_and_only_lines_that_change(home: Path) -> None:
    change = prepare(
        home,
        "search.max_results",
        "8",
        b'[models]\napi_key = "sk-hunter2"\n[memory.search]\nmax_results = 6\nmin_score = 0.5\n',
    )
    assert (change.key, change.before, change.after) == ("memory.search.max_results", "6", "8")
    assert change.diff.splitlines()[2:] == ["@@ -4 +4 @@", "-max_results = 6", "+max_results = 8"]
    assert "hunter2" not in change.diff + repr(change)
    assert (home / "config.toml").read_bytes().count(b"max_results = 6") == 1


def test_the_same_value_changes_nothing(home: Path) -> None:
    change = prepare(home, "search.max_results", "6", b"[memory.search]\nmax_results = 6")
    assert not change.changed and change.diff == ""


def test_pinning_an_assumed_default_is_a_change(home: Path) -> None:
    change = prepare(home, "search.max_results", "6", b"")
    assert change.changed and change.before == "unset"


def test_a_file_that_changed_after_the_preview_is_left_alone(home: Path) -> None:
    change = prepare(home, "search.max_results", "8", b"[memory]\n")
    (home / "config.toml").write_bytes(b"[memory]\nenabled = true\n")
    with pytest.raises(SettingsError, match="changed since") as caught:
        apply(change)
    assert "Nothing was written" in caught.value.data
    assert (home / "config.toml").read_bytes() == b"[memory]\nenabled = true\n"
    assert [file.name for file in home.iterdir()] == ["config.toml"]


def test_a_link_is_written_through_and_the_mode_kept(home: Path) -> None:
    home.mkdir()
    real = home / "dotfiles" / "grok.toml"
    real.parent.mkdir()
    real.write_bytes(b"[memory]\n")
    real.chmod(0o640)
    (home / "config.toml").symlink_to("dotfiles/grok.toml")
    written(home, "memory.enabled", "true")
    assert (home / "config.toml").is_symlink()
    assert real.read_bytes() == b"[memory]\nenabled = true\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in real.parent.iterdir()] == ["grok.toml"]


@pytest.mark.parametrize(
    "key", ["model.api_key", "model.token", "embedding.api-key", "hooks.secret", "api_keys", "model.password"]
)
def test_secrets_are_refused_and_not_repeated(home: Path, key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        prepare(home, key, "sk-hunter2")
    assert "secret" in str(caught.value) and "environment variable" in caught.value.hint
    assert "hunter2" not in f"{caught.value}{caught.value.hint}{caught.value.data}"


def test_a_name_of_a_variable_must_be_a_name(home: Path) -> None:
    with pytest.raises(SettingsError, match="name of an environment variable") as caught:
        prepare(home, "model.api_key_env", "sk-hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "agent", "says"),
    [
        ("search.max_result", "3", None, "there is no setting"),
        ("search.max_results", "many", None, "must be a whole number"),
        ("search.max_results", 2.5, None, "must be a whole number"),
        ("search.mmr.lambda", "1.5", None, "from 0 to 1"),
        ("memory.enabled", "perhaps", None, "must be true or false"),
        ("memory.enabled", "true", b"[memory\n", "is not valid TOML"),
        ("memory.enabled", "true", b"x = '\xff'\n", "is not UTF-8"),
        ("memory.enabled", "true", b"memory = 1\n", "is not a table"),
        ("memory.enabled", "true", b"[[memory]]\nenabled = false\n", "is not a table"),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_written(
    home: Path, key: str, value: object, agent: bytes | None, says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        prepare(home, key, value, agent)
    if agent is not None:
        assert (home / "config.toml").read_bytes() == agent


def test_a_root_of_no_agent_home_has_no_file_for_the_agents_keys(tmp_path: Path) -> None:
    settings = load_settings({"HOME": str(tmp_path)}, grok_home=None)
    with pytest.raises(SettingsError, match="belongs to no agent's home"):
        set_setting(settings, "memory.enabled", "true")


def test_a_name_that_is_none_of_the_themes_is_refused_with_the_nearest(home: Path) -> None:
    with pytest.raises(SettingsError, match=r'ui\.theme is "norrd"; the nearest one there is, is "nord"'):
        prepare(home, "ui.theme", "norrd")
    assert b'theme = "nord"' in written(home, "ui.theme", "nord")


@pytest.mark.parametrize("key", ["nope.key", "embedding.api_key", "ui.token"])
def test_what_could_hold_a_secret_is_no_setting(home: Path, key: str) -> None:
    with pytest.raises(SettingsError, match=r"there is no setting .* none is kept in config files"):
        prepare(home, key, "x")


def test_an_address_with_a_password_is_refused_and_not_repeated(home: Path) -> None:
    with pytest.raises(SettingsError, match="must not hold a user or password") as caught:
        prepare(home, "embedding.base_url", "https://mona:hunter2@host.test/v1")
    assert "hunter2" not in f"{caught.value} {caught.value.hint} {caught.value.data}"
    assert b"host.test/v1" in written(home, "embedding.base_url", "https://host.test/v1")


def test_an_action_is_given_no_empty_key(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"keys\.search\.focus is empty"):
        prepare(home, "keys.search.focus", " , ")


def test_a_weight_may_be_what_the_agent_takes(home: Path) -> None:
    assert b"session = -1.0" in written(home, "search.source_weights.session", "-1")
