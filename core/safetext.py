"""The gate for stored text: what a terminal would obey or hide is turned into symbols a person can see.

Files and file names are data written by others.  Nothing of theirs may move the cursor, change a colour,
reverse the reading order or hide between two letters, so every face passes what it draws through here.
The replacement is one symbol for one character: offsets into the text stay true in what is shown.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f"  # C0, less tab and line feed
    "\x7f-\x9f"  # DEL and C1 (a lone 0x9b starts an escape sequence on some terminals)
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi marks, embeddings, overrides, isolates
    "\u00ad\u034f\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb"  # no width, or hidden
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff"  # lone surrogates: bytes of a name that are not UTF-8
    "\U000e0000-\U000e007f"  # tag characters: whole hidden sentences
    "]"
)

BIDI = "⇄"
HIDDEN = "◌"
SEPARATOR = "␤"
C1 = "␦"
UNDECODABLE = "�"

_BIDI_POINTS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _symbol(match: re.Match[str]) -> str:
    char = match.group()
    point = ord(char)
    if point < 0x20:
        return chr(0x2400 + point)  # the control pictures: ␀ … ␟, ESC is ␛
    if point == 0x7F:
        return "␡"
    if point < 0xA0:
        return C1
    if char in _BIDI_POINTS:
        return BIDI
    if char in "\u2028\u2029":
        return SEPARATOR
    if 0xD800 <= point <= 0xDFFF:
        return UNDECODABLE
    return HIDDEN


def visible(text: str) -> str:
    """Return ``text`` with every control, bidi, zero-width or undecodable character drawn as a symbol.

    Line feeds and tabs stay.  Length and offsets are unchanged; harmless text is returned as the same
    object.
    """
    if text.isprintable() or _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(_symbol, text)


def visible_line(text: str) -> str:
    """Like :func:`visible`, for a place that has one line: line feeds become ␤, tabs one space."""
    shown = visible(text)
    if "\n" in shown or "\t" in shown:
        shown = shown.replace("\n", SEPARATOR).replace("\t", " ")
    return shown
