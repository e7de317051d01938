"""The command line over the real façade and the demo memory: from a folder of Markdown to printed output."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.demo import prepare
from tests.core.cli.conftest import Cli

NOW = 1_784_419_200


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("demo") / "home"
    prepare(home, NOW)
    return home


@pytest.fixture
def demo(made: Path, tmp_path: Path, cli: Cli) -> Cli:
    home = tmp_path / "home"
    shutil.copytree(made, home, symlinks=True)
    cli.environ = {
        "HOME": str(home),
        "GROK_HOME": str(home / ".grok"),
        "MEMDECK_STATE": str(home / "state"),
        "MEMDECK_CONFIG": str(home / "own.toml"),
        "MEMDECK_NOW": str(NOW),
        "PATH": os.environ["PATH"],
    }
    return cli


def root(demo: Cli) -> Path:
    return Path(demo.environ["GROK_HOME"]) / "memory"


def widgets(demo: Cli) -> Path:
    return next(root(demo).glob("widgets-*"))


def found(demo: Cli, *argv: str) -> Any:
    ran = demo("--workspace", "widgets", *argv, "--json", real=True)
    assert ran.out.isascii()
    return json.loads(ran.out)


def test_a_hit_is_the_lines_it_names(demo: Cli) -> None:
    report = found(demo, "search", "refresh token rotation")
    assert (report["profile"], report["mode"], report["workspace"]) == (
        "agent",
        "text only",
        widgets(demo).name,
    )
    assert [hit["rank"] for hit in report["hits"]] == list(range(1, len(report["hits"]) + 1))
    best = report["hits"][0]
    assert best["id"].rpartition(":")[0] == best["path"]
    shown = found(
        demo,
        *("show", best["path"], "--from", str(best["start_line"])),
        *("--lines", str(best["end_line"] - best["start_line"] + 1)),
    )
    body = (
        best["snippet"].partition("]\n\n")[2] if best["snippet"].startswith("[Context:") else best["snippet"]
    )
    assert [line for line in shown["lines"] if line] == [line for line in body.splitlines() if line]
    assert {item["reason"] for item in report["dropped"]} <= {"below_floor", "content_free", "cut"}
    again = found(demo, "search", "refresh token rotation")
    assert [hit["access_count"] for hit in again["hits"]] == [hit["access_count"] for hit in report["hits"]]


def test_a_dropped_chunk_can_be_asked_why(demo: Cli) -> None:
    dropped = found(demo, "search", "refresh token rotation")["dropped"][0]
    report = found(demo, "why", "refresh token rotation", "--chunk", dropped["id"])
    assert report["candidate"]["reason"] == dropped["reason"]
    assert report["candidate"]["raw_score"] == dropped["raw_score"]


def test_looking_writes_nothing_but_the_index(demo: Cli) -> None:
    before = {path: path.stat().st_mtime_ns for path in root(demo).rglob("*") if path.is_file()}
    for argv in (
        ["ls", "--files"],
        ["search", "deploy", "--everywhere"],
        ["doctor"],
        ["gc"],
        ["show", "MEMORY.md"],
    ):
        demo("--workspace", "widgets", *argv, real=True)
    after = {path: path.stat().st_mtime_ns for path in root(demo).rglob("*") if path.is_file()}
    assert {path: time for path, time in after.items() if path in before} == before
    assert {path.name.partition(".sqlite")[0] for path in after.keys() - before.keys()} <= {"index"}


def test_hostile_names_and_texts_print_no_control_byte(demo: Cli) -> None:
    name = b"2026-07-18-\x1b[2J\xc2\x9b\xe2\x80\xaeodd-0a1b2c3d.md"
    path = os.fsencode(widgets(demo) / "sessions") + b"/" + name
    Path(os.fsdecode(path)).write_bytes(b"# Zebra \x1b]0;owned\x07\nzebra \xc2\x9b2J \xe2\x80\xae\x00 end\n")
    assert "␛[2J␦⇄odd" in demo("--workspace", "widgets", "ls", "--files", real=True).out
    for argv in (
        ["ls", "--files"],
        ["search", "zebra", "--explain"],
        ["show", os.fsdecode(path)],
        ["why", "zebra", "--chunk", f"{os.fsdecode(path)}#0"],
        ["doctor"],
    ):
        ran = demo("--workspace", "widgets", *argv, real=True)
        assert ran.code in (0, 1) and ran.out
        printed = (ran.out + ran.err).replace("\n", "")
        assert printed.isprintable(), ascii(printed)


def test_clear_moves_to_the_trash_and_out_of_the_index(demo: Cli) -> None:
    assert found(demo, "search", "refresh")["hits"]
    ran = demo("--workspace", "widgets", "clear", "workspace", "--yes", "--json", real=True)
    receipt = json.loads(ran.out)
    assert ran.code == 0 and receipt["failed"] == []
    assert Path(receipt["trash"]).is_relative_to(Path(demo.environ["MEMDECK_STATE"]))
    assert not list((widgets(demo) / "sessions").glob("*.md"))
    assert {hit["source"] for hit in found(demo, "search", "refresh")["hits"]} <= {"global"}
    assert "nothing to clear" in demo("--workspace", "widgets", "clear", "workspace", "--yes", real=True).err


def test_gc_removes_only_what_it_listed(demo: Cli) -> None:
    going = [item["path"] for item in found(demo, "gc")["candidates"] if item["remove"]]
    kept = [item["path"] for item in found(demo, "gc")["candidates"] if not item["remove"]]
    assert going and kept
    assert demo("gc", "--remove", "--yes", real=True).code == 0
    assert not any(Path(path).exists() for path in going)
    assert all(Path(path).exists() for path in kept)


def test_a_changed_setting_changes_the_search(demo: Cli) -> None:
    assert len(found(demo, "search", "refresh token")["hits"]) > 1
    assert demo("config", "set", "search.max_results", "1", "--yes", real=True).code == 0
    report = found(demo, "search", "refresh token")
    assert len(report["hits"]) == 1
    assert demo("config", "get", "search.max_results", real=True).err.endswith("/.grok/config.toml)\n")


def test_what_is_wrong_is_told_with_its_exit_code(demo: Cli) -> None:
    for argv, code, says in (
        (["show", "nope.md"], 3, "nope.md"),
        (["show", "/etc/passwd"], 3, "outside the memory"),
        (["why", "x", "--chunk", "MEMORY.md#999"], 3, "there is no chunk"),
        (["search", "x", "--profile", "nobody"], 2, "agent"),
        (["ls", "--workspace", "nobody/nothing"], 2, "nobody/nothing"),
    ):
        ran = demo("--workspace", "widgets", *argv, real=True)
        assert (ran.code, ran.out) == (code, "")
        assert says in ran.err


def test_a_root_that_is_not_there_is_empty_and_not_created(demo: Cli, tmp_path: Path) -> None:
    demo.environ["GROK_HOME"] = str(tmp_path / "none")
    ran = demo("ls", real=True)
    assert ran.code == 0 and "not there yet" in ran.out
    for argv, code in (
        (["search", "x"], 0),
        (["reindex"], 0),
        (["doctor"], 1),
        (["why", "x", "--chunk", "a#1"], 3),
    ):
        assert demo(*argv, real=True).code == code
    ran = demo("search", "x", real=True)
    assert (ran.code, ran.out) == (0, "") and "there is no memory at" in ran.err
    assert not (tmp_path / "none").exists() and not Path(demo.environ["MEMDECK_STATE"]).exists()


@pytest.mark.parametrize("option", ["--root", "--cwd"])
@pytest.mark.parametrize(
    "argv",
    [
        ["ls"],
        ["show", "MEMORY.md"],
        ["search", "x"],
        ["why", "x", "--chunk", "MEMORY.md#0"],
        ["reindex"],
        ["doctor"],
        ["clear", "all", "--yes"],
        ["gc", "--remove", "--yes"],
        ["eval"],
    ],
)
def test_a_place_that_was_asked_for_and_is_not_there_is_refused(
    demo: Cli, option: str, argv: list[str]
) -> None:
    before = sorted(root(demo).rglob("*"))
    for place, says in (("none", "is not there"), ("own.toml", "is not a folder")):
        wanted = Path(demo.environ["HOME"]) / place
        Path(demo.environ["MEMDECK_CONFIG"]).write_text("")
        ran = demo(*argv, option, str(wanted), real=True)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"memdeck: {option} {wanted} {says}\n")
    assert sorted(root(demo).rglob("*")) == before and not Path(demo.environ["MEMDECK_STATE"]).exists()


def test_a_chunk_is_found_again_as_every_listing_spells_it(demo: Cli) -> None:
    printed = demo("--workspace", "widgets", "search", "--explain", "token refresh", real=True).out
    rows = re.findall(r"^ .*?[GWS]  (\S+:[0-9-]+ #[0-9]+) ", printed, re.MULTILINE)
    assert len(rows) > 10 and any(row.startswith("../MEMORY.md:") for row in rows)
    for row in (
        next(row for row in rows if row.startswith(start)) for start in ("MEMORY", "../", "sessions/")
    ):
        ran = demo("--workspace", "widgets", "why", "token refresh", "--chunk", row, real=True)
        assert ran.code == 0 and ran.out.startswith(f"{row}  ")
    printed = demo("--workspace", "widgets", "search", "--everywhere", "token refresh", real=True).out
    assert f" {root(demo)}/MEMORY.md:" in printed


def test_rebuilding_says_what_was_written(demo: Cli) -> None:
    demo("--workspace", "widgets", "reindex", real=True)
    ran = demo("--workspace", "widgets", "reindex", "--rebuild", real=True)
    assert re.fullmatch(r"the text index was written anew: \d+ chunks of \d+ files \([0-9.]+ s\)\n", ran.out)
    assert found(demo, "reindex", "--rebuild")["rebuilt"] is True
    assert found(demo, "reindex")["rebuilt"] is False


def test_a_workspace_without_files_is_said_to_be_empty(demo: Cli) -> None:
    ran = demo("ls", "--files", "--workspace", "yaml-loader", real=True)
    assert ran.code == 0 and "yaml-loader-56738d46 holds no files yet." in ran.err
    assert "holds no files" not in demo("ls", "--files", "--workspace", "widgets", real=True).err


def test_doctor_tells_two_workspaces_of_one_name_apart(demo: Cli) -> None:
    demo("--workspace", "widgets", "search", "x", "--everywhere", real=True)
    messages = [item["message"].partition(":")[0] for item in found(demo, "doctor")["findings"]]
    name = widgets(demo).name
    assert messages.count(name) == messages.count(f"{name} of agent memory reviewer") + 1 == 2


def test_clearing_names_other_indexes_as_what_they_are(demo: Cli) -> None:
    demo("--workspace", "larder", "search", "x", real=True)
    done = found(demo, "clear", "workspace", "--yes")["done"]
    other = next(root(demo).glob("larder-*")).name
    assert f"its rows taken out of the index of {other}" in done


def test_an_unreadable_file_is_named_once(demo: Cli) -> None:
    bad = widgets(demo) / "sessions" / "bad.md"
    bad.write_bytes(b"\xff\n")
    for argv in (["show", str(bad)], ["reindex"]):
        assert demo("--workspace", "widgets", *argv, real=True).err.count(str(bad)) == 1


def test_an_index_that_cannot_be_used_fails_and_is_no_empty_result(demo: Cli) -> None:
    found(demo, "search", "token")
    holder = apsw.Connection(str(widgets(demo) / "index.sqlite"))
    holder.pragma("locking_mode", "exclusive")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        ran = demo("--workspace", "widgets", "reindex", "--json", real=True)
        assert ran.code == 1
        assert json.loads(ran.out)["failed"] == "another process holds the index"
        ran = demo("--workspace", "widgets", "search", "token", "--json", real=True)
        assert ran.code == 1
        assert json.loads(ran.out)["notes"][0] == "failed: another process holds the index"
        ran = demo("--workspace", "widgets", "search", "token", real=True)
        assert ran.err.count("another process holds the index") == 1
    finally:
        holder.close()
    assert demo("--workspace", "widgets", "search", "token", "--json", real=True).code == 0


@pytest.mark.parametrize("config", ["a=" + "[" * 100_000 + "]" * 100_000, None])
def test_an_odd_config_file_breaks_neither_doctor_nor_a_change(demo: Cli, config: str | None) -> None:
    path = Path(demo.environ["GROK_HOME"]) / "config.toml"
    path.unlink(missing_ok=True)
    if config is None:
        os.mkfifo(path)
    else:
        path.write_text(config)
    ran = demo("--workspace", "widgets", "doctor", real=True)
    assert ran.code == 1
    assert str(path) in ran.out
    ran = demo("config", "set", "search.max_results", "7", "--yes", real=True)
    assert ran.code != 0 and ran.code != 70
    assert "Nothing was written" in ran.err
