"""Measuring a small memory whose every number can be worked out by hand."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from core.errors import MemdeckError, NotFound, SettingsError, UsageError
from core.evaluation.model import EvalReport
from core.evaluation.run import Options
from core.memory import Memory
from tests.core.memory_desk import OTHER, WS, MemoryDesk

ONE = '[[query]]\nid = "{id}"\ntext = "{text}"\nfind = [{{ path = "{path}", text = "{phrase}" }}]\n'


def judge(desk: MemoryDesk, text: str) -> Path:
    path = desk.folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def measure(desk: MemoryDesk, text: str, **options: object) -> EvalReport:
    return desk.open().evaluate(str(judge(desk, text)), Options(**options))  # type: ignore[arg-type]


def stages(report: EvalReport, arm: str) -> dict[str, str]:
    return {miss.query: miss.stage for miss in report.misses if miss.arm == arm}


@pytest.fixture
def filled(desk: MemoryDesk) -> MemoryDesk:
    desk.write(f"{WS}/MEMORY.md", "# Widgets\n\nThe harbor crane is painted yellow.\n")
    desk.write("MEMORY.md", "# Global\n\nAnswer in short sentences.\n")
    desk.log("30", "# Log\n\nThe crane was oiled, the harbor closed.\n")
    desk.log("02", "# Log\n\nThe crane was inspected before anything else in that winter.\n", sid="00000002")
    desk.write(f"{OTHER}/MEMORY.md", "# Api\n\nPagination uses cursors.\n")
    return desk


def test_recall_and_ranks_are_those_of_the_search(filled: MemoryDesk) -> None:
    text = ONE.format(id="crane", text="harbor crane", path="MEMORY.md", phrase="painted yellow")
    text += ONE.format(id="style", text="answer briefly", path="MEMORY.md", phrase="short sentences")
    report = measure(filled, text)
    assert [arm.name for arm in report.arms] == ["saved", "text only", "agent", "tuned", "grep"]
    assert report.queries == 2
    agent = report.arm("agent")
    assert agent.shares["all"].recall[5] == agent.shares["all"].recall[10] == 1.0
    root = filled.open().root
    assert agent.answers[0].ranked[0] == f"{root}/{WS}/MEMORY.md:0", (
        "relative to the workspace before the root"
    )
    assert agent.answers[1].ranked == (f"{root}/MEMORY.md:0",)
    assert agent.shares["all"].mrr == 1.0
    assert report.embedding is None
    assert any("text only" in note for note in report.notes)


def test_the_saved_arm_has_its_floor_and_others_have_none(filled: MemoryDesk) -> None:
    text = ONE.format(
        id="old", text="crane", path=f"{WS}/sessions/2025-12-02-auth-00000002.md", phrase="inspected"
    )
    report = measure(
        filled, text, variants=("low=search.min_score=0", "one=search.min_score=0,search.max_results=1")
    )
    recalls = {arm.name: arm.shares["all"].recall[10] for arm in report.arms}
    assert (recalls["saved"], recalls["agent"], recalls["low"], recalls["one"]) == (0.0, 1.0, 1.0, 0.0)
    assert stages(report, "saved") == {"old": "floor"}
    assert stages(report, "one") == {"old": "cut"}
    (miss,) = [miss for miss in report.misses if miss.arm == "saved"]
    assert "below the floor 0.70" in miss.why
    assert report.arm("agent").against == {}
    assert report.arm("saved").against["all"].mean == -1.0


def test_each_miss_names_the_stage_that_lost_it(desk: MemoryDesk) -> None:
    desk.write(f"{WS}/MEMORY.md", "# Widgets\n\nA painted crane.\n\n# Empty crane heading\n")
    for number in range(40):
        desk.log("20", f"# Log\n\ncrane crane crane number{number}\n", sid=f"000000{number:02}")
    desk.log("21", "# Log\n\n" + "a crane among very many other words " * 20 + "\n", sid="00000099")
    long = f"{WS}/sessions/2025-12-21-auth-00000099.md"
    text = ONE.format(id="words", text="gantry", path="MEMORY.md", phrase="painted")
    text += ONE.format(id="stop", text="what is this", path="MEMORY.md", phrase="painted")
    text += ONE.format(id="bm25", text="crane", path=long, phrase="very many")
    report = measure(desk, text)
    assert stages(report, "agent") == {"words": "words", "stop": "stop words", "bm25": "bm25"}
    bm25 = next(miss for miss in report.misses if (miss.arm, miss.query) == ("agent", "bm25"))
    assert "cut at 30" in bm25.why
    grep = stages(report, "grep")
    assert (grep["words"], grep["stop"]) == ("substring", "substring")


def test_what_is_superseded_is_counted_and_named(desk: MemoryDesk) -> None:
    desk.write(
        f"{WS}/MEMORY.md",
        "# Widgets\n\n## Old crane\n\nThe crane is red. <!-- memdeck: superseded until=2025-12-01 -->\n",
    )
    desk.log("20", "# Log\n\nThe crane is blue.\n")
    log = f"{WS}/sessions/2025-12-20-auth-00000001.md"
    text = (
        f'[[query]]\nid = "now"\ntext = "crane"\nfind = [{{ path = "{log}", text = "blue" }}]\n'
        'avoid = [{ path = "MEMORY.md", text = "is red" }]\n'
    )
    report = measure(desk, text)
    assert report.arm("agent").shares["all"].forbidden == 1
    assert report.arm("tuned").answers[0].ranked[0].endswith(f"{log.rsplit('/', 1)[-1]}:0")


def test_as_of_a_day_what_is_newer_is_hidden_from_every_arm(filled: MemoryDesk) -> None:
    log = f"{WS}/sessions/2025-12-02-auth-00000002.md"
    text = ONE.format(id="then", text="crane", path=log, phrase="inspected") + 'as_of = "2025-12-02"\n'
    text += ONE.format(id="now", text="crane", path=log, phrase="inspected")
    report = measure(filled, text)
    for arm in report.arms:
        then, now = arm.answers
        if arm.name != "saved":
            assert len(now.ranked) == 3, arm.name
        assert [chunk.rsplit("/", 1)[-1] for chunk in then.ranked] == ["2025-12-02-auth-00000002.md:0"], (
            arm.name
        )


def test_what_the_query_itself_hides_is_named(filled: MemoryDesk) -> None:
    log = f"{WS}/sessions/2025-12-30-auth-00000001.md"
    text = ONE.format(id="day", text="crane", path=log, phrase="oiled") + 'as_of = "2025-12-29"\n'
    text += ONE.format(id="source", text="crane", path=log, phrase="oiled") + 'scope = "workspace"\n'
    report = measure(filled, text)
    for arm in report.arms:
        assert stages(report, arm.name) == {"day": "hidden", "source": "hidden"}, arm.name


def test_scopes(filled: MemoryDesk) -> None:
    filled.open().sync_everywhere()
    text = ONE.format(id="agent", text="cursors", path=f"{OTHER}/MEMORY.md", phrase="Pagination")
    with pytest.raises(MemdeckError, match="none of the judged queries") as caught:
        measure(filled, text)
    assert "Pagination" in caught.value.data
    report = measure(filled, text + 'scope = "everywhere"\n')
    for name in ("agent", "tuned", "grep"):
        assert report.arm(name).shares["all"].recall[1] == 1.0
    log = f"{WS}/sessions/2025-12-30-auth-00000001.md"
    text = ONE.format(id="logs", text="harbor", path=log, phrase="oiled") + 'scope = "session"\n'
    report = measure(filled, text)
    for name in ("agent", "tuned", "grep"):
        assert [chunk.rpartition("/")[2] for chunk in report.arm(name).answers[0].ranked] == [
            "2025-12-30-auth-00000001.md:0"
        ]


def test_chunks_that_overlap_count_once(desk: MemoryDesk) -> None:
    """A phrase in the overlap of two chunks is found when either is."""
    # A section over the limit is split at a blank line, and the next chunk repeats what stood before it.
    paragraph = "\n".join(f"The crane lifts load number {number} in the harbor." for number in range(30))
    desk.write(f"{WS}/MEMORY.md", f"# Widgets\n\n{paragraph}\n{' ' * 400}\nThe ships leave.\n")
    memory = desk.open()
    memory.sync()
    phrase = "load number 29"
    both = {span.id for span in memory.spans("MEMORY.md") if phrase in memory.why("x", span.id).snippet}
    assert len(both) == 2
    text = ONE.format(id="both", text="crane load number", path="MEMORY.md", phrase=phrase)
    (answer,) = measure(desk, text).arm("agent").answers
    assert len(both & set(answer.ranked)) == 1
    assert answer.outcome.recall[10] == 1.0


def test_what_is_gone_is_said_and_the_rest_measured(filled: MemoryDesk) -> None:
    text = ONE.format(id="here", text="harbor crane", path="MEMORY.md", phrase="painted yellow")
    text += ONE.format(id="gone", text="ships", path="MEMORY.md", phrase="no such phrase")
    report = measure(filled, text)
    assert report.queries == 1
    assert [note for note in report.notes if "gone" in note and "no such phrase" in note]


def test_nothing_is_written_and_no_recall_is_counted(filled: MemoryDesk) -> None:
    text = ONE.format(id="crane", text="harbor crane", path="MEMORY.md", phrase="painted yellow")
    memory = filled.open()
    judge(filled, text)
    before = {path: path.read_bytes() for path in filled.root.rglob("*.md")}
    memory.evaluate(str(filled.folder / "mine.toml"), Options(ablate=True))
    assert {path: path.read_bytes() for path in filled.root.rglob("*.md")} == before
    assert all(hit.access_count == 0 for hit in memory.search("harbor crane").hits)


def test_without_judgements_it_says_how_to_make_them(filled: MemoryDesk) -> None:
    with pytest.raises(NotFound, match="nothing is judged yet") as caught:
        filled.open().evaluate()
    assert "--shipped" in caught.value.hint
    with pytest.raises(NotFound, match="there is no file"):
        filled.open().evaluate(str(filled.folder / "none.toml"))


def test_what_was_judged_in_the_app_is_measured(filled: MemoryDesk) -> None:
    memory = filled.open()
    hit = memory.search("harbor crane").hits[0]
    memory.judge("harbor crane", hit, True)
    report = memory.evaluate()
    assert report.source.endswith(f"judgements/{WS}.toml")
    assert report.arm("saved").shares["all"].recall[1] == 1.0


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (Options(variants=("low",)), UsageError, "not of the form"),
        (Options(variants=("low=search.min_scor=1",)), SettingsError, "min_scor"),
        (Options(variants=("low=search.min_score=x",)), SettingsError, "min_score"),
        (Options(variants=("t=tuned.txt=1",)), UsageError, "no tuned.txt"),
        (Options(variants=("t=tuned.text=-1",)), UsageError, "cannot be '-1'"),
        (Options(variants=("t=tuned.plain=2",)), UsageError, "cannot be '2'"),
        (Options(variants=("t=profile=best",)), UsageError, "no profile"),
        (Options(variants=("agent=profile=tuned",)), UsageError, "two arms"),
        (Options(sweeps=("tuned.text",)), UsageError, "not of the form"),
        (Options(sweeps=("tuned.text=" + ",".join(map(str, range(60))),)), UsageError, "60 values"),
        (Options(sweeps=("tuned.text=1,2",)), MemdeckError, "both halves"),
    ],
)
def test_wrong_requests_are_named(
    filled: MemoryDesk, options: Options, error: type[MemdeckError], says: str
) -> None:
    text = ONE.format(id="crane", text="harbor crane", path="MEMORY.md", phrase="painted yellow")
    with pytest.raises(error, match=says):
        filled.open().evaluate(str(judge(filled, text)), options)


def test_it_can_be_stopped_and_tells_how_far_it_is(filled: MemoryDesk) -> None:
    text = "".join(
        ONE.format(id=f"q{number}", text="harbor crane", path="MEMORY.md", phrase="painted yellow")
        for number in range(3)
    )
    path = str(judge(filled, text))
    told: list[tuple[int, int]] = []
    filled.open().evaluate(path, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    stop = threading.Event()
    stop.set()
    with pytest.raises(MemdeckError, match="stopped"):
        filled.open().evaluate(path, cancel=stop)


def halves(desk: MemoryDesk) -> str:
    """Two queries a half, of an old log on one and of a new log on the other."""
    text = ""
    for half, count in (("tuning", 2), ("held-out", 2)):
        for number in range(count):
            log = "2025-12-02-auth-00000002" if half == "tuning" else "2025-12-30-auth-00000001"
            phrase = "inspected" if half == "tuning" else "oiled"
            text += ONE.format(
                id=f"{half}{number}", text="crane", path=f"{WS}/sessions/{log}.md", phrase=phrase
            )
            text += f'half = "{half}"\n'
    return text


def test_a_sweep_chooses_on_one_half_and_reports_on_the_other(filled: MemoryDesk) -> None:
    report = measure(filled, halves(filled), sweeps=("search.min_score=0,2",))
    (sweep,) = report.sweeps
    assert (sweep.current, sweep.chosen, sweep.profile) == ("0.7", "0", "agent")
    tuning = {row.value: row.tuning.recall[5] for row in sweep.rows}
    held_out = {row.value: row.held_out.recall[5] for row in sweep.rows}
    assert tuning == {"0": 1.0, "2": 0.0, "0.7": 0.0}
    assert sweep.gain.mean == held_out["0"] - held_out["0.7"]


def test_the_current_value_wins_a_draw(filled: MemoryDesk) -> None:
    (sweep,) = measure(filled, halves(filled), sweeps=("tuned.pool=59,60,61",)).sweeps
    assert (sweep.current, sweep.chosen, sweep.profile) == ("60", "60", "tuned")
    assert (sweep.gain.mean, sweep.gain.low, sweep.gain.high) == (0.0, 0.0, 0.0)


def test_halves_and_limits(filled: MemoryDesk) -> None:
    report = measure(filled, halves(filled), half="tuning")
    assert (report.queries, set(report.arms[0].shares)) == (2, {"all"})
    report = measure(filled, halves(filled), limit=2)
    assert [answer.query.id for answer in report.arms[0].answers] == ["tuning0", "held-out0"]


def test_an_ablation_names_what_each_stage_adds(filled: MemoryDesk) -> None:
    report = measure(filled, halves(filled), ablate=True)
    rows = {(row.formula, row.stage): row for row in report.ablation}
    assert {stage for formula, stage in rows if formula == "agent"} == {
        "", "curated arm", "content-free", "access", "decay", "MMR",
    }  # fmt: skip
    assert {"word index", "identifier parts", "character pairs", "trust"} <= {
        stage for formula, stage in rows if formula == "tuned"
    }
    whole, decay = rows["agent", ""], rows["agent", "decay"]
    assert decay.adds["all"].mean == pytest.approx(whole.recall["all"] - decay.recall["all"])


def test_the_floor_of_a_memory_of_another_workspace_is_its_own(filled: MemoryDesk) -> None:
    """The subject is the workspace that is looked at, not the one of the folder it was opened in."""
    memory: Memory = filled.open().at(OTHER)
    text = ONE.format(id="api", text="pagination cursors", path="MEMORY.md", phrase="uses cursors")
    report = memory.evaluate(str(judge(filled, text)))
    assert (report.workspace, report.arm("saved").shares["all"].recall[1]) == (OTHER, 1.0)
