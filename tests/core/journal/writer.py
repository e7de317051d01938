"""A process that writes to a journal: ``python -m tests.core.journal.writer FOLDER NAME COUNT``.

Says each record's id on standard output once it is durable; COUNT 0 goes on until killed.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

from core.journal.journal import Journal
from core.journal.model import Change


def main(folder: str, name: str, count: int) -> None:
    journal = Journal.open(Path(folder), time.time)
    before: bytes | None = None
    for number in range(count) if count else itertools.count():
        after = f"{name} {number} {time.time_ns()}\n".encode() * 50
        made = journal.record(Change(f"{name}.md", before, after, "user", "edit"))
        print(made.id, made.after, flush=True)
        before = after
    journal.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
