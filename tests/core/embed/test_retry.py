"""How long to wait before asking again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embed.retry import LONGEST_BACKOFF, backoff, retry_after

NOW = 1_767_225_600.0  # Thu, 01 Jan 2026 00:00:00 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        (" 3 ", 3.0),
        ("-4", 0.0),
        ("Thu, 01 Jan 2026 00:00:45 GMT", 45.0),
        ("Thursday, 01-Jan-26 00:00:45 GMT", 45.0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("Thu, 99 Jan 2026 00:00:45 GMT", None),
    ],
)
def test_retry_after_in_both_its_forms(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


def test_no_header_asks_for_nothing() -> None:
    assert retry_after({}, NOW) is None


@given(st.integers(1, 5000), st.none() | st.floats(0, 1000), st.floats(0, 0.999))
def test_a_wait_is_bounded_and_never_less_than_asked(
    attempt: int, asked: float | None, chance: float
) -> None:
    wait = backoff(attempt, asked, lambda: chance)
    assert 0 < wait <= max(LONGEST_BACKOFF, asked or 0)
    assert wait >= (asked or 0)


def test_waits_double_and_are_partly_random() -> None:
    assert [backoff(attempt, None, lambda: 0.0) for attempt in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]
    assert backoff(3, None, lambda: 0.5) == 3.0
