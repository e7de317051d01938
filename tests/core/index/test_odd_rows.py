"""An index whose rows are not as anyone should write them: searched, explained and mended, never an error."""

from __future__ import annotations

import pytest

from core.index.model import ChunkRow, ordinal_of
from core.memory import Memory
from tests.core.memory_desk import WS, MemoryDesk

INSERT = (
    "INSERT INTO chunks(id,path,start_line,end_line,text,hash,source,created_at,updated_at)"
    " VALUES({id},{path},0,1,'harbor ghost','h','session',1,1)"
)
INDEXED = "INSERT INTO chunks_fts(rowid, text) VALUES(last_insert_rowid(), 'harbor ghost')"


def broken(place: MemoryDesk, *statements: str) -> Memory:
    """A memory whose index was changed by others since it was made."""
    place.fill()
    first = place.open()
    first.search("harbor")
    first.close()
    place.sql(*statements)
    return place.open()


def use_everything(memory: Memory) -> None:
    for query in ("harbor", "", "what is", "harb"):
        for everywhere in (False, True):
            report = memory.search(query, everywhere=everywhere, min_score=0.0)
            assert not report.empty_reason.startswith("failed"), report.empty_reason
            for hit in (*report.hits, *report.dropped, *report.also):
                assert hit.start_line >= 1 and hit.end_line >= hit.start_line and hit.access_count >= 0
                memory.why(query, hit.id)
    memory.spans("MEMORY.md")
    assert memory.status().state in ("ready", "cached")
    assert memory.doctor().findings


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chunks SET id=path||':²'||rowid",
        "UPDATE chunks SET id=path||':'||rowid||printf('%05000d', 7)",
        "UPDATE chunks SET id=path||':-'||rowid",
        "UPDATE chunks SET id='odd'||rowid",
        "UPDATE chunks SET hash='same'",
        "UPDATE chunks SET access_count=-1",
        "UPDATE chunks SET access_count=9223372036854775807, created_at=9223372036854775807",
        "UPDATE chunks SET access_count='many', created_at='yesterday', updated_at='x', last_accessed='z'",
        "UPDATE chunks SET start_line='a', end_line=-9",
        "UPDATE chunks SET created_at=1e300, access_count=1.5",
        "UPDATE chunks SET created_at=-9223372036854775807",
        "UPDATE chunks SET source=x'00ff'",
        "UPDATE chunks SET source='dream'",
        "UPDATE chunks SET text=x'00ff00'",
        "UPDATE chunks SET rowid=-rowid",
        "UPDATE memdeck_files SET size='x', mtime_ns='y', inode=1.5, chunks='q'",
        "DROP TABLE memdeck_files",
        "DROP TABLE memdeck_grams",
        "DROP TABLE memdeck_gram_rows",
        "DROP TABLE chunks_fts",
        "DELETE FROM meta",
        "DELETE FROM chunks",
        "ALTER TABLE memdeck_files RENAME COLUMN inode TO knot",
    ],
)
def test_any_value_in_any_column(place: MemoryDesk, change: str) -> None:
    memory = broken(place, change)
    use_everything(memory)
    memory.reindex(rebuild=True)
    # Mended: everything there is to find is found again, and nothing else.
    report = memory.search("harbor", min_score=0.0)
    assert [(hit.source, hit.heading) for hit in sorted(report.hits, key=lambda hit: hit.path)] == [
        ("global", "Global"),
        ("workspace", "Widgets"),
        ("session", "Log"),
        ("session", "Log"),
    ]
    assert all(hit.access_count >= 0 and hit.start_line == 1 for hit in report.hits)


@pytest.mark.parametrize("column", ["text", "path", "hash", "id"])
def test_text_that_is_not_utf8_is_damage(place: MemoryDesk, column: str) -> None:
    memory = broken(place, f"UPDATE chunks SET {column}=CAST(x'2fff2f' AS TEXT) WHERE rowid=1")
    use_everything(memory)
    assert len(memory.search("harbor", min_score=0.0).hits) == 4
    assert any("was damaged" in note for note in memory.search("harbor").notes)
    assert list((place.root / WS).glob("index.sqlite.damaged-*"))


@pytest.mark.parametrize("table", ["chunks_fts", "memdeck_grams"])
def test_a_torn_text_index_is_written_anew_where_it_is(place: MemoryDesk, table: str) -> None:
    place.log("28", "更新配置文件后重启", sid="00000007")
    memory = broken(place, f"UPDATE {table}_data SET block=x'0000' WHERE id>10")
    assert len(memory.search("harbor", min_score=0.0).hits) == 4
    report = memory.search("配置")
    assert [item.matched_by for item in report.also] == ["CJK words"]
    assert "the full-text index was damaged and was written anew" in report.notes
    assert not list((place.root / WS).glob("index.sqlite.damaged-*"))


