"""Clearing, restoring and gc through the façade: every index reached, a receipt, nothing lost."""

from __future__ import annotations

import pytest

from core.errors import UsageError
from core.memory import Memory
from tests.core.memory_desk import DAY, OTHER, WS, MemoryDesk, no_index, tree
from tests.core.store.bringing_back import restore


def filled(place: MemoryDesk) -> Memory:
    """Both workspaces indexed, so that global memory stands in two indexes."""
    place.fill()
    memory = place.open()
    memory.sync()
    other = memory.at(OTHER)
    place.opened.append(other)
    other.sync()
    return memory


def words(place: MemoryDesk, word: str, workspace: str = WS) -> int:
    """How many rows of an index match a word, by its full-text table itself."""
    (row,) = place.ask(f"SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH '{word}'", workspace)
    return int(str(row[0]))


def test_a_preview_names_the_paths_and_does_nothing(place: MemoryDesk) -> None:
    memory = filled(place)
    before = tree(place.root)
    assert memory.clear_preview("global") == (f"{place.root}/MEMORY.md",)
    assert len(memory.clear_preview("workspace")) == 3
    assert len(memory.clear_preview("all")) == 6
    assert tree(place.root) == before


def test_clearing_a_workspace_leaves_the_rest(place: MemoryDesk) -> None:
    memory = filled(place)
    receipt = memory.clear("workspace")
    assert not receipt.failed
    assert sorted(path.name for path in place.root.rglob("*.md")) == [
        "2025-12-29-auth-00000001.md",
        "MEMORY.md",
        "MEMORY.md",
    ]
    assert memory.search("copper").empty_reason == "no match"
    assert words(place, "copper") == words(place, "silver") == 0
    assert memory.search("granite").hits and memory.at(OTHER).search("marble").hits


def test_clearing_global_memory_reaches_every_index(place: MemoryDesk) -> None:
    memory = filled(place)
    assert words(place, "granite") == words(place, "granite", OTHER) == 1
    receipt = memory.clear("global")
    assert words(place, "granite") == words(place, "granite", OTHER) == 0
    assert not receipt.failed
    for folder in (WS, OTHER):
        assert any(folder in line and "index" in line for line in receipt.done)


def test_an_index_in_use_is_named_and_follows_later(place: MemoryDesk) -> None:
    memory = filled(place)
    place.hold_claim(workspace=OTHER)
    receipt = memory.clear("global")
    assert not (place.root / "MEMORY.md").exists()
    assert [line for line in receipt.failed if OTHER in line and "not yet" in line]
    assert words(place, "granite") == 0 and words(place, "granite", OTHER) == 1
    place.now += 61
    memory.at(OTHER).sync()
    assert words(place, "granite", OTHER) == 0


def test_clearing_all_and_bringing_it_back(place: MemoryDesk) -> None:
    memory = filled(place)
    before = tree(place.root, no_index)
    receipt = memory.clear("all")
    assert not list(place.root.rglob("*.md"))
    assert memory.search("harbor").empty_reason == "nothing indexed"
    assert receipt.trash is not None and receipt.trash.startswith(str(place.state))
    back = restore(receipt.trash)
    assert not back.failed and len(back.done) == 6
    assert tree(place.root, no_index) == before
    assert memory.search("copper").hits and memory.at(OTHER).search("marble").hits


def test_clearing_nothing_is_said(place: MemoryDesk) -> None:
    receipt = place.open().clear("all")
    assert (receipt.done, receipt.failed, receipt.trash) == ((), (), None)
    assert receipt.notes


def test_there_must_be_a_workspace_to_clear(place: MemoryDesk) -> None:
    place.fill()
    with pytest.raises(UsageError):
        place.open().at("").clear("workspace")


def test_a_workspace_that_was_never_indexed_gets_no_index_by_clearing(place: MemoryDesk) -> None:
    place.fill()
    place.open().clear("global")
    assert not list(place.root.rglob("index.sqlite"))


def test_gc_reports_and_only_removes_what_holds_nothing(place: MemoryDesk) -> None:
    place.fill()
    for name in ("old-00000001", "tmp-00000002"):
        (place.root / name / "sessions").mkdir(parents=True)
    place.now += 400 * DAY
    memory = place.open()
    before = tree(place.root)
    report = memory.gc()
    assert {item.folder for item in report.candidates if item.remove} == {"old-00000001", "tmp-00000002"}
    kept = {item.folder: item.reason for item in report.candidates if not item.remove}
    assert kept[WS] == "the current workspace" and "has logs" in kept[OTHER]
    assert report.receipt is None and tree(place.root) == before
    done = memory.gc(remove=True)
    assert done.receipt is not None and len(done.receipt.done) == 2 and not done.receipt.failed
    assert not (place.root / "old-00000001").exists() and (place.root / OTHER).exists()
    assert done.receipt.trash is not None
    restore(done.receipt.trash)
    assert (place.root / "tmp-00000002").is_dir()


def test_gc_never_takes_real_text_whatever_the_folders_name(place: MemoryDesk) -> None:
    place.fill()
    place.write("tmp-00000009/MEMORY.md", "# real\n\ntext\n", age_days=300)
    place.now += 400 * DAY
    memory = place.open()
    memory.gc(remove=True)
    assert (place.root / "tmp-00000009" / "MEMORY.md").read_text() == "# real\n\ntext\n"


@pytest.mark.parametrize(
    "name",
    [
        "a\nb.md",
        "\x1b[31mred.md",
        "a" * 250 + ".md",
        "a:5.md",
        "%s.md",
        "a'b\".md",
        "\u202emd.md",
        "-rf.md",
        " .md",
        "ü配.md",
    ],
    ids=range(10),
)
def test_a_hostile_name_is_found_read_explained_and_cleared(place: MemoryDesk, name: str) -> None:
    place.write(f"{WS}/sessions/{name}", "# Log\n\nzeppelin\n")
    memory = place.open()
    (hit,) = memory.search("zeppelin").hits
    assert hit.path == f"{place.root}/{WS}/sessions/{name}"
    assert memory.read(f"sessions/{name}").lines[-1] == "zeppelin"
    assert memory.why("zeppelin", f"sessions/{name}#0").chunk_id == hit.id
    assert [span.indexed for span in memory.spans(hit.path)] == [True]
    assert memory.doctor().findings
    receipt = memory.clear("workspace")
    assert not receipt.failed and memory.search("zeppelin").hits == ()
    assert receipt.trash is not None
    restore(receipt.trash)
    assert [item.path for item in memory.search("zeppelin").hits] == [hit.path]


def test_a_name_that_is_not_utf8_is_named_and_cleared_all_the_same(place: MemoryDesk) -> None:
    place.fill()
    odd = str(place.root / WS / "sessions") + "/\udcff.md"
    with open(odd, "w") as file:
        file.write("zeppelin")
    memory = place.open()
    assert any("not UTF-8" in note for note in memory.search("zeppelin").notes)
    receipt = memory.clear("workspace")
    assert any(line.endswith("\\xff.md") for line in receipt.done) and not receipt.failed
