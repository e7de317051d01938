"""The score pane: every factor in words and numbers, at every width."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from core.search.report import Stage, WhyReport
from tui.widgets.losses import largest_loss, loss_words
from tui.widgets.score import ScorePane
from tui.widgets.waterfall import ordinal


async def explained(look: SimpleNamespace, *shown: Any, width: int = 42) -> list[str]:
    widget = ScorePane()
    async with look.showing(widget, width, 40):
        widget.show(*shown)
        return [line for line in look.drawn(widget) if line]


async def test_the_waterfall_of_a_kept_hit(make: SimpleNamespace, look: SimpleNamespace) -> None:
    hit = make.hit(factors=make.factors(access=1.05, access_count=2))
    assert await explained(look, hit, make.report()) == [
        " #1 W  MEMORY.md › Auth › Token refresh",
        " lines 24–31",
        " text    bm25 −7.31         1.00",
        " vector  n/a: text only        –",
        " merge   text alone         1.00 ███████",
        " decay   curated          × 1.00 ███████",
        " source  workspace        × 1.00 ███████",
        " access  2 recalls        × 1.05 ███████▍",
        " raw 1.05, shown 1.00 ≥ .70  kept",
        " mmr     off",
        " words   token, tokens, refresh",
        "── did not run ──────────────────────────",
        " vectors no embedding provider is set",
    ]


async def test_the_factor_that_sank_a_hit_is_marked_by_glyph_and_word(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    lines = await explained(look, make.dropped(), make.report(stages=()), width=60)
    assert lines[2:] == [
        " factor  why                           value  so far",
        " text    bm25 −7.31                      .81",
        " vector  n/a: text only                    –",
        " merge   text alone                      .81   .81 █████▋",
        "▼decay   65.0 d, half-life 30 d       ×  .22   .18 █▎",
        " source  session                      × 1.00   .18 █▎",
        " access  never recalled               × 1.00   .18 █▎",
        " raw .18, shown .18 < .70  dropped",
        " floor: Its score .18 is below the floor .70.",
        " ▼ decay sank it: × .22",
        " mmr     off",
        " words   token, tokens, refresh",
    ]


async def test_both_arms_show_how_they_were_merged(make: SimpleNamespace, look: SimpleNamespace) -> None:
    first = make.hit(1)
    hit = make.hit(
        2,
        id="other",
        factors=make.factors(text=0.5, vector=0.64, merged=0.598, mmr=0.41, mmr_against=first.id),
    )
    lines = await explained(
        look, hit, make.report(mode="text+vectors", hits=(first, hit)), (0.3, 0.7), width=70
    )
    assert any("vector  L2 .72" in line and ".64" in line for line in lines)
    assert any("merge   max(.3·.50+.7·.64, .50)" in line for line in lines)
    assert any(line.startswith("▼merge") for line in lines)
    assert " mmr     .41 against #1 MEMORY.md:24" in lines


async def test_a_hit_without_content_was_never_ranked(make: SimpleNamespace, look: SimpleNamespace) -> None:
    hit = make.dropped(reason="content_free", stage="content", why="only headings, blanks and comments")
    lines = await explained(look, hit, make.report())
    assert " raw .18, never ranked  dropped" in lines
    assert not any("▼" in line for line in lines)


async def test_a_long_trail_of_headings_takes_a_second_line(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    lines = await explained(look, make.hit(), make.report(), width=34)
    assert lines[:2] == [" #1 W  MEMORY.md › Auth › Token", "       refresh"]
    deep = make.hit(snippet="[Context: One > Two > Three > Four > Five > Six]\nx")
    assert (await explained(look, deep, make.report(), width=34))[0] == " #1 W  MEMORY.md › … › Token re…"


async def test_at_the_narrowest_the_verdict_still_stands(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    lines = await explained(look, make.session(), make.report(), width=29)
    assert "▼decay   14 d / 30 d  ×  .72" in lines
    assert lines[lines.index(" raw .71, shown .71 ≥ .70") + 1] == " kept"


@pytest.mark.parametrize("width", [6, 20, 28, 29, 36, 37, 41, 48, 49, 60, 120])
async def test_hostile_texts_are_harmless_and_lines_exact_at_any_width(
    make: SimpleNamespace, look: SimpleNamespace, width: int
) -> None:
    hit = make.hit(
        heading=make.hostile,
        path=f"/r/{make.hostile}.md",
        snippet=f"[Context: {make.hostile}]\nx",
        why=make.hostile,
        stage=make.hostile,
        matched=(make.hostile,),
        foreign=True,
        age=make.hostile,
    )
    report = make.report(stages=(Stage(make.hostile, False, make.hostile),))
    assert await explained(look, hit, report, width=width)
    also = make.also(matched_by=make.hostile, heading=make.hostile, matched=(make.hostile,))
    assert await explained(look, also, report, width=width)


async def test_an_also_row_says_what_matched_and_that_the_agent_does_not_find_it(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    lines = await explained(look, make.also(), make.report(), width=60)
    assert lines[0] == " also S  06-11 配置"
    assert " Your agent does not find this chunk." in lines
    assert " by      CJK words" in lines
    assert " words   刷新" in lines


async def test_nothing_selected_is_one_sentence(look: SimpleNamespace) -> None:
    assert await explained(look, None, width=60) == [" Select a hit to see why it ranks where it does."]


async def test_the_newest_chunks_are_not_scored(make: SimpleNamespace, look: SimpleNamespace) -> None:
    newest = make.also(matched_by="newest", matched=())
    lines = await explained(look, newest, make.report(mode="newest", hits=(), also=(newest,)), width=80)
    assert lines[-1] == " No query: the newest chunks come first, nothing is scored."


def why(**changes: Any) -> WhyReport:
    fields: dict[str, Any] = {
        "query": "refresh token",
        "chunk_id": "x",
        "path": "/r/w-12345678/sessions/2026-05-02-infra-1a2b3c4d.md",
        "start_line": 3,
        "end_line": 9,
        "source": "session",
        "snippet": "[Context: Notes]\n## Infra\nfoo",
        "verdict": "It matched, but was not among those taken.",
        "place": 57,
        "matches": 210,
        "cut_at": 18,
        "bm25": -1.2,
        "present": ("token",),
        "missing": ("refresh", "rotation"),
    }
    return WhyReport(**(fields | changes))


async def test_why_not_says_the_place_and_the_words_it_lacks(look: SimpleNamespace) -> None:
    widget = ScorePane()
    async with look.showing(widget, 60, 30):
        widget.show_why(why())
        lines = [line for line in look.drawn(widget) if line]
        copied = widget.plain
    assert lines == [
        " why S  05-02 infra › Notes",
        " lines 3–9",
        " It matched, but was not among those taken.",
        " place   57th of 210 by BM25, 18 are taken",
        " bm25    −1.20",
        " has     ✓ token",
        " lacks   ✗ refresh, rotation",
    ]
    assert [line for line in copied.splitlines() if line] == lines


async def test_why_of_a_candidate_is_its_waterfall(make: SimpleNamespace, look: SimpleNamespace) -> None:
    widget = ScorePane()
    async with look.showing(widget, 60, 40):
        widget.show_why(why(hit=make.dropped(), verdict="It fell below the floor."), make.report())
        lines = [line for line in look.drawn(widget) if line]
    assert lines[0] == " It fell below the floor."
    assert any(line.startswith("▼decay") for line in lines)


async def test_a_narrower_pane_is_laid_out_anew(make: SimpleNamespace, look: SimpleNamespace) -> None:
    widget = ScorePane()
    async with look.showing(widget, 60, 30) as pilot:
        widget.show(make.session(), make.report())
        await pilot.resize_terminal(30, 30)
        await pilot.pause()
        assert any(line.startswith("▼decay   14.0 d / 30 d ×") for line in look.drawn(widget))


async def test_the_keys_scroll(make: SimpleNamespace, look: SimpleNamespace) -> None:
    widget = ScorePane()
    async with look.showing(widget, 40, 5) as pilot:
        widget.show(make.session(), make.report())
        widget.focus()
        await pilot.press("j", "j")
        assert widget.scroll_offset.y == 2
        await pilot.press("G")
        assert widget.scroll_offset.y == widget.line_count - 5
        await pilot.press("g")
        assert widget.scroll_offset.y == 0


def test_the_largest_loss_is_told_alike_everywhere(make: SimpleNamespace) -> None:
    assert largest_loss(make.factors()) is None
    assert loss_words(make.factors()) == ""
    assert loss_words(make.factors(decay=0.22, merged=0.8)) == "decay × .22"
    assert loss_words(make.factors(decay=0.9, merged=0.31)) == "text .31"
    assert loss_words(make.factors(source_weight=0.5)) == "source × .50"
    assert loss_words(make.factors(vector=0.4, merged=0.4)) == "merge .40"
    assert loss_words(make.factors(text=None, vector=0.4, merged=0.28)) == "vector .28"


@pytest.mark.parametrize(
    ("place", "shown"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (57, "57th"), (112, "112th"), (1021, "1,021st")],
)
def test_ordinals(place: int, shown: str) -> None:
    assert ordinal(place) == shown
