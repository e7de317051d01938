"""The result list: two lines a hit, reasons, what the agent misses, every kind of emptiness told apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from textual.color import Color

from core.errors import IndexUnavailable
from tui.widgets.line_list import LineList
from tui.widgets.marked import around, best_line, pattern_of, spans_in
from tui.widgets.prepared import empty_state, prepare, summary
from tui.widgets.results import ResultsList


async def drawn(look: SimpleNamespace, report: Any, width: int = 80, height: int = 24) -> list[str]:
    widget = ResultsList()
    async with look.showing(widget, width, height):
        widget.show(report)
        lines: list[str] = look.drawn(widget)
    return [line for line in lines if line]


async def test_rows_hits_then_the_dropped_then_what_the_agent_does_not_find(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    report = make.report(
        hits=(make.hit(factors=make.factors(access=1.05, access_count=2)), make.session()),
        dropped=(
            make.dropped(),
            make.dropped(1, factors=make.factors(text=0.31, merged=0.31)),
            make.dropped(2, reason="cut", factors=make.factors(text=0.8, merged=0.8)),
            make.dropped(3, reason="content_free", snippet="# Only\n## Headings\n<!-- note -->\n"),
        ),
    )
    assert await drawn(look, report) == [
        "▌1 ████████ 1.00 W MEMORY.md:24  Token refresh",
        "▌  Access tokens rotate every 15 minutes.",
        " 2 █████▋    .71 S 07-17 auth  Debugging auth                       14 d  stale",
        "   The refresh endpoint returned 401 because the clock was wrong.",
        " ── past the first 2 ──────────────────────────────────────────────────────────",
        " 3 ██████▍   .80 S 05-04 infra  Debugging auth                         cut at 2",
        " ── below the floor .70 ───────────────────────────────────────────────────────",
        " 4 █▍        .18 S 05-02 infra  Debugging auth                      decay × .22",
        " 5 ██▌       .31 S 05-03 infra  Debugging auth                         text .31",
        " ── no content ────────────────────────────────────────────────────────────────",
        "   █▍        .18 S 05-05 infra  Debugging auth                    headings only",
        " ── your agent does not find these ────────────────────────────────────────────",
        "   S 06-11 配置                                              matched: CJK words",
    ]


async def test_a_score_just_below_the_floor_is_not_drawn_as_the_floor(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    close = make.dropped(factors=make.factors(text=0.6999, merged=0.6999))
    lines = await drawn(look, make.report(dropped=(close,), also=()))
    assert "<.70 S" in lines[-1]


async def test_narrow_the_bar_goes_and_the_age_moves_down(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    lines = await drawn(look, make.report(dropped=(), also=()), width=31)
    assert lines == [
        "▌1 1.00 W MEMORY.md:24  Token…",
        "▌  Access tokens rotate every…",
        " 2  .71 S 07-17 auth  Debuggi…",
        "   The refresh en… 14 d  stale",
    ]


@pytest.mark.parametrize("width", [30, 31, 44, 45, 46, 79, 80, 120, 200])
async def test_every_line_is_exact_at_any_width(
    make: SimpleNamespace, look: SimpleNamespace, width: int
) -> None:
    hostile = make.hit(
        3,
        heading=make.hostile,
        snippet=make.hostile + "\n" + "配置" * 300 + " refresh " + "x" * 5000,
        path=f"/r/w-12345678/{make.hostile}.md",
        id="hostile",
        matched=("refresh", make.hostile, "[/]"),
        foreign=True,
        staleness="stale",
    )
    report = make.report(
        hits=(make.hit(), make.session(), hostile),
        dropped=(make.dropped(foreign=True), make.dropped(1, heading=make.hostile, slug="a\x1bb")),
        also=(make.also(), make.also(id="also hostile", matched_by=make.hostile, heading=make.hostile)),
        everywhere=True,
    )
    lines = await drawn(look, report, width, 40)
    assert len(lines) == 12
    assert "foreign" in lines[4] + lines[5]


async def test_everywhere_each_row_names_its_workspace(make: SimpleNamespace, look: SimpleNamespace) -> None:
    report = make.report(
        hits=(
            make.hit(1, id="a", workspace="widgets-a3f7b2c9"),
            make.hit(2, id="b", workspace="api-1f2e3d4c"),
            make.hit(3, id="c", workspace="", source="global"),
            make.hit(4, id="d", workspace="site-00000001"),
            make.hit(5, id="e", workspace="site-00000002"),
        ),
        dropped=(),
        also=(),
        everywhere=True,
    )
    firsts = (await drawn(look, report))[::2]
    assert [line.split(" MEMORY.md")[0][16:].strip() for line in firsts] == [
        "W widgets",
        "W api",
        "G global",
        "W site-00000001",
        "W site-00000002",
    ]


async def test_the_newest_have_no_score(make: SimpleNamespace, look: SimpleNamespace) -> None:
    curated = make.also(
        id="a", source="workspace", path="/r/w/MEMORY.md", heading="Auth", snippet="# Auth\nOne.\nTwo."
    )
    report = make.report(mode="newest", query="", hits=(), dropped=(), also=(curated, make.also()))
    assert await drawn(look, report) == [
        "▌  W MEMORY.md:5  Auth",
        "▌  One.",
        "   S 06-11 配置",
        "   令牌刷新的配置在这里。",
    ]
    assert summary(report) == "newest 2 · 4 ms"


def test_the_summary_counts_candidates_and_time(make: SimpleNamespace) -> None:
    assert summary(make.report(also=())) == "2 of 4 · 4 ms"
    assert summary(make.report()) == "2 of 4 + 1 · 4 ms"


EMPTY = ["nothing indexed", "only stop words", "no match", "only headings and templates", "all below the floor",
         "index behind by 3 files"]  # fmt: skip


async def test_each_emptiness_says_its_own_reason_and_none_looks_like_a_failure(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    shown = []
    for reason in EMPTY:
        report = make.report(hits=(), dropped=(), also=(), empty_reason=reason)
        lines = [line.strip() for line in await drawn(look, report)]
        assert len(lines) == 2, "one sentence and one key"
        shown.append(lines[0])
    assert len(set(shown)) == len(EMPTY)
    widget = ResultsList()
    async with look.showing(widget, 70, 12):
        widget.show(make.report())
        widget.show_failure(
            IndexUnavailable("The index is \x1b broken.", data="No text is lost.", hint="Run doctor.")
        )
        failed = [line.strip() for line in look.drawn(widget) if line]
    assert failed == ["✗ The search failed: The index is ␛ broken.", "No text is lost.", "Run doctor."]
    assert widget.selected is None and widget.report is None
    assert not any("✗" in line for line in shown)


async def test_without_hits_the_reason_stands_above_what_fell_out(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    report = make.report(hits=(), also=(), empty_reason="all below the floor")
    lines = await drawn(look, report)
    assert lines[0] == " All below the floor .70: 2 candidates."
    assert lines[1].startswith(" ── below the floor .70 ──")
    assert lines[2].startswith("▌1 ")


async def test_the_key_of_an_empty_state_follows_the_persons_keys(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    widget = ResultsList()
    widget.keys["search.focus"] = "f7"
    async with look.showing(widget, 70, 12):
        widget.show(make.report(hits=(), dropped=(), also=(), empty_reason="no match"))
        assert any(line.strip().startswith("f7 ") for line in look.drawn(widget))


async def test_the_same_question_keeps_the_selection_and_a_new_one_starts_at_the_top(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    widget = ResultsList()
    async with look.showing(widget, 70, 12) as pilot:
        widget.show(make.report())
        widget.focus()
        await pilot.press("j")
        assert widget.selected == make.session()
        moved = make.session(1, factors=make.factors())
        widget.show(make.report(hits=(moved, make.hit(2))))
        assert widget.selected == moved
        widget.show(make.report(query="other", hits=(make.hit(1), make.session(2))))
        assert widget.selected == make.hit(1)
        await pilot.press("G")
        await pilot.pause()
        assert widget.selected == make.also()
        told = [message for message in pilot.heard if isinstance(message, LineList.Highlighted)]
        assert told[-1].row_id == make.also().id


async def test_old_rows_are_dimmed_until_the_new_ones_are_there(
    make: SimpleNamespace, look: SimpleNamespace
) -> None:
    widget = ResultsList()
    async with look.showing(widget, 70, 12):
        widget.show(make.report())
        widget.set_pending(True)
        ground = widget.background_colors[1]

        def contrasts() -> list[float]:
            """How far the colour of each piece of a line is from the ground."""
            styles = [segment.style for segment in widget.render_line(2) if segment.text.strip()]
            assert not any(style.dim for style in styles)  # blended here, not left to the terminal
            return [
                abs(Color.from_rich_color(style.color).brightness - ground.brightness) for style in styles
            ]

        dimmed = contrasts()
        widget.set_pending(False)
        assert all(low < high * 0.75 for low, high in zip(dimmed, contrasts(), strict=True))


async def test_matched_words_are_bold_and_underlined(make: SimpleNamespace, look: SimpleNamespace) -> None:
    widget = ResultsList()
    async with look.showing(widget, 70, 12):
        widget.show(make.report())
        marked = [
            segment.text
            for y in range(4)
            for segment in widget.render_line(y)
            if segment.style is not None and segment.style.bold and segment.style.underline
        ]
    assert marked == ["Token", "refresh", "tokens", "refresh"]


def test_preparing_twice_gives_the_same_and_ids_are_unique(make: SimpleNamespace) -> None:
    report = make.report(hits=(make.hit(1), make.hit(1)), also=(make.also(), make.also()))
    prepared = prepare(report)
    assert prepared == prepare(report)
    ids = [row.id for row in prepared.rows]
    assert len(set(ids)) == len(ids)


def test_unknown_reasons_are_still_sentences(make: SimpleNamespace) -> None:
    report = make.report(hits=(), dropped=(), also=(), empty_reason="the moon is full\x1b")
    assert empty_state(report)[0] == "The moon is full␛."


# The best line


def test_the_best_line_has_most_words_and_is_no_heading() -> None:
    snippet = "[Context: Auth]\n\n## refresh token\n\nnothing here\na token\nthe refresh token\nrefresh token again\n"
    line, marks = best_line(snippet, pattern_of(["refresh", "token"]))
    assert line == "the refresh token"
    assert [line[a:b] for a, b in marks] == ["refresh", "token"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("- a point", "a point"),
        ("12. a step", "a step"),
        ("- [x] done", "done"),
        ("2026 was long", "2026 was long"),
    ],
)
def test_the_bullet_of_a_list_item_is_left_out(line: str, shown: str) -> None:
    assert best_line(f"# Heading\n```\n|---|---|\n***\n\n{line}\n", None)[0] == shown


def test_a_heading_is_shown_without_the_marks_in_its_comments(make: SimpleNamespace) -> None:
    report = make.report(hits=(make.hit(heading="Access tokens <!-- memdeck: verified -->"),))
    assert prepare(report).rows[0].data.heading == "Access tokens"


def test_without_a_line_of_text_the_heading_is_taken() -> None:
    assert best_line("# One\n## Two refresh\n", pattern_of(["refresh"]))[0] == "## Two refresh"
    assert best_line("", None) == ("", ())


def test_words_are_marked_whole_and_cjk_within_runs() -> None:
    pattern = pattern_of(["token", "刷新"])
    text = "Token tokens my_token 令牌刷新的"
    assert [text[a:b] for a, b in spans_in(text, pattern)] == ["Token", "token", "刷新"]


def test_a_very_long_line_is_cut_around_its_first_mark() -> None:
    line, marks = best_line("x " * 50_000 + "needle" + " y" * 50_000, pattern_of(["needle"]))
    assert len(line) < 500
    assert [line[a:b] for a, b in marks] == ["needle"]
    shorter, moved = around(line, marks, 30)
    assert shorter.startswith("…")
    assert [shorter[a:b] for a, b in moved] == ["needle"]
    assert moved[0][1] <= 30
