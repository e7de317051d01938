"""Where the bench works: memories made once and kept under the temp folder, with everything of ours beside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.corpus import LOG_BYTES, MEMORY_SECTIONS, NEWEST, SECTIONS, SEED, WORKSPACE, logs_for, write_corpus
from core.memory import Memory

_FORM = f"{SEED}-{LOG_BYTES}-{SECTIONS}-{MEMORY_SECTIONS}"


@dataclass(frozen=True, slots=True)
class Ground:
    """One made-up memory on disk and the environment in which only it exists."""

    home: Path
    chunks: int

    @property
    def root(self) -> Path:
        return self.home / "grok" / "memory"

    @property
    def workspace(self) -> Path:
        return self.root / WORKSPACE

    @property
    def index(self) -> Path:
        return self.workspace / "index.sqlite"

    @property
    def environ(self) -> dict[str, str]:
        """What our processes and memories get for an environment; the clock stands a day after the last log."""
        kept = ("PATH", "LANG", "LC_ALL", "TMPDIR")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.home),
            "GROK_HOME": str(self.home / "grok"),
            "MEMDECK_STATE": str(self.home / "state"),
            "MEMDECK_CONFIG": str(self.home / "config.toml"),
            "MEMDECK_NOW": str(int(NEWEST.timestamp()) + 86_400),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(Path(__file__).parent.parent),
        }

    def open(self) -> Memory:
        """Open the memory at its workspace."""
        return Memory.open(str(self.root), workspace=WORKSPACE, cwd=str(self.home), environ=self.environ)

    def drop_index(self) -> None:
        """Remove the index and its journals."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.index}{suffix}").unlink(missing_ok=True)


def folder() -> Path:
    """Where memories are kept between runs: ``$MEMDECK_BENCH_DIR``, else in the temp folder."""
    chosen = os.environ.get("MEMDECK_BENCH_DIR")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"memdeck-bench-{os.getuid()}"


def ground(chunks: int = 0, *, logs: int = 0) -> Ground:
    """Return the memory of ``chunks`` chunks (or of ``logs`` logs), made now unless it is there already."""
    logs = logs or logs_for(chunks)
    home = folder() / f"{_FORM}-{logs}"
    done = home / "done.json"
    if not done.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        print(f"  making a memory of {logs:,} logs in {home} (kept for the next run)", file=sys.stderr)
        corpus = write_corpus(home / "grok" / "memory", logs)
        done.write_text(json.dumps({"chunks": corpus.chunks}))
    return Ground(home, int(json.loads(done.read_text())["chunks"]))


def indexed(ground: Ground) -> Ground:
    """Bring the index of a memory in step (in a process of its own, so that none of its memory stays here)."""
    probe("bench.probes.sync", ground)
    return ground


def probe(module: str, ground: Ground, *arguments: str, environ: Mapping[str, str] | None = None) -> Any:
    """Run ``python -m module HOME CHUNKS …`` in the memory's environment; return the JSON it prints last.

    Raises:
        RuntimeError: it failed; its own words are in the message.
    """
    run = subprocess.run(
        [sys.executable, "-m", module, str(ground.home), str(ground.chunks), *arguments],
        env={**ground.environ, **(environ or {})},
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise RuntimeError(f"{module} failed:\n{run.stderr.strip()[-2_000:]}")
    return json.loads(run.stdout.strip().splitlines()[-1])
