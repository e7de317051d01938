"""Opens a memory in a fresh process and brings its index in step: how long that took."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from bench.ground import Ground


def main() -> None:
    ground = Ground(Path(sys.argv[1]), int(sys.argv[2]))
    started = time.perf_counter()
    memory = ground.open()
    opened = time.perf_counter()
    report = memory.sync()
    synced = time.perf_counter()
    chunks = memory.status().chunks
    memory.close()
    if chunks != ground.chunks or report.problems:
        raise SystemExit(f"{chunks} chunks instead of {ground.chunks}; {report.problems}")
    print(
        json.dumps(
            {
                "open": opened - started,
                "sync": synced - opened,
                "changed": report.changed,
            }
        )
    )


if __name__ == "__main__":
    main()
