"""The façade: opening, finding a workspace, reading, chunk spans — and that looking writes nothing."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from core.errors import NotFound, OutsideRoot, SettingsError, UnreadableFile, UsageError
from core.memory import Memory
from core.store.identity import GitAnswer, folder_of
from core.store.names import record_started
from tests.core.memory_desk import DAY, NOW, OTHER, WS, MemoryDesk, no_index, tree

# ── which root, which workspace ──────────────────────────────────────────────────────────────────────


def test_the_default_root_is_in_the_agents_home(place: MemoryDesk) -> None:
    assert place.open().root == str(place.root)
    elsewhere = place.folder / "other"
    (elsewhere / "memory" / WS).mkdir(parents=True)
    assert place.open(GROK_HOME=str(elsewhere)).root == str(elsewhere / "memory")


def test_a_root_by_link_keeps_its_spelling(place: MemoryDesk) -> None:
    place.fill()
    link = place.folder / "link"
    link.symlink_to(place.root)
    memory = place.open(root=str(link))
    assert memory.root == str(link)
    hits = memory.search("copper").hits
    assert hits[0].path == f"{link}/{WS}/MEMORY.md"
    assert memory.read(hits[0].path).lines[0] == "# Widgets"


def test_a_root_that_is_a_file_is_refused(place: MemoryDesk, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(UsageError, match="not a folder"):
        place.open(root=str(path))


@pytest.mark.parametrize("root", ["", "a\0b", "\ud800"])
def test_a_root_that_can_be_no_folder_is_refused(place: MemoryDesk, root: str) -> None:
    with pytest.raises(UsageError):
        place.open(root=root)


def test_a_root_that_is_missing_opens_empty_and_is_not_made(place: MemoryDesk) -> None:
    memory = place.open(None, root=str(place.folder / "none" / "memory"))
    assert not memory.overview().roots[0].exists
    assert memory.search("anything").empty_reason == "nothing indexed"
    assert not (place.folder / "none").exists()


@pytest.mark.parametrize("wanted", [WS, "widgets", "w"])
def test_a_workspace_by_name_and_by_unique_prefix(place: MemoryDesk, wanted: str) -> None:
    place.fill()
    memory = place.open(wanted)
    assert (memory.workspace, memory.identity.kind) == (WS, "chosen")


def test_a_workspace_by_the_repository_it_was_made_from(place: MemoryDesk) -> None:
    folder = folder_of("acme/widgets")
    place.write(f"{folder}/MEMORY.md", "# W\n")
    record_started(str(place.state), "/nowhere", "acme/widgets")
    assert place.open("acme/widgets").workspace == folder


def test_an_ambiguous_prefix_names_what_it_fits(place: MemoryDesk) -> None:
    place.write("widgets-00000000/MEMORY.md", "x")
    place.write(f"{WS}/MEMORY.md", "x")
    with pytest.raises(UsageError, match="fits 2 workspaces") as caught:
        place.open("widgets")
    assert WS in str(caught.value) and caught.value.hint


@pytest.mark.parametrize("wanted", ["", "..", ".", "../..", "/", "a\0b", "\ud800", "nothing", f"{WS}/"])
def test_what_is_no_workspace_is_refused_by_both_ways_in(place: MemoryDesk, wanted: str) -> None:
    place.fill()
    with pytest.raises(UsageError):
        place.open(wanted)
    if wanted:
        with pytest.raises(UsageError):
            place.open().at(wanted)


def test_the_workspace_of_a_folder_with_a_remote(place: MemoryDesk) -> None:
    memory = place.open(None, run_git=lambda cwd: GitAnswer("git@github.com:acme/widgets.git"))
    assert memory.workspace == folder_of("acme/widgets")
    assert (memory.identity.kind, memory.identity.value) == ("remote", "acme/widgets")


def test_a_real_repository_and_its_worktree_share_a_workspace(place: MemoryDesk) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(place.cwd), *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("remote", "add", "origin", "https://example.org/acme/gears.git")
    here = place.open(None, run_git=None)
    inner = place.cwd / "inner"
    inner.mkdir()
    below = place.open(None, run_git=None, cwd=str(inner))
    assert here.workspace == below.workspace == folder_of("acme/gears")


def test_without_a_remote_the_path_decides_and_says_so(place: MemoryDesk) -> None:
    memory = place.open(None)
    assert memory.workspace == folder_of(os.path.realpath(place.cwd))
    assert memory.identity.kind == "path"
    assert "not in a git repository" in memory.identity.reason


def test_an_ephemeral_folder_is_said_only_of_the_folder_it_was_derived_from(place: MemoryDesk) -> None:
    temp = os.path.realpath(place.folder)
    derived = place.open(None, temp_dir=temp).overview()
    assert any("keeps no memory of this folder" in note for note in derived.notes)
    chosen = place.open(WS, temp_dir=temp).overview()
    assert not chosen.notes


def test_a_folder_that_is_gone_still_opens(place: MemoryDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("os.getcwd", gone)
    memory = Memory.open(
        environ=place.environ(PWD="/somewhere/else"), clock=lambda: NOW, run_git=lambda cwd: GitAnswer(None)
    )
    assert memory.workspace == folder_of("/somewhere/else")
    memory.close()
    with pytest.raises(UsageError, match="gone"):
        Memory.open("relative", environ=place.environ())


@pytest.mark.parametrize("cwd", ["a\0b", "\ud800"])
def test_a_folder_that_can_be_none_is_refused(place: MemoryDesk, cwd: str) -> None:
    with pytest.raises(UsageError, match="no usable path"):
        place.open(None, cwd=cwd)


def test_without_a_home_the_user_is_told_to_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("core.opening.Path.home", homeless)
    with pytest.raises(UsageError) as caught:
        Memory.open(environ={}, cwd="/")
    assert "HOME" in caught.value.hint


# ── the clock ────────────────────────────────────────────────────────────────────────────────────────


def test_the_clock_can_be_frozen(place: MemoryDesk) -> None:
    assert place.open(MEMDECK_NOW="1767225600").now() == NOW
    assert place.open(MEMDECK_NOW=" -5.5 ").now() == -5.5


@pytest.mark.parametrize("value", ["soon", "nan", "inf", "-inf", "1e300", "99999999999999999999999"])
def test_a_clock_that_dates_cannot_be_made_of_is_refused(place: MemoryDesk, value: str) -> None:
    with pytest.raises(SettingsError, match="MEMDECK_NOW"):
        place.open(MEMDECK_NOW=value)


def test_ages_follow_the_clock(place: MemoryDesk) -> None:
    place.fill()
    assert place.open().search("bronze").hits[0].age == ""
    place.now = NOW + 9 * DAY
    stale = place.open().search("bronze", min_score=0.0).hits[0]
    assert (stale.staleness, stale.age) == ("stale", "1 week ago")


# ── looking writes nothing ───────────────────────────────────────────────────────────────────────────


def look_at_everything(memory: Memory) -> None:
    memory.overview()
    memory.sessions()
    memory.problems()
    memory.status()
    for query in ("harbor", "", "what is this", "配置", "harb", "source:global harbor"):
        memory.search(query)
        memory.search(query, everywhere=True)
    hit = memory.search("harbor").hits[0]
    memory.read(hit.path)
    memory.spans(hit.path)
    memory.why("harbor", hit.id)
    memory.sync()
    memory.gc()
    memory.clear_preview("all")
    memory.doctor()


def test_looking_writes_only_the_index_of_the_workspace(place: MemoryDesk) -> None:
    place.fill()
    place.write(f"{WS}/sessions/notes.txt", "not a log")
    place.write("stray.md", "not listed")
    (place.root / WS / "sessions" / "link.md").symlink_to("nowhere.md")
    before = tree(place.root)
    look_at_everything(place.open())
    after = tree(place.root, no_index)
    assert after == before
    made = {str(path.relative_to(place.root)) for path in place.root.rglob("index.sqlite*")}
    assert made and all(name.startswith(f"{WS}/index.sqlite") for name in made)


def test_a_workspace_without_a_folder_gets_none(place: MemoryDesk) -> None:
    place.fill()
    before = tree(place.root)
    memory = place.open(None)
    look_at_everything(memory)
    assert not (place.root / memory.workspace).exists()
    assert tree(place.root) == before
    assert memory.search("granite").hits


def test_a_root_that_cannot_be_written_is_searched_from_the_cache(
    place: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.fill()
    before = tree(place.root)
    real = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode, **options: (
            not (mode & os.W_OK and str(path).startswith(str(place.root))) and real(path, mode, **options)
        ),
    )
    memory = place.open()
    report = memory.search("copper")
    assert report.hits and any("read-only" in note for note in report.notes)
    assert memory.status().state == "cached"
    assert memory.overview().roots[0].read_only
    assert any("read-only" in finding.message for finding in memory.doctor().findings)
    assert tree(place.root) == before


def test_no_state_is_kept_under_the_root(place: MemoryDesk) -> None:
    place.fill()
    before = tree(place.root)
    inside = str(place.root / "state")
    memory = place.open(None, MEMDECK_STATE=inside)
    report = memory.search("granite")
    assert "MEMDECK_STATE" in report.empty_reason
    assert memory.read("MEMORY.md").lines[0] == "# Global"
    with pytest.raises(UsageError, match="inside the memory"):
        memory.clear("global")
    assert tree(place.root) == before


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_path_is_looked_for_in_the_workspace_then_in_the_root(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    assert memory.resolve("MEMORY.md") == f"{place.root}/{WS}/MEMORY.md"
    assert memory.resolve(f"{OTHER}/MEMORY.md") == f"{place.root}/{OTHER}/MEMORY.md"
    assert memory.resolve(str(place.root / "MEMORY.md")) == f"{place.root}/MEMORY.md"
    assert memory.at("").resolve("MEMORY.md") == f"{place.root}/MEMORY.md"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nothing.md", NotFound),
        ("/etc/hostname", OutsideRoot),
        ("../../../../etc/hostname", OutsideRoot),
        ("", UsageError),
        ("a\0b", UsageError),
        ("\ud800", NotFound),
        ("\udcff", NotFound),
        ("a" * 100_000, NotFound),
        ("sessions", UnreadableFile),
    ],
)
def test_what_cannot_be_read_is_said(place: MemoryDesk, path: str, error: type[Exception]) -> None:
    place.fill()
    with pytest.raises(error):
        place.open().read(path)


def test_a_part_of_a_file(place: MemoryDesk) -> None:
    place.write(f"{WS}/MEMORY.md", "one\r\ntwo\nthree\nfour")
    text = place.open().read("MEMORY.md", first=2, lines=2)
    assert (text.first, text.lines, text.total) == (2, ("two", "three"), 4)
    assert place.open().read("MEMORY.md", first=99).lines == ()
    with pytest.raises(UsageError):
        place.open().read("MEMORY.md", first=0)


def test_spans_follow_the_file_and_say_what_is_indexed(place: MemoryDesk) -> None:
    text = "".join(f"## Part {number}\n\n{'word ' * 200}\n" for number in range(3))
    place.write(f"{WS}/MEMORY.md", text)
    memory = place.open()
    assert [span.indexed for span in memory.spans("MEMORY.md")] == [False] * 3
    memory.sync()
    spans = memory.spans("MEMORY.md")
    assert [(span.ordinal, span.start_line, span.end_line, span.indexed) for span in spans] == [
        (0, 1, 3, True),
        (1, 4, 6, True),
        (2, 7, 9, True),
    ]
    assert [span.id for span in spans] == [f"{place.root}/{WS}/MEMORY.md:{number}" for number in range(3)]
    place.write(f"{WS}/MEMORY.md", text.replace("Part 1", "Part one"))
    assert [span.indexed for span in memory.spans("MEMORY.md")] == [True, False, True]


def test_sessions_come_newest_first(place: MemoryDesk) -> None:
    place.fill()
    assert [log.day for log in place.open().sessions()] == ["2025-12-31", "2025-12-30"]
    assert [log.day for log in place.open().sessions(OTHER)] == ["2025-12-29"]


def test_another_workspace_of_the_same_memory(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    other = memory.at(OTHER)
    place.opened.append(other)
    assert [hit.source for hit in other.search("marble").hits] == ["workspace"]
    assert other.settings is memory.settings


def test_an_index_removed_under_a_live_memory_is_made_anew_before_it_is_searched(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    assert memory.search("harbor").hits
    for suffix in ("", "-wal", "-shm"):
        (place.root / WS / f"index.sqlite{suffix}").unlink(missing_ok=True)
    report = memory.search("harbor", sync=False)  # as the app asks while it is told of every change
    assert report.hits
    assert report.empty_reason == ""


def test_a_root_that_cannot_be_listed_is_not_taken_for_an_empty_one(
    place: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.fill()
    listdir = os.listdir

    def denied(path: str = ".") -> list[str]:
        if path == str(place.root):
            raise PermissionError(errno.EACCES, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(UsageError, match="cannot be looked into"):
        place.open()
