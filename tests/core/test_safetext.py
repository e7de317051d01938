"""Stored text never reaches a terminal raw."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.safetext import visible, visible_line


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[31mred", "a␛[31mred"),
        ("\x00\x07\r\x7f", "␀␇␍␡"),
        ("\x9b2J", "␦2J"),
        ("user\u202etxt.exe", "user⇄txt.exe"),
        ("a\u2066b\u2069c\u200f\u061c", "a⇄b⇄c⇄⇄"),
        ("zero\u200bwidth\ufeff\u00ad\u2060", "zero◌width◌◌◌"),
        ("one\u2028two", "one␤two"),
        ("name\udcff.md", "name\ufffd.md"),
        ("tag\U000e0041", "tag◌"),
    ],
)
def test_every_kind_of_dangerous_character_is_drawn(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize("text", ["", "plain", "naïve 配置 🚀 ไทย", "line\n\tindented\n"])
def test_harmless_text_is_the_same_object(text: str) -> None:
    assert visible(text) is text


def test_one_line_places_show_line_feeds_and_fold_tabs() -> None:
    assert visible_line("a\n\tb\x1b") == "a␤ b␛"


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_unsafe_remains_and_offsets_hold(text: str) -> None:
    shown = visible_line(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown)
    assert not set(shown) & set("\u202e\u202d\u2066\u200b\u200d\ufeff")
    shown.encode("utf-8")
