"""Settings saved and put back: one diff a file, comments kept, byte for byte, never over somebody else's edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import SettingsError
from core.memory import Memory

CONFIG = """\
# How my agent remembers.
[memory.search]
min_score = 0.7   # the floor
max_results = 6

[model]
name = "something of the agent's own"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    (made / ".grok" / "memory" / "widgets-a3f7b2c9").mkdir(parents=True)
    (made / ".grok" / "memory" / "widgets-a3f7b2c9" / "MEMORY.md").write_text("# Auth\ntokens\n")
    (made / ".grok" / "config.toml").write_bytes(CONFIG.replace("\n", "\r\n").encode())
    return made


def opened(home: Path, **more: object) -> Memory:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "MEMDECK_NOW": "1784419200"}
    return Memory.open(
        str(home / ".grok" / "memory"),
        workspace="widgets",
        cwd=str(home),
        environ=environ,
        home=str(home),
        **more,
    )  # type: ignore[arg-type]


@pytest.fixture
def config(home: Path) -> Path:
    return home / ".grok" / "config.toml"


def test_several_keys_are_one_change_of_their_file_and_comments_stay(home: Path, config: Path) -> None:
    memory = opened(home)
    before = config.read_bytes()
    changes = memory.plan_settings(
        {"memory.search.min_score": 0.5, "memory.search.mmr.enabled": True, "memory.search.max_results": 6}
    )
    assert config.read_bytes() == before
    (change,) = changes
    assert change.before == "0.7, unset, 6"
    assert change.after == "0.5, true, 6"
    assert "+min_score = 0.5   # the floor" in change.diff
    assert "max_results" not in change.diff
    settings = memory.apply_settings(changes)
    assert settings is memory.settings
    assert (settings.search.min_score, settings.search.mmr.enabled) == (0.5, True)
    written = config.read_bytes()
    assert b"# How my agent remembers.\r\n" in written
    assert b"min_score = 0.5   # the floor\r\n" in written
    assert written.count(b"\n") == written.count(b"\r\n")


def test_a_plan_of_what_is_there_already_is_empty(home: Path) -> None:
    assert opened(home).plan_settings({"memory.search.min_score": 0.7}) == ()


def test_undo_gives_the_bytes_back_one_save_after_another(home: Path, config: Path) -> None:
    memory = opened(home)
    first = config.read_bytes()
    memory.apply_settings(memory.plan_settings({"memory.search.min_score": 0.5}))
    second = config.read_bytes()
    memory.apply_settings(memory.plan_settings({"memory.search.min_score": 0.4, "ui.theme": "nord"}))
    own = Path(memory.settings.own_file)
    assert own.exists()
    assert memory.can_undo_settings
    assert set(memory.undo_settings()) == {str(config), str(own)}
    assert config.read_bytes() == second
    assert not own.exists()  # it was made by that save
    assert memory.settings.search.min_score == 0.5
    memory.undo_settings()
    assert config.read_bytes() == first
    assert memory.settings.search.min_score == 0.7
    assert not memory.can_undo_settings
    with pytest.raises(SettingsError, match="nothing was saved"):
        memory.undo_settings()


def test_what_changed_since_the_plan_is_not_overwritten(home: Path, config: Path) -> None:
    memory = opened(home)
    changes = memory.plan_settings({"memory.search.min_score": 0.5})
    config.write_text("# mine now\n")
    with pytest.raises(SettingsError, match="changed since"):
        memory.apply_settings(changes)
    assert config.read_text() == "# mine now\n"
    assert not memory.can_undo_settings


def test_what_changed_since_the_save_is_not_undone(home: Path, config: Path) -> None:
    memory = opened(home)
    memory.apply_settings(memory.plan_settings({"memory.search.min_score": 0.5}))
    edited = config.read_bytes() + b"# and more\r\n"
    config.write_bytes(edited)
    with pytest.raises(SettingsError, match="changed since it was saved"):
        memory.undo_settings()
    assert config.read_bytes() == edited
    config.write_bytes(edited.removesuffix(b"# and more\r\n"))
    memory.undo_settings()


def test_when_one_file_of_two_cannot_be_written_the_other_is_put_back(home: Path, config: Path) -> None:
    memory = opened(home)
    before = config.read_bytes()
    changes = memory.plan_settings({"memory.search.min_score": 0.5, "ui.theme": "nord"})
    own = Path(memory.settings.own_file)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("[ui]\n")
    with pytest.raises(SettingsError, match="changed since"):
        memory.apply_settings(changes)
    assert config.read_bytes() == before
    assert own.read_text() == "[ui]\n"


def test_every_look_at_the_memory_uses_what_was_saved(home: Path) -> None:
    memory = opened(home)
    other = memory.at("")
    memory.apply_settings(memory.plan_settings({"memory.search.min_score": 0.5}))
    assert other.settings.search.min_score == 0.5
    other.undo_settings()
    assert memory.settings.search.min_score == 0.7


def test_a_flag_still_wins_after_a_save(home: Path) -> None:
    memory = opened(home, flags={"memory.search.min_score": "0.9"})
    memory.apply_settings(memory.plan_settings({"memory.search.min_score": 0.5}))
    assert memory.settings.search.min_score == 0.9
    assert memory.settings.origin("memory.search.min_score").kind == "flag"


def test_judgements_are_kept_beside_the_settings_and_taken_back(home: Path) -> None:
    memory = opened(home)
    memory.sync()
    found = memory.search("tokens").hits[0]
    file = memory.judge("tokens", found, True)
    assert memory.judged("tokens", [found]) == {found.id: True}
    assert memory.judged("other words", [found]) == {}
    assert Path(file).name == "widgets-a3f7b2c9.toml"
    memory.judge("tokens", found, False)
    assert memory.judged("tokens", [found]) == {found.id: False}
    memory.judge("tokens", found, None)
    assert memory.judged("tokens", [found]) == {}
    memory.close()


def test_a_trial_is_measured_beside_what_is_saved_with_what_was_judged(home: Path) -> None:
    memory = opened(home)
    memory.sync()
    found = memory.search("tokens").hits[0]
    memory.judge("tokens", found, True)
    report = memory.measure({"memory.search.min_score": 2.0}, "agent")
    assert report.arm("saved").shares["all"].recall[1] == 1.0
    assert report.arm("trial").shares["all"].recall[1] == 0.0  # nothing reaches such a floor
    memory.close()
