"""Looking at a memory: what counts as a change, and what an outage is not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from core.index.watch_poll import Poller, Snapshot, scan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "memory"
    (root / "widgets-a3f7b2c9" / "sessions").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Global\n")
    (root / "widgets-a3f7b2c9" / "MEMORY.md").write_text("# Widgets\n")
    return root


def test_a_scan_follows_no_folder_link_and_reads_no_deeper_than_a_memory_goes(root: Path) -> None:
    (root / "loop").symlink_to(root)
    deep = root.joinpath("a", "b", "c", "d")
    deep.mkdir(parents=True)
    (deep / "TOO-DEEP.md").write_text("x")
    (root / "a" / "b" / "DEEP.md").write_text("x")
    (root / "dangling.md").symlink_to(root / "nowhere")
    seen = scan("/as/spelled", str(root), Snapshot())
    assert set(seen.files) == {
        "/as/spelled/MEMORY.md",
        "/as/spelled/widgets-a3f7b2c9/MEMORY.md",
        "/as/spelled/a/b/DEEP.md",
        "/as/spelled/dangling.md",
    }


def test_a_change_is_told_once_more_at_the_next_look(root: Path) -> None:
    poller = Poller(1.0)
    roots = [("/spelled", str(root))]
    poller.look(roots, {}, 0.0)
    (root / "MEMORY.md").write_text("longer than before\n")
    (root / "fresh").mkdir()
    told = ({"/spelled/MEMORY.md"}, {"/spelled/fresh"})
    assert poller.look(roots, {}, 0.5) == (set(), set())
    assert poller.look(roots, {}, 100.0) == told
    assert poller.look(roots, {}, 200.0) == told
    assert poller.look(roots, {}, 300.0) == (set(), set())


def test_a_folder_that_does_not_answer_is_no_deletion(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poller = Poller(0.0)
    roots = [("/spelled", str(root))]
    assert poller.look(roots, {}, 1.0) == (set(), set())
    whole = os.scandir

    def stale(path: str) -> object:
        if path.endswith("widgets-a3f7b2c9"):
            raise OSError(116, "Stale file handle")
        return whole(path)

    monkeypatch.setattr(os, "scandir", stale)
    (root / "MEMORY.md").write_text("longer than before\n")
    assert poller.look(roots, {}, 100.0) == ({"/spelled/MEMORY.md"}, set())
    poller.look(roots, {}, 150.0)
    monkeypatch.undo()
    shutil.rmtree(root / "widgets-a3f7b2c9")
    files, folders = poller.look(roots, {}, 200.0)
    assert files == {"/spelled/widgets-a3f7b2c9/MEMORY.md"}
    assert folders == {"/spelled/widgets-a3f7b2c9", "/spelled/widgets-a3f7b2c9/sessions"}
