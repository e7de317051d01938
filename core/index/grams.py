"""Index room: character pairs of scripts written without blanks, so that inner words can be found (pure)."""

from __future__ import annotations

import itertools
import re

# Han, Kana, Hangul and Thai; a run of two and more of them is cut into overlapping pairs.
UNSPACED = (
    r"\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    r"\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana
    r"\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"  # Han
)
UNSPACED_RUN = re.compile(f"[{UNSPACED}]{{2,}}")
_THAI = re.compile(r"[\u0e01-\u0e4e]")
_GAP = "x"  # keeps the pairs of two runs from standing next to each other


def has_unspaced(text: str) -> bool:
    """True when the text has a run that ``gram_text`` would index."""
    return not text.isascii() and UNSPACED_RUN.search(text) is not None


def gram_text(text: str) -> str:
    """Return the pairs of every run as plain ASCII tokens, so that no tokenizer rule can touch them."""
    return f" {_GAP} ".join(" ".join(_pairs(run)) for run in UNSPACED_RUN.findall(text))


def gram_phrase(run: str) -> str:
    """Return the FTS5 phrase that finds a run of two and more characters inside longer runs."""
    return '"' + " ".join(_pairs(run)) + '"'


def script_name(run: str) -> str:
    """``Thai`` or ``CJK``, for the explanation of a match."""
    return "Thai" if _THAI.search(run) else "CJK"


def _pairs(run: str) -> list[str]:
    codes = [f"{ord(character):x}" for character in run]
    return [f"{left}y{right}" for left, right in itertools.pairwise(codes)]
