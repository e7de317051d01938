"""Retrieval metrics against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from core.search.metrics import judge, ndcg, paired_bootstrap, percentile, recall, reciprocal_rank, summarise

RANKED = ["a", "b", "c", "d", "e", "f"]


def test_recall_counts_relevant_items_within_the_cut() -> None:
    relevant = {"b": 1, "f": 1, "z": 1}
    assert recall(RANKED, relevant, 1) == 0
    assert recall(RANKED, relevant, 3) == pytest.approx(1 / 3)
    assert recall(RANKED, relevant, 10) == pytest.approx(2 / 3)
    assert recall(RANKED, {}, 5) == 1.0


def test_reciprocal_rank_is_that_of_the_first_relevant_item() -> None:
    assert reciprocal_rank(RANKED, {"c": 1, "e": 3}) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKED, {"z": 1}) == 0.0


def test_ndcg_uses_exponential_gains_and_the_ideal_order() -> None:
    # grades 3 at place 2 and 1 at place 1: (1/log2 2 + 7/log2 3) / (7/log2 2 + 1/log2 3)
    found = ndcg(["a", "b"], {"a": 1, "b": 3}, 10)
    assert found == pytest.approx((1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)))
    assert ndcg(["b", "a"], {"a": 1, "b": 3}, 10) == pytest.approx(1.0)
    assert ndcg(["x"], {"a": 1}, 10) == 0.0


def test_forbidden_hits_are_counted_among_the_first_five() -> None:
    assert judge(RANKED, {"a": 1}, frozenset({"e", "f"})).forbidden == 1


def test_summary_averages_and_takes_percentiles() -> None:
    outcomes = [judge(RANKED, {"a": 1}, frozenset(), ms) for ms in (1.0, 2.0, 30.0)]
    outcomes.append(judge(RANKED, {"z": 1}, frozenset(), 3.0))
    summary = summarise(outcomes)
    assert summary.queries == 4
    assert summary.recall[1] == pytest.approx(0.75)
    assert summary.mrr == pytest.approx(0.75)
    assert (summary.p50_ms, summary.p95_ms) == (2.0, 30.0)
    assert percentile([], 0.5) == 0.0


def test_bootstrap_is_repeatable_and_knows_a_clear_difference_from_none() -> None:
    better = paired_bootstrap([1.0] * 40 + [0.0] * 10, [0.0] * 50)
    assert better == paired_bootstrap([1.0] * 40 + [0.0] * 10, [0.0] * 50)
    assert better.mean == pytest.approx(0.8) and better.above_zero
    same = paired_bootstrap([1.0, 0.0] * 25, [0.0, 1.0] * 25)
    assert same.mean == pytest.approx(0.0) and not same.above_zero
    with pytest.raises(ValueError, match="zip"):
        paired_bootstrap([1.0], [])
