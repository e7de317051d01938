"""The messages between workers, panes and screen; workers only post them, handlers change things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from core.errors import MemdeckError
    from core.memory import (
        ChunkSpan,
        FileText,
        FillReport,
        IndexStatus,
        Memory,
        Overview,
        SearchReport,
        SessionLog,
        SyncReport,
        Watcher,
    )
    from tui.session import SearchRequest
    from tui.widgets.document import PreparedPreview
    from tui.widgets.prepared import PreparedReport


@dataclass
class MemoryOpened(Message):
    """The memory is there and can be asked; ``first`` is False when only the workspace is another."""

    memory: Memory
    first: bool = True


@dataclass
class OpenFailed(Message):
    """The memory could not be opened at all."""

    error: MemdeckError


@dataclass
class Failed(Message):
    """Something asked of the memory did not work; ``what`` is the thing that was tried."""

    what: str
    error: MemdeckError


@dataclass
class Surveyed(Message):
    """What lies under the roots is known."""

    overview: Overview


@dataclass
class SessionsListed(Message):
    """The logs of one workspace are known."""

    workspace: str
    sessions: tuple[SessionLog, ...]


@dataclass
class Submitted(Message):
    """A query is to be searched; the newest generation wins."""

    request: SearchRequest
    generation: int
    at_once: bool = False


@dataclass
class Searched(Message):
    """A search came back (perhaps too late: compare the generation)."""

    prepared: PreparedReport
    generation: int


@dataclass
class SearchFailed(Message):
    """A search did not come back with a report."""

    error: MemdeckError
    generation: int


@dataclass
class Shown(Message):
    """The results of this report are on the screen."""

    report: SearchReport
    generation: int


@dataclass
class FileLoaded(Message):
    """The file at ``path`` was read to be previewed, with the chunks it is cut into."""

    path: str
    text: FileText
    spans: tuple[ChunkSpan, ...]
    prepared: PreparedPreview
    generation: int


@dataclass
class FileFailed(Message):
    """A file to preview could not be read."""

    path: str
    error: MemdeckError
    generation: int


@dataclass
class FilesChanged(Message):
    """Files changed on disk; which ones, the memory remembers, so a later message says it all."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FilesChanged)


@dataclass
class Progress(Message):
    """How far an indexing is, in files."""

    done: int
    total: int

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Progress)


@dataclass
class Synced(Message):
    """The index of ``workspace`` was brought in step with the files; ``report`` is None when that failed."""

    root: str
    workspace: str
    report: SyncReport | None
    status: IndexStatus | None
    asked: bool = False


@dataclass
class Watching(Message):
    """Outside edits are noticed from now on."""

    watcher: Watcher


@dataclass
class Embedding(Message):
    """How far the making of missing vectors is, in texts."""

    done: int
    total: int

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Embedding)


@dataclass
class Embedded(Message):
    """Missing vectors of ``workspace`` were made, or could not be."""

    workspace: str
    report: FillReport
    asked: bool = False
