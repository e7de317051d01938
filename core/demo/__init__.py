"""The made-up memory behind ``memdeck demo``: copied out, and moved through time so that it ends today."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.demo.layout import CURRENT, PROJECTS, STARTED, Layout, folder_name
from core.demo.shift import BASE_DAY, Shift
from core.demo.transcripts import write_sessions
from core.errors import MemdeckError, UsageError

__all__ = ["BASE_DAY", "DemoPaths", "prepare"]

_TEXTS = Path(__file__).parent / "memory"


@dataclass(frozen=True, slots=True)
class DemoPaths:
    """Where a throwaway demo lies.

    ``home`` is the folder given to :func:`prepare`, ``grok_home`` the agent's home in it, ``root`` the
    memory root as it is spelled (``{grok_home}/memory``), ``cwd`` the checkout of the current project and
    ``workspace`` that project's folder name under the root.  ``projects`` maps each project's name to its
    checkout.  ``environ`` holds what to lay over the environment, so that nothing outside ``home`` is read
    or written.
    """

    home: Path
    grok_home: Path
    root: str
    cwd: Path
    workspace: str
    projects: Mapping[str, Path]
    environ: Mapping[str, str]


def prepare(target: Path, now: float) -> DemoPaths:
    """Copy the demo memory under ``target`` so that its newest log is of the UTC day of ``now``.

    ``now`` is in unix seconds.  Every ISO date in names and texts moves by the same number of whole days,
    and every file gets a modification time that fits its date and is not after ``now``; the result depends
    on ``target`` and ``now`` alone.

    Raises:
        UsageError: ``target`` is a file, or a folder that is not empty.
        MemdeckError: ``target`` cannot be written.
    """
    home = Path(os.path.abspath(target))
    try:
        if home.is_dir() and any(home.iterdir()):
            raise UsageError(
                f"{home} is not empty",
                hint="Give the demo a new or an empty folder.",
                data="Nothing was written there.",
            )
        home.mkdir(parents=True, exist_ok=True)
        return _write(home, now)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{home} is not a folder", hint="Give the demo a new or an empty folder.") from error
    except OSError as error:
        raise MemdeckError(
            f"the demo memory cannot be written to {home}: {error.strerror or error}",
            hint="Free some space, or set TMPDIR to a folder you can write to.",
            data="Only the demo's own copy is concerned.",
        ) from error


# Where the extra is not installed, memdeck says "text only" and how to add it.
_OWN_CONFIG = """\
[embedding]
provider = "local"  # vectors are made on this machine; nothing is sent anywhere
"""


def _write(home: Path, now: float) -> DemoPaths:
    shift = Shift(now)
    layout = Layout(home, shift, _TEXTS)
    layout.write_projects()
    layout.write_memory()
    layout.write_agent_memories()
    write_sessions(layout)
    own = home / "memdeck"
    layout.put(own / "config.toml", _OWN_CONFIG, *STARTED)
    layout.settle_folders()
    current = next(project for project in PROJECTS if project.name == CURRENT)
    return DemoPaths(
        home=home,
        grok_home=layout.grok_home,
        root=str(layout.root),
        cwd=layout.checkout(current),
        workspace=folder_name(current, layout.checkout(current)),
        projects={project.name: layout.checkout(project) for project in PROJECTS},
        environ={
            "HOME": str(home),
            "GROK_HOME": str(layout.grok_home),
            "MEMDECK_STATE": str(own / "state"),
            "MEMDECK_CONFIG": str(own / "config.toml"),
        },
    )
