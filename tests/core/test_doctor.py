"""Doctor names each thing that is not as it should be, what it means, and changes no Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.index.model import DoctorReport, Finding
from tests.core.memory_desk import NOW, OTHER, WS, MemoryDesk, no_git, no_index, tree


def saying(report: DoctorReport, *parts: str) -> Finding:
    """The one finding that says all of this."""
    found = [item for item in report.findings if all(part in item.message for part in parts)]
    assert len(found) == 1, [item.message for item in report.findings]
    return found[0]


def silent(report: DoctorReport, part: str) -> bool:
    return not any(part in finding.message for finding in report.findings)


def test_a_good_memory_is_healthy(place: MemoryDesk) -> None:
    place.fill()
    before = tree(place.root, no_index)
    report = place.open().doctor()
    assert report.healthy, [item for item in report.findings if item.level in ("warning", "error")]
    assert saying(report, "with 2 workspaces").level == "ok"
    assert saying(report, WS, "4 chunks of 4 files", "journal wal").level == "ok"
    assert tree(place.root, no_index) == before


def test_a_missing_root(place: MemoryDesk) -> None:
    report = place.open(None, root=str(place.folder / "none")).doctor()
    assert saying(report, "is not there").level == "warning" and not report.healthy


def test_a_workspace_without_an_index_is_named_and_gets_none(place: MemoryDesk) -> None:
    place.fill()
    assert saying(place.open().doctor(), OTHER, "no index yet").level == "info"
    assert not (place.root / OTHER / "index.sqlite").exists()


def test_chunks_that_are_too_long(place: MemoryDesk) -> None:
    place.write(f"{WS}/MEMORY.md", "x" * 6401)
    assert "Break" in saying(place.open().doctor(), "6,401 bytes").hint
    place.write(f"{WS}/MEMORY.md", "x" * 6400)
    assert silent(place.open().doctor(), "too long to rank")


def test_a_configured_chunk_size_the_agent_ignores(place: MemoryDesk) -> None:
    place.fill()
    place.config("[memory.index]\nmax_chunk_chars = 900\n")
    saying(place.open().doctor(), "[memory.index] sets 900/320", "1600/320")


def test_a_file_past_what_a_dream_reads(place: MemoryDesk) -> None:
    place.write(f"{WS}/MEMORY.md", "word\n" * 3201)
    place.write("MEMORY.md", "word\n" * 3200)
    report = place.open().doctor()
    assert saying(report, WS, "16,000 bytes", "lost").level == "warning"
    place.write("MEMORY.md", "word\n" * 3201)
    assert len([f for f in place.open().doctor().findings if "16,000 bytes" in f.message]) == 2


def test_stranded_logs(place: MemoryDesk) -> None:
    place.fill()
    place.write(f"{WS}/.dream-lock", "")
    saying(place.open().doctor(), WS, "2 logs are older than the last dream")


def test_rows_of_another_workspace(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    memory.sync()
    place.sql(
        "INSERT INTO chunks(id,path,start_line,end_line,text,hash,source,created_at,updated_at)"
        f" VALUES('{place.root}/{OTHER}/MEMORY.md:0','{place.root}/{OTHER}/MEMORY.md',0,1,'harbor','h','workspace',1,1)",
        "INSERT INTO chunks_fts(rowid, text) VALUES(last_insert_rowid(), 'harbor')",
    )
    finding = saying(memory.doctor(), "1 row belongs to another workspace", "the agent sees it")
    assert "reindex" in finding.hint
    report = memory.search("harbor", min_score=0.0)
    assert [hit.path for hit in report.hits if hit.foreign] == [f"{place.root}/{OTHER}/MEMORY.md"]
    assert any("to another workspace" in note for note in report.notes)
    assert memory.reindex().foreign_removed == 1
    assert silent(memory.doctor(), "to another workspace")


def test_an_index_of_a_kind_unknown(place: MemoryDesk) -> None:
    place.fill()
    place.open().sync()
    place.sql("ALTER TABLE chunks ADD COLUMN later TEXT")
    finding = saying(place.open().doctor(), "memdeck's own copy is used", "tables memdeck does not know")
    assert finding.level == "warning"


def test_a_damaged_index_is_said_to_have_been_moved_aside(place: MemoryDesk) -> None:
    place.fill()
    place.file.write_bytes(b"no database " * 100)
    report = place.open().doctor()
    assert saying(report, "the index was damaged", "index.sqlite.damaged-").level == "warning"
    assert saying(report, WS, "4 chunks of 4 files").level == "ok"


def test_a_torn_text_index(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    memory.sync()
    place.sql("UPDATE chunks_fts_data SET block=x'0000' WHERE id>10")
    report = memory.doctor()
    assert "--rebuild" in saying(report, "SQLite finds the index damaged").hint and not report.healthy
    memory.reindex(rebuild=True)
    assert memory.doctor().healthy


def test_an_index_that_is_behind(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    memory.sync()
    place.hold_claim()
    place.write("MEMORY.md", "changed")
    assert saying(memory.doctor(), "index behind by 1 file (pid 4242 since").level == "warning"


def test_files_that_cannot_be_read_are_each_named(place: MemoryDesk) -> None:
    place.fill()
    sessions = place.root / WS / "sessions"
    place.log("20", b"# \xff\xfe\n", sid="0000bad0")
    (sessions / "2025-12-21-loop.md").symlink_to("2025-12-21-loop.md")
    (sessions / "2025-12-22-gone.md").symlink_to("nowhere.md")
    (sessions / "2025-12-23-dir.md").mkdir()
    (place.root / "linked-00000009").symlink_to(place.root / OTHER)
    report = place.open().doctor()
    saying(report, "0000bad0.md", "not UTF-8 at line 1")
    saying(report, "2025-12-21-loop.md", "leads back to itself")
    saying(report, "2025-12-22-gone.md", "nowhere.md", "not there")
    saying(report, "2025-12-23-dir.md", "a folder, not a file")
    saying(report, "linked-00000009", "folder links are not followed")
    saying(report, WS, "4 chunks of 4 files")


def test_a_note_hidden_by_the_template(place: MemoryDesk) -> None:
    template = "# Widgets\n\n> Add project-specific knowledge here\n"
    place.write(f"{WS}/MEMORY.md", template)
    assert silent(place.open().doctor(), "holds a note")
    place.write(f"{WS}/MEMORY.md", template + "\nThe port is 8080.\n")
    assert "template" in saying(place.open().doctor(), "holds a note", "never recalls it").message


def test_an_indexed_file_the_agent_does_not_list(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    memory.sync()
    stray = place.write(f"{WS}/notes/stray.md", "harbor")
    place.sql(
        "INSERT INTO chunks(id,path,start_line,end_line,text,hash,source,created_at,updated_at)"
        f" VALUES('{stray}:0','{stray}',0,1,'harbor','h','session',1,1)"
    )
    saying(memory.doctor(), "1 indexed file is not in the agent's own listing")


def test_names_that_may_be_one_project(place: MemoryDesk) -> None:
    from core.store.identity import folder_of
    from core.store.names import record_started

    for number, remote in enumerate(("acme/widgets", "Acme/Widgets")):
        place.write(f"{folder_of(remote)}/MEMORY.md", "x")
        record_started(str(place.state), f"/nowhere/{number}", remote)
    found = [f for f in place.open(None).doctor().findings if "may be one project" in f.message]
    assert len(found) == 2 and all(item.hint for item in found)


def test_a_name_that_holds_only_a_hash(place: MemoryDesk) -> None:
    place.fill()
    saying(place.open().doctor(), WS, "origin unknown")


def test_which_tree_the_agent_uses(place: MemoryDesk) -> None:
    place.fill()
    (place.home / ".grok" / "memory-v2").mkdir()
    assert saying(place.open().doctor(), "memory-v2").level == "warning"


def test_settings_that_are_wrong_and_where_the_floor_comes_from(place: MemoryDesk) -> None:
    place.fill()
    floor = saying(place.open().doctor(), "below the floor 0.7", "assumed", "is not recalled")
    assert floor.topic == "settings" and "search --explain" in floor.hint
    place.config("[memory.search]\nmin_scroe = 0.5\nmin_score = 0.4\n")
    report = place.open().doctor()
    saying(report, "config.toml", "min_scroe")
    saying(report, "floor 0.4", "config.toml")
    assert not report.healthy


@pytest.mark.parametrize(
    ("config", "variable", "said"),
    [
        ("", None, "not set here"),
        ("[telemetry]\ntrace_upload = true\n", None, ": on."),
        ("[telemetry]\ntrace_upload = false\n", None, ": off."),
        ("[telemetry]\ntrace_upload = true\n", "0", "GROK_TELEMETRY_TRACE_UPLOAD: off."),
        ("[telemetry]\ntrace_upload = 'perhaps'\n", None, "not set here"),
        ("broken [", None, "not set here"),
    ],
)
def test_the_one_line_about_sending_memory_away(
    place: MemoryDesk, config: str, variable: str | None, said: str
) -> None:
    place.fill()
    place.config(config)
    environ = {} if variable is None else {"GROK_TELEMETRY_TRACE_UPLOAD": variable}
    finding = saying(place.open(**environ).doctor(), "upload", said)  # type: ignore[arg-type]
    assert (finding.level, finding.topic) == ("info", "privacy")


def test_a_folder_the_agent_keeps_no_memory_of(place: MemoryDesk) -> None:
    place.fill()
    report = place.open(None, temp_dir=str(Path(place.folder).resolve()), run_git=no_git).doctor()
    saying(report, "keeps no memory of this folder")


def test_a_clock_far_off_gives_no_error(place: MemoryDesk) -> None:
    place.fill()
    for now in (0.0, -5.0, NOW + 8_000 * 365 * 86_400.0):
        place.now = now
        memory = place.open()
        assert memory.doctor().findings and memory.search("harbor", min_score=0.0).candidates
        assert memory.sessions() and memory.gc().candidates
