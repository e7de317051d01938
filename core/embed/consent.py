"""Embed room: what a person agreed to send where, kept for each memory root; without it nothing is sent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from core.clock import Clock
from core.embed.provider import EmbeddingError
from core.embed.vectors import estimated_tokens
from core.store.paths import root_state_dir, write_private

_FILE = "consent.json"
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What the screen shows before anything is sent.

    ``endpoint`` is ``https://host:port``, ``chunks`` and ``bytes`` are what the memory holds now; ``tokens``
    is an estimate.
    """

    endpoint: str
    model: str
    chunks: int
    bytes: int
    tokens: int

    @property
    def encrypted(self) -> bool:
        """Whether what is sent cannot be read on the way."""
        return self.endpoint.startswith("https://")


@dataclass(frozen=True, slots=True)
class Consent:
    """What was shown, and when (unix seconds) it was agreed to."""

    shown: Disclosure
    time: float


def disclosure_of(endpoint: str, model: str, sizes: Iterable[int], max_input_bytes: int) -> Disclosure:
    """Count what would be sent: ``sizes`` are the chunks' UTF-8 bytes, each cut to ``max_input_bytes``."""
    cut = [min(size, max_input_bytes) for size in sizes]
    return Disclosure(endpoint, model, len(cut), sum(cut), sum(map(estimated_tokens, cut)))


class ConsentStore:
    """The agreements of one memory root: a JSON file in its folder of the state dir.

    An agreement is for this root, endpoint (scheme, host and port) and model; a change of any asks again.
    A file that is missing, damaged or not understood is no agreement.
    """

    def __init__(self, state: Path, root: Path, clock: Clock) -> None:
        """``state`` is the state dir, ``root`` the canonical memory root.

        Raises:
            UsageError: the state dir lies inside the memory.
        """
        self.file = root_state_dir(state, root) / _FILE
        self._clock = clock

    def given(self, endpoint: str, model: str) -> Consent | None:
        """The agreement for an endpoint and model, or None."""
        return next((item for item in self.all() if _is_for(item, endpoint, model)), None)

    def required(self, endpoint: str, model: str) -> bool:
        """Whether a person must be asked first; never for "", a provider that sends nothing."""
        return bool(endpoint) and self.given(endpoint, model) is None

    def allows(self, endpoint: str, model: str) -> bool:
        """The gate a provider asks before each request; it reads the file anew, so taking back works at once."""
        return not self.required(endpoint, model)

    def give(self, shown: Disclosure) -> Consent:
        """Record that a person agreed to exactly what was shown.

        Raises:
            EmbeddingError: it cannot be written down, so it does not hold.
        """
        consent = Consent(shown, self._clock())
        others = [item for item in self.all() if not _is_for(item, shown.endpoint, shown.model)]
        self._write([*others, consent])
        return consent

    def take_back(self, endpoint: str, model: str) -> bool:
        """Withdraw an agreement; False when there was none.

        Raises:
            EmbeddingError: it cannot be written down.
        """
        items = self.all()
        others = [item for item in items if not _is_for(item, endpoint, model)]
        if len(others) < len(items):
            self._write(others)
        return len(others) < len(items)

    def all(self) -> list[Consent]:
        """Every agreement of this root, oldest first."""
        try:
            with open(self.file, "rb") as file:
                document = json.loads(file.read(_LARGEST))
            return [
                Consent(Disclosure(**item["shown"]), float(item["time"])) for item in document["consents"]
            ]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return []

    def _write(self, items: list[Consent]) -> None:
        text = json.dumps({"consents": [asdict(item) for item in items]}, indent=1, ensure_ascii=False)
        try:
            write_private(self.file, text.encode() + b"\n")
        except OSError as error:
            raise EmbeddingError(
                f"the agreement cannot be written to {self.file}: {error.strerror or error}",
                hint="Make the state folder writable, or set MEMDECK_STATE to one that is.",
                data="Nothing was sent, and nothing will be.",
            ) from None


def _is_for(consent: Consent, endpoint: str, model: str) -> bool:
    return (consent.shown.endpoint, consent.shown.model) == (endpoint, model)
