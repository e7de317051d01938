"""Notices outside edits to a memory: live where the system sends events, by looking where it does not."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.index.model import WatchStatus
from core.index.watch_events import Pending, Place, Spelling, WatchEvent, limit_reached
from core.index.watch_poll import Poller

if TYPE_CHECKING:
    from core.index.watch_source import LiveSource, ObserverFactory

__all__ = ["WatchEvent", "Watcher"]

PATIENCE = 0.5
"""Seconds after which a change is told even while more keep coming."""

MOST_FAILURES = 5
"""Deaths of the event source, close to each other, after which we stop trying and only look."""

CALM = 60
"""Health checks without trouble after which earlier deaths of the source are forgotten."""

START_WAIT = 5.0
"""Seconds :meth:`Watcher.start` waits for the watches to be placed."""

STOP_WAIT = 5.0
"""Seconds :meth:`Watcher.stop` waits for the thread to end."""


class Watcher:
    """Watches the folders ``roots`` and calls ``on_event`` with what changed in them.

    ``roots``: (path as the index spells it, real folder); a root need not exist yet.  ``on_event`` is called
    on one thread of the watcher, never twice at once; what it raises is kept in :attr:`status`.
    ``network`` tells whether a real folder lies where the kernel sees only this machine's writes: it is
    looked at every ``poll_interval`` seconds instead.  ``debounce``: quiet seconds before a change is told;
    ``health_interval``: seconds between two checks that everything is still watched.
    ``observer_factory`` makes the event source (a watchdog observer by default).

    Whatever changes after :meth:`start` returned is told; if the source dies or loses events, an event with
    ``rescan`` set follows as soon as that is noticed.
    """

    def __init__(
        self,
        roots: Sequence[tuple[str, Path]],
        on_event: Callable[[WatchEvent], None],
        *,
        network: Callable[[Path], bool],
        debounce: float = 0.05,
        poll_interval: float = 2.0,
        health_interval: float = 1.0,
        observer_factory: ObserverFactory | None = None,
    ) -> None:
        self._on_event = on_event
        self._network = network
        self._health_interval = health_interval
        self._factory = observer_factory
        # Guarded by the lock:
        self._lock = threading.Condition()
        self._roots: dict[str, Path] = dict(roots)
        self._targets: dict[str, str] = {}
        self._pending = Pending(debounce, max(PATIENCE, debounce))
        self._spelling = Spelling((), {})
        self._error: BaseException | None = None
        self._replace = False
        self._stopping = False
        self._check_at = 0.0
        self._status = WatchStatus("off", "not started")
        # The thread's own:
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._placed: dict[str, Place | None] = {}
        self._links: dict[str, Place] = {}
        self._remote: dict[Place, bool] = {}
        self._source: LiveSource | None = None
        self._poller = Poller(poll_interval)
        self._retry_at: float | None = 0.0
        self._failures = 0
        self._calm = 0
        self._restarts = 0
        self._trouble = ""
        self._callback_trouble = ""

    @property
    def status(self) -> WatchStatus:
        """How edits are noticed now, and why not otherwise."""
        with self._lock:
            return self._status

    def start(self) -> None:
        """Begin to watch.  Never raises: what cannot be watched is looked at, and :attr:`status` says why.

        A watcher that was stopped stays so; make another.
        """
        with self._lock:
            if self._thread is not None or self._stopping:
                return
            self._thread = threading.Thread(target=self._run, name="memdeck-watch", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as exc:
            self._thread = None
            self._status = WatchStatus("off", f"no thread could be started: {exc}")
            return
        if not self._ready.wait(START_WAIT):
            with self._lock:
                self._tell_rescan("watching began late")

    def stop(self) -> None:
        """End watching.  Returns within :data:`STOP_WAIT` seconds; calling it again does nothing."""
        with self._lock:
            thread = self._thread
            self._stopping = True
            self._lock.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(STOP_WAIT)

    def add_root(self, spelled: str, real: Path) -> None:
        """Watch one more folder; an event with ``rescan`` follows once it is watched."""
        with self._lock:
            self._roots[spelled] = real
            self._check_now()

    def remove_root(self, spelled: str) -> None:
        """Stop watching a folder."""
        with self._lock:
            self._roots.pop(spelled, None)
            self._check_now()

    def watch_targets(self, targets: Mapping[str, str]) -> None:
        """Replace the linked files: spelled path of each link -> real path of its target, wherever that lies.

        An edit of a target is told as a change of its link.  A target that comes to be watched is told once,
        since it may have changed before.
        """
        with self._lock:
            if dict(targets) != self._targets:
                self._targets = dict(targets)
                self._check_now()

    # The sink of the event source: called on its threads.

    def file_changed(self, path: str) -> None:
        with self._lock:
            self._tell(self._spelling.files(path))

    def folder_changed(self, path: str, *, readable: bool = False) -> None:
        with self._lock:
            if not self._spelling.holds(path):
                return
            if readable:
                # A folder that could not be read was not watched; now it may be.
                self._replace = True
                self._check_now()
            self._tell_rescan(f"folder {os.path.basename(path)} changed")

    def overflowed(self) -> None:
        with self._lock:
            self._tell_rescan("the system dropped events")

    def failed(self, error: BaseException) -> None:
        with self._lock:
            self._error = error
            self._check_now()

    # With the lock held:

    def _tell(self, paths: Sequence[str] | set[str]) -> None:
        asleep = self._pending.due() is None
        self._pending.add(paths, time.monotonic())
        if asleep:
            self._lock.notify_all()

    def _tell_rescan(self, reason: str) -> None:
        asleep = self._pending.due() is None
        self._pending.rescan(reason, time.monotonic())
        if asleep:
            self._lock.notify_all()

    def _check_now(self) -> None:
        self._check_at = 0.0
        self._lock.notify_all()

    # The thread:

    def _run(self) -> None:
        try:
            self._check()
            self._ready.set()
            while (event := self._wait()) is not None:
                if event.paths or event.rescan:
                    self._deliver(event)
                if time.monotonic() >= self._check_at:
                    self._check()
        finally:
            self._close()
            with self._lock:
                self._status = WatchStatus("off", "stopped", self._restarts)
                self._ready.set()

    def _wait(self) -> WatchEvent | None:
        """Sleep until there is something to tell or to check; None: it is time to end."""
        with self._lock:
            while not self._stopping:
                now = time.monotonic()
                due = self._pending.due()
                if due is not None and due <= now:
                    return self._pending.take()
                if self._check_at <= now:
                    return WatchEvent(frozenset(), False, "")
                self._lock.wait((self._check_at if due is None else min(due, self._check_at)) - now)
            return None

    def _deliver(self, event: WatchEvent) -> None:
        try:
            self._on_event(event)
            trouble = ""
        except Exception as exc:
            trouble = f"the last change could not be handled: {type(exc).__name__}: {exc}"
        if trouble != self._callback_trouble:
            self._callback_trouble = trouble
            self._publish()

    def _check(self) -> None:
        """Compare what is watched with what should be, and put it right."""
        now = time.monotonic()
        with self._lock:
            # Set first: what is asked for during this check leads to another one.
            self._check_at = now + self._health_interval
            roots, targets = dict(self._roots), dict(self._targets)
            error, self._error = self._error, None
            replace, self._replace = self._replace, False
        try:
            self._find(roots, targets)
            self._tend(error, now)
            if self._source is not None:
                if replace:
                    self._source.forget()
                self._place(self._source)
        except Exception as exc:
            # Nothing here may end the thread: what went wrong counts as a death of the source.
            self._bury(exc, now)
        self._look(targets, now)
        with self._lock:
            self._check_at = min(self._check_at, self._poller.due() or self._check_at)
        self._publish()

    def _find(self, roots: Mapping[str, Path], targets: Mapping[str, str]) -> None:
        """Follow every root and target to the folder it leads to now; tell of roots that came or went."""
        for gone in self._placed.keys() - roots.keys():
            del self._placed[gone]
        for spelled, real in roots.items():
            place = Place.at(spelled, recursive=True) or Place.at(str(real), recursive=True)
            before = self._placed.get(spelled)
            self._placed[spelled] = place
            if place != before and self._ready.is_set():
                what = "is gone" if place is None else "appeared" if before is None else "was replaced"
                self._rescan(f"folder {os.path.basename(spelled)} {what}")
        present = {spelled: place for spelled, place in self._placed.items() if place is not None}
        inside = tuple(f"{place.path}/" for place in present.values())
        self._links = {
            link: place
            for link, target in targets.items()
            if not target.startswith(inside)
            and (place := Place.at(os.path.dirname(target), recursive=False)) is not None
        }
        self._remote = {place: self._is_remote(place) for place in {*present.values(), *self._links.values()}}
        spelling = Spelling([(spelled, place.path) for spelled, place in present.items()], targets)
        with self._lock:
            self._spelling = spelling

    def _is_remote(self, place: Place) -> bool:
        known = self._remote.get(place)
        if known is not None:
            return known
        try:
            return self._network(Path(place.path))
        except OSError:
            return True  # looking works everywhere

    def _tend(self, error: BaseException | None, now: float) -> None:
        """Bury a source that died, and open one when there is none and it is time to try."""
        if self._source is not None:
            why = self._source.trouble()
            if error is not None or why:
                self._bury(error or RuntimeError(why), now)
            else:
                self._calm += 1
                if self._calm >= CALM:
                    self._failures = 0
        local = not all(self._remote.values())
        if self._source is None and local and self._retry_at is not None and now >= self._retry_at:
            self._open(now)

    def _open(self, now: float) -> None:
        try:
            # Imported here: starting the app must not pay for it.
            from core.index.watch_source import LiveSource, default_observer

            self._source = LiveSource(self, self._factory or default_observer)
        except Exception as exc:
            self._bury(exc, now)
            return
        self._trouble = ""
        if self._failures:
            self._restarts += 1
            self._rescan("watching again")

    def _bury(self, error: BaseException, now: float) -> None:
        """Give up the source for now, or for good; until then everything is looked at instead."""
        self._close()
        self._failures += 1
        self._calm = 0
        what = str(error) or type(error).__name__
        limit = limit_reached(error)
        if limit or self._failures >= MOST_FAILURES:
            self._trouble = limit or f"the event source failed {self._failures} times: {what}"
            self._retry_at = None
        else:
            self._trouble = f"the event source stopped, another is tried: {what}"
            self._retry_at = now + self._health_interval * (2 ** (self._failures - 1) - 1)
        if self._ready.is_set():
            self._rescan("the event source stopped")

    def _close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None
            with self._lock:
                self._error = None

    def _place(self, source: LiveSource) -> None:
        roots = {place for place in self._placed.values() if place is not None}
        wanted = {place for place in {*roots, *self._links.values()} if not self._is_remote(place)}
        new = source.place(wanted)
        with self._lock:
            self._tell([link for link, place in self._links.items() if place in new])

    def _look(self, targets: Mapping[str, str], now: float) -> None:
        """Look at what sends no events: everything without a source, else what lies on a network."""
        blind = self._source is None
        roots = [
            (spelled, place.path)
            for spelled, place in self._placed.items()
            if place is not None and (blind or self._is_remote(place))
        ]
        links = {
            link: targets[link] for link, place in self._links.items() if blind or self._is_remote(place)
        }
        files, folders = self._poller.look(roots, links, now)
        with self._lock:
            self._tell(files)
            for name in sorted(map(os.path.basename, folders)):
                self._tell_rescan(f"folder {name} changed")

    def _rescan(self, reason: str) -> None:
        with self._lock:
            self._tell_rescan(reason)

    def _publish(self) -> None:
        present = [place for place in self._placed.values() if place is not None]
        remote = [spelled for spelled, place in self._placed.items() if place and self._is_remote(place)]
        reasons = [self._trouble] if self._trouble else []
        if remote:
            reasons.append(f"{', '.join(remote)}: on a network filesystem, which sends no events")
        if not present:
            reasons.append("the memory folder does not exist yet")
        live = self._source is not None and not remote
        if self._callback_trouble:
            reasons.append(self._callback_trouble)
        status = WatchStatus("live" if live else "polling", "; ".join(reasons), self._restarts)
        with self._lock:
            self._status = status
