"""Between façade and index room: the index of each workspace that is looked at, opened once and shared."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence

import apsw

from core.clock import Clock
from core.errors import MemdeckError
from core.index.sync import Index, IndexOptions
from core.index.watcher import Watcher, WatchEvent
from core.settings import Settings
from core.store.fsinfo import filesystem_kind
from core.store.layout import Root
from core.store.listing import list_memory
from core.store.paths import cache_dir


class Indexes:
    """Indexes by root and workspace folder; ``settings`` gives those in force."""

    def __init__(self, environ: Mapping[str, str], clock: Clock, settings: Callable[[], Settings]) -> None:
        self._environ = environ
        self._clock = clock
        self._settings = settings
        self._network: dict[str, bool] = {}
        self._indexes: dict[tuple[Root, str], Index] = {}
        self._lock = threading.RLock()

    def of(self, root: Root, folder: str) -> Index:
        """The index of a workspace; opens and creates nothing yet."""
        with self._lock:
            if (root, folder) not in self._indexes:
                settings = self._settings()
                options = IndexOptions(
                    cache_dir=str(cache_dir(self._environ)),
                    clock=self._clock,
                    environ=self._environ,
                    host=socket.gethostname(),
                    network=self.is_network(str(root.real)),
                    stale_claim_secs=int(settings.watcher.stale_claim_secs),
                    dimensions=int(settings.embedding.dimensions),
                )
                self._indexes[(root, folder)] = Index(root, folder, options)
            return self._indexes[(root, folder)]

    def known(self, root: Root, folder: str) -> Index | None:
        """The index of a workspace if it was asked for before."""
        return self._indexes.get((root, folder))

    def is_network(self, real: str) -> bool:
        """Whether a folder lies on a network filesystem; looked up once."""
        if real not in self._network:
            self._network[real] = filesystem_kind(real) == "network"
        return self._network[real]

    def without_files(
        self, places: Sequence[tuple[Root, str]], root: Root, paths: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Take rows of removed files out of every index under ``root``; returns (reached, not reached)."""
        reached: list[str] = []
        missed: list[str] = []
        for place, folder in places:
            index = self.of(place, folder)
            if place != root or not index.exists():
                continue
            where = f"the index of {folder or place.path}"
            try:
                report = index.sync()
            except MemdeckError as error:
                missed.append(f"{where}: {error}")
                continue
            left = [path for path in paths if indexed_hashes(index, index.to_index(path))]
            if left or report.behind:
                missed.append(f"{where}: in use, not yet; it follows at its next sync")
            else:
                reached.append(f"its rows taken out of {where}")
        return reached, missed

    def interrupt(self) -> None:
        for index in list(self._indexes.values()):
            index.interrupt()

    def close(self) -> None:
        with self._lock:
            indexes = list(self._indexes.values())
            self._indexes.clear()
        for index in indexes:
            index.close()


def indexed_hashes(index: Index, path: str) -> dict[str, str]:
    """The ids and hashes of a file's rows; {} when the index cannot be read."""
    database = index.database()
    if database is None:
        return {}
    try:
        with database.reading() as reader:
            return {
                str(row[0]): str(row[1])
                for row in reader.execute("SELECT id, hash FROM chunks WHERE path=?", (path,))
            }
    except apsw.Error:
        return {}


class Edits:
    """The watcher of one opened memory, and which paths it told of since they were last looked at."""

    def __init__(self, roots: Sequence[Root], workspace: str, is_network: Callable[[str], bool]) -> None:
        self._roots = roots
        self._workspace = workspace
        self._is_network = is_network
        self._lock = threading.RLock()
        self._watcher: Watcher | None = None
        self._dirty: set[str] | None = None

    def watch(self, on_change: Callable[[WatchEvent], None]) -> Watcher:
        """Start watching, once; ``on_change`` is called on a thread."""
        with self._lock:
            if self._watcher is not None:
                return self._watcher
            self._dirty = None
            watcher = Watcher(
                [(root.path, root.real) for root in self._roots],
                self._noticing(on_change),
                network=lambda real: self._is_network(str(real)),
            )
            watcher.watch_targets(self._link_targets())
            watcher.start()
            self._watcher = watcher
            return watcher

    def _link_targets(self) -> dict[str, str]:
        listed = list_memory(self._roots[0], self._workspace).files
        return {entry.path: entry.link_target for entry in listed if entry.link_target}

    def _noticing(self, on_change: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
        def notice(event: WatchEvent) -> None:
            with self._lock:
                if event.rescan or self._dirty is None:
                    self._dirty = None
                else:
                    self._dirty |= event.paths
            on_change(event)

        return notice

    def take(self) -> set[str] | None:
        """The paths to look at: None (everything) without a live watcher or after a rescan event."""
        with self._lock:
            if self._watcher is None or self._watcher.status.mode != "live":
                return None
            dirty, self._dirty = self._dirty, set()
            return dirty

    def give_back(self, dirty: set[str] | None) -> None:
        """What could not be indexed is looked at again."""
        with self._lock:
            self._dirty = None if dirty is None or self._dirty is None else self._dirty | dirty

    def follow_links(self) -> None:
        """Watch the targets of links that were made since."""
        if self._watcher is not None:
            self._watcher.watch_targets(self._link_targets())

    def stop(self) -> None:
        with self._lock:
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
