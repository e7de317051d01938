"""Vectors: unit length or refused; a cut never splits a character."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embed.vectors import UnusableNumbers, cut_to, estimated_tokens, pack, unit, unpack
from core.errors import MemdeckError

ANY_TEXT = st.text(st.characters() | st.sampled_from("aé配🙂"))


@given(ANY_TEXT, st.integers(0, 60))
def test_a_cut_fits_and_splits_no_character(text: str, limit: int) -> None:
    cut = cut_to(text, limit)
    assert len(cut.encode()) <= limit
    whole = text.encode("utf-8", "replace").decode()
    assert whole.startswith(cut)
    if cut != whole:  # and not one character less than fits
        assert len(whole[: len(cut) + 1].encode()) > limit


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(MemdeckError, match="-1 bytes"):
        cut_to("text", -1)


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=20))
def test_a_vector_has_length_one_or_there_is_none(values: list[float]) -> None:
    try:
        vector = unit(values)
    except UnusableNumbers:
        assert max(map(abs, values)) < 1e-300
        return
    assert len(vector) == 4 * len(values)
    assert math.isclose(math.sqrt(sum(x * x for x in unpack(vector))), 1.0, rel_tol=1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e38, 1e300])
def test_the_scale_of_the_numbers_does_not_matter(scale: float) -> None:
    assert unpack(unit([3 * scale, -4 * scale])).tolist() == pytest.approx([0.6, -0.8])


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([0.0, -0.0], "is zero"),
        ([], "is zero"),
        ([1.0, math.nan], "holds NaN or infinity"),
        ([math.inf, 1.0], "holds NaN or infinity"),
    ],
)
def test_what_is_no_direction_is_refused(values: list[float], why: str) -> None:
    with pytest.raises(UnusableNumbers, match=why):
        unit(values)


def test_packed_is_little_endian_float32() -> None:
    assert pack([1.0, -2.5]) == struct.pack("<2f", 1.0, -2.5)
    assert unpack(struct.pack("<2f", 1.0, -2.5)).tolist() == [1.0, -2.5]


def test_tokens_are_estimated_by_bytes_begun() -> None:
    assert [estimated_tokens(size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]
