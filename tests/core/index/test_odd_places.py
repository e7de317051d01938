"""Where an index would lie is something else, or full, or nowhere: nothing is written elsewhere, searching goes on."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from core.index.database import Place
from tests.core.index.conftest import NOW, WS, Desk
from tests.core.memory_desk import MemoryDesk, no_index, tree

LOG = f"{WS}/sessions/2025-12-30-auth-0a1b2c3d.md"


def make_socket(path: Path, other: Path) -> None:
    # A socket's own path is too long for a deep folder.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def link_to_text(path: Path, other: Path) -> None:
    other.write_text("a diary, not a database\n" * 100)
    path.symlink_to(other)


def link_to_empty(path: Path, other: Path) -> None:
    other.touch()
    path.symlink_to(other)


def link_to_folder(path: Path, other: Path) -> None:
    other.mkdir()
    path.symlink_to(other)


MAKERS: dict[str, Callable[[Path, Path], object]] = {
    "a folder": lambda path, other: path.mkdir(),
    "a fifo": lambda path, other: os.mkfifo(path),
    "a socket": make_socket,
    "a link to nothing": lambda path, other: path.symlink_to(other),
    "a link to itself": lambda path, other: path.symlink_to(path),
    "a link to an empty file": link_to_empty,
    "a link to a text": link_to_text,
    "a link to a folder": link_to_folder,
    "a link to a device": lambda path, other: path.symlink_to("/dev/null"),
    "its journal a folder": lambda path, other: Path(f"{path}-wal").mkdir(),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_something_else_stands_where_the_index_should(desk: Desk, tmp_path: Path, kind: str) -> None:
    desk.write(LOG, "copper")
    other = tmp_path / "other"
    MAKERS[kind](desk.file, other)
    before, beside = tree(desk.root), other.read_bytes() if other.is_file() else None
    index = desk.index()
    assert index.sync().added == 1
    status = index.status()
    assert (status.state, status.chunks) == ("cached", 1) and status.reason
    assert status.path.startswith(str(desk.cache))
    after = tree(desk.root)
    if kind == "its journal a folder":
        assert after.pop(str(desk.file))[3] == b""  # an empty file, which an index may become
    assert after == before
    assert (other.read_bytes() if other.is_file() else None) == beside
    assert other.exists() == (kind in ("a link to an empty file", "a link to a text", "a link to a folder"))


def test_a_link_to_a_real_index_is_used_as_the_agent_uses_it(desk: Desk, tmp_path: Path) -> None:
    desk.write(LOG, "copper")
    first = desk.index()
    first.sync()
    first.close()
    other = tmp_path / "moved.sqlite"
    desk.file.rename(other)
    desk.file.symlink_to(other)
    index = desk.index()
    assert not index.sync().changed
    assert index.status().state == "ready" and desk.file.is_symlink()


def test_a_workspace_folder_that_is_a_link_gets_no_index(place: MemoryDesk) -> None:
    place.fill()
    elsewhere = place.folder / "elsewhere"
    (elsewhere / "sessions").mkdir(parents=True)
    (elsewhere / "MEMORY.md").write_text("zeppelin")
    (place.root / "linked-00000009").symlink_to(elsewhere)
    before = tree(place.folder / "elsewhere")
    memory = place.open().at("linked-00000009")
    place.opened.append(memory)
    report = memory.search("zeppelin")
    assert report.hits == () and any("folder links are not followed" in note for note in report.notes)
    assert memory.search("granite").hits
    assert tree(elsewhere) == before


def test_a_root_whose_path_is_not_utf8_opens_and_says_so(tmp_path: Path) -> None:
    odd = Path(str(tmp_path) + "/\udcff")
    odd.mkdir()
    place = MemoryDesk(odd)
    place.state = tmp_path / "state"
    place.fill()
    before = tree(place.root)
    memory = place.open()
    report = memory.search("harbor")
    assert any("not UTF-8" in note for note in report.notes) and report.empty_reason == "nothing indexed"
    assert memory.read("MEMORY.md").lines[-1] == "harbor copper lantern"
    assert memory.doctor().findings and tree(place.root) == before
    place.state = odd / "state"
    nowhere = place.open()
    assert nowhere.search("harbor").empty_reason.startswith("failed")
    assert nowhere.clear("workspace").done


@pytest.mark.parametrize("dimensions", [100_000, 10**12])
def test_more_dimensions_than_there_can_be_leave_text_search(desk: Desk, dimensions: int) -> None:
    desk.write(LOG, "copper")
    index = desk.index(dimensions=dimensions)
    assert index.sync().added == 1
    assert index.status().state == "ready"


@pytest.mark.parametrize("seconds", [1e12, -1e12, 2**33, -(2**33)])
def test_files_of_any_time(place: MemoryDesk, seconds: float) -> None:
    place.fill()
    for path in (place.root / WS).rglob("*.md"):
        os.utime(path, (seconds, seconds))
    undated = place.write(f"{WS}/sessions/notes.md", "harbor undated")
    os.utime(undated, (seconds, seconds))
    memory = place.open()
    assert len(memory.search("harbor", min_score=0.0).hits) == 5
    assert memory.search("").also and memory.sessions() and memory.doctor().findings
    assert not memory.sync().changed


# ── a full disk ──────────────────────────────────────────────────────────────────────────────────────


def test_a_full_disk_is_said_and_heals(desk: Desk) -> None:
    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    database = index.database()
    assert database is not None
    pages = int(database.writer.pragma("page_count"))
    database.writer.pragma("max_page_count", pages)  # as if the disk held no more
    desk.write(f"{WS}/MEMORY.md", "".join(f"## {n}\n\n{'silver ' * 200}\n" for n in range(200)), NOW + 1)
    report = index.sync()
    assert (report.behind, report.behind_why) == (1, "database or disk is full")
    assert any("the files are untouched" in note for note in report.notes)
    assert index.status().state == "behind"
    assert database.reader.execute("SELECT count(*) FROM chunks").fetchone() == (1,)
    database.writer.pragma("max_page_count", 1 << 30)
    healed = index.sync()
    assert (healed.added, healed.behind, healed.notes) == (200, 0, ())


def test_a_claim_that_could_not_be_given_back_is_ours_to_take_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apsw

    from core.index import claim

    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()
    desk.write(LOG, "silver", NOW + 1)
    real = claim.release

    def full(connection: apsw.Connection, mine: str) -> None:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(claim, "release", full)
    assert index.sync().behind == 1
    monkeypatch.setattr(claim, "release", real)
    assert index.sync().updated == 1


# ── damage again and again ───────────────────────────────────────────────────────────────────────────


def test_damage_that_comes_back_every_time_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    import apsw

    desk.write(LOG, "copper")
    index = desk.index()
    index.sync()

    def torn(*arguments: object, **options: object) -> None:
        raise apsw.CorruptError("database disk image is malformed")

    monkeypatch.setattr(type(index), "_plan", torn)
    report = index.sync()
    assert any("again and again" in note for note in report.notes)
    monkeypatch.undo()
    assert index.sync().behind == 0
    database = index.database()
    assert database is not None
    assert database.reader.execute("SELECT text FROM chunks").fetchall() == [("copper",)]


# ── large files ──────────────────────────────────────────────────────────────────────────────────────


def test_a_file_of_forty_megabytes_is_named_and_shown_in_part(place: MemoryDesk) -> None:
    place.fill()
    place.write(f"{WS}/MEMORY.md", b"copper words\n" * (40 * 1024 * 1024 // 13))
    before = tree(place.root / WS / "sessions", no_index)
    memory = place.open()
    report = memory.search("harbor")
    assert report.hits and any("40 MB, over the 32 MB" in note for note in report.notes)
    text = memory.read("MEMORY.md", first=1, lines=3)
    assert text.truncated and text.problem is not None and text.problem.kind == "too-large"
    assert tree(place.root / WS / "sessions", no_index) == before


def test_a_hundred_thousand_lines_and_one_line_of_five_megabytes(place: MemoryDesk) -> None:
    place.write("MEMORY.md", "".join(f"- line {number} copper\n" for number in range(100_000)))
    place.write(f"{WS}/MEMORY.md", "zeppelin lantern " * 310_000)
    memory = place.open()
    assert memory.search("zeppelin").hits[0].end_line == 1
    assert memory.search("99999", min_score=0.0).also[0].end_line == 100_000
    assert memory.spans(str(place.root / "MEMORY.md"))[-1].end_line == 100_000


def test_headings_nested_without_end_do_not_fill_the_disk(place: MemoryDesk) -> None:
    place.fill()
    deep = "\n".join("#" * level + " h" for level in range(1, 1_200))
    place.write(f"{WS}/MEMORY.md", deep)
    memory = place.open()
    report = memory.search("harbor")
    assert report.hits and any("nested so deep" in note for note in report.notes)
    with pytest.raises(Exception, match="nested so deep"):
        memory.spans("MEMORY.md")
    assert memory.read("MEMORY.md", lines=1).lines == ("# h",)


# ── from our own copy back to the agent's file ───────────────────────────────────────────────────────


def test_a_workspace_that_gets_its_folder_is_indexed_there(desk: Desk) -> None:
    desk.write("MEMORY.md", "copper")
    index = desk.index("later-00000000")
    index.sync()
    assert index.status().state == "cached"
    desk.write("later-00000000/MEMORY.md", "silver")
    index.sync()
    status = index.status()
    assert (status.state, status.chunks) == ("ready", 2)
    assert (desk.root / "later-00000000" / "index.sqlite").exists()


def test_a_refused_file_is_tried_again_only_when_it_is_another(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    desk.write(LOG, "copper")
    connection = sqlite3.connect(desk.file)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    index = desk.index()
    index.sync()
    first = index.database()
    assert index.status().state == "cached"
    index.sync()
    assert index.database() is first  # not opened again and again
    desk.file.unlink()
    index.sync()
    assert index.status().state == "ready" and index.status().chunks == 1


def test_a_file_that_could_not_be_made_is_tried_again_after_a_while(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apsw

    from core.index import indexfile
    from core.index.database import Database

    desk.write(LOG, "copper")
    real = Database.__init__
    tries: list[str] = []

    def refuse(self: Database, place: Place, **options: int) -> None:
        tries.append(place.path)
        if place.shared:
            raise apsw.CantOpenError("unable to open database file")
        real(self, place, **options)

    index = desk.index()
    with monkeypatch.context() as patch:
        patch.setattr(Database, "__init__", refuse)
        index.sync()
        index.sync()
    assert index.status().state == "cached" and len(tries) == 3  # twice the agent's, once ours
    monkeypatch.setattr(indexfile, "RETRY_SECONDS", -1.0)
    index.sync()
    assert index.status().state == "ready"
