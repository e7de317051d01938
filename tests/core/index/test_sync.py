"""Keeping an index in step: what is read, what is kept, what is deleted, who may write."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from core.index import claim
from core.index.indexer import born, record_access
from core.index.model import SyncReport
from core.index.sync import Index
from tests.core.index.conftest import NOW, WS, Desk, Rows

DAY = 86_400
LOG = f"{WS}/sessions/2025-12-30-auth-0a1b2c3d.md"


def paths(index: Index) -> set[str]:
    database = index.database()
    assert database is not None
    return {
        str(row[0]).rsplit("/", 1)[-1] for row in database.reader.execute("SELECT DISTINCT path FROM chunks")
    }


def search(index: Index, word: str) -> list[str]:
    database = index.database()
    assert database is not None
    return [
        str(row[0]).rsplit("/", 1)[-1]
        for row in database.reader.execute(
            "SELECT c.id FROM chunks_fts f JOIN chunks c ON c.rowid = f.rowid WHERE chunks_fts MATCH ?"
            " ORDER BY c.rowid",
            (f'"{word}"',),
        )
    ]


def sections(*names: str) -> str:
    """A text over the limit whose sections are one chunk each."""
    return "\n".join(f"## {name}\n\n{name} " + "filler word " * 60 + "\n" for name in names)


def test_everything_listed_is_indexed_once(desk: Desk) -> None:
    desk.write("MEMORY.md", "# Global\n\nharbor\n")
    desk.write(f"{WS}/MEMORY.md", "# Project\n\nharbor\n")
    desk.write(LOG, "# Log\n\nharbor\n")
    index = desk.index()
    first = index.sync()
    assert (first.files_seen, first.files_indexed, first.added) == (3, 3, 3)
    assert search(index, "harbor") == ["MEMORY.md:0", "MEMORY.md:0", "2025-12-30-auth-0a1b2c3d.md:0"]
    again = index.sync()
    assert not again.changed
    assert (again.added, again.updated, again.removed) == (0, 0, 0)


def test_a_second_process_finds_nothing_to_do(desk: Desk) -> None:
    desk.write(LOG, "# Log\n\nharbor\n")
    desk.index().sync()
    report = desk.index().sync()
    assert not report.changed


def test_a_changed_file_is_searchable_and_its_old_words_are_gone(desk: Desk) -> None:
    desk.write(LOG, "copper lantern")
    index = desk.index()
    index.sync()
    desk.write(LOG, "silver lantern", NOW + 5)
    report = index.sync()
    assert report.updated == 1
    assert search(index, "silver") and not search(index, "copper")


def test_same_size_and_time_but_another_inode_is_noticed(desk: Desk) -> None:
    path = desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    other = desk.write(f"{WS}/sessions/new.tmp", "silver", NOW)
    other.rename(path)
    index.sync()
    assert search(index, "silver") and not search(index, "copper")


def test_a_deleted_file_leaves_every_table(desk: Desk) -> None:
    path = desk.write(LOG, "copper 配置文件")
    index = desk.index()
    index.sync()
    path.unlink()
    report = index.sync()
    assert (report.files_removed, report.removed) == (1, 1)
    database = index.database()
    assert database is not None
    assert not search(index, "copper")
    for table in ("chunks", "memdeck_files", "memdeck_gram_rows"):
        assert database.reader.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert not list(
        database.reader.execute("SELECT rowid FROM memdeck_grams WHERE memdeck_grams MATCH 'x OR 914dy7f6e'")
    )


def test_rows_without_a_file_are_removed_even_if_memdeck_never_saw_it(desk: Desk) -> None:
    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    gone = f"{desk.root}/{WS}/sessions/2025-01-01-old-00000000.md"
    with database.writing() as writer:  # as the agent would have left it
        writer.execute(
            "INSERT INTO chunks(id,path,start_line,end_line,text,hash,source,created_at,updated_at)"
            " VALUES(?,?,0,1,'ghost','h','session',1,1)",
            (f"{gone}:0", gone),
        )
        writer.execute("INSERT INTO chunks_fts(rowid,text) VALUES(?, 'ghost')", (writer.last_insert_rowid(),))
    desk.index().sync()
    assert not search(index, "ghost")


def test_moved_text_keeps_birth_counters_and_its_lines_follow(desk: Desk, rows: Rows) -> None:
    desk.write(f"{WS}/MEMORY.md", sections("alpha", "beta", "gamma"))
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    with database.writing() as writer:
        record_access(writer, [f"{desk.root}/{WS}/MEMORY.md:1"] * 3, 5)
    before = {row[0]: row for row in rows(index)}
    desk.now = NOW + DAY
    desk.write(f"{WS}/MEMORY.md", sections("delta", "alpha", "beta", "gamma"), NOW + DAY)
    report = index.sync()
    after = {row[0]: row for row in rows(index)}
    assert (report.added, report.moved, report.updated, report.removed) == (1, 3, 0, 0)
    assert after["MEMORY.md:2"][2:] == before["MEMORY.md:1"][2:] == (int(NOW), 3)
    assert after["MEMORY.md:0"][2:] == (int(NOW) + DAY, 0)
    start = database.reader.execute("SELECT start_line FROM chunks WHERE id LIKE '%:2'").fetchone()
    assert start == (8,)


def test_vectors_move_with_their_chunks_and_go_with_their_text(desk: Desk) -> None:
    desk.write(f"{WS}/MEMORY.md", sections("alpha", "beta", "gamma"))
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    if database.vector_problem:
        pytest.skip(database.vector_problem)
    name = f"{desk.root}/{WS}/MEMORY.md"
    with database.writing() as writer:
        for ordinal, vector in ((0, "[1,0,0,0]"), (1, "[0,1,0,0]")):
            writer.execute(
                "INSERT INTO chunks_vec(chunk_id, embedding) VALUES(?, ?)", (f"{name}:{ordinal}", vector)
            )
    desk.write(f"{WS}/MEMORY.md", sections("beta", "delta", "gamma"), NOW + 5)
    index.sync()
    found = list(database.writer.execute("SELECT chunk_id, vec_to_json(embedding) FROM chunks_vec"))
    assert found == [(f"{name}:0", "[0.000000,1.000000,0.000000,0.000000]")]


@pytest.mark.parametrize(
    ("name", "source", "mtime", "first", "expected"),
    [
        ("2025-12-30-a-x.md", "session", 1_767_052_800 + 60, True, 1_767_052_860),  # that very day
        ("2025-12-30-a-x.md", "session", 1_767_139_200 + 60, True, 1_767_139_260),  # the day after
        ("2025-12-30-a-x.md", "session", 1_767_225_600, True, 1_767_052_800 + 12 * 3600),  # copied later
        ("2025-12-30-a-x.md", "session", 1_600_000_000, True, 1_767_052_800 + 12 * 3600),  # earlier
        ("notes.md", "session", 1_600_000_000, True, 1_600_000_000),
        ("2025-99-99-a.md", "session", 1_600_000_000, True, 1_600_000_000),
        ("2025-12-30-a-x.md", "session", 1_600_000_000, False, int(NOW)),  # chunks added later
        ("MEMORY.md", "workspace", 1_600_000_000, True, int(NOW)),
        ("MEMORY.md", "global", 1_600_000_000, False, int(NOW)),
    ],
)
def test_created_at(name: str, source: str, mtime: float, first: bool, expected: int) -> None:
    assert born(name, source, mtime, NOW, first_time=first) == expected  # type: ignore[arg-type]


def test_a_claim_held_by_another_is_respected_and_named(desk: Desk) -> None:
    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    desk.write(LOG, "silver", NOW + 1)
    database = index.database()
    assert database is not None
    assert claim.take(database.writer, 4242, int(NOW) - 10, 60)
    report = index.sync()
    assert report.behind == 1
    assert report.holder is not None and report.holder.pid == 4242
    assert search(index, "copper") and not search(index, "silver")
    assert index.status().state == "behind"
    desk.now = NOW + 60  # stale now: more than 60 s old
    assert index.sync().updated == 1
    assert search(index, "silver")


def test_the_claim_is_given_back_only_if_it_is_still_ours(desk: Desk) -> None:
    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    mine = claim.take(database.writer, 1, int(NOW), 60)
    assert mine is not None
    with database.writing() as writer:
        writer.execute("UPDATE meta SET value='999:1767225600' WHERE key='reindex_claim'")
    claim.release(database.writer, mine)
    assert claim.holder(database.writer, int(NOW), 60) is not None
    claim.release(database.writer, "999:1767225600")
    assert claim.holder(database.writer, int(NOW), 60) is None


def test_after_a_sync_nobody_waits_for_the_claim(desk: Desk) -> None:
    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    assert claim.holder(database.reader, int(NOW), 60) is None


def test_rows_of_other_workspaces_are_foreign_until_reindex(desk: Desk) -> None:
    desk.write(f"{WS}/MEMORY.md", "mine")
    other = desk.write("api-1f2e3d4c/MEMORY.md", "theirs")
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    with database.writing() as writer:
        writer.execute(
            "INSERT INTO chunks(id,path,start_line,end_line,text,hash,source,created_at,updated_at)"
            " VALUES(?,?,0,1,'theirs','h','workspace',1,1)",
            (f"{other}:0", str(other)),
        )
        writer.execute(
            "INSERT INTO chunks_fts(rowid,text) VALUES(?, 'theirs')", (writer.last_insert_rowid(),)
        )
    index.sync()
    assert index.status().foreign == 1
    assert search(index, "theirs") == ["MEMORY.md:0"]
    report = index.sync(drop_foreign=True)
    assert report.foreign_removed == 1
    assert not search(index, "theirs")


def test_a_root_opened_by_link_and_by_real_path_has_one_set_of_chunks(desk: Desk, tmp_path: Path) -> None:
    desk.write("MEMORY.md", "global")
    desk.write(LOG, "copper")
    link = tmp_path / "link"
    link.symlink_to(desk.root)
    first = desk.index(root=link)
    first.sync()
    database = first.database()
    assert database is not None
    by_link = list(database.reader.execute("SELECT id FROM chunks ORDER BY id"))
    assert all(str(row[0]).startswith(f"{link}/") for row in by_link)
    first.close()
    second = desk.index()
    report = second.sync()
    assert (report.added, report.removed) == (0, 0)
    database = second.database()
    assert database is not None
    assert list(database.reader.execute("SELECT id FROM chunks ORDER BY id")) == by_link
    desk.write(LOG, "silver", NOW + 1)
    second.sync()
    assert search(second, "silver") and len(paths(second)) == 2


def test_what_cannot_be_read_is_named_and_the_rest_loads(desk: Desk) -> None:
    desk.write(LOG, "copper")
    desk.write(f"{WS}/sessions/2025-12-29-bad-00000000.md", b"# \xff\xfe\n")
    (desk.root / WS / "sessions" / "2025-12-28-loop-00000000.md").symlink_to("2025-12-28-loop-00000000.md")
    (desk.root / WS / "sessions" / "2025-12-27-gone-00000000.md").symlink_to("nowhere.md")
    report = desk.index().sync()
    assert report.added == 1
    assert {problem.kind for problem in report.problems} == {"not-utf8", "link-loop", "dangling-link"}
    assert all(problem.message for problem in report.problems)


def test_a_file_that_became_unreadable_keeps_its_rows(desk: Desk) -> None:
    path = desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    path.write_bytes(b"\xff\xff")
    report = index.sync()
    assert [problem.kind for problem in report.problems] == ["not-utf8"]
    assert search(index, "copper")


def test_a_linked_file_is_indexed_under_its_own_path(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.md"
    target.write_text("copper")
    (desk.root / WS / "MEMORY.md").symlink_to(target)
    index = desk.index()
    index.sync()
    assert search(index, "copper") == ["MEMORY.md:0"]
    target.write_text("silver and more")
    index.sync()
    assert search(index, "silver") and not search(index, "copper")


def test_rebuild_carries_counters_and_equals_a_fresh_index(desk: Desk, rows: Rows) -> None:
    desk.write(f"{WS}/MEMORY.md", sections("alpha", "beta", "gamma"))
    desk.write(LOG, "copper 配置文件")
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    with database.writing() as writer:
        record_access(writer, [f"{desk.root}/{LOG}:0"] * 2, 5)
        writer.execute("INSERT INTO chunks_fts(chunks_fts) VALUES('delete-all')")  # a drifted text index
    assert not search(index, "copper")
    before = rows(index)
    desk.now = NOW + DAY
    index.rebuild()
    assert rows(index) == before
    assert search(index, "copper") and search(index, "beta")
    assert not index.sync().changed


def test_what_the_agent_wrote_meanwhile_is_repaired_in_our_tables(desk: Desk) -> None:
    desk.write(LOG, "配置文件")
    index = desk.index()
    index.sync()
    other = apsw.Connection(str(desk.file))
    other.execute("UPDATE chunks SET text='部署完成', hash='agent'")
    other.execute("INSERT INTO chunks_fts(chunks_fts, rowid, text) VALUES('delete', 1, '配置文件')")
    other.execute("INSERT INTO chunks_fts(rowid, text) VALUES(1, '部署完成')")
    other.close()
    path = desk.root / LOG
    path.write_text("部署完成")
    index.sync()
    database = index.database()
    assert database is not None
    pairs = database.reader.execute(
        "SELECT c.hash = g.hash FROM chunks c JOIN memdeck_gram_rows g ON g.rowid = c.rowid"
    )
    assert list(pairs) == [(1,)]


def test_only_the_dirty_paths_are_looked_at(desk: Desk) -> None:
    desk.write(LOG, "copper")
    second = desk.write(f"{WS}/sessions/2025-12-29-b-00000000.md", "copper")
    index = desk.index()
    index.sync()
    desk.write(LOG, "silver", NOW + 1)
    desk.write(f"{WS}/sessions/2025-12-29-b-00000000.md", "silver", NOW + 1)
    index.sync([str(second)])
    assert search(index, "silver") == ["2025-12-29-b-00000000.md:0"]
    index.sync()
    assert len(search(index, "silver")) == 2


def test_progress_counts_to_the_end(desk: Desk) -> None:
    for number in range(300):
        desk.write(f"{WS}/sessions/2025-12-30-n{number:03}-00000000.md", f"word{number}")
    calls: list[tuple[int, int]] = []
    report = desk.index().sync(progress=lambda done, total: calls.append((done, total)))
    assert report.added == 300
    assert calls[-1] == (300, 300) and len(calls) > 1


def test_syncing_changes_no_markdown_and_leaves_no_litter(desk: Desk) -> None:
    path = desk.write(LOG, "copper")
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
    desk.index().sync()
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before
    names = {name for _, _, files in os.walk(desk.root) for name in files}
    assert {name for name in names if not name.startswith("index.sqlite")} == {path.name}


def test_a_missing_workspace_gets_no_folder(desk: Desk) -> None:
    desk.write("MEMORY.md", "global harbor")
    index = desk.index("later-00000000")
    report = index.sync()
    assert report.added == 1
    assert search(index, "harbor")
    assert not (desk.root / "later-00000000").exists()
    assert index.status().state == "cached"


def test_a_report_of_nothing_is_not_a_change() -> None:
    assert not SyncReport().changed
