"""Opens, syncs and searches a memory in a fresh process; prints its peak of resident memory in MB."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from bench.corpus import frequent_queries, specific_queries
from bench.ground import Ground


def main() -> None:
    ground = Ground(Path(sys.argv[1]), int(sys.argv[2]))
    fresh = sys.argv[3] == "fresh"
    if fresh:
        ground.drop_index()
    memory = ground.open()
    memory.sync()
    peak_of_sync = _peak()
    for query in (*specific_queries(5), *frequent_queries(3), ""):
        memory.search(query)
    memory.overview()
    memory.sessions()
    memory.close()
    print(json.dumps({"sync": peak_of_sync, "all": _peak()}))


def _peak() -> float:
    """In MB, of this program alone: what getrusage tells may be that of the process it was forked from."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        pass
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


if __name__ == "__main__":
    main()
