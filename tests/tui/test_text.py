"""The gate for stored text: nothing harmful survives it, nothing harmless is changed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len, get_character_cell_size

from tui.text import clean, clean_lines, content

ANYTHING = st.text(st.characters(), max_size=60)  # every code point, lone surrogates too
NASTY = st.text(
    st.sampled_from(
        "\x00\x07\x08\t\n\r\x1b\x7f\x80\x85\x9b\x9c\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f"
        "\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufe0e\ufe0f\ufeff\ufff9\u20e3\ud800\udfff\ue000\ufdd0\uffff"
        "\U000e0001\U000e0041\U000e0100\U0001f3fd\U0001f1e9\U0001f469\U0001f4bb\u2640\u0301a1#[]配"
    ),
    max_size=40,
)
BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
SELECTORS = {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x180B, 0x1810)}


def forbidden(char: str) -> bool:
    code = ord(char)
    return (
        code < 0x20
        or 0x7F <= code <= 0x9F
        or code in BIDI
        or code in SELECTORS
        or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    )


@given(ANYTHING | NASTY)
@example("\u0301")
@example("\u11a8")
@example("👍\U0001f3fd\U0001f3fd")
@example("☀\ufe0f\ufe0f")
def test_nothing_forbidden_survives_and_cleaning_twice_changes_nothing(text: str) -> None:
    cleaned = clean(text)
    assert [char for char in cleaned if forbidden(char)] == []
    assert clean(cleaned) == cleaned


@given(ANYTHING | NASTY)
def test_the_width_is_the_sum_of_the_characters_alone(text: str) -> None:
    cleaned = clean(text)
    assert cell_len(cleaned) == sum(get_character_cell_size(char) for char in cleaned)
    assert not cleaned or get_character_cell_size(cleaned[0]) > 0, (
        "it would be drawn over what stands before it"
    )


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_printable_ascii_comes_back_as_the_same_object(text: str) -> None:
    assert clean(text) is text


@given(ANYTHING | NASTY)
def test_only_line_feeds_are_kept_where_lines_are_kept(text: str) -> None:
    cleaned = clean_lines(text)
    assert [char for char in cleaned if forbidden(char) and char != "\n"] == []
    assert cleaned.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x9b31mred", "␦31mred"),
        ("del\x7f", "del␡"),
        ("pay \u202e001\u202c", "pay ⇄001⇄"),
        ("zero\u200bwidth", "zero◌width"),
        ("one\u2028two\nthree", "one␤two␤three"),
        ("a\tb", "a   b"),
        ("name-\udcff.md", "name-�.md"),
        ("hid\U000e0041den", "hid◌den"),
        ("[/] [@click=app.quit]", "[/] [@click=app.quit]"),
    ],
)
def test_harm_is_shown_as_one_symbol_each(stored: str, shown: str) -> None:
    assert clean(stored) == shown


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("👩\u200d💻", "👩💻"),
        ("☀\ufe0f", "☀"),
        ("1\ufe0f\u20e3", "1"),
        ("👍\U0001f3fd", "👍"),
        ("🇩🇪", "DE"),
        ("❤\ufe0f\u200d🔥", "❤🔥"),
    ],
)
def test_a_joined_emoji_is_taken_apart_and_stays_readable(stored: str, shown: str) -> None:
    assert clean(stored) == shown


@pytest.mark.parametrize("stored", ["a\u200d", "x\ufe0f", "☀\ufe0f\ufe0f", "\U0001f3fd"])
def test_invisible_characters_that_join_nothing_are_shown(stored: str) -> None:
    assert "◌" in clean(stored)


@pytest.mark.parametrize("text", ["配置 令牌", "naïve café", "e\u0301a", "नमस्ते", "שלום", "한국어", "→ ≥ █ ╭"])
def test_ordinary_writing_of_any_language_is_left_alone(text: str) -> None:
    assert clean(text) == text


@given(ANYTHING | NASTY)
def test_content_never_reads_markup(text: str) -> None:
    hostile = f"[/] [bold]{text}[@click=app.quit]"
    assert content(hostile).plain == content(hostile, "bold").plain == clean_lines(hostile)
    assert content(hostile).spans == []
