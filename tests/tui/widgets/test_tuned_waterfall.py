"""The waterfall of the profile ``tuned``: its own parts, the mean they make, and what marks take away."""

from __future__ import annotations

from dataclasses import replace

from tests.tui.fake_memory import report
from tui.widgets.losses import largest_loss
from tui.widgets.waterfall import factor_rows


def test_every_part_stands_in_the_waterfall() -> None:
    plain = report("token")
    hit = plain.hits[0]
    factors = replace(
        hit.factors,
        vector=0.4,
        extras=(("passage", 0.8), ("units", 1.0)),
        merged=0.6,
        trust=0.1,
        raw=0.06,
        score=0.06,
    )
    tuned = replace(plain, profile="tuned", hits=(replace(hit, factors=factors),))
    rows = {row.name: row for row in factor_rows(tuned.hits[0], tuned, (0.3, 0.7))}
    assert list(rows) == ["text", "vector", "passage", "units", "merge", "decay", "source", "access", "trust"]
    assert rows["passage"].value == ".80" and rows["merge"].why == "weighted mean of the parts"
    assert rows["trust"].value == "×  .10" and rows["trust"].lost_most
    assert largest_loss(factors) == ("trust", 0.1)


def test_the_agents_waterfall_has_no_row_more() -> None:
    plain = report("token")
    names = [row.name for row in factor_rows(plain.hits[0], plain, (0.3, 0.7))]
    assert names == ["text", "vector", "merge", "decay", "source", "access"]
