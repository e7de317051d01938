"""Opening an index file whatever state it is in: never a loop, never a live file pulled away."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from core.index.database import host_slug, index_name, journal_mode, move_aside
from tests.core.index.conftest import NOW, WS, Desk

LOG = f"{WS}/sessions/2025-12-30-auth-0a1b2c3d.md"


def asides(desk: Desk) -> list[Path]:
    return sorted((desk.root / WS).glob("index.sqlite.damaged-*"))


@pytest.mark.parametrize("content", [b"", b"not a database at all, just bytes " * 200])
def test_an_empty_or_damaged_file_ends_in_a_working_index(desk: Desk, content: bytes) -> None:
    desk.write(LOG, "copper")
    desk.file.write_bytes(content)
    index = desk.index()
    assert index.sync().added == 1
    assert index.status().state == "ready"
    kept = asides(desk)
    assert [path.read_bytes() for path in kept] == ([content] if content else [])
    assert bool(index.notes) is bool(content)


def test_a_torn_database_is_moved_aside_and_its_journal_does_not_reach_the_new_one(desk: Desk) -> None:
    desk.write(LOG, "copper " * 500)
    first = desk.index()
    first.sync()
    first.close()
    data = bytearray(desk.file.read_bytes())
    data[100:4000] = os.urandom(3900)
    desk.file.write_bytes(data)
    Path(f"{desk.file}-wal").write_bytes(b"old wal")
    index = desk.index()
    assert index.sync().added >= 1
    assert [path.name.endswith("Z") for path in asides(desk) if "-wal" not in path.name] == [True]
    assert index.status().state == "ready"


def test_damage_found_only_while_syncing_heals(desk: Desk) -> None:
    for number in range(50):
        desk.write(f"{WS}/sessions/2025-12-30-n{number:02}-00000000.md", f"word{number} " * 300)
    index = desk.index()
    index.sync()
    index.close()
    size = desk.file.stat().st_size
    with desk.file.open("r+b") as file:  # every page but the header's is torn
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    desk.write(LOG, "copper", NOW + 1)
    index = desk.index()
    index.sync()
    index.sync()
    assert index.status().chunks == 51
    assert index.status().state == "ready"
    assert asides(desk)


def test_a_damaged_file_in_use_is_left_alone(desk: Desk) -> None:
    desk.write(LOG, "copper")
    desk.index().sync()
    desk.opened.pop().close()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import apsw,sys,time\n"
            f"c = apsw.Connection({str(desk.file)!r}); c.execute('SELECT count(*) FROM chunks').fetchall()\n"
            "print('open', flush=True); sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline().strip() == b"open"
        inode = desk.file.stat().st_ino
        with desk.file.open("r+b") as file:
            file.write(b"\0" * 4096)
        assert move_aside(str(desk.file), "now") is None
        index = desk.index()
        assert index.sync().added == 1
        assert desk.file.stat().st_ino == inode
        status = index.status()
        assert status.state == "cached" and "in use" in status.reason
        assert not asides(desk)
    finally:
        holder.communicate()


def test_a_database_of_another_kind_is_left_alone(desk: Desk) -> None:
    desk.write(LOG, "copper")
    other = sqlite3.connect(desk.file)
    other.execute("CREATE TABLE recipes (name TEXT)")
    other.commit()
    other.close()
    before = desk.file.read_bytes()
    index = desk.index()
    assert index.sync().added == 1
    status = index.status()
    assert status.state == "cached" and "recipes" in status.reason
    assert desk.file.read_bytes() == before


def test_a_later_schema_is_left_alone(desk: Desk) -> None:
    desk.write(LOG, "copper")
    desk.index().sync()
    desk.opened.pop().close()
    connection = apsw.Connection(str(desk.file))
    connection.execute("ALTER TABLE chunks ADD COLUMN embedding_model TEXT")
    connection.close()
    index = desk.index()
    index.sync()
    assert index.status().state == "cached"
    columns = [row[1] for row in apsw.Connection(str(desk.file)).execute("PRAGMA table_info(chunks)")]
    assert "embedding_model" in columns


def test_damage_in_our_own_copy_starts_it_afresh(desk: Desk) -> None:
    desk.write("MEMORY.md", "global harbor")
    first = desk.index("later-00000000")
    first.sync()
    path = Path(first.status().path)
    first.close()
    path.write_bytes(b"garbage" * 1000)
    index = desk.index("later-00000000")
    assert index.sync().added == 1


def test_a_file_removed_under_us_is_opened_anew(desk: Desk) -> None:
    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm"):
        (desk.root / WS / name).unlink(missing_ok=True)
    report = index.sync()
    assert report.added == 1
    assert desk.file.exists()


def test_a_writer_that_holds_the_file_gives_a_note_not_an_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(LOG, "copper")
    monkeypatch.setattr("core.index.database.BUSY_TIMEOUT_MS", 50)
    index = desk.index()
    index.sync()
    desk.write(LOG, "silver", NOW + 1)
    other = apsw.Connection(str(desk.file))
    other.execute("BEGIN IMMEDIATE")
    report = index.sync()
    assert report.behind == 1
    assert "locked" not in " ".join(report.notes)
    other.execute("ROLLBACK")
    assert index.sync().updated == 1


def test_a_writer_from_the_first_moment_gives_a_state_and_heals(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.index.database.BUSY_TIMEOUT_MS", 50)
    desk.write(LOG, "copper")
    other = apsw.Connection(str(desk.file))
    other.execute("BEGIN EXCLUSIVE")
    index = desk.index()
    assert "another process" in " ".join(index.sync().notes)
    assert index.status().state == "failed"
    other.execute("ROLLBACK")
    other.close()
    assert index.sync().added == 1


def test_the_file_stays_usable_by_the_agent(desk: Desk) -> None:
    """The reference's own statements, as another SQLite user, on an index we made."""
    desk.write(LOG, "copper lantern")
    desk.index().sync()
    agent = apsw.Connection(str(desk.file))
    assert agent.pragma("journal_mode") == "wal"
    names = {str(row[0]) for row in agent.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    assert {"meta", "chunks", "chunks_fts"} <= names
    assert not list(agent.execute("SELECT name FROM sqlite_master WHERE type='trigger'"))
    keys = {str(row[0]) for row in agent.execute("SELECT key FROM meta")}
    assert keys <= {"embedding_dimensions", "reindex_claim"}
    agent.execute(
        "INSERT INTO chunks(id,path,start_line,end_line,text,hash,source,created_at,updated_at)"
        " VALUES('p:0','p',0,1,'agent words','h','session',1,1)"
    )
    agent.execute("INSERT INTO chunks_fts(rowid,text) VALUES(last_insert_rowid(),'agent words')")
    found = agent.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'agent'").fetchall()
    assert len(found) == 1


def test_our_tables_hold_no_text(desk: Desk) -> None:
    desk.write(LOG, "copperlantern 配置文件")
    desk.index().sync()
    connection = apsw.Connection(str(desk.file))
    ours = [
        str(row[0])
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'memdeck_%'"
        )
    ]
    assert {"memdeck_meta", "memdeck_files", "memdeck_gram_rows"} <= set(ours)
    for table in ours:
        if table.startswith("memdeck_grams"):
            continue
        for row in connection.execute(f"SELECT * FROM {table}"):
            assert "copper" not in str(row) and "配置" not in str(row)


