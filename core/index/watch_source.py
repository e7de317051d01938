"""The live event source of the watcher: a watchdog observer, its folders, and whether it still lives."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from watchdog import events as kinds
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from core.index.watch_events import Place, Sink

ObserverFactory = Callable[[Sink], Any]
"""Makes a watchdog observer; the sink is for what an observer has no event for (overflow, failure)."""

# Opening and reading cause no event here: our own reads, and every search of the agent, would wake us.
_NAMES = ("FileCreatedEvent", "FileModifiedEvent", "FileDeletedEvent", "FileMovedEvent", "FileAttribEvent")
_FOLDERS = ("DirCreatedEvent", "DirDeletedEvent", "DirMovedEvent", "DirAttribEvent")
_WANTED: list[type[FileSystemEvent]] = [
    getattr(kinds, name) for name in (*_NAMES, *_FOLDERS) if hasattr(kinds, name)
]


def default_observer(sink: Sink) -> Any:
    """Return the best observer this system has.

    Raises:
        OSError: the kernel refuses (ENOSPC, EMFILE: a limit of this user is reached).
    """
    if sys.platform == "linux":
        with contextlib.suppress(ImportError):
            from core.index.watch_inotify import TellingObserver

            return TellingObserver(sink)
    return Observer()


class _Handler(FileSystemEventHandler):
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def dispatch(self, event: FileSystemEvent) -> None:
        # Whatever goes wrong must not end the observer's thread.
        try:
            readable = event.event_type == "attrib"
            for path in (event.src_path, event.dest_path):
                if not path:
                    continue
                name = os.fsdecode(path)
                if event.is_directory:
                    self._sink.folder_changed(name, readable=readable)
                else:
                    self._sink.file_changed(name)
        except Exception as exc:
            self._sink.failed(exc)


class LiveSource:
    """One observer and the folders it watches.  Used by the watcher's thread alone.

    Raises:
        OSError: the observer cannot be had (see :func:`core.index.watch_events.limit_reached`).
    """

    def __init__(self, sink: Sink, factory: ObserverFactory = default_observer) -> None:
        log = logging.getLogger("watchdog")
        if not log.handlers:
            # What it logs reaches us as events; without a handler it would be printed over the screen.
            log.addHandler(logging.NullHandler())
        self._handler = _Handler(sink)
        self._watches: dict[Place, Any] = {}
        self._observer = factory(sink)
        self._observer.name = "memdeck-watch-observer"
        try:
            self._observer.start()
        except BaseException:
            self.close()
            raise

    def place(self, wanted: Iterable[Place]) -> set[Place]:
        """Watch exactly the folders ``wanted`` and return those that are watched for the first time.

        A folder that is gone before it could be watched is left out; ask again later.

        Raises:
            OSError: the kernel refuses a folder.
        """
        places = set(wanted)
        for place in self._watches.keys() - places:
            watch = self._watches.pop(place)
            # Its emitter may have ended with the folder; a second farewell is no error.
            with contextlib.suppress(KeyError, RuntimeError, OSError):
                self._observer.unschedule(watch)
        new = set()
        for place in sorted(places - self._watches.keys(), key=lambda each: each.path):
            try:
                self._watches[place] = self._observer.schedule(
                    self._handler, place.path, recursive=place.recursive, event_filter=_WANTED
                )
            except (FileNotFoundError, NotADirectoryError):
                continue
            new.add(place)
        for emitter in self._observer.emitters:
            emitter.name = "memdeck-watch-emitter"
        return new

    def forget(self) -> None:
        """Watch nothing for now, so that the next :meth:`place` looks through every folder again."""
        self.place(())

    def trouble(self) -> str:
        """Return why this source no longer reports everything, an empty string while it does.

        An emitter that ended because its folder did is none: the folder's return is another place.
        """
        if not self._observer.is_alive():
            return "its thread ended"
        for emitter in list(self._observer.emitters):
            if emitter.is_alive():
                continue
            dead = os.fsdecode(emitter.watch.path)
            if any(place.path == dead and place.is_still_there() for place in self._watches):
                return f"the thread for {dead} ended"
        return ""

    def close(self) -> None:
        """End the observer and its threads (waits a bounded time; a failure to end is not worth an error)."""
        with contextlib.suppress(Exception):
            self._observer.stop()
        with contextlib.suppress(Exception):
            self._observer.join(timeout=2.0)
