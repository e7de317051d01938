"""The store's recorded cases: slugs, identities, workspace folders, sources, scaffolds, ephemeral folders, gc."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.store.gc import gc
from core.store.identity import identify, normalize_remote_url, slugify, workspace_folder_name
from core.store.layout import classify_source, ephemeral_reason, is_scaffold, open_root

VECTORS = Path(__file__).parent / "vectors"


def cases(family: str, function: str | None = None, prefix: str = "") -> list[Any]:
    loaded = json.loads((VECTORS / f"{family}.json").read_text("utf-8"))["cases"]
    chosen = [
        case
        for case in loaded
        if (function is None or case["function"] == function) and case["name"].startswith(prefix)
    ]
    assert chosen
    return [pytest.param(case["input"], case["expected"], id=case["name"]) for case in chosen]


@pytest.mark.parametrize(("given", "expected"), cases("slugify"))
def test_slugify(given: dict[str, Any], expected: str) -> None:
    assert slugify(given["input"], given["max_len"]) == expected


@pytest.mark.parametrize(("given", "expected"), cases("normalize_remote_url"))
def test_normalize_remote_url(given: dict[str, Any], expected: str | None) -> None:
    assert normalize_remote_url(given["url"]) == expected


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkout") / "clone"
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    (path / "sub" / "dir").mkdir(parents=True)
    return path


@pytest.mark.parametrize(("given", "expected"), cases("workspace_dir_name", prefix="repo-"))
def test_workspace_of_a_repository(given: dict[str, Any], expected: dict[str, str], repository: Path) -> None:
    config = {"remote.origin.url": given["origin"], **given.get("git_config", {})}
    lines = ["[core]", "\trepositoryformatversion = 0", '[remote "origin"]']
    (repository / ".git" / "config").write_text("\n".join(lines) + "\n")
    for key, value in config.items():
        subprocess.run(["git", "-C", str(repository), "config", key, value], check=True)

    found = identify(str(repository / "sub" / "dir"))

    assert (found.kind, found.folder, found.value) == ("remote", expected["dir_name"], expected["identity"])
    assert workspace_folder_name(str(repository), given["origin"]) == expected["dir_name"]


@pytest.mark.parametrize(("given", "expected"), cases("workspace_dir_name", prefix="path-"))
def test_workspace_of_a_path(given: dict[str, Any], expected: str) -> None:
    found = identify(given["cwd"])
    assert (found.kind, found.folder) == ("path", expected)


@pytest.mark.parametrize(("given", "expected"), cases("source_and_ephemeral", "classify_source"))
def test_classify_source(given: dict[str, Any], expected: str) -> None:
    assert classify_source(given["global_dir"], given["workspace_dir"], given["path"]) == expected


@pytest.mark.parametrize(("given", "expected"), cases("source_and_ephemeral", "is_ephemeral_cwd"))
def test_ephemeral_folders(given: dict[str, Any], expected: bool) -> None:
    # The recording's note: the temporary folder is /tmp, only / and /tmp exist.
    canonical = given["cwd"].rstrip("/") or "/"
    assert (ephemeral_reason(given["cwd"], canonical, "/tmp") is not None) is expected


@pytest.mark.parametrize(("given", "expected"), cases("content_free", "is_scaffold_template"))
def test_scaffold(given: dict[str, Any], expected: bool) -> None:
    assert is_scaffold(given["content"]) is expected


def build(given: dict[str, Any], memory: Path, outside: Path, log_text: str) -> None:
    memory.mkdir()
    for entry in given["entries"]:
        place = memory / entry["name"]
        folder = outside / entry["name"] if entry.get("kind") == "symlink" else place
        folder.mkdir(parents=True)
        for name, text in entry.get("files", {}).items():
            (folder / name).write_text(text)
        if entry.get("kind") == "symlink":
            (folder / "keep.txt").write_text("kept")
            place.symlink_to(folder)
        if entry.get("sessions_is_file"):
            (folder / "sessions").write_text(log_text)
        elif entry["sessions"] is not None:
            (folder / "sessions").mkdir()
            for name in entry["sessions"]:
                (folder / "sessions" / name).write_text(log_text)
        when = given["now"] - entry["age_days"] * 86_400
        os.utime(folder, (when, when))
        if entry.get("kind") == "symlink":
            os.utime(place, (when, when), follow_symlinks=False)


@pytest.mark.parametrize("log_text", ["", "# A fact\n"], ids=["empty", "content"])
@pytest.mark.parametrize(("given", "expected"), cases("gc"))
def test_gc_removes_a_subset(
    given: dict[str, Any], expected: dict[str, Any], log_text: str, tmp_path: Path
) -> None:
    memory, outside, state = tmp_path / "memory", tmp_path / "outside", tmp_path / "state"
    build(given, memory, outside, log_text)
    before = set(os.listdir(memory))
    texts = {path for path in memory.rglob("*.md") if path.read_text()}

    report = gc(
        open_root(str(memory)),
        current=given["current"],
        now=given["now"],
        max_age_days=given["max_age_days"],
        remove=True,
        state=state,
    )

    left = set(os.listdir(memory))
    assert left >= set(expected["remaining"])
    assert len(before - left) <= expected["removed"]
    assert report.receipt is not None
    assert {Path(path).name for path in report.receipt.done} == before - left
    assert {path for path in memory.rglob("*.md") if path.read_text()} == texts
    for name in expected["symlink_targets_left"]:
        assert (outside / name).exists()


@pytest.mark.parametrize(
    "name", ["tmp-empty-fresh", "tmp-empty-sessions-dir", "normal-empty-old", "normal-empty-30d+", "nonascii"]
)
def test_gc_does_remove_what_is_empty(name: str, tmp_path: Path) -> None:
    given = next(param.values[0] for param in cases("gc") if param.id == name)
    memory = tmp_path / "memory"
    build(given, memory, tmp_path / "outside", "")

    gc(
        open_root(str(memory)),
        current=given["current"],
        now=given["now"],
        max_age_days=given["max_age_days"],
        remove=True,
        state=tmp_path / "state",
    )

    assert os.listdir(memory) == []
