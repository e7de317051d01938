"""The demo memory: moved through time, named by the agent's rules, and kept inside its folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from core.demo import BASE_DAY, DemoPaths, prepare
from core.demo.shift import Shift, second_written
from core.demo.transcripts import group_name
from core.errors import UsageError
from core.index.chunker import chunk_markdown
from core.memory import Memory
from core.search.report import SearchReport
from core.search.scoring import is_content_free
from core.store.identity import folder_of, identify, workspace_folder_name
from core.store.layout import is_scaffold

NOON = datetime(2027, 3, 14, 12, tzinfo=UTC).timestamp()
BASE_NOON = datetime(2026, 6, 30, 12, tzinfo=UTC).timestamp()
LOG_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-(.+)-([0-9a-f]{8})\.md")
HOSTILE = "pasted-terminal-output"


@pytest.fixture
def demo(tmp_path: Path) -> DemoPaths:
    return prepare(tmp_path / "demo", NOON)


def tree(folder: Path) -> dict[str, tuple[bytes | None, float]]:
    """Every entry below a folder with its bytes (None: a folder) and modification time."""
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.stat().st_mtime)
        for path in sorted(folder.rglob("*"))
    }


def logs(demo: DemoPaths, folder: str | None = None) -> list[Path]:
    return sorted(Path(demo.root, folder or "*").parent.glob(f"{folder or '*'}/sessions/*.md"))


def workspace(demo: DemoPaths, name: str) -> Path:
    (found,) = Path(demo.root).glob(f"{name}-????????")
    return found


def day_of(moment: float) -> date:
    return datetime.fromtimestamp(moment, UTC).date()


def test_is_the_same_for_the_same_moment(tmp_path: Path) -> None:
    # The same place too: one project is known by its path.
    target = tmp_path / "demo"
    first = prepare(target, NOON)
    before = tree(target)
    shutil.rmtree(target)
    assert prepare(target, NOON) == first
    assert tree(target) == before


def test_moves_every_date_by_the_same_number_of_days(tmp_path: Path) -> None:
    base = prepare(tmp_path / "a", BASE_NOON)
    moved = prepare(tmp_path / "b", NOON)
    shift = Shift(NOON)
    assert shift.days == (date(2027, 3, 14) - BASE_DAY).days
    before, after = logs(base), logs(moved)
    assert [shift.text(path.name) for path in before] == [path.name for path in after]
    pairs = zip(before, after, strict=True)
    assert all(shift.text(old.read_text()) == new.read_text() for old, new in pairs)
    memory = (workspace(base, "widgets") / "MEMORY.md").read_text()
    assert "verified from=2026-06-18" in memory
    assert "verified from=2027-03-02" in (workspace(moved, "widgets") / "MEMORY.md").read_text()


def test_leaves_texts_alone_on_the_day_they_were_written_for(tmp_path: Path) -> None:
    demo = prepare(tmp_path / "demo", BASE_NOON)
    source = Path(__file__).parents[2] / "core" / "demo" / "memory" / "widgets"
    for path in source.rglob("*.md"):
        copy = workspace(demo, "widgets") / path.relative_to(source)
        assert copy.read_bytes() == path.read_bytes()


def test_one_log_has_a_name_in_chinese(demo: DemoPaths) -> None:
    (name,) = [path.name for path in logs(demo) if not path.name.isascii()]
    assert name == "2027-02-06-部署配置-019e5db8.md"


def test_ends_today_and_reaches_back_for_months(demo: DemoPaths) -> None:
    days = sorted(date.fromisoformat(path.name[:10]) for path in logs(demo))
    assert days[-1] == date(2027, 3, 14)
    assert 140 <= (days[-1] - days[0]).days <= 160
    assert 38 <= len(days) <= 48


def test_log_names_and_times_agree(demo: DemoPaths) -> None:
    for path in logs(demo):
        match = LOG_NAME.fullmatch(path.name)
        assert match, path.name
        moment = path.stat().st_mtime
        assert day_of(moment).isoformat() == match[1], path.name
        assert moment <= NOON
    flushed = [path for path in logs(demo) if "<!-- flush " in path.read_text()]
    assert len(flushed) > 10
    for path in flushed:
        last = re.findall(r"<!-- flush (\S+) UTC -->", path.read_text())[-1]
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        assert written.strftime("%H:%M:%S") == last, path.name


@pytest.mark.parametrize("second", [0, 61, 6 * 3600])
def test_nothing_is_from_the_future_early_in_the_day(tmp_path: Path, second: int) -> None:
    now = datetime(2027, 3, 14, tzinfo=UTC).timestamp() + second
    demo = prepare(tmp_path / "demo", now)
    assert max(moment for _, moment in tree(demo.home).values()) <= now
    newest = [path for path in logs(demo) if path.name.startswith("2027-03-14")]
    assert newest
    assert all(day_of(path.stat().st_mtime) == date(2027, 3, 14) for path in newest)


def test_what_only_looks_like_a_date_stays() -> None:
    shift = Shift(NOON)
    assert shift.text("on 2026-06-30, at 2026-06-30T09:02:40Z") == "on 2027-03-14, at 2027-03-14T09:02:40Z"
    same = "2026-13-40 and 12026-06-30 and 2026-06-301 and 9999-12-31 and 1.0.21"
    assert shift.text(same) == same


def test_second_written_is_that_of_the_last_flush_or_summary() -> None:
    assert second_written("a.md", "<!-- flush 01:00:00 UTC --> <!-- flush 02:00:03 UTC -->") == 7203
    assert second_written("a.md", "- **Date**: 2026-06-22 14:52 UTC") == 14 * 3600 + 52 * 60 + 7
    assert 8 * 3600 <= second_written("a.md", "") < 18 * 3600
    assert second_written("a.md", "") == second_written("a.md", "anything")


def test_folders_have_the_names_the_agent_gives_them(demo: DemoPaths) -> None:
    assert workspace(demo, "widgets").name == folder_of("acme/widgets") == demo.workspace
    assert workspace(demo, "larder").name == folder_of("oakmoor/larder")
    path = str(demo.projects["tsubame"].resolve())
    assert workspace(demo, "tsubame").name == folder_of(path)
    heading = (workspace(demo, "tsubame") / "MEMORY.md").read_text().splitlines()[0]
    assert heading == f"# Project Memory — {path}"


def test_checkouts_identify_without_git_having_made_them(demo: DemoPaths) -> None:
    for name, checkout in demo.projects.items():
        config = (checkout / ".git" / "config").read_text()
        url = re.search(r"url = (\S+)", config)
        found = workspace_folder_name(str(checkout), url[1] if url else None)
        assert found == workspace(demo, name).name


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_reads_the_checkouts(demo: DemoPaths) -> None:
    for name, checkout in demo.projects.items():
        assert identify(str(checkout)).folder == workspace(demo, name).name


def test_a_repository_above_is_not_taken_for_the_projects(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    subprocess.run([git, "init", "-q", str(tmp_path)], check=True)
    subprocess.run(
        [git, "-C", str(tmp_path), "remote", "add", "origin", "git@h.test:some/other.git"], check=True
    )
    demo = prepare(tmp_path / "demo", NOON)
    assert identify(str(demo.projects["tsubame"])).kind == "path"


def test_one_note_is_hidden_by_the_template(demo: DemoPaths) -> None:
    memory = workspace(demo, "tsubame") / "MEMORY.md"
    text = memory.read_text()
    assert memory.stat().st_size < 500
    assert is_scaffold(text)
    assert "18:00 (JST)" in text
    (chunk,) = chunk_markdown(text)
    assert is_content_free(chunk.text, "workspace")


def test_one_file_is_past_what_a_dream_keeps(demo: DemoPaths) -> None:
    sizes = {path.parent.name: path.stat().st_size for path in Path(demo.root).glob("*/MEMORY.md")}
    assert [name for name, size in sizes.items() if size > 16_000] == [demo.workspace]
    data = (workspace(demo, "widgets") / "MEMORY.md").read_bytes()
    assert data.find(b"legal hold") > 16_000


def test_logs_come_in_all_sizes(demo: DemoPaths) -> None:
    sizes = sorted(path.stat().st_size for path in logs(demo))
    assert sizes[0] == 0
    assert 0 < sizes[1] < 100
    assert sizes[-1] > 25_000


def test_dream_locks_tell_three_stories(demo: DemoPaths) -> None:
    def split(name: str) -> tuple[float, int, int]:
        folder = workspace(demo, name)
        dreamed = (folder / ".dream-lock").stat().st_mtime
        moments = [path.stat().st_mtime for path in (folder / "sessions").iterdir()]
        return (
            dreamed,
            sum(moment > dreamed for moment in moments),
            sum(moment <= dreamed for moment in moments),
        )

    dreamed, fresh, _ = split("widgets")
    assert fresh >= 5
    assert NOON - dreamed > 24 * 3600
    dreamed, fresh, stranded = split("larder")
    assert (fresh, stranded) == (0, 13)
    assert not (workspace(demo, "tsubame") / ".dream-lock").exists()


def test_one_log_holds_real_control_bytes(demo: DemoPaths) -> None:
    (hostile,) = [path for path in logs(demo) if HOSTILE in path.name]
    text = hostile.read_bytes().decode()
    for character in ("\x1b", "\x07", "\x08", "\r", "\x7f", "\x9b", "\x85", "\u202e", "\u200b", "\u2028"):
        assert character in text, hex(ord(character))
    assert "[/]" in text
    for other in [*logs(demo), *Path(demo.root).rglob("MEMORY.md")]:
        if other != hostile:
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", other.read_bytes().decode()), other.name


def test_agent_memories_of_both_shapes(demo: DemoPaths) -> None:
    reviewer = demo.grok_home / "agent-memory" / "reviewer"
    assert (reviewer / "MEMORY.md").is_file()
    assert list((reviewer / demo.workspace / "sessions").glob("*.md"))
    flat = demo.cwd / ".grok" / "agent-memory" / "release-notes"
    assert (flat / "MEMORY.md").is_file()
    assert list((flat / "sessions").glob("*.md"))


def test_conversations_name_the_checkouts(demo: DemoPaths) -> None:
    found = {}
    for summary in demo.grok_home.glob("sessions/*/*/summary.json"):
        data = json.loads(summary.read_text())
        assert data["info"]["id"] == summary.parent.name
        assert summary.parent.parent.name == group_name(data["info"]["cwd"])
        found[data["info"]["cwd"]] = data
    assert set(found) == {str(path.resolve()) for path in demo.projects.values()}
    (chat,) = demo.grok_home.glob("sessions/*/*/chat_history.jsonl")
    lines = [json.loads(line) for line in chat.read_text().splitlines()]
    assert sum(line["type"] == "user" for line in lines) >= 5
    assert str(demo.cwd.resolve()) in lines[0]["content"]
    assert "2027-03-14" in chat.read_text()


def test_long_folder_names_are_hashed_as_the_agent_does(tmp_path: Path) -> None:
    target = tmp_path / "配置メモ" / ("倉庫" * 12)
    demo = prepare(target, NOON)
    groups = [path for path in (demo.grok_home / "sessions").iterdir() if path.name.startswith("widgets-")]
    assert len(groups) == 1
    assert (groups[0] / ".cwd").read_text() == str(demo.cwd.resolve())
    assert re.fullmatch(r"widgets-[0-9a-f]{16}", groups[0].name)


@pytest.mark.parametrize("name", ["with some spaces", "デモ 配置 🐦", "moved 2026-06-30 here", "per%cent"])
def test_any_target_folder_will_do(tmp_path: Path, name: str) -> None:
    demo = prepare(tmp_path / name, NOON)
    assert demo.root == str(tmp_path / name / ".grok" / "memory")
    path = str(demo.projects["tsubame"].resolve())
    assert workspace(demo, "tsubame").name == folder_of(path)
    assert path in (workspace(demo, "tsubame") / "MEMORY.md").read_text()


def test_a_target_behind_a_link_keeps_its_spelling(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    demo = prepare(tmp_path / "link" / "demo", NOON)
    assert demo.root == str(tmp_path / "link" / "demo" / ".grok" / "memory")
    real = str((tmp_path / "real" / "demo" / "projects" / "tsubame").resolve())
    assert workspace(demo, "tsubame").name == folder_of(real)


def test_nothing_outside_the_target_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for folder in (home, tmp_path / "work"):
        folder.mkdir()
        (folder / "keep.md").write_text("# Keep\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path / "work")
    before = tree(tmp_path)
    demo = prepare(Path("demo"), NOON)
    assert demo.home == tmp_path / "work" / "demo"
    after = {name: value for name, value in tree(tmp_path).items() if not name.startswith("work/demo")}
    before.pop("work"), after.pop("work")  # its own time changed: it holds the new folder
    assert after == before
    assert all(Path(value).is_relative_to(demo.home) for value in demo.environ.values())
    assert os.environ["HOME"] == str(home)


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Mine\n")
    with pytest.raises(UsageError, match="not empty"):
        prepare(tmp_path, NOON)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]
    with pytest.raises(UsageError, match="not a folder"):
        prepare(tmp_path / "notes.md", NOON)


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -1e12, 1e15])
def test_a_moment_that_is_none_is_refused_before_anything_is_written(tmp_path: Path, now: float) -> None:
    with pytest.raises(UsageError):
        prepare(tmp_path / "demo", now)
    assert not list(tmp_path.rglob("*.md"))


def test_every_date_in_the_texts_is_within_the_story(demo: DemoPaths) -> None:
    # A date far off is a slip of the pen; those ahead are dates the people of the story plan for.
    for path in Path(demo.root).rglob("*.md"):
        for found in re.findall(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)", path.read_text()):
            days = (date.fromisoformat(found) - date(2027, 3, 14)).days
            assert -160 <= days <= 100, (path.name, found)


def found(demo: DemoPaths, now: float, query: str, workspace: str = "") -> SearchReport:
    """Search the demo as a person does who opened it."""
    memory = Memory.open(
        demo.root, workspace=workspace or demo.workspace, environ=demo.environ, clock=lambda: now
    )
    try:
        return memory.search(query)
    finally:
        memory.close()


@pytest.mark.parametrize("hour", [0.1, 12, 23.9])
def test_a_search_shows_every_source_and_what_decay_does(tmp_path: Path, hour: float) -> None:
    now = datetime(2027, 3, 14, tzinfo=UTC).timestamp() + hour * 3600
    demo = prepare(tmp_path / "demo", now)
    report = found(demo, now, "refresh token rotation")
    assert [hit.source for hit in report.hits] == ["workspace", "global", "session", "session"]
    assert report.hits[0].heading == "Refresh token rotation"
    faded = [hit for hit in report.dropped if hit.factors.merged >= 0.7 > hit.factors.score]
    assert len(faded) >= 3
    assert all(hit.source == "session" for hit in faded)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("deploy rollback", "rollback-drill"),
        ("flaky test", "MEMORY.md"),
        ("why is staging red", "MEMORY.md"),
        ("@acme/ui-kit", "MEMORY.md"),
        ("token lifetime", "MEMORY.md"),
        ("legal hold", "MEMORY.md"),
    ],
)
def test_good_questions_get_good_answers(demo: DemoPaths, query: str, first: str) -> None:
    report = found(demo, NOON, query)
    assert first in report.hits[0].path
    assert report.dropped


@pytest.mark.parametrize("query", ["1.0.21", "配置", "what is that"])
def test_some_questions_only_a_person_gets_answered(demo: DemoPaths, query: str) -> None:
    report = found(demo, NOON, query)
    assert not report.hits
    assert report.also


def test_the_hidden_note_is_a_candidate_that_never_shows(demo: DemoPaths) -> None:
    folder = workspace(demo, "tsubame").name
    report = found(demo, NOON, "デプロイ", folder)
    assert not [hit for hit in report.hits if hit.path.endswith("MEMORY.md")]
    assert [hit.reason for hit in report.dropped if hit.path.endswith("MEMORY.md")] == ["content_free"]
    assert found(demo, NOON, "配置", folder).hits


def test_the_agents_settings_are_understood(demo: DemoPaths) -> None:
    memory = Memory.open(demo.root, workspace=demo.workspace, environ=demo.environ, clock=lambda: NOON)
    try:
        assert not memory.settings.problems
        assert memory.settings.search.min_score == 0.7
    finally:
        memory.close()
