"""What counts as a note: the heading a remembered text gets, and the checks of a model's answer (pure)."""

from __future__ import annotations

from core.rust_text import byte_len, lines, lower, split_not_alphanumeric, trim

TITLE_BYTES = 80


def normalise_note(raw: str) -> str:
    """Return a note as it is written to memory (the reference's ``normalize_memory_content``).

    Trimmed; starting with ``#``: as it is; one line: a heading; a first line of at most 80 bytes: that as
    the heading, the rest as its body; else everything under ``## Note``.
    """
    text = trim(raw)
    if text.startswith("#"):
        return text
    all_lines = lines(text)
    if len(all_lines) <= 1:
        return f"## {text}"
    first = trim(all_lines[0])
    if byte_len(first) <= TITLE_BYTES:
        return f"## {first}\n\n{trim(chr(10).join(all_lines[1:]))}"
    return f"## Note\n\n{text}"


def has_headings(text: str) -> bool:
    """True when a text contains ``# `` anywhere (the agent's whole test for Markdown headings)."""
    return "# " in text


def is_no_reply(text: str) -> bool:
    """True when a model's answer is only NO_REPLY, in any case and with any separators."""
    return "".join(split_not_alphanumeric(lower(text))) == "noreply"
