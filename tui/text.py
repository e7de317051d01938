"""The one gate for stored text: everything read from a memory passes here before it meets a widget.

Stored text is data.  A control character would drive the terminal, a bidi override would show another order
than the file has, an invisible character would hide words, a joined emoji would take another number of cells
than was reserved for it, and a square bracket would be read as markup.  ``clean`` replaces what is harmful by
the visible symbols of ``core.safetext`` and, beyond that room, settles how many cells each character takes;
``content`` wraps the result so that markup in it is never interpreted.
"""

from __future__ import annotations

import re
import unicodedata

from rich.cells import get_character_cell_size
from textual.content import Content

from core.safetext import BIDI, C1, HIDDEN, SEPARATOR, UNDECODABLE

TAB_STOP = 4
"""Columns between two tab stops when a tab is drawn as spaces."""

_SUSPECT = re.compile(r"[^ -~]")
# One variation selector, keycap mark, skin tone or joiner behind a pictograph is ordinary writing: dropping
# it keeps the pictograph and gives it the same width in every terminal.  Longer runs hide data: they stay.
_PICTOGRAPH = "#*0-9©®‼⁉\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
_JOINED = re.compile(
    f"(?<=[{_PICTOGRAPH}])(?:[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]\u20e3?(?:\u200d(?=[{_PICTOGRAPH}]))?"
    f"|\u200d(?=[{_PICTOGRAPH}]))"
)
_BIDI_POINTS = frozenset([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
# Drawn as nothing (or as a blank of disputed width) although their category says letter or mark.
_BLANKS = frozenset(
    (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
        *range(0x1F3FB, 0x1F400),
    )
)
_REGIONAL_A = 0x1F1E6
_MEMO_LIMIT = 32_768


def _symbol(code: int) -> str:
    """What is drawn for one code point: itself, or the visible symbol that stands for it."""
    if code in (0x0A, 0x2028, 0x2029):
        return SEPARATOR
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0x80 <= code <= 0x9F:
        return C1
    if code in _BIDI_POINTS:
        return BIDI
    if code in _BLANKS:
        return HIDDEN
    if _REGIONAL_A <= code < _REGIONAL_A + 26:
        return chr(ord("A") + code - _REGIONAL_A)  # a flag is two letters; terminals disagree on its width
    category = unicodedata.category(chr(code))
    if category == "Cf":
        return HIDDEN
    if category == "Zs":
        return chr(code) if code == 0x3000 else " "
    if category in ("Cs", "Co", "Cc"):
        return UNDECODABLE
    if category == "Cn":
        # Pictographs newer than this Python's tables are known to Rich's; anything else is not a character.
        return chr(code) if 0x1F300 <= code <= 0x1FAFF else UNDECODABLE
    return chr(code)


class _Symbols(dict[int, str]):
    """``str.translate`` table that decides on a code point when it is first met."""

    def __missing__(self, code: int) -> str:
        symbol = _symbol(code)
        if len(self) < _MEMO_LIMIT:
            self[code] = symbol
        return symbol


_SYMBOLS = _Symbols()


def clean(text: str) -> str:
    """Make stored text harmless for one line of the screen.

    Controls become the symbols of U+2400…, a tab becomes blanks up to the next stop, bidi and invisible
    characters, lone surrogates and unassigned code points become one visible symbol each, joined emoji are
    taken apart.  Idempotent and linear; printable ASCII comes back as the same object.  A line feed becomes
    ``␤``: split into lines first where lines matter.
    """
    if _SUSPECT.search(text) is None:
        return text
    if "\t" in text:
        text = text.expandtabs(TAB_STOP)
    if not text.isascii():
        text = _JOINED.sub("", text)
    text = text.translate(_SYMBOLS)
    if text and (unicodedata.category(text[0])[0] == "M" or not get_character_cell_size(text[0])):
        return HIDDEN + text  # it would be drawn over what stands before the text
    return text


def clean_lines(text: str) -> str:
    """``clean`` for text whose line feeds are to stay line feeds (messages, help, several lines)."""
    if "\n" not in text:
        return clean(text)
    return "\n".join(clean(line.removesuffix("\r")) for line in text.split("\n"))


def content(text: str, style: str = "") -> Content:
    """Wrap stored text for a widget: cleaned, line feeds kept, never read as markup, all in ``style``."""
    return Content.styled(clean_lines(text), style) if style else Content(clean_lines(text))