def test_network_filesystems_get_a_file_for_each_host() -> None:
    assert index_name(True, "My.Host_01") == "index.h-my-host-01.sqlite"
    assert index_name(False, "x") == "index.sqlite"
    assert host_slug("ÄÖ.box." + "n" * 40) == ("---box-" + "n" * 40)[:24].strip("-")
    assert journal_mode(True, {}) == "truncate" and journal_mode(False, {}) == "wal"
    assert journal_mode(True, {"GROK_SQLITE_JOURNAL_MODE": "wal"}) == "wal"
    assert journal_mode(False, {"GROK_SQLITE_JOURNAL_MODE": "TRUNCATE"}) == "truncate"


def test_a_network_index_uses_the_truncate_journal(desk: Desk) -> None:
    desk.write(LOG, "copper")
    index = desk.index(network=True)
    index.sync()
    assert index.status().journal_mode == "truncate"
    assert (desk.root / WS / "index.h-box.sqlite").exists()
    assert not desk.file.exists()


def test_two_processes_write_at_the_same_time(desk: Desk) -> None:
    """Another process hammers the file with the agent's statements; no error reaches us, nothing is lost."""
    desk.write(LOG, "copper")
    desk.index().sync()
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import apsw, time\n"
            f"c = apsw.Connection({str(desk.file)!r}); c.set_busy_timeout(5000)\n"
            "end = time.monotonic() + 2\n"
            "while time.monotonic() < end:\n"
            "    c.execute('BEGIN IMMEDIATE')\n"
            "    c.execute('UPDATE chunks SET access_count = access_count + 1')\n"
            "    c.execute('COMMIT')\n",
        ]
    )
    index = desk.index()
    number = 0
    while writer.poll() is None:
        number += 1
        desk.write(LOG, f"copper word{number}", NOW + number)
        report = index.sync()
        assert not [note for note in report.notes if "lock" in note]
        time.sleep(0.01)
    assert writer.returncode == 0
    index.sync()
    database = index.database()
    assert database is not None
    text = database.reader.execute("SELECT text, access_count FROM chunks").fetchone()
    assert text is not None and text[0] == f"copper word{number}" and int(str(text[1])) > 0
