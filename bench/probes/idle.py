"""Opens the app headless on a watched memory and leaves it alone: how much processor time that takes."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from bench.ground import Ground
from bench.probes.keys import SIZE, ready
from tui.app import MemdeckApp

SETTLE = 3.0


async def idle(ground: Ground, seconds: float) -> float:
    """Return the share of one core, in percent."""
    app = MemdeckApp(ground.open)
    async with app.run_test(size=SIZE):
        await ready(app, ground.chunks)
        await asyncio.sleep(SETTLE)
        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        return (time.process_time() - cpu) / (time.perf_counter() - wall) * 100


def main() -> None:
    ground = Ground(Path(sys.argv[1]), int(sys.argv[2]))
    rounds, seconds = int(sys.argv[3]), float(sys.argv[4])
    print(json.dumps([asyncio.run(idle(ground, seconds)) for _ in range(rounds)]))


if __name__ == "__main__":
    main()
