"""What the lab's workers tell it, and what it tells the main screen when a person leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from tui.screens.lab.compare import Compared

if TYPE_CHECKING:
    from core.errors import MemdeckError


@dataclass
class Asked(Message):
    """Both sides came back (perhaps too late: compare the generation)."""

    compared: Compared
    generation: int


@dataclass
class AskFailed(Message):
    """The search did not come back with reports."""

    error: MemdeckError
    generation: int


@dataclass
class Written(Message):
    """Settings were written or put back; ``said`` is what to tell."""

    said: str


@dataclass
class Marked(Message):
    """A judgement was written, or taken back."""

    chunk: str
    good: bool | None
    file: str


@dataclass(frozen=True, slots=True)
class Left:
    """What the main screen goes on with: query and profile, and whether the settings are others now."""

    query: str
    entered: bool
    profile: str
    saved: bool
