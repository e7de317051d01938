"""Whatever happens to a memory, who follows the events ends up with exactly what is on disk."""

from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path

import pytest

from core.index.watcher import Watcher, WatchEvent
from tests.core.index.watching import wait_until

STEPS = 250


class Mirror:
    """Keeps a copy of every Markdown file by reading only what the events name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, str] = {}

    def __call__(self, event: WatchEvent) -> None:
        if event.rescan:
            self.files = on_disk(self.root)
        for path in event.paths:
            try:
                self.files[path] = Path(path).read_text()
            except (FileNotFoundError, NotADirectoryError):
                self.files.pop(path, None)


def on_disk(root: Path) -> dict[str, str]:
    found = {}
    for path in root.rglob("*.md"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found[str(path)] = path.read_text()
    return found


class Vandal:
    """Does to a memory, at random, all that people, editors and agents do."""

    def __init__(self, root: Path, outside: Path, seed: int) -> None:
        self.root, self.outside = root, outside
        self.random = random.Random(seed)
        self.count = 0

    def step(self) -> None:
        self.count += 1
        name = self.random.choice(
            ("write", "append", "replace", "remove", "rename", "make_folder", "move_folder", "drop", "away")
        )
        with contextlib.suppress(FileNotFoundError, FileExistsError, OSError):
            getattr(self, name)()

    def folder(self) -> Path:
        workspace = self.root / f"ws-{self.random.randrange(4)}"
        return self.random.choice((self.root, workspace, workspace / "sessions"))

    def file(self) -> Path:
        return self.folder() / f"{self.random.randrange(4)}.md"

    def write(self) -> None:
        self.file().write_text(f"{self.count}\n" * self.random.randrange(1, 200))

    def append(self) -> None:
        with self.file().open("a") as file:
            file.write(f"{self.count}\n")

    def replace(self) -> None:
        path = self.file()
        temporary = path.with_name(".memdeck-x.tmp")
        temporary.write_text(f"{self.count}\n")
        temporary.replace(path)

    def remove(self) -> None:
        self.file().unlink()

    def rename(self) -> None:
        self.file().rename(self.file())

    def make_folder(self) -> None:
        (self.root / f"ws-{self.random.randrange(4)}" / "sessions").mkdir(parents=True, exist_ok=True)

    def move_folder(self) -> None:
        (self.root / f"ws-{self.random.randrange(4)}").rename(self.root / f"ws-{self.random.randrange(4)}")

    def drop(self) -> None:
        shutil.rmtree(self.root / f"ws-{self.random.randrange(4)}")

    def away(self) -> None:
        if self.outside.exists():
            self.outside.rename(self.root / f"ws-{self.random.randrange(4)}")
        else:
            (self.root / f"ws-{self.random.randrange(4)}").rename(self.outside)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("polled", [False, True])
def test_who_follows_the_events_has_what_is_on_disk(tmp_path: Path, seed: int, polled: bool) -> None:
    root = tmp_path.resolve() / "memory"
    root.mkdir()
    mirror = Mirror(root)
    watcher = Watcher(
        [(str(root), root)],
        mirror,
        network=lambda path: polled,
        debounce=0.002,
        poll_interval=0.02,
        health_interval=0.05,
    )
    watcher.start()
    try:
        vandal = Vandal(root, tmp_path / "outside", seed)
        for _ in range(STEPS):
            vandal.step()
        wait_until(lambda: mirror.files == on_disk(root), f"{watcher.status}")
    finally:
        watcher.stop()
