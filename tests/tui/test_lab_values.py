"""The lab's plain values: controls and their steps, what a trial changes, moves, the table of a measurement."""

from __future__ import annotations

import pytest

from core.errors import SettingsError
from core.evaluation.model import ArmResult, EvalReport
from core.search.metrics import judge, summarise
from core.settings import Settings, find_key
from tests.tui.lab_memory import chunk, ranked
from tui.format import width_of
from tui.screens.lab.controls import BY_KEY, CONTROLS, PROFILE, Trial, shown
from tui.screens.lab.factors import Side, compare_lines, find_hit
from tui.screens.lab.measure import table_lines
from tui.screens.lab.moves import Move, moves_between, moves_in_words

SAVED = Settings()
FLOOR = BY_KEY["memory.search.min_score"]
HALF_LIFE = BY_KEY["memory.search.temporal_decay.half_life_days"]


def test_every_control_is_a_setting_or_the_profile() -> None:
    for control in CONTROLS:
        assert control.help
        if control.key != PROFILE:
            kind = find_key(control.key).kind
            assert {"number": "float", "whole": "int", "switch": "bool"}[control.kind] == kind


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.label)
def test_a_step_up_and_a_step_down_lead_back(control) -> None:
    trial = Trial(SAVED).stepped(control, 1)
    if control.kind == "switch":
        trial = trial.stepped(control, 1 if SAVED.value(control.key) else -1)
    else:
        assert trial.is_changed(control)
        trial = trial.stepped(control, -1)
    assert not trial.changed


def test_steps_stay_within_their_bounds_and_never_pull_a_typed_value_in() -> None:
    trial = Trial(SAVED)
    for _ in range(40):
        trial = trial.stepped(FLOOR, 1)
    assert trial.value(FLOOR) == 1.0
    typed = Trial(SAVED).typed(FLOOR, "1.7")
    assert typed.stepped(FLOOR, 1).value(FLOOR) == 1.7
    assert typed.stepped(FLOOR, -1).value(FLOOR) == 1.0
    below = Trial(SAVED).typed(HALF_LIFE, "-3")
    assert below.stepped(HALF_LIFE, -1).value(HALF_LIFE) == -3
    assert below.stepped(HALF_LIFE, 1).value(HALF_LIFE) == 1


def test_half_lives_step_wider_the_longer_they_are() -> None:
    trial = Trial(SAVED).typed(HALF_LIFE, "13")
    seen = []
    for _ in range(15):
        trial = trial.stepped(HALF_LIFE, 1)
        seen.append(trial.value(HALF_LIFE))
    assert seen[:3] == [14, 21, 28]
    assert seen[-1] - seen[-2] == 30


@pytest.mark.parametrize(("text", "value"), [("0.55", 0.55), (" ,5 ", 0.5), ("1", 1.0)])
def test_numbers_are_taken_as_people_write_them(text, value) -> None:
    assert Trial(SAVED).typed(FLOOR, text).value(FLOOR) == value


@pytest.mark.parametrize("text", ["", "half", "nan", "1e400", "1.0.0"])
def test_what_is_no_number_is_refused(text) -> None:
    with pytest.raises(SettingsError):
        Trial(SAVED).typed(FLOOR, text)


def test_a_trial_over_other_settings_keeps_what_still_differs() -> None:
    trial = Trial(SAVED).typed(FLOOR, ".5").stepped(BY_KEY[PROFILE], 1)
    over = trial.over(trial.settings, "hybrid")
    assert not over.changed
    assert trial.over(SAVED, "agent").changed == trial.changed


def test_what_has_no_effect_says_why() -> None:
    trial = Trial(SAVED)
    assert "no vectors" in trial.idle(BY_KEY["memory.search.vector_weight"], "text only")
    assert not trial.idle(BY_KEY["memory.search.vector_weight"], "text+vectors")
    assert "mmr is off" in trial.idle(BY_KEY["memory.search.mmr.lambda"])
    assert "decay is off" in trial.stepped(BY_KEY["memory.search.temporal_decay.enabled"], -1).idle(HALF_LIFE)
    assert "tuned" in Trial(SAVED, "tuned").idle(FLOOR)
    assert not trial.idle(FLOOR)


@pytest.mark.parametrize(
    ("value", "text"), [(0.7, ".70"), (1.0, "1.00"), (0.7125, ".7125"), (-0.5, "−.50"), (12.5, "12.50")]
)
def test_values_are_short(value, text) -> None:
    assert shown(FLOOR, value) == text


def test_moves_of_every_kind() -> None:
    assert [str(Move(*pair)) for pair in ((3, 1), (1, 2), (2, 2), (0, 4), (4, 0))] == [
        "↑2",
        "↓1",
        "=",
        "new",
        "gone",
    ]
    assert moves_in_words({"a": Move(1, 1)}) == "nothing moves"
    before, after = (
        ranked("q", SAVED, "agent"),
        ranked("q", Trial(SAVED).typed(FLOOR, ".8").settings, "agent"),
    )
    assert {str(move) for move in moves_between(before, after).values()} == {"=", "gone"}


@pytest.mark.parametrize("width", [30, 44, 60, 66, 84, 140])
def test_factors_fit_their_width_on_either_side(width) -> None:
    trial = Trial(SAVED).typed(BY_KEY["memory.search.source_weights.session"], "1.2").typed(FLOOR, ".9")
    reports = (ranked("token", SAVED, "agent"), ranked("token", trial.settings, "agent"))
    for number in range(4):
        sides = [Side(find_hit(one, chunk(number)), one, (0.3, 0.7)) for one in reports]
        lines = compare_lines(sides[0], sides[1], None, width)
        if width >= 44:
            assert all(
                sum(width_of(text) for text, _ in (*line.left, *line.right)) <= width for line in lines
            )
        said = "\n".join("".join(text for text, _ in (*line.left, *line.right)) for line in lines)
        assert all(name in said for name in ("text", "vector", "decay", "source", "access", "shown", "mmr"))


def test_a_row_that_one_side_does_not_know_says_so() -> None:
    found = ranked("token", SAVED, "agent")
    known, unknown = Side(found.hits[0], found, (0.3, 0.7)), Side(None, found, (0.3, 0.7))
    for width in (50, 100):
        said = "".join(
            text
            for line in compare_lines(unknown, known, None, width)
            for text, _ in (*line.left, *line.right)
        )
        assert "not a candidate" in said


def arm(name: str) -> ArmResult:
    good = judge(["a", "b"], {"a": 1}, frozenset({"b"}), 2.0)
    return ArmResult(name, "", (), {"all": summarise([good])}, {}, {})


@pytest.mark.parametrize("width", [50, 84])
def test_the_table_has_a_line_for_each_arm_and_names_those_that_did_not_run(width) -> None:
    made = EvalReport(
        "mine.toml", "w", "all", 3, tuple(map(arm, ("grep", "agent", "trial", "saved"))), notes=("text only",)
    )
    lines = [line for line, _ in table_lines(made, width)]
    names = [line.split("  ")[0] for line in lines if line[:5] in ("saved", "trial", "agent", "grep ")]
    assert names[:4] == ["saved", "trial", "agent", "grep"]
    row = next(line for line in lines if line.startswith("trial "))
    assert "1.00" in row and " 1 " in row and "2.0" in row
    assert "not measured: hybrid, tuned, text only, vectors only" in lines
    assert "text only" in lines
