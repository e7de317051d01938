"""Pictures of the lab, wide and in a middle width, with a trial that moves rows and one judged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tui.driving import settle
from tests.tui.lab_memory import LabMemory, chunk, enter_lab, select
from tui.app import MemdeckApp

pytestmark = [pytest.mark.snapshot, pytest.mark.xdist_group("snapshots")]


async def a_trial(pilot: Any) -> None:
    lab = await enter_lab(pilot, "token")
    await select(pilot, lab, "min_score")
    await pilot.press(*["left"] * 6)
    await select(pilot, lab, "source_weights.session")
    await pilot.press(*["right"] * 3)
    await settle(pilot)
    lab.trial_side.results.move_to(chunk(2))
    await settle(pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_lab(snap_compare, size) -> None:
    memory = LabMemory()
    memory.verdicts = {chunk(2): True}
    assert snap_compare(MemdeckApp(lambda: memory), terminal_size=size, run_before=a_trial)
