"""How a command ends: exit codes, pipes, interrupts, defects; and what starting it loads."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from core.cli.app import plain_start, remove_left_demos
from core.cli.console import State
from tests.core.cli.conftest import HOSTILE, Cli


def memdeck(*argv: str) -> list[str]:
    return [sys.executable, "-c", f"import sys; from core.cli import main; sys.exit(main({list(argv)!r}))"]


def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "MEMDECK_CONFIG": str(home / "own.toml"), "NO_COLOR": "1"}


HEAVY = {"textual", "rich", "apsw", "tomlkit", "blake3", "watchdog", "sqlite3", "numpy", "openai"}
OURS = {"core.memory", "core.settings", "core.index.model", "core.search", "tui"}


@pytest.mark.parametrize(
    ("argv", "more"),
    [
        (["--help"], {"pydantic"}),
        (["--version"], {"pydantic"}),
        (["search", "--help"], set()),  # typer itself reads a verb's options with pydantic
        (["config", "set", "--help"], set()),
    ],
)
def test_help_and_version_load_nothing_heavy(argv: list[str], more: set[str]) -> None:
    code = (
        "import sys; from core.cli import main; assert main(sys.argv[1:]) == 0;"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "core.cli.commands" in loaded and done.stdout
    assert loaded & (HEAVY | OURS | more) == set()


def test_opening_the_app_does_not_wait_for_the_command_line_library() -> None:
    code = (
        "import sys; from core.cli.app import plain_start; from core.cli.console import State;"
        "print(plain_start(['--root', '/a'], State({})) is not None, 'typer' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


@pytest.mark.parametrize(
    ("argv", "place"),
    [
        ([], (None, None, None, False)),
        (["--root", "/a", "--workspace=w", "--cwd", "/c"], ("/a", "w", "/c", False)),
        (["demo"], (None, None, None, True)),
        (["--cwd", "demo", "demo"], (None, None, "demo", True)),
    ],
)
def test_a_line_that_only_opens_the_app_is_read_at_once(argv: list[str], place: tuple[object, ...]) -> None:
    start = plain_start(argv, State({}))
    assert start is not None
    state, demo = start
    assert (state.root, state.workspace, state.cwd, demo) == place


@pytest.mark.parametrize(
    "argv",
    [
        ["ls"],
        ["--root"],
        ["--root", "--cwd"],
        ["--root", "/a", "ls"],
        ["demo", "--keep", "x"],
        ["demo", "--root", "/a"],
        ["-h"],
        ["x"],
    ],
)
def test_any_other_line_is_left_to_the_command_line(argv: list[str]) -> None:
    assert plain_start(argv, State({})) is None


def test_help_leads_with_examples(cli: Cli) -> None:
    out = cli("search", "--help").out
    assert out.index("memdeck search token refresh") < out.index("Options:")
    out = cli("-h").out
    assert out.index("memdeck demo") < out.index("Options:") < out.index("Exit codes:")


def test_a_defect_is_one_line_and_exit_70(cli: Cli) -> None:
    cli.known["breaks"] = ZeroDivisionError(f"oops {HOSTILE}")
    ran = cli("ls")
    assert (ran.code, ran.out) == (70, "")
    assert ran.err.startswith("memdeck: internal error (ZeroDivisionError: oops ␛]0;owned")
    assert "nothing was written; please report" in ran.err and "Traceback" not in ran.err
    cli.environ["MEMDECK_DEBUG"] = "1"
    assert "Traceback" in cli("ls").err


def test_a_defect_in_the_middle_of_a_change_does_not_claim_that_nothing_was_written(cli: Cli) -> None:
    cli.known["breaks"] = ZeroDivisionError("oops")
    ran = cli("clear", "all", "--yes")
    assert ran.code == 70
    assert "a change had begun" in ran.err and "nothing was written" not in ran.err


def test_an_interrupt_is_130(cli: Cli) -> None:
    cli.known["breaks"] = KeyboardInterrupt()
    assert cli("ls").code == 130


def test_a_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        memdeck("config", "get"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ(tmp_path),
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    assert (process.wait(), said) == (0, "")


def test_a_terminal_that_is_not_utf8_gets_escapes(tmp_path: Path) -> None:
    latin = {**environ(tmp_path), "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    (tmp_path / "own.toml").write_text('[embedding]\nmodel = "配"\n', encoding="utf-8")
    done = subprocess.run(
        memdeck("config", "get", "embedding.model"), capture_output=True, env=latin, check=True
    )
    assert done.stdout == b"\\u914d\n"


@pytest.mark.parametrize(("answer", "code", "written"), [("y", 0, True), ("n", 1, False)])
def test_config_set_shows_the_diff_and_asks(tmp_path: Path, answer: str, code: int, written: bool) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        memdeck("config", "set", "ui.theme", "nord"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environ(tmp_path),
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(ours, 4096)
    os.write(ours, answer.encode() + b"\n")
    process.communicate()
    os.close(ours)
    assert process.returncode == code
    assert b'+theme = "nord"' in said
    assert (tmp_path / "own.toml").exists() is written


def test_config_set_with_yes_writes_and_says_so(cli: Cli) -> None:
    ran = cli("config", "set", "search.max_results", "8", "--yes")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith("memory.search.max_results is now 8 (was unset).\n")
    assert cli("config", "get", "search.max_results").out == "8\n"
    assert "already" in cli("config", "set", "search.max_results", "8").err


def test_config_set_says_when_a_variable_wins(cli: Cli) -> None:
    cli.environ["GROK_MEMORY"] = "0"
    ran = cli("config", "set", "memory.enabled", "true", "--yes")
    assert ran.err.endswith("The environment variable GROK_MEMORY is set and wins over the file.\n")


def test_config_set_without_a_terminal_writes_nothing(cli: Cli) -> None:
    ran = cli("config", "set", "ui.theme", "nord")
    assert ran.code == 2 and '+theme = "nord"' in ran.err
    assert not Path(cli.environ["MEMDECK_CONFIG"]).exists()


def test_config_get_prints_the_value_alone(cli: Cli) -> None:
    ran = cli("config", "get", "ui.theme")
    assert (ran.out, ran.err) == ("memdeck-dark\n", "ui.theme: a theme of memdeck or Textual (default)\n")
    ran = cli("config", "get", "embedding.model")
    assert ran.out == "" and "is unset" in ran.err


def test_config_path_names_every_place(cli: Cli) -> None:
    names = [line.split()[0] for line in cli("config", "path").out.splitlines()]
    assert names == ["agent", "memdeck", "state", "cache"]


def test_a_frozen_clock_that_is_no_number_is_a_usage_error(cli: Cli, tmp_path: Path) -> None:
    cli.environ["MEMDECK_NOW"] = "noon"
    ran = cli("demo", "--keep", str(tmp_path / "demo"))
    assert ran.code == 2 and "MEMDECK_NOW" in ran.err


def test_demo_keep_writes_a_memory_and_prints_its_root(cli: Cli, tmp_path: Path) -> None:
    cli.environ["MEMDECK_NOW"] = "1784419200"
    ran = cli("demo", "--keep", str(tmp_path / "demo"))
    root = Path(ran.out.strip())
    assert ran.code == 0 and (root / "MEMORY.md").is_file()
    cwd, exports = (line.split()[1:] for line in ran.err.splitlines()[1:3])
    names = dict(item.split("=", 1) for item in exports)
    assert root == Path(names["GROK_HOME"]) / "memory"
    assert Path(names["MEMDECK_CONFIG"]).is_file() and "MEMDECK_STATE" in names and "HOME" not in names
    assert "\n  memdeck\n  memdeck search --profile tuned" in ran.err
    # What it prints is enough to have the vectors that were made.
    cli.environ.update(names)
    found = json.loads(
        cli("search", "log people in", "--profile", "hybrid", "--cwd", *cwd, "--json", real=True).out
    )
    assert found["mode"] == "text+vectors"
    assert cli("demo", "--keep", str(tmp_path / "demo")).code == 2


def test_the_demo_takes_no_place_to_look_at(cli: Cli) -> None:
    assert "--root" not in cli("demo", "--help").out
    assert cli("demo", "--root", "/a").code == 2


def test_a_broken_settings_file_is_named_when_one_key_is_asked_for(cli: Cli) -> None:
    own = Path(cli.environ["MEMDECK_CONFIG"])
    own.write_text("[ui\n")
    for argv in (["ui.theme"], ["ui.theme", "--json"]):
        ran = cli("config", "get", *argv)
        assert ran.code == 0 and "memdeck-dark" in ran.out
        assert f"memdeck: {own}" in ran.err


def test_help_names_documents_where_they_are(cli: Cli) -> None:
    for verb in ([], ["search"], ["eval"], ["config", "get"]):
        text = " ".join(cli(*verb, "--help").out.split())
        assert "in the project's docs/" in text and "docs/json.md" not in text


def test_copies_of_demos_that_were_killed_are_removed_and_others_stay(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"memdeck-demo-{ended.pid}-abc" / "memory"
    left.mkdir(parents=True)
    stay = [
        tmp_path / f"memdeck-demo-{os.getpid()}-abc",
        tmp_path / "memdeck-demo-mine-abc",
        tmp_path / f"memdeck-demo-{'9' * 40}-abc",
        tmp_path / "other",
    ]
    for folder in stay:
        folder.mkdir()
    remove_left_demos(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(stay)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("argv", [["config", "get"], ["config", "path"], ["-h"], ["eval", "--help"]])
def test_a_full_disk_is_one_line(tmp_path: Path, argv: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            memdeck(*argv), stdout=full, stderr=subprocess.PIPE, text=True, env=environ(tmp_path), check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("memdeck: what was to be printed cannot be written: No space left")
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize(("closed", "code"), [(1, 1), (2, 0)])
def test_a_closed_output_is_no_defect(tmp_path: Path, closed: int, code: int) -> None:
    line = shlex.join(memdeck("config", "path"))
    done = subprocess.run(
        ["sh", "-c", f"{line} {closed}>&-"],
        capture_output=True,
        text=True,
        env=environ(tmp_path),
        check=False,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
    assert ("config.toml" in done.stdout) == (closed == 2)


def test_undo_and_clearing_at_once_are_refused(cli: Cli) -> None:
    ran = cli("clear", "workspace", "--undo", "/state/trash/1", "--yes")
    assert ran.code == 2
    assert "give one of them" in ran.err and "Nothing was done." in ran.err
    assert ran.out == ""
