"""What a search tells besides its hits: stages, drops with reasons, why it is empty, why a chunk is not there."""

from __future__ import annotations

import pytest

from core.errors import NotFound, OutsideRoot, UsageError
from core.memory import Memory
from tests.core.memory_desk import NOW, OTHER, WS, MemoryDesk

TEMPLATE = "# Widgets\n\n> Add project-specific knowledge here\n"


def stages(memory: Memory, query: str) -> list[tuple[str, bool]]:
    return [(stage.name, stage.ran) for stage in memory.search(query).stages]


# ── stages and drops ─────────────────────────────────────────────────────────────────────────────────


def test_every_stage_says_whether_it_ran_and_why(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    assert stages(memory, "harbor") == [
        ("keywords", True),
        ("text", True),
        ("vectors", False),
        ("score", True),
        ("mmr", False),
        ("also", True),
    ]
    assert stages(memory, "what is")[1] == ("text", False)
    assert stages(memory, "") == [("newest", True)]
    report = memory.search("harbor")
    assert all(stage.why for stage in report.stages)
    assert all(stage.ms == 0 for stage in report.stages if not stage.ran)
    assert report.mode == "text only" and report.ms > 0


def test_stages_follow_the_settings(place: MemoryDesk) -> None:
    place.fill()
    place.config("[memory.search.mmr]\nenabled = true\n[memory.search.temporal_decay]\nenabled = false\n")
    report = place.open().search("harbor", min_score=0.0)
    assert ("mmr", True) in [(stage.name, stage.ran) for stage in report.stages]
    assert ("decay", False) in [(stage.name, stage.ran) for stage in report.stages]
    assert all(hit.factors.decay == 1.0 and hit.factors.mmr is not None for hit in report.hits)


def test_each_drop_has_its_reason_and_a_sentence(place: MemoryDesk) -> None:
    place.write(f"{WS}/MEMORY.md", TEMPLATE + "harbor\n")
    for number in range(8):
        place.log("31", "harbor quay " * (number + 1), sid=f"{number:08}")
    place.log("01", "harbor " + "padding " * 200, sid="00000009")
    place.config("[memory.search]\nmax_results = 3\n")
    report = place.open().search("harbor")
    assert [hit.rank for hit in report.hits] == [1, 2, 3]
    reasons = {hit.reason for hit in report.dropped}
    assert reasons == {"cut", "below_floor", "content_free"}
    for hit in report.dropped:
        assert hit.rank == 0 and hit.why and hit.stage
    (hidden,) = [hit for hit in report.dropped if hit.reason == "content_free"]
    assert "template" in hidden.why
    cut = [hit.why for hit in report.dropped if hit.reason == "cut"]
    assert cut[0].startswith("place 4,")
    assert all(hit.score < hit.factors.floor for hit in report.dropped if hit.reason == "below_floor")


def test_a_hit_carries_all_there_is(place: MemoryDesk) -> None:
    place.fill()
    hit = place.open().search("copper").hits[0]
    assert (hit.id, hit.start_line, hit.end_line, hit.heading) == (
        f"{place.root}/{WS}/MEMORY.md:0",
        1,
        3,
        "Widgets",
    )
    assert hit.snippet == "# Widgets\n\nharbor copper lantern\n"
    assert (hit.matched, hit.workspace, hit.source, hit.foreign) == (("copper",), WS, "workspace", False)
    assert hit.created_at == int(NOW)


# ── empty, and why ───────────────────────────────────────────────────────────────────────────────────


def test_nothing_indexed(place: MemoryDesk) -> None:
    memory = place.open()
    assert memory.search("harbor").empty_reason == "nothing indexed"
    assert memory.search("").empty_reason == "nothing indexed"


@pytest.mark.parametrize("query", ["what is this", "8080", "a b c"])
def test_only_stop_words(place: MemoryDesk, query: str) -> None:
    place.fill()
    assert place.open().search(query).empty_reason == "only stop words"


def test_no_match(place: MemoryDesk) -> None:
    place.fill()
    report = place.open().search("zeppelin")
    assert (report.empty_reason, report.dropped) == ("no match", ())


def test_all_below_the_floor(place: MemoryDesk) -> None:
    place.log("01", "harbor")
    report = place.open().search("harbor")
    assert (report.hits, report.empty_reason) == ((), "all below the floor")
    assert "decay" in report.dropped[0].why


def test_only_templates(place: MemoryDesk) -> None:
    place.write(f"{WS}/MEMORY.md", TEMPLATE)
    place.log("31", "# knowledge\n\n<!-- knowledge -->\n")
    report = place.open().search("knowledge")
    assert (report.hits, report.empty_reason) == ((), "only headings and templates")


def test_a_failed_index(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open(None, MEMDECK_STATE=str(place.root / "inside"))
    report = memory.search("harbor")
    assert report.empty_reason.startswith("failed: ")
    assert report.status is not None and report.status.state == "failed"


def test_hits_leave_no_reason(place: MemoryDesk) -> None:
    place.fill()
    assert place.open().search("harbor").empty_reason == ""


# ── while another process holds the claim ────────────────────────────────────────────────────────────


def test_behind_gives_what_is_there_at_once_and_says_who_writes(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    memory.search("harbor")
    place.hold_claim(pid=4242, age=10)
    place.write(f"{WS}/MEMORY.md", "# Widgets\n\nharbor zeppelin\n")
    report = memory.search("copper")
    assert [hit.source for hit in report.hits] == ["workspace"]
    assert report.notes[0] == "index behind by 1 file (pid 4242 since 23:59:50 UTC)"
    assert report.status is not None and report.status.state == "behind"
    assert memory.search("zeppelin").empty_reason == "index behind by 1 file"
    place.now += 61  # the claim is stale now
    report = memory.search("zeppelin")
    assert report.hits and not report.notes
    assert report.status is not None and report.status.state == "ready"


@pytest.mark.parametrize(
    "value", ["", "garbage", ":", "1:", "²:²", "1:1e9", "-1:-1", "1:99999999999999999999999", "9:1767229999"]
)
def test_a_claim_that_is_none_keeps_nobody_out(place: MemoryDesk, value: str) -> None:
    place.fill()
    memory = place.open()
    memory.search("harbor")
    place.sql(f"UPDATE meta SET value='{value}' WHERE key='reindex_claim'")
    place.write("MEMORY.md", "# Global\n\nzeppelin\n")
    report = memory.search("zeppelin")
    assert report.hits and not report.notes


@pytest.mark.parametrize("value", ["²:1767225590", "x:1767225590", "99999999999999999999:1767225590"])
def test_a_claim_of_an_odd_process_is_respected_without_a_name(place: MemoryDesk, value: str) -> None:
    place.fill()
    memory = place.open()
    memory.search("harbor")
    place.sql(f"UPDATE meta SET value='{value}' WHERE key='reindex_claim'")
    place.write("MEMORY.md", "# Global\n\nzeppelin\n")
    assert memory.search("zeppelin").notes[0] == "index behind by 1 file (another process is writing)"


# ── why ──────────────────────────────────────────────────────────────────────────────────────────────


def test_why_a_chunk_is_found_or_dropped(place: MemoryDesk) -> None:
    place.fill()
    place.log("01", "harbor " + "padding " * 50, sid="00000009")
    memory = place.open()
    assert memory.why("copper", "MEMORY.md#0").verdict == "found: result 1 of 1, score 1.00"
    dropped = memory.why("harbor", "sessions/2025-12-01-auth-00000009.md#0")
    assert dropped.verdict.startswith("a candidate, but not a result: score 0.00 is below the floor 0.70")
    assert dropped.hit is not None and dropped.place == dropped.matches


def test_why_a_chunk_is_no_candidate(place: MemoryDesk) -> None:
    for number in range(210):
        place.log("31", "harbor" + " pad" * number, sid=f"{number:08}")
    why = place.open().why("harbor zeppelin", "sessions/2025-12-31-auth-00000056.md#0")
    assert why.verdict == "not a candidate: 57th of 210 matches by BM25, cut at 18"
    assert (why.place, why.matches, why.cut_at, why.hit) == (57, 210, 18, None)
    assert (why.present, why.missing) == (("harbor",), ("zeppelin",))


def test_why_a_chunk_does_not_match(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    lacking = memory.why("zeppelin balloon", "MEMORY.md#0")
    assert lacking.verdict == "not found: it holds none of the words zeppelin, balloon"
    assert (lacking.present, lacking.missing) == ((), ("zeppelin", "balloon"))
    assert "stop words" in memory.why("what is this", "MEMORY.md#0").verdict
    assert memory.why("", "MEMORY.md#0").verdict == "there is no query to explain"
    filtered = memory.why("source:session copper", "MEMORY.md#0")
    assert filtered.verdict == "not found: the filters of the query leave it out"


def test_why_names_what_only_memdeck_finds(place: MemoryDesk) -> None:
    place.write(f"{WS}/MEMORY.md", "the port is 8080")
    why = place.open().why("8080", "MEMORY.md#0")
    assert why.notes == ("memdeck finds it by number; the agent does not",)


def test_the_ways_to_name_a_chunk(place: MemoryDesk) -> None:
    place.write(
        f"{WS}/sessions/2025-12-31-a#3.md", "".join(f"## P{n}\n\n{'harbor ' * 120}\n" for n in range(3))
    )
    memory = place.open()
    path = f"{place.root}/{WS}/sessions/2025-12-31-a#3.md"
    for chunk in (f"{path}:1", f"{path}#1", "sessions/2025-12-31-a#3.md#1", "sessions/2025-12-31-a#3.md#001"):
        why = memory.why("harbor", chunk)
        assert (why.chunk_id, why.start_line, why.end_line) == (f"{path}:1", 4, 6)


@pytest.mark.parametrize(
    ("chunk", "error"),
    [
        ("", NotFound),
        ("#", NotFound),
        ("#0", UsageError),
        ("nothing.md#0", NotFound),
        ("MEMORY.md#99", NotFound),
        ("MEMORY.md#-1", NotFound),
        ("MEMORY.md#²", NotFound),
        ("MEMORY.md#" + "9" * 5000, NotFound),
        ("\ud800:0", NotFound),
        ("\ud800#0", NotFound),
        ("\0#0", UsageError),
        ("/etc/hostname#0", OutsideRoot),
        (f"/nowhere/{OTHER}/MEMORY.md:0", NotFound),
    ],
)
def test_a_chunk_that_is_not_there(place: MemoryDesk, chunk: str, error: type[Exception]) -> None:
    place.fill()
    with pytest.raises(error):
        place.open().why("harbor", chunk)


# ── the observer ─────────────────────────────────────────────────────────────────────────────────────


def test_a_person_never_changes_an_access_count(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    memory.search("harbor")
    place.sql("UPDATE chunks SET access_count = rowid, last_accessed = 5")
    columns = "SELECT id, access_count, last_accessed, created_at, updated_at FROM chunks ORDER BY id"
    before = place.ask(columns)
    for query in ("harbor", "copper", "", "what is", "harb", '"copper lantern"', "source:session harbor"):
        memory.search(query)
        memory.search(query, everywhere=True)
        memory.search(query, sync=False, limit=100, min_score=0.0)
        memory.why(query, "MEMORY.md#0")
    memory.read("MEMORY.md")
    memory.spans("MEMORY.md")
    memory.doctor()
    memory.status()
    memory.reindex()
    memory.reindex(rebuild=True)
    assert place.ask(columns) == before


def test_accesses_raise_a_score(place: MemoryDesk) -> None:
    place.fill()
    memory = place.open()
    plain = memory.search("copper").hits[0]
    place.sql("UPDATE chunks SET access_count = 9")
    raised = memory.search("copper").hits[0]
    assert raised.raw_score > plain.raw_score
    assert (raised.access_count, raised.factors.access_count) == (9, 9)
