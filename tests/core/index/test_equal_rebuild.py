"""After any edits the synced index equals one made anew from the files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from core.index.indexer import record_access
from tests.core.index.comparing import contents
from tests.core.index.conftest import NOW, WS, Desk

WORDS = ("harbor", "copper", "silver", "zeppelin")
RUNS = ("配置文件", "置文", "ไทย")
NAMES = (
    "MEMORY.md",
    f"{WS}/MEMORY.md",
    *(f"{WS}/sessions/2025-12-{day}-log-0000000{day[1]}.md" for day in ("28", "29", "30")),
)

PIECES = st.sampled_from(
    [
        "harbor copper\n",
        "# One\n",
        "## Two\n\nsilver\n",
        "### Three\n",
        "\n",
        "配置文件 harbor\n",
        "ภาษาไทย\n",
        "copper " * 100 + "\n",
        "zeppelin " * 250 + "\n",
        "- item\r\n",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)
NAME = st.sampled_from(NAMES)
EDITS = st.one_of(
    st.tuples(st.just("write"), NAME, TEXTS),
    st.tuples(st.just("append"), NAME, TEXTS),
    st.tuples(st.just("in front"), NAME, TEXTS),
    st.tuples(st.just("delete"), NAME, st.just("")),
    st.tuples(st.just("rename"), NAME, NAME),
    st.tuples(st.just("same stamp"), NAME, st.sampled_from(["harbor", "copper"])),
    st.tuples(st.just("sync"), NAME, st.just("")),
    st.tuples(st.just("sync one"), NAME, st.just("")),
    st.tuples(st.just("recall"), NAME, st.just("")),
)


def apply(desk: Desk, index: object, edit: tuple[str, str, str], tick: Callable[[], float]) -> None:
    kind, name, value = edit
    path = desk.root / name
    before = path.read_bytes() if path.exists() else b""
    if kind == "write":
        desk.write(name, value, tick())
    elif kind == "append":
        desk.write(name, before + value.encode(), tick())
    elif kind == "in front":
        desk.write(name, value.encode() + before, tick())
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif kind == "rename" and path.exists():
        os.replace(path, desk.root / value)
    elif kind == "same stamp" and path.exists():
        # Another inode gives it away, although size and time stay.
        status = path.stat()
        other = path.with_suffix(".tmp")
        other.write_bytes((value.encode() * (status.st_size // 6 + 1))[: status.st_size])
        os.utime(other, ns=(status.st_mtime_ns, status.st_mtime_ns))
        os.replace(other, path)


@settings(max_examples=40, deadline=None)
@given(edits=st.lists(EDITS, min_size=1, max_size=12))
def test_any_edits_then_a_sync_equal_a_rebuild(edits: list[tuple[str, str, str]]) -> None:
    folder = Path(tempfile.mkdtemp())
    desk = Desk(folder)
    desk.now = NOW
    index = desk.index()

    def tick() -> float:
        desk.now += 1
        return desk.now

    try:
        for edit in edits:
            if edit[0] == "sync":
                index.sync()
            elif edit[0] == "sync one":
                index.sync([str(desk.root / edit[1])])
            elif edit[0] == "recall":
                database = index.database()
                assert database is not None
                with database.writing() as writer:
                    record_access(writer, [f"{desk.root}/{edit[1]}:0"], int(desk.now))
            else:
                apply(desk, index, edit, tick)
        report = index.sync()
        assert not report.behind and not report.problems
        synced = contents(index, WORDS, RUNS)
        assert not index.sync().changed
        index.close()
        for path in (desk.root / WS).glob("index.sqlite*"):
            path.unlink()
        anew = desk.index()
        anew.sync()
        assert synced == contents(anew, WORDS, RUNS)
        anew.rebuild()
        assert synced == contents(anew, WORDS, RUNS)
    finally:
        for opened in desk.opened:
            opened.close()
        shutil.rmtree(folder)
