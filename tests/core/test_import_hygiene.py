"""What is imported when: nothing heavy for the façade, next to nothing for a word of help."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def modules_after(code: str) -> set[str]:
    """The modules a fresh interpreter holds after running ``code`` in the project's folder."""
    tail = "\nimport sys as _s, json as _j\n_s.stderr.write('\\n@@' + _j.dumps(sorted(_s.modules)))\n"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    names: list[str] = json.loads(done.stderr.rpartition("@@")[2])
    return set(names)


def loaded(modules: set[str], name: str) -> bool:
    return any(module == name or module.startswith(name + ".") for module in modules)


HEAVY = ("textual", "rich", "pydantic", "typer", "numpy", "openai", "wordllama", "watchdog.observers")


@pytest.mark.parametrize(
    "code",
    [
        "import core.memory",
        "import core.memory\n"
        "m = core.memory.Memory.open('/nowhere/memory', cwd='/', environ={'HOME': '/nowhere'})\n"
        "m.overview(); m.sessions(); m.close()",
    ],
    ids=["imported", "opened"],
)
def test_the_facade_loads_nothing_heavy(code: str) -> None:
    modules = modules_after(code)
    assert loaded(modules, "core.memory")
    assert [name for name in HEAVY if loaded(modules, name)] == []


def test_a_search_loads_no_numpy(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "MEMORY.md").write_text("harbor")
    modules = modules_after(
        "from core.memory import Memory\n"
        f"m = Memory.open({str(tmp_path / 'memory')!r}, cwd='/', environ={{'HOME': {str(tmp_path)!r}}})\n"
        "assert m.search('harbor').hits; m.close()"
    )
    assert [name for name in HEAVY if loaded(modules, name)] == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["search", "--help"]], ids=" ".join)
def test_help_opens_nothing(arguments: list[str]) -> None:
    modules = modules_after(f"import sys\nfrom core.cli import main\nassert main({arguments!r}) == 0")
    assert [name for name in ("apsw", "textual", "core.memory", "numpy") if loaded(modules, name)] == []
