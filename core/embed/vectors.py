"""Embed room: what a vector is here, and the checks that every vector passes before anyone stores it.

A vector is ``bytes``: ``dimensions`` float32 numbers, little-endian, of length 1.  That is what sqlite-vec
takes and gives, it needs no numpy, and two equal vectors are equal bytes.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable

from core.errors import MemdeckError

Vector = bytes
"""``4 * dimensions`` bytes: float32, little-endian, unit length."""


class UnusableNumbers(ValueError):
    """Numbers that cannot become a unit vector; the text says why in a few words."""


def pack(values: Iterable[float]) -> Vector:
    """Return numbers as float32, little-endian.

    Raises:
        TypeError: one of them is not a number.
        OverflowError: one of them is a whole number beyond every float.
    """
    packed = array("f", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(vector: Vector) -> array[float]:
    """The numbers of a vector, in order."""
    numbers = array("f")
    numbers.frombytes(vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def unit(values: Iterable[float]) -> Vector:
    """Return numbers as a vector of length 1.

    Raises:
        UnusableNumbers: they hold NaN or infinity, or are all zero (or so near that nothing is left).
        TypeError, OverflowError: as :func:`pack`.
    """
    numbers = array("d", values)
    if not all(map(math.isfinite, numbers)):
        raise UnusableNumbers("holds NaN or infinity")
    # Scaled by the largest first: the squares of very small or large numbers would vanish or overflow.
    largest = max(map(abs, numbers), default=0.0)
    if largest < sys.float_info.min:
        raise UnusableNumbers("is zero")
    scaled = [number / largest for number in numbers]
    length = math.sqrt(math.fsum(number * number for number in scaled))
    return pack(number / length for number in scaled)


def cut_to(text: str, max_bytes: int) -> str:
    """The longest beginning of ``text`` that takes at most ``max_bytes`` in UTF-8, whole characters only.

    Lone surrogates (bytes of a file that are not UTF-8) become ``?``: no endpoint could be sent them.

    Raises:
        MemdeckError: ``max_bytes`` is below 0.
    """
    if max_bytes < 0:
        raise MemdeckError(f"a text cannot be cut to {max_bytes} bytes")
    return text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")


def estimated_tokens(byte_count: int) -> int:
    """A rough number of tokens: one for each 4 bytes begun, as English text and code have about."""
    return -(-byte_count // 4)
