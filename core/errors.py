"""The one hierarchy of errors that faces render; nothing below core raises anything else on purpose."""

from __future__ import annotations


class MemdeckError(Exception):
    """Something a person can understand and act on.

    ``str(error)`` says what happened (naming the file, line or key); ``data`` says what it means for the
    person's data; ``hint`` says what to do next.  Faces show all three and never a traceback.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", data: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.data = data


class UsageError(MemdeckError):
    """A request that cannot be carried out as asked: an unknown workspace, a bad date, a bad option."""

    exit_code = 2


class NotFound(MemdeckError):
    """The thing asked for is not there: a path, a chunk, a workspace."""

    exit_code = 3


class OutsideRoot(MemdeckError):
    """A path that leads outside the memory root."""

    exit_code = 3


class UnreadableFile(MemdeckError):
    """A file that is there but cannot be read, with the reason."""


class IndexUnavailable(MemdeckError):
    """The search index cannot be used now; the Markdown is untouched and can still be read."""


class SettingsError(MemdeckError):
    """A wrong setting: names the file, the key and the nearest valid key."""

    exit_code = 2
