"""Indexes a memory and gives every text its vector (one each: passages would be gigabytes)."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import core.embedding
from bench.ground import Ground
from bench.vectors import open_with


def main() -> None:
    ground = Ground(Path(sys.argv[1]), int(sys.argv[2]))
    core.embedding.PASSAGE_LIMIT = 0
    memory = open_with(ground, int(sys.argv[3]))
    memory.sync()
    started = time.perf_counter()
    report = memory.fill_vectors()
    took = time.perf_counter() - started
    memory.close()
    if report.error or report.missing or report.skipped:
        raise SystemExit(f"not filled: {report}")
    print(json.dumps({"stored": report.stored, "seconds": took}))


if __name__ == "__main__":
    main()
