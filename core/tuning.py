"""The settings in use: planned as a diff, written, read again, and put back byte for byte."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import SettingsError
from core.settings import SettingChange, Settings, apply, set_settings

_AS_IT_IS = "Nothing was written; the file is as it is."


class Tuning:
    """Shared by every look at one opened memory, so that a saved setting holds in all of them at once.

    ``reload`` reads the settings from the files again.  Thread-safe.
    """

    def __init__(self, settings: Settings, reload: Callable[[], Settings]) -> None:
        self.settings = settings
        self._reload = reload
        self._saves: list[tuple[SettingChange, ...]] = []
        self._lock = threading.Lock()

    @property
    def can_undo(self) -> bool:
        """Whether something was saved that was not undone."""
        return bool(self._saves)

    def plan(self, values: Mapping[str, object]) -> tuple[SettingChange, ...]:
        """Prepare writing values by dotted key, one change a file; files that need no change are left out.

        Raises:
            SettingsError: see :func:`core.settings.set_settings`.
        """
        return tuple(change for change in set_settings(self.settings, values) if change.changed)

    def apply(self, changes: Sequence[SettingChange]) -> Settings:
        """Write what was planned, all of it or nothing, and return the settings as they are now.

        Raises:
            SettingsError: a file changed since it was planned, or cannot be written.
        """
        with self._lock:
            written: list[SettingChange] = []
            try:
                for change in changes:
                    apply(change)
                    written.append(change)
            except SettingsError:
                for change in reversed(written):
                    _put_back(change)
                raise
            if written:
                self._saves.append(tuple(written))
            self.settings = self._reload()
            return self.settings

    def undo(self) -> tuple[str, ...]:
        """Take the last save back: every file gets the bytes it had before; returns the files.

        Raises:
            SettingsError: nothing was saved, a file changed since, or cannot be written.
        """
        with self._lock:
            if not self._saves:
                raise SettingsError("nothing was saved here that could be undone")
            last = self._saves[-1]
            for change in last:
                if _read(change.file) != change.new:
                    raise SettingsError(
                        f"{change.file} changed since it was saved",
                        data=_AS_IT_IS,
                        hint="Change it by hand, or save again.",
                    )
            for change in last:
                _put_back(change)
            self._saves.pop()
            self.settings = self._reload()
            return tuple(change.file for change in last)


def _put_back(change: SettingChange) -> None:
    if change.old is not None:
        apply(replace(change, old=change.new, new=change.old))
        return
    if _read(change.file) != change.new:
        raise SettingsError(f"{change.file} changed since it was saved", data=_AS_IT_IS)
    try:
        Path(change.file).unlink()
    except OSError as error:
        raise SettingsError(
            f"{change.file} cannot be removed: {error.strerror or error}", data=_AS_IT_IS
        ) from None


def _read(file: str) -> bytes | None:
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror or error}", data=_AS_IT_IS) from None
