"""Runs memdeck as its command does and, when it is left, writes down which of some modules were imported."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> int:
    """``argv``: where to write, the modules to look for with commas between, then the command line."""
    target, wanted, arguments = Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
    from core.cli import main as memdeck

    try:
        return memdeck(arguments)
    finally:
        target.write_text(json.dumps([name for name in wanted if name in sys.modules]))


if __name__ == "__main__":
    raise SystemExit(main())
