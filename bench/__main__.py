"""One command: measures every bar and prints them as a table (``make bench``)."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from bench.measure import Row
from bench.sections import app, index, resident, save, search, start, vectors
from bench.table import lines

SECTIONS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "index": index.full,
    "unchanged": index.unchanged,
    "search": search.small,
    "search-10k": search.medium,
    "search-100k": search.large,
    "hybrid-10k": vectors.medium,
    "hybrid-100k": vectors.large,
    "keys": app.keys,
    "keys-hybrid": vectors.keys,
    "embed": vectors.throughput,
    "start": start.first_paint,
    "save": save.searchable,
    "idle": app.idle,
    "memory": resident.resident,
}


def main() -> int:
    """Return 0 when every bar was met, 1 when one was missed, 2 when something could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure memdeck's bars.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and nothing at 100,000 chunks")
    parser.add_argument("--only", action="append", metavar="NAME", choices=SECTIONS, help=", ".join(SECTIONS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args()
    names = options.only or [
        name for name in SECTIONS if not (options.quick and name in ("search-100k", "hybrid-100k", "memory"))
    ]
    print(_machine())
    rows: list[Row] = []
    failures: list[str] = []
    for name in names:
        started = time.perf_counter()
        try:
            found = list(SECTIONS[name](options.quick))
        except Exception as error:  # one bar that cannot be measured must not hide the others
            failures.append(f"{name}: {type(error).__name__}: {error}")
            print(f"\n{failures[-1]}", file=sys.stderr)
            continue
        rows += found
        print(f"\n{name} ({time.perf_counter() - started:.0f} s)")
        print("\n".join(lines(found)), flush=True)
    missed = [row for row in rows if row.verdict == "miss"]
    judged = sum(1 for row in rows if row.verdict)
    print(
        f"\n{judged - len(missed)} of {judged} bars met"
        + (f", {len(failures)} not measured" if failures else "")
    )
    if options.json is not None:
        options.json.write_text(json.dumps([row.plain() for row in rows], indent=1) + "\n")
    return 2 if failures else 1 if missed else 0


def _machine() -> str:
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load};"
        f" Python {platform.python_version()}, SQLite {apsw.sqlitelibversion()}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
