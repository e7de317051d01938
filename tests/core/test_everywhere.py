"""Searching every workspace: own indexes, merged by place, global memory once, nothing made on the way."""

from __future__ import annotations

from pathlib import Path

from core.memory import Memory
from tests.core.memory_desk import OTHER, WS, MemoryDesk, no_index, tree


def filled(place: MemoryDesk) -> Memory:
    """Two workspaces that are indexed, one that is not."""
    place.fill()
    place.write("third-00000003/MEMORY.md", "harbor basalt")
    memory = place.open()
    memory.at(OTHER).sync()
    return memory


def test_each_workspace_in_its_own_index_and_global_once(place: MemoryDesk) -> None:
    memory = filled(place)
    report = memory.search("harbor", everywhere=True, min_score=0.0)
    assert report.everywhere
    assert sorted({hit.workspace for hit in report.hits}) == ["", OTHER, WS]
    granite = [hit for hit in report.hits if hit.source == "global"]
    assert [hit.workspace for hit in granite] == [""]
    assert [hit.rank for hit in report.hits] == list(range(1, len(report.hits) + 1))
    assert len({hit.id for hit in report.hits}) == len(report.hits) == 6


def test_lists_are_merged_by_place_and_marked_so(place: MemoryDesk) -> None:
    memory = filled(place)
    own = [hit.id for hit in memory.search("harbor", min_score=0.0).hits]
    theirs = [hit.id for hit in memory.at(OTHER).search("harbor", min_score=0.0).hits]
    report = memory.search("harbor", everywhere=True, min_score=0.0)
    merged = [hit.id for hit in report.hits]
    expected = [item for pair in zip(own, theirs, strict=False) for item in pair]
    assert merged == list(dict.fromkeys([*expected, *own, *theirs]))
    assert any("merged by rank position" in note for note in report.notes)


def test_a_limit_holds_for_all_workspaces_together(place: MemoryDesk) -> None:
    memory = filled(place)
    every = memory.search("harbor", everywhere=True, min_score=0.0, limit=3)
    assert [hit.rank for hit in every.hits] == [1, 2, 3]
    assert {hit.workspace for hit in every.hits} > {""}
    assert "place 4 of all workspaces, after the 3 results that are shown" in {
        hit.why for hit in every.dropped
    }
    assert not {hit.id for hit in every.hits} & {hit.id for hit in every.dropped}
    newest = memory.search("", everywhere=True, limit=2).also
    assert len(newest) == 2
    assert newest == memory.search("", everywhere=True).also[:2]


def test_a_workspace_without_an_index_is_counted_and_gets_none(place: MemoryDesk) -> None:
    memory = filled(place)
    before = tree(place.root, no_index)
    report = memory.search("basalt", everywhere=True)
    assert report.hits == ()
    said = "not searched, since there is no index yet: third-00000003; `memdeck reindex --workspace NAME` makes one"
    assert said in report.notes
    assert not (place.root / "third-00000003" / "index.sqlite").exists()
    assert tree(place.root, no_index) == before
    memory.at("third-00000003").sync()
    assert [hit.workspace for hit in memory.search("basalt", everywhere=True).hits] == ["third-00000003"]


def test_agent_roots_are_searched_too(place: MemoryDesk) -> None:
    place.fill()
    agent = place.home / ".grok" / "agent-memory" / "reviewer"
    (agent / WS).mkdir(parents=True)
    (agent / "MEMORY.md").write_text("zeppelin of the reviewer")
    (agent / WS / "MEMORY.md").write_text("zeppelin here too")
    flat = place.cwd / ".grok" / "agent-memory" / "tester"
    (flat / "sessions").mkdir(parents=True)
    (flat / "MEMORY.md").write_text("zeppelin of the tester")
    memory = place.open()
    for root in memory.overview().roots[1:]:
        memory.at(WS if not root.flat else "", root.path).sync()
    hits = memory.search("zeppelin", everywhere=True, min_score=0.0).hits
    assert {Path(hit.path).parent.name for hit in hits} == {"reviewer", WS, "tester"}
    assert {hit.workspace for hit in hits} == {"", WS, "tester"}
    assert memory.search("zeppelin").hits == ()


