"""Text operations with the reference's exact semantics (Rust ``str`` methods), where Python's differ.

``str.isalnum``, ``strip`` and ``splitlines`` use other character classes and line ends than the reference,
so chunk borders, keywords and slugs would drift apart from the agent's.  Everything here works on whole
strings through one compiled pattern a class; nothing loops over characters in Python.
"""

from __future__ import annotations

import re
from functools import cache

from core import unicode_tables


@cache
def _char_class(table: str) -> str:
    parts: list[str] = []
    for start, end in unicode_tables.ranges(table):
        parts.append(rf"\U{start:08x}" if start == end else rf"\U{start:08x}-\U{end:08x}")
    return "".join(parts)


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    alphanumeric = _char_class(unicode_tables.ALPHANUMERIC)
    whitespace = _char_class(unicode_tables.WHITESPACE)
    numeric = _char_class(unicode_tables.NUMERIC)
    return re.compile(
        {
            "word": rf"[{alphanumeric}_]+",
            "not-alphanumeric": rf"[^{alphanumeric}]+",
            "leading-space": rf"^[{whitespace}]+",
            "trailing-space": rf"[{whitespace}]+\Z",
            "numeric": rf"[{numeric}]+\Z",
            "space": rf"[{whitespace}]+",
        }[kind]
    )


_ASCII_SPACE = " \t\n\r\x0b\x0c"


def trim_start(text: str) -> str:
    """Drop leading White_Space (``str::trim_start``); U+001C…U+001F and U+FEFF stay, unlike ``lstrip``."""
    if not text or (text[0] < "\x80" and text[0] not in _ASCII_SPACE):
        return text
    return _pattern("leading-space").sub("", text, count=1)


def trim_end(text: str) -> str:
    """Drop trailing White_Space (``str::trim_end``)."""
    text = text.rstrip(_ASCII_SPACE)
    if not text or text[-1] < "\x80":
        return text
    # A regex search for a trailing run is quadratic on long texts; walk back instead.
    match = _pattern("space")
    end = len(text)
    while end and match.fullmatch(text, end - 1, end):
        end -= 1
    return text[:end]


def trim(text: str) -> str:
    """Drop White_Space at both ends (``str::trim``)."""
    return trim_start(trim_end(text))


def is_blank(text: str) -> bool:
    """True when ``trim(text)`` is empty."""
    return not trim(text)


def lines(text: str) -> list[str]:
    """Split as ``str::lines``: at LF only, one CR before it dropped, no empty last line."""
    if not text:
        return []
    parts = text.split("\n")
    last = parts.pop()
    out = [part[:-1] if part.endswith("\r") else part for part in parts] if "\r" in text else parts
    if last:
        out.append(last)  # a CR on an unterminated last line stays, as in Rust
    return out


def lower(text: str) -> str:
    """Lower-case as ``str::to_lowercase`` (full mapping; final sigma as in Python)."""
    return text.lower()


def words(text: str) -> list[str]:
    """Runs of alphanumeric characters and ``_``, in order."""
    return _pattern("word").findall(text)


def split_not_alphanumeric(text: str) -> list[str]:
    """Split on anything that is not alphanumeric; empty pieces dropped."""
    return [part for part in _pattern("not-alphanumeric").split(text) if part]


def is_numeric(text: str) -> bool:
    """True when every character is numeric (Nd, Nl, No); False for the empty string."""
    return bool(text) and _pattern("numeric").match(text) is not None


def byte_len(text: str) -> int:
    """Length in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def collapse_space(text: str) -> str:
    """Fold every run of White_Space to one blank and trim."""
    return trim(_pattern("space").sub(" ", text))
