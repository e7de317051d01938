"""Where roots lie, which shape they have, and which agent memories belong beside one."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import UsageError
from core.store.layout import (
    classify_source,
    default_root,
    ephemeral_reason,
    find_roots,
    grok_home_of,
    has_hash_suffix,
    is_log_name,
    is_scaffold,
    open_root,
    workspace_dir,
)


def test_the_default_root_is_spelled_as_the_agent_spells_it() -> None:
    assert default_root({}, "/home/dev") == "/home/dev/.grok/memory"
    assert default_root({"GROK_HOME": "/x/../y"}, "/home/dev") == "/x/../y/memory"
    assert default_root({"GROK_HOME": ""}, "/home/dev") == "/home/dev/.grok/memory"


def test_the_agents_home_is_known_only_for_a_root_named_memory() -> None:
    assert grok_home_of("/x/memory") == "/x"
    assert grok_home_of("/x/memory/") == "/x"
    assert grok_home_of("/x/notes") is None


def test_a_root_keeps_its_spelling_and_knows_where_it_really_lies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    root = open_root(str(tmp_path / "link"))
    assert root.path == str(tmp_path / "link")
    assert root.real == (tmp_path / "real").resolve()


def test_a_missing_root_opens_and_makes_nothing(tmp_path: Path) -> None:
    root = open_root(str(tmp_path / "none" / "memory"))
    assert not root.flat
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", ["", "a\0b"])
def test_an_unusable_root_path_is_refused(bad: str) -> None:
    with pytest.raises(UsageError):
        open_root(bad)


def test_a_file_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="not a folder"):
        open_root(str(tmp_path / "file"))


def test_a_looping_link_as_root_does_not_crash(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert open_root(str(tmp_path / "loop")).path == str(tmp_path / "loop")


@pytest.mark.parametrize(
    ("made", "flat"),
    [
        (["grok/memory/x-12345678/"], False),
        (["grok/memory/sessions/"], True),
        (["grok/memory/sessions/", "grok/memory/x-12345678/"], False),
        ([], False),
    ],
)
def test_the_shape_of_an_opened_root_is_what_is_on_disk(made: list[str], flat: bool, tmp_path: Path) -> None:
    for folder in made:
        (tmp_path / folder).mkdir(parents=True)
    assert open_root(str(tmp_path / "grok/memory")).flat is flat


def test_an_empty_agent_memory_has_the_shape_of_its_place(tmp_path: Path) -> None:
    (tmp_path / "home/.grok/memory").mkdir(parents=True)
    assert open_root(str(tmp_path / "p/.grok/agent-memory-local/a")).flat
    assert open_root(str(tmp_path / "p/.grok/agent-memory/a")).flat
    assert not open_root(str(tmp_path / "home/.grok/agent-memory/a")).flat


def test_agent_memories_of_both_shapes_are_found(tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = home / "work" / "widgets"
    for folder in (
        home / ".grok/memory",
        home / ".grok/agent-memory/reviewer",
        project / ".git",
        project / ".grok/agent-memory/tester",
        project / ".grok/agent-memory-local/scratch",
        project / "src/deep",
        home / "work/.grok/agent-memory/above-the-project",
    ):
        folder.mkdir(parents=True)
    main = open_root(str(home / ".grok/memory"))

    roots = find_roots(main, cwd=str(project / "src/deep"), home=str(home))

    assert [(root.kind, root.name, root.flat) for root in roots] == [
        ("main", "", False),
        ("agent-user", "reviewer", False),
        ("agent-project", "tester", True),
        ("agent-local", "scratch", True),
    ]


def test_an_agent_folder_with_both_shapes_is_given_twice(tmp_path: Path) -> None:
    agent = tmp_path / "agent-memory/both"
    (agent / "sessions").mkdir(parents=True)
    (agent / "x-12345678").mkdir()
    (tmp_path / "agent-memory/flat-one/sessions").mkdir(parents=True)
    roots = find_roots(open_root(str(tmp_path / "memory")))
    assert [(r.name, r.flat) for r in roots[1:]] == [("both", False), ("both", True), ("flat-one", True)]


def test_without_a_project_the_walk_ends_at_home_and_never_takes_the_users_agents_twice(
    tmp_path: Path,
) -> None:
    (tmp_path / ".grok/agent-memory/mine").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    main = open_root(str(tmp_path / ".grok/memory"))
    roots = find_roots(main, cwd=str(tmp_path / "docs"), home="")
    assert [(root.kind, root.name) for root in roots[1:]] == [("agent-user", "mine")]


def test_agent_folders_that_are_links_hidden_or_not_text_are_passed_over(tmp_path: Path) -> None:
    agents = tmp_path / "agent-memory"
    (agents / "good").mkdir(parents=True)
    (agents / ".hidden").mkdir()
    (agents / "link").symlink_to(agents / "good")
    (agents / "bad\udcff").mkdir()
    roots = find_roots(open_root(str(tmp_path / "memory")), cwd=None)
    assert [root.name for root in roots] == ["", "good"]


@pytest.mark.parametrize("folder", ["a/b", "..", ".", "a\0b"])
def test_a_workspace_is_a_plain_name(folder: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        workspace_dir(open_root(str(tmp_path)), folder)


def test_without_a_workspace_all_under_the_root_is_global() -> None:
    assert classify_source("/m", None, "/m/MEMORY.md") == "global"
    assert classify_source("/m/", "", "/m/x/sessions/a.md") == "global"
    assert classify_source("/m", "/m/w/", "/m/w/MEMORY.md") == "workspace"


@pytest.mark.parametrize(
    ("name", "log"),
    [("a.md", True), (".a.md", True), (".md", False), ("a.MD", False), ("a.md~", False), ("md", False)],
)
def test_log_names(name: str, log: bool) -> None:
    assert is_log_name(name) is log


@pytest.mark.parametrize(
    ("name", "suffixed"),
    [("a-12345678", True), ("a-1234567G", False), ("a-123456789", False), ("a\n-12345678", True)],
)
def test_hash_suffix(name: str, suffixed: bool) -> None:
    assert has_hash_suffix(name) is suffixed


def test_a_scaffold_is_measured_trimmed() -> None:
    assert is_scaffold("\n" * 900 + "Add project-specific knowledge here")


@pytest.mark.parametrize(
    ("cwd", "canonical", "temp", "ephemeral"),
    [
        ("/home/x/run", "/scratch/run", "/scratch", True),
        ("/home/x/run", "/scratchy/run", "/scratch", False),
        ("/private/tmp/a", "/private/tmp/a", "", True),
        ("/private/var/folders/ab/T/x", "/private/var/folders/ab/T/x", "", True),
        ("/var/folders/ab/cd/T/x", "/elsewhere", "", True),
        ("/home/x/var/folders/T/x", "/home/x/var/folders/T/x", "", False),
    ],
)
def test_ephemeral_folders_by_raw_and_canonical_path(
    cwd: str, canonical: str, temp: str, ephemeral: bool
) -> None:
    assert (ephemeral_reason(cwd, canonical, temp) is not None) is ephemeral
