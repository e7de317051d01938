"""Helpers of the watcher's tests: a recorder that waits for what it should hear, and a stand-in observer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.index.watcher import WatchEvent

PATIENCE = 10.0


def wait_until(condition: Callable[[], bool], what: str = "") -> None:
    """Wait until ``condition`` holds; fail after :data:`PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE:.0f} s: {what or condition}")
        time.sleep(0.01)


class Recorder:
    """Keeps every event, and how many callbacks ever ran at the same time."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []
        self.threads: set[int] = set()
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()

    def __call__(self, event: WatchEvent) -> None:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.threads.add(threading.get_ident())
        time.sleep(0.001)
        with self._lock:
            self.events.append(event)
            self._now -= 1

    @property
    def paths(self) -> set[str]:
        return {path for event in list(self.events) for path in event.paths}

    @property
    def rescans(self) -> list[WatchEvent]:
        return [event for event in list(self.events) if event.rescan]

    def clear(self) -> None:
        self.events.clear()

    def expect(self, *paths: Path | str) -> None:
        wanted = {str(path) for path in paths}
        wait_until(lambda: wanted <= self.paths, f"{wanted - self.paths} of {len(self.events)} events")

    def expect_rescan(self, containing: str = "") -> None:
        wait_until(lambda: any(containing in e.reason for e in self.rescans), f"a rescan ({containing})")


class FakeEmitter:
    def __init__(self, watch: Any) -> None:
        self.watch = watch
        self.name = ""
        self.alive = True

    def is_alive(self) -> bool:
        return self.alive


class FakeObserver:
    """As much of a watchdog observer as the watcher uses; says what it is told to."""

    def __init__(self, sink: Any, refuse: OSError | None = None) -> None:
        self.sink = sink
        self.refuse = refuse
        self.name = ""
        self.alive = False
        self.watched: list[tuple[str, bool]] = []
        self.scheduled = 0
        self.emitters: set[FakeEmitter] = set()

    def start(self) -> None:
        self.alive = True

    def stop(self) -> None:
        self.alive = False

    def join(self, timeout: float | None = None) -> None:
        self.alive = False

    def is_alive(self) -> bool:
        return self.alive

    def schedule(self, handler: Any, path: str, *, recursive: bool, event_filter: Any) -> FakeEmitter:
        if self.refuse is not None:
            raise self.refuse
        emitter = FakeEmitter(None)
        emitter.watch = type("Watch", (), {"path": path})()
        self.emitters.add(emitter)
        self.watched.append((path, recursive))
        self.scheduled += 1
        return emitter

    def unschedule(self, watch: FakeEmitter) -> None:
        self.emitters.discard(watch)
        self.watched = [(path, deep) for path, deep in self.watched if path != watch.watch.path]