def test_a_torn_text_index_waits_for_the_claim(place: MemoryDesk) -> None:
    memory = broken(place, "UPDATE chunks_fts_data SET block=x'0000' WHERE id>10")
    place.hold_claim()
    assert memory.search("harbor").empty_reason.startswith("failed")
    place.now += 61
    assert memory.search("harbor").hits


@pytest.mark.parametrize(
    "rest",
    ["../../../../../../../../../../etc/hostname", "sessions/../../../outside.md", "./sessions/./x.md"],
)
def test_a_row_never_makes_a_file_outside_the_root_be_read(place: MemoryDesk, rest: str) -> None:
    (place.home / ".grok" / "outside.md").write_text("zeppelin outside")
    path = f"{place.root}/{WS}/{rest}"
    memory = broken(place, INSERT.format(id=f"'{path}:0'", path=f"'{path}'"), INDEXED)
    assert memory.search("zeppelin").empty_reason == "no match"
    assert memory.search("ghost").empty_reason == "no match"
    assert not place.ask(f"SELECT 1 FROM chunks WHERE path='{path}'")


def test_a_linked_folder_in_a_rows_path_is_not_followed(place: MemoryDesk) -> None:
    outside = place.folder / "outside" / "deep"
    outside.mkdir(parents=True)
    (outside / "x.md").write_text("zeppelin outside")
    (place.root / WS).mkdir(exist_ok=True)
    (place.root / WS / "notes").symlink_to(outside.parent)
    path = f"{place.root}/{WS}/notes/deep/x.md"
    memory = broken(place, INSERT.format(id=f"'{path}:0'", path=f"'{path}'"), INDEXED)
    assert memory.search("zeppelin").empty_reason == "no match"


def test_a_trigger_of_somebody_else_gives_a_note_not_an_error(place: MemoryDesk) -> None:
    memory = broken(
        place, "CREATE TRIGGER no AFTER INSERT ON chunks BEGIN SELECT RAISE(ABORT, 'not allowed'); END"
    )
    place.write(f"{WS}/sessions/2025-12-31-new.md", "harbor zeppelin")
    report = memory.search("harbor", min_score=0.0)
    assert len(report.hits) == 4
    assert any("could not be written" in note and "not allowed" in note for note in report.notes)
    assert report.notes[0] == "index behind by 1 file (not allowed)" or "behind by" in report.notes[0]
    place.sql("DROP TRIGGER no")
    assert memory.search("zeppelin").hits and not memory.search("zeppelin").notes


@pytest.mark.parametrize(
    ("chunk_id", "ordinal"),
    [
        ("/a/b.md:0", 0),
        ("/a/b:7.md:12", 12),
        ("/a\nb.md:3", 3),
        ("/a/b.md:²", -1),
        ("/a/b.md:-1", -1),
        ("/a/b.md:", -1),
        ("12", -1),
        ("", -1),
        ("/a/b.md:" + "9" * 5000, -1),
        ("/a/b.md:1\n", -1),
    ],
)
def test_the_number_of_a_chunk(chunk_id: str, ordinal: int) -> None:
    assert ordinal_of(chunk_id) == ordinal
    assert ChunkRow.of((1, chunk_id, "p", 0, 1, "t", "h", "session", 1, 1, 0, None)).ordinal == ordinal


def test_writing_a_file_takes_any_old_rows(place: MemoryDesk) -> None:
    place.fill()
    memory = broken(place, "UPDATE chunks SET id='odd'||rowid, hash=''")
    place.write(f"{WS}/MEMORY.md", "# Widgets\n\nnew text\n")
    report = memory.reindex()
    assert report.files_indexed == 4 and not report.behind
    ids = {str(row[0]) for row in place.ask("SELECT id FROM chunks")}
    assert all(ordinal_of(item) == 0 for item in ids) and len(ids) == 4


def test_an_id_that_another_file_has_taken_is_given_back(place: MemoryDesk) -> None:
    path = f"{place.root}/{WS}/sessions/2025-12-31-new.md"
    memory = broken(place, INSERT.format(id=f"'{path}:0'", path="'/elsewhere/x.md'"), INDEXED)
    place.write(f"{WS}/sessions/2025-12-31-new.md", "harbor zeppelin")
    report = memory.search("zeppelin")
    assert [hit.id for hit in report.hits] == [f"{path}:0"] and not report.notes
    assert memory.search("ghost").empty_reason == "no match"
    assert memory.sync().behind == 0


def test_what_the_agent_stores_as_a_source_is_mended(place: MemoryDesk) -> None:
    memory = broken(place, "UPDATE chunks SET source='dream' WHERE source='workspace'")
    assert {hit.source for hit in memory.search("copper").hits} == {"workspace"}
