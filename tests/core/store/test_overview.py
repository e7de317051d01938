"""What Scopes and Sessions show: every workspace, counts, marks, near-duplicates, the v2 banner."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.store import listing
from core.store.identity import folder_of
from core.store.layout import DREAM_LIMIT, Root, find_roots, open_root
from core.store.listing import near_key, overview, parse_log_name, session_logs, v2_banner
from core.store.model import Identity, Overview, WorkspaceInfo
from core.store.names import HumanNames, Started

NOW = 1_767_225_600.0
WS = "widgets-a3f7b2c9"
TEMPLATE = "# Project Memory — {}\n\n> Auto-populated by dream consolidation. Edit freely.\n"
Snapshot = Callable[[Path], dict[str, tuple[object, ...]]]


def by_folder(seen: Overview) -> dict[str, WorkspaceInfo]:
    return {info.folder: info for info in seen.roots[0].workspaces}


def test_every_workspace_with_its_counts(root: Root) -> None:
    info = by_folder(overview([root], current=WS))[WS]
    assert (info.sessions, info.session_bytes, info.current, info.exists) == (3, 24, True, True)
    assert info.memory is not None
    assert info.path == f"{root.path}/{WS}"
    assert (info.human, info.origin, info.last_dream) == (None, "unknown", None)
    assert (info.fresh_logs, info.stranded) == (3, 0)


def test_which_folders_count_as_workspaces(root: Root, memory: Path) -> None:
    for folder in (
        "hashed-12345678",
        "plain",
        "with-memory",
        "with-index",
        "with-logs/sessions",
        ".git/sessions",
    ):
        (memory / folder).mkdir(parents=True)
    (memory / "with-memory" / "MEMORY.md").write_text("x")
    (memory / "with-index" / "index.sqlite").write_bytes(b"")
    (memory / "linked-12345678").symlink_to(memory / WS)
    (memory / "bad\udcff-12345678").mkdir()
    (memory / "a-file-12345678").write_text("x")

    info = overview([root]).roots[0]

    assert [w.folder for w in info.workspaces] == [
        "hashed-12345678",
        WS,
        "with-index",
        "with-logs",
        "with-memory",
    ]
    assert sorted(problem.kind for problem in info.problems) == ["folder-link", "not-utf8"]


def test_logs_older_than_the_last_dream_are_stranded(root: Root, memory: Path) -> None:
    lock = memory / WS / ".dream-lock"
    lock.write_text("")
    os.utime(lock, (NOW - 86_400, NOW - 86_400))
    info = by_folder(overview([root]))[WS]
    assert (info.fresh_logs, info.stranded, info.last_dream) == (1, 2, NOW - 86_400)
    assert [log.state for log in session_logs(root, WS, NOW)] == ["new", "stranded", "stranded"]


def test_templates_and_files_past_the_dream_limit_are_marked(root: Root, memory: Path) -> None:
    (memory / WS / "MEMORY.md").write_text(TEMPLATE.format("/home/dev/x"))
    (memory / "MEMORY.md").write_bytes(b"x" * (DREAM_LIMIT + 1))
    info = overview([root]).roots[0]
    assert info.workspaces[0].scaffold_only
    assert not info.workspaces[0].past_dream_limit
    assert info.global_past_dream_limit
    assert not info.global_scaffold
    (memory / "MEMORY.md").write_bytes(b"x" * DREAM_LIMIT)
    assert not overview([root]).roots[0].global_past_dream_limit


def test_the_current_workspace_is_shown_before_it_exists(root: Root) -> None:
    folder = folder_of("acme/api")
    identity = Identity("remote", "acme/api", folder, "by the git remote")
    info = by_folder(overview([root], current=folder, identity=identity))[folder]
    assert (info.exists, info.current, info.human, info.origin) == (False, True, "acme/api", "remote")


def test_an_ephemeral_folder_is_said_and_marks_only_the_current_workspace(root: Root, memory: Path) -> None:
    (memory / "other-12345678").mkdir()
    seen = overview([root], current=WS, ephemeral="it lies under /tmp/")
    assert {folder: info.ephemeral for folder, info in by_folder(seen).items()} == {
        WS: True,
        "other-12345678": False,
    }
    assert seen.notes == ("The agent keeps no memory of this folder: it lies under /tmp/.",)


def test_near_duplicates_are_marked_both_ways(root: Root, memory: Path) -> None:
    remotes = ["Acme/Widgets", "acme/widgets", "acme/widgets.git", "acme/other"]
    for remote in remotes:
        (memory / folder_of(remote)).mkdir()
    names = HumanNames(started=[Started("/nowhere", remote) for remote in remotes])
    found = by_folder(overview([root], names=names))
    assert set(found[folder_of("acme/widgets")].near_duplicates) == {
        folder_of("Acme/Widgets"),
        folder_of("acme/widgets.git"),
    }
    assert found[folder_of("Acme/Widgets")].near_duplicates
    assert found[folder_of("acme/other")].near_duplicates == ()
    assert found[WS].near_duplicates == ()


@pytest.mark.parametrize(
    ("human", "key"),
    [("/Home//Dev/X/", "/home/dev/x"), ("A/B.git.git", "a/b"), ("a/b.git/", "a/b"), (".git", "")],
)
def test_near_key(human: str, key: str) -> None:
    assert near_key(human) == key


def test_flat_and_ordinary_agent_roots_stand_beside_the_main_one(root: Root, memory: Path) -> None:
    agents = memory.parent / "agent-memory"
    (agents / "flat" / "sessions").mkdir(parents=True)
    (agents / "flat" / "sessions" / "2025-01-01-a-1.md").write_text("x")
    (agents / "wide" / "x-12345678").mkdir(parents=True)
    (agents / "wide" / "MEMORY.md").write_text("x")
    flat, wide = overview(find_roots(root), current=WS).roots[1:]
    assert (flat.name, flat.flat, flat.global_memory) == ("flat", True, None)
    assert [(w.folder, w.origin, w.sessions) for w in flat.workspaces] == [("", "flat", 1)]
    assert wide.global_memory is not None
    assert [(w.folder, w.current) for w in wide.workspaces] == [("x-12345678", False)]


def test_a_missing_root_is_an_empty_one(tmp_path: Path) -> None:
    info = overview([open_root(str(tmp_path / "none"))]).roots[0]
    assert (info.exists, info.workspaces, info.problems, info.read_only) == (False, (), (), False)


def test_an_unreadable_root_is_named(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(listing.os, "scandir", scandir)
    info = overview([root]).roots[0]
    assert [problem.kind for problem in info.problems] == ["unreadable"]
    assert info.global_memory is not None


def test_a_root_that_cannot_be_written_is_read_only(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing.os, "access", lambda _path, _mode: False)
    assert overview([root]).roots[0].read_only


def test_the_v2_banner(root: Root, memory: Path) -> None:
    assert v2_banner(root, None) is None
    assert v2_banner(root, "legacy") is None
    assert "not there yet" in (v2_banner(root, "v2") or "")
    (memory.parent / "memory-v2").mkdir()
    assert "lies beside" in (v2_banner(root, None) or "")
    assert "not there yet" not in (overview([root], mode=" V2 ").banner or "")


def test_sessions_come_newest_first_with_their_age(root: Root, memory: Path) -> None:
    undated = memory / WS / "sessions" / "notes.md"
    undated.write_text("x")
    os.utime(undated, (NOW - 20 * 86_400, NOW - 20 * 86_400))  # 2025-12-12
    logs = session_logs(root, WS, NOW)
    assert [(log.day, log.slug, log.session_id) for log in logs] == [
        ("2025-12-31", "auth", "00000002"),
        ("2025-12-30", "auth", "00000000"),
        (None, "notes", ""),
        ("2025-12-01", "auth", "00000001"),
    ]
    assert [log.staleness for log in logs] == ["fresh", "verify", "stale", "fresh"]
    assert logs[1].age_days == pytest.approx(2.0)


def test_the_staleness_thresholds_are_exclusive(root: Root, memory: Path) -> None:
    log = memory / WS / "sessions" / "2025-12-31-auth-00000002.md"
    levels = []
    for age in (1.0, 1.0001, 7.0, 7.0001, -3.0):
        os.utime(log, (NOW - age * 86_400, NOW - age * 86_400))
        levels.append(session_logs(root, WS, NOW)[0].staleness)
    assert levels == ["fresh", "verify", "verify", "stale", "fresh"]


def test_damaged_times_do_not_crash(root: Root, memory: Path) -> None:
    odd = memory / WS / "sessions" / "odd.md"
    odd.write_text("x")
    os.utime(odd, ns=(-(10**18), -(10**18)))
    assert "odd" in [log.slug for log in session_logs(root, WS, NOW)]


def test_no_workspace_has_no_sessions(root: Root) -> None:
    assert session_logs(root, "", NOW) == ()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("2025-07-17-auth-flow-0a1b2c3d.md", ("2025-07-17", "auth-flow", "0a1b2c3d")),
        ("2025-07-17-memdeck.md", ("2025-07-17", "memdeck", "")),
        ("2025-07-17.md", ("2025-07-17", "", "")),
        ("2025-13-17-a-b.md", (None, "2025-13-17-a-b", "")),
        ("２０２５-07-17-a-b.md", (None, "２０２５-07-17-a-b", "")),
        ("2025-07-17-a\n-b.md", ("2025-07-17", "a\n", "b")),
    ],
)
def test_log_names_are_taken_apart(name: str, parts: tuple[str | None, str, str]) -> None:
    assert parse_log_name(name) == parts


def test_looking_writes_nothing(root: Root, memory: Path, snapshot: Snapshot) -> None:
    before = snapshot(memory.parent)
    overview(find_roots(root, cwd=str(memory), home="/"), current="new-00000000", names=HumanNames())
    session_logs(root, WS, NOW)
    assert snapshot(memory.parent) == before
