"""Human names of workspace folders: found by hashing, never guessed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from core.store import names as room
from core.store.identity import folder_of
from core.store.names import (
    STARTED_LIMIT,
    HumanName,
    HumanNames,
    Started,
    heading_path,
    read_started,
    record_started,
)

Snapshot = Callable[[Path], dict[str, tuple[object, ...]]]


def session(home: Path, group: str, number: int, summary: object) -> None:
    folder = home / "sessions" / group / f"01a0139{number}"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(summary if isinstance(summary, str) else json.dumps(summary))


def test_a_working_folder_is_found_by_the_name_of_its_sessions(tmp_path: Path) -> None:
    cwd = "/home/dev/wörk dir"
    (tmp_path / "sessions" / quote(cwd, safe="")).mkdir(parents=True)
    folder = folder_of(cwd)
    assert HumanNames(str(tmp_path)).find([folder]) == {folder: HumanName(cwd, "session-summary")}


def test_a_long_working_folder_is_read_from_its_cwd_file(tmp_path: Path) -> None:
    group = tmp_path / "sessions" / "deep-a16a216388367d7d"
    group.mkdir(parents=True)
    (group / ".cwd").write_text("/home/dev/深い\n")
    folder = folder_of("/home/dev/深い")
    assert HumanNames(str(tmp_path)).find([folder])[folder].human == "/home/dev/深い"


def test_a_remote_is_found_in_the_summaries(tmp_path: Path) -> None:
    session(tmp_path, "%2Fx", 1, {"git_remotes": ["git@host:acme/api.git", 7, None]})
    folder = folder_of("acme/api")
    assert HumanNames(str(tmp_path)).find([folder]) == {folder: HumanName("acme/api", "session-summary")}


def test_other_folders_of_a_summary_count_too(tmp_path: Path) -> None:
    session(tmp_path, "%2Fx", 1, {"info": {"cwd": "/now/here"}, "previous_cwd": "/once/there"})
    wanted = [folder_of("/now/here"), folder_of("/once/there")]
    assert set(HumanNames(str(tmp_path)).find(wanted)) == set(wanted)


def test_a_working_folder_behind_a_link_counts_as_spelled_and_as_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    folder = folder_of(str((tmp_path / "real").resolve()))
    assert folder in HumanNames(started=[Started(str(tmp_path / "link"))]).find([folder])


def test_a_template_heading_counts_only_if_its_hash_does(tmp_path: Path) -> None:
    right, wrong = folder_of("/home/dev/right"), folder_of("/home/dev/wrong")
    headings = {right: "/home/dev/right", wrong: "/home/dev/else"}
    found = HumanNames().find([right, wrong], headings.get)
    assert found == {right: HumanName("/home/dev/right", "template")}


def test_what_memdeck_saw_itself_counts(tmp_path: Path) -> None:
    names = HumanNames(started=[Started("/home/dev/api", "acme/api"), Started("relative")])
    found = names.find([folder_of("/home/dev/api"), folder_of("acme/api"), folder_of("relative")])
    assert found == {
        folder_of("/home/dev/api"): HumanName("/home/dev/api", "started-here"),
        folder_of("acme/api"): HumanName("acme/api", "started-here"),
    }


def test_damaged_summaries_links_and_oddities_are_passed_over(tmp_path: Path) -> None:
    session(tmp_path, "%2Fa", 1, "{not json")
    session(tmp_path, "%2Fa", 2, "[" * 100_000)
    session(tmp_path, "%2Fa", 3, [1, 2])
    session(tmp_path, "%2Fa", 4, {"git_remotes": "acme/x", "info": "x"})
    (tmp_path / "sessions" / "%2Fa" / "images").mkdir()
    (tmp_path / "sessions" / "stray.json").write_text("x")
    (tmp_path / "sessions" / "bad\udcff%00").mkdir()
    fifo = tmp_path / "sessions" / "%2Fa" / "01a01399"
    fifo.mkdir()
    os.mkfifo(fifo / "summary.json")
    linked = tmp_path / "sessions" / "%2Fa" / "01a01398"
    linked.mkdir()
    (linked / "summary.json").symlink_to("/etc/hostname")
    session(tmp_path, "%2Fb", 5, {"git_remotes": ["git@host:acme/api.git"]})
    assert list(HumanNames(str(tmp_path)).find([folder_of("acme/api")])) == [folder_of("acme/api")]


def test_no_sessions_at_all_leaves_the_origin_unknown(tmp_path: Path) -> None:
    assert HumanNames(str(tmp_path)).find(["x-12345678"]) == {}
    assert HumanNames(None).find(["x-12345678"]) == {}


def test_summaries_are_opened_only_for_what_is_unknown_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(tmp_path, quote("/home/dev/api", safe=""), 1, {"git_remotes": ["git@host:acme/api.git"]})
    opened: list[str] = []
    real = room._small_file
    monkeypatch.setattr(room, "_small_file", lambda path: opened.append(path) or real(path))
    names = HumanNames(str(tmp_path))
    names.find([folder_of("/home/dev/api")])
    assert opened == []
    names.find([folder_of("acme/api"), "unknown-12345678"])
    names.find(["unknown-12345678"])
    assert len(opened) == 1


def test_only_the_newest_summaries_of_a_folder_are_read(tmp_path: Path) -> None:
    for number in range(6):
        session(tmp_path, "%2Fa", number, {"git_remotes": [f"git@host:acme/r{number}.git"]})
    wanted = [folder_of(f"acme/r{number}") for number in range(6)]
    found = HumanNames(str(tmp_path)).find(wanted)
    assert sorted(name.human for name in found.values()) == ["acme/r3", "acme/r4", "acme/r5"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# Project Memory — /home/dev/x\n\nmore", "/home/dev/x"),
        ("# Project Memory — /home/dev/x\r\nmore", "/home/dev/x"),
        ("# Project Memory — relative\n", None),
        ("text\n# Project Memory — /home/dev/x\n", None),
        ("", None),
    ],
)
def test_heading_path(text: str, path: str | None) -> None:
    assert heading_path(text) == path


def test_folders_memdeck_was_started_in_are_remembered_newest_first(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert read_started(state) == ()
    for number in range(STARTED_LIMIT + 5):
        record_started(state, f"/p/{number}", None)
    record_started(state, "/p/100", "acme/api")
    record_started(state, "/p/not-utf8\udcff", None)
    known = read_started(state)
    assert known[0] == Started("/p/100", "acme/api")
    assert len(known) == STARTED_LIMIT
    assert len({entry.cwd for entry in known}) == STARTED_LIMIT
    assert (tmp_path / "state" / "started.json").stat().st_mode & 0o777 == 0o600


def test_recording_the_same_folder_again_writes_nothing(tmp_path: Path, snapshot: Snapshot) -> None:
    record_started(str(tmp_path), "/p", None)
    before = snapshot(tmp_path)
    record_started(str(tmp_path), "/p", None)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("", ()),
        ("[]", ()),
        ("{}", ()),
        ('{"started": {"cwd": "/a"}}', ()),
        ('{"started": [1, {"cwd": 2}, {"cwd": "/a", "remote": 3}]}', (Started("/a", None),)),
    ],
)
def test_a_damaged_record_is_read_as_far_as_it_goes(
    text: str, known: tuple[Started, ...], tmp_path: Path
) -> None:
    (tmp_path / "started.json").write_text(text)
    assert read_started(str(tmp_path)) == known
