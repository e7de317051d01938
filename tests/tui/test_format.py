"""Bars, numbers, ages and text fitted to cells."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui import format as fmt
from tui.text import clean

TEXT = st.text(st.characters(), max_size=80).map(clean)


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        (1.0, "████████"),
        (0.71, "█████▋  "),
        (0.31, "██▌     "),
        (0.0, "        "),
        (2.0, "████████"),
        (-1, " " * 8),
    ],
)
def test_a_bar_has_eighth_blocks_in_eight_cells(value: float, drawn: str) -> None:
    assert fmt.bar(value) == drawn


@given(st.floats(0, 1), st.integers(1, 40))
def test_a_bar_is_exactly_as_wide_as_asked(value: float, cells: int) -> None:
    assert cell_len(fmt.bar(value, cells)) == cells


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "1.00"), (0.705, ".70"), (0.0, ".00"), (-7.314, "−7.31"), (-0.2, "−.20"), (-0.001, ".00")],
)
def test_numbers_have_the_same_decimals(value: float, shown: str) -> None:
    assert fmt.number(value) == shown


def test_a_score_just_below_the_floor_does_not_read_as_if_it_reached_it() -> None:
    assert fmt.apart(0.6993, 0.7) == (".699", ".70")
    assert fmt.apart(0.7, 0.7) == (".70", ".70")
    assert fmt.apart(0.31, 0.7) == (".31", ".70")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (3_200, "3 kB"),
        (16_000, "16 kB"),
        (1_250_000, "1.2 MB"),
        (34_000_000, "34 MB"),
        (5 * 10**12, "5000 GB"),
    ],
)
def test_sizes(size: int, shown: str) -> None:
    assert fmt.size(size) == shown


@pytest.mark.parametrize(
    ("days", "shown"),
    [
        (-1, "now"),
        (0.01, "now"),
        (0.25, "6 h"),
        (1.9, "1 d"),
        (14, "14 d"),
        (21, "3 w"),
        (70, "2 mo"),
        (800, "2 y"),
    ],
)
def test_ages(days: float, shown: str) -> None:
    assert fmt.age(days) == shown


@pytest.mark.parametrize(
    ("path", "source", "shown"),
    [
        ("/m/w/MEMORY.md", "workspace", "MEMORY.md:24"),
        ("/m/w/sessions/2026-07-17-auth-1a2b3c4d.md", "session", "07-17 auth"),
        ("/m/w/sessions/2026-07-17-fix-the-build-1a2b3c4d.md", "session", "07-17 fix-the-build"),
        ("/m/w/sessions/notes.md", "session", "notes.md:24"),
    ],
)
def test_places(path: str, source: str, shown: str) -> None:
    assert fmt.place(path, 24, source) == shown


@given(TEXT, st.integers(0, 40))
def test_fitted_text_never_exceeds_its_cells_and_says_that_it_was_cut(text: str, width: int) -> None:
    for side in ("left", "right"):
        fitted = fmt.fit(text, width, side)  # type: ignore[arg-type]
        assert cell_len(fitted) <= width
        assert fitted == text or fmt.ELLIPSIS in fitted or width == 0
    assert cell_len(fmt.pad(text, width)) == cell_len(fmt.pad(text, width, "right")) == width


def test_fitting_cuts_the_asked_side() -> None:
    assert fmt.fit("abcdefgh", 4) == "abc…"
    assert fmt.fit("abcdefgh", 4, "left") == "…fgh"
    assert fmt.fit("配置配置", 4) == "配…"


@given(TEXT, st.integers(2, 30))
@example("配置 ab  cd", 2)
@example("aaaa \u0301bbbb", 5)
@example("aaaaa   \u0301\u0301b", 5)
def test_wrapping_loses_nothing_and_every_row_fits(text: str, width: int) -> None:
    starts = fmt.wrap_offsets(text, width)
    assert starts[0] == 0 and starts == sorted(set(starts))
    rows = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    assert "".join(rows) == text
    assert all(cell_len(row.rstrip(" ")) <= width for row in rows)
    assert all(cell_len(row[:1]) > 0 for row in rows[1:]), "a mark was parted from its letter"


def test_wrapping_breaks_between_words_where_it_can() -> None:
    assert fmt.wrap("the refresh endpoint returned 401", 12) == ["the refresh", "endpoint", "returned 401"]
    assert fmt.wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert fmt.wrap("one two three four five", 9, limit=2) == ["one two", "three fo…"]


def test_crumbs_keep_their_ends() -> None:
    parts = ["MEMORY.md", "Auth", "Details", "Token refresh"]
    assert fmt.crumbs(parts, 60) == "MEMORY.md › Auth › Details › Token refresh"
    assert fmt.crumbs(parts, 40) == "MEMORY.md › … › Details › Token refresh"
    assert fmt.crumbs(parts, 32) == "MEMORY.md › … › Token refresh"
    assert fmt.crumbs(parts, 20) == "MEMORY.md › … › Tok…"