def test_an_agent_folder_of_both_shapes_has_an_index_for_each(place: MemoryDesk) -> None:
    place.fill()
    agent = place.home / ".grok" / "agent-memory" / "both"
    (agent / WS).mkdir(parents=True)
    (agent / "sessions").mkdir()
    (agent / "MEMORY.md").write_text("zeppelin above")
    (agent / "sessions" / "2025-12-31-x-00000001.md").write_text("zeppelin log")
    (agent / WS / "MEMORY.md").write_text("zeppelin below")
    memory = place.open()
    roots = [(root.path, root.flat) for root in memory.overview().roots[1:]]
    assert roots == [(str(agent), False), (str(agent), True)]
    assert {hit.snippet for hit in memory.at("", str(agent)).search("zeppelin").hits} == {
        "zeppelin above",
        "zeppelin log",
    }
    assert {hit.snippet for hit in memory.at(WS, str(agent)).search("zeppelin").hits} == {
        "zeppelin above",
        "zeppelin below",
    }


def test_both_shapes_of_one_folder_are_searched_side_by_side(place: MemoryDesk) -> None:
    agent = place.cwd / ".grok" / "agent-memory" / "both"
    (agent / WS).mkdir(parents=True)
    (agent / "sessions").mkdir()
    (agent / "MEMORY.md").write_text("zeppelin above")
    (agent / "sessions" / "2025-12-31-x-00000001.md").write_text("zeppelin in a log of its own")
    memory = place.open(WS, root=str(agent)).at("")
    flat = memory.at("", str(agent))
    place.opened += [memory, flat]
    flat.sync()
    hits = memory.search("zeppelin", everywhere=True, min_score=0.0).hits
    assert {hit.path.rsplit("/", 1)[-1] for hit in hits} == {"MEMORY.md", "2025-12-31-x-00000001.md"}


def test_global_memory_is_once_although_two_indexes_spell_the_root_differently(place: MemoryDesk) -> None:
    place.fill()
    link = place.folder / "link"
    link.symlink_to(place.root)
    by_link = place.open(OTHER, root=str(link))
    by_link.sync()
    by_link.close()
    memory = place.open()
    assert any(str(row[0]).startswith(f"{link}/") for row in place.ask("SELECT path FROM chunks", OTHER))
    hits = memory.search("granite", everywhere=True, min_score=0.0).hits
    assert [hit.source for hit in hits] == ["global"]
    also = memory.search("", everywhere=True).also
    assert [item.source for item in also].count("global") == 1


def test_the_newest_of_all(place: MemoryDesk) -> None:
    memory = filled(place)
    report = memory.search("", everywhere=True)
    assert (report.mode, report.hits, report.empty_reason) == ("newest", (), "")
    births = [item.created_at for item in report.also]
    assert births == sorted(births, reverse=True) and len(births) == 6


def test_what_is_found_nowhere_has_a_reason(place: MemoryDesk) -> None:
    memory = filled(place)
    assert memory.search("balloon", everywhere=True).empty_reason == "no match"
    assert memory.search("what is", everywhere=True).empty_reason == "only stop words"


def test_a_broken_index_leaves_the_others(place: MemoryDesk) -> None:
    memory = filled(place)
    (place.root / OTHER / "index.sqlite").unlink()
    for rest in (place.root / OTHER).glob("index.sqlite-*"):
        rest.unlink()
    (place.root / OTHER / "index.sqlite").mkdir()
    report = memory.search("harbor", everywhere=True, min_score=0.0)
    assert {hit.workspace for hit in report.hits} == {"", WS}
    assert any("no index yet" in note and OTHER in note for note in report.notes)
    broken = memory.at(OTHER)
    place.opened.append(broken)
    found = broken.search("marble")
    assert found.hits and any("index.sqlite is not a file" in note for note in found.notes)


def test_a_workspace_whose_name_is_not_utf8_is_left_out(place: MemoryDesk) -> None:
    place.fill()
    odd = Path(str(place.root) + "/\udcff-00000000")
    odd.mkdir()
    (odd / "MEMORY.md").write_text("harbor")
    (odd / "index.sqlite").touch()
    memory = place.open()
    assert memory.search("harbor", everywhere=True).hits
    assert any("not UTF-8" in problem.message for problem in memory.overview().roots[0].problems)
    assert memory.doctor().findings
