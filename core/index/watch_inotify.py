"""The kernel's event source on Linux: watchdog's, made to tell what it otherwise only logs or swallows."""

from __future__ import annotations

import errno
import warnings

from watchdog.observers.api import BaseObserver
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)

from core.index.watch_events import Sink

LIMITS = (errno.ENOSPC, errno.EMFILE)
"""What the kernel answers when the user may not have more watches, or more inotify instances."""


class TellingInotify(InotifyFD):
    """An inotify instance that reports lost events, missing watches and its own failures to a sink."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self.name = "memdeck-watch-kernel"
        # A folder that was moved keeps its watch, and watching it again is no mistake worth printing.
        warnings.filterwarnings("ignore", "Callback with id .* already exists", RuntimeWarning)
        self._tell = sink

    def handle_event(self, event: InotifyEvent) -> None:
        # An exception here would end the thread without a word: a folder moved out of the tree and
        # made again is enough for a KeyError in the book-keeping.
        try:
            super().handle_event(event)
        except Exception as exc:
            self._tell.failed(exc)
        if event.is_queue_overflow:
            self._tell.overflowed()

    def add_callback(
        self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId
    ) -> WatchDescriptor:
        # For folders below the root the caller swallows the error, and the folder would stay unwatched.
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as exc:
            if exc.errno in LIMITS:
                self._tell.failed(exc)
            raise


class TellingObserver(BaseObserver):
    """An observer over one :class:`TellingInotify`; it lives only as long as that does."""

    def __init__(self, sink: Sink) -> None:
        self._kernel = TellingInotify(sink)
        self._kernel.start()
        super().__init__(InotifyEmitter, inotify_fd=self._kernel)

    def is_alive(self) -> bool:
        return super().is_alive() and self._kernel.is_alive()

    def on_thread_stop(self) -> None:
        super().on_thread_stop()
        self._kernel.stop()
        self._kernel.join(timeout=2.0)
