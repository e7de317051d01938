"""Which workspace a folder belongs to, and that the reason is always told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from core.store.identity import GitAnswer, ask_git, folder_of, hash8, identify, last_segment


def repository(path: Path, origin: str | None) -> Path:
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    if origin is not None:
        subprocess.run(["git", "-C", str(path), "remote", "add", "origin", origin], check=True)
    return path


def test_a_remote_decides_and_is_named() -> None:
    found = identify("/x", run_git=lambda _cwd: GitAnswer("https://dev:secret@host/acme/api.git"))
    assert (found.kind, found.value, found.folder) == ("remote", "acme/api", folder_of("acme/api"))
    assert "acme/api" in found.reason
    assert "secret" not in found.reason


def test_a_remote_without_a_path_falls_back_and_does_not_show_its_url(tmp_path: Path) -> None:
    found = identify(str(tmp_path), run_git=lambda _cwd: GitAnswer("https://dev:secret@host"))
    assert (found.kind, found.value) == ("path", str(tmp_path.resolve()))
    assert "no org/repo path" in found.reason
    assert "secret" not in found.reason


def test_links_are_resolved_for_a_path_identity(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    silent = GitAnswer(None, "it is not in a git repository")
    found = identify(str(tmp_path / "link"), run_git=lambda _cwd: silent)
    assert found.folder == folder_of(str((tmp_path / "real").resolve()))
    assert "not in a git repository" in found.reason


def test_worktrees_subfolders_and_inherited_git_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = "git@example.test:acme/api.git"
    checkout = repository(tmp_path / "checkout", origin)
    (checkout / "sub").mkdir()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert ask_git(str(checkout / "sub")) == GitAnswer(origin)


def test_insteadof_applies(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "checkout", "short:api")
    subprocess.run(
        ["git", "-C", str(checkout), "config", "url.https://host/acme/.insteadOf", "short:"], check=True
    )
    assert identify(str(checkout)).value == "acme/api"


def test_why_git_gives_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert ask_git(str(tmp_path)).why == "it is not in a git repository"
    assert "no remote origin" in ask_git(str(repository(tmp_path / "bare-of-remotes", None))).why
    assert ask_git(str(tmp_path / "missing")).why == "the folder does not exist"
    assert ask_git(str(tmp_path), program="no-such-git-program").why == "git is not installed"
    assert ask_git("a\0b").url is None


def test_a_slow_git_is_not_waited_for(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    assert "did not answer" in ask_git(str(tmp_path), program=str(slow), timeout=0.05).why


def test_other_failures_are_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("no program")
    assert "could not be run" in ask_git(str(tmp_path), program=str(broken)).why
    stubborn = tmp_path / "stubborn"
    stubborn.write_text("#!/bin/sh\necho 'fatal: detected dubious ownership in repository' >&2\nexit 128\n")
    stubborn.chmod(0o755)
    assert "another user" in ask_git(str(tmp_path), program=str(stubborn)).why


@pytest.mark.parametrize(
    ("path", "last"),
    [("/", ""), ("", ""), ("/a/..", ""), ("/a/./", "a"), ("a//b//", "b"), ("/a/...", "...")],
)
def test_last_segment(path: str, last: str) -> None:
    assert last_segment(path) == last


def test_paths_that_are_not_utf8_have_an_identity(tmp_path: Path) -> None:
    odd = os.path.join(str(tmp_path), "odd\udcff\x1b")
    os.mkdir(odd)
    found = identify(odd, run_git=lambda _cwd: GitAnswer(None, "there is no git"))
    found.value.encode()
    assert found.folder.startswith("odd-")
    assert hash8("a\udcff") == hash8("a\ufffd")


def test_a_folder_without_a_usable_name_is_called_workspace() -> None:
    assert folder_of("/").startswith("workspace-")
    assert folder_of("/home/dev/修复").startswith("workspace-")
