"""The bar for ranking: on the shipped set ``tuned`` beats the agent, loses nowhere, and finds nothing forbidden.

Weights and parts of ``tuned`` are chosen on the tuning half alone.  When something here fails, change them by
what that half says, and raise the recorded numbers only for what was measured.
"""

from __future__ import annotations

import pytest

from core.evalset import CLASSES, load
from core.evaluation.model import EvalReport, Share
from core.evaluation.run import Options
from tests.core.evaluation.conftest import ShippedMemory

SHARES: tuple[Share, ...] = ("all", "tuning", "held-out")
RECALL_5, NDCG = 0.715, 0.70
"""What ``tuned`` reached on the held-out half (0.722 and 0.711); one query more lost is below."""


@pytest.fixture(scope="module")
def report(shipped: ShippedMemory) -> EvalReport:
    options = Options(misses=False, arms=("agent", "tuned", "grep"))
    return shipped.memory.evaluate(shipped.made.queries, options)


def test_every_query_was_measured_with_its_vector(report: EvalReport) -> None:
    assert report.queries == len(load().queries)
    assert [arm.name for arm in report.arms] == ["agent", "tuned", "grep"]
    assert report.notes == ()
    assert report.embedding is not None


def test_tuned_beats_the_agent_on_the_held_out_half(report: EvalReport) -> None:
    gain = report.arm("tuned").against["held-out"]
    assert gain.mean >= 0.03
    assert gain.above_zero


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", CLASSES)
def test_tuned_loses_to_the_agent_on_no_class(report: EvalReport, name: str, share: Share) -> None:
    ours, theirs = report.arm("tuned").classes[name][share], report.arm("agent").classes[name][share]
    assert ours >= theirs - 1e-9


def test_nothing_forbidden_is_among_the_first_five(report: EvalReport) -> None:
    assert [item.query.id for item in report.arm("tuned").answers if item.outcome.forbidden] == []


def test_tuned_keeps_what_it_reached(report: EvalReport) -> None:
    held_out = report.arm("tuned").shares["held-out"]
    assert held_out.recall[5] >= RECALL_5
    assert held_out.ndcg >= NDCG


@pytest.mark.parametrize("share", SHARES)
def test_counting_substrings_is_not_enough(report: EvalReport, share: Share) -> None:
    assert report.arm("grep").shares[share].recall[5] <= 0.60
