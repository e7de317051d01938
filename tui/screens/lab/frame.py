"""A framed part of the lab: the main screen's frame with the lab's own places."""

from __future__ import annotations

from typing import cast

from tui.actions import Place
from tui.screens.lab.keys import LAB_PLACES, LAB_TITLES, LabPlace
from tui.widgets.pane import Pane


class LabPane(Pane):
    """``place`` is one of :data:`tui.screens.lab.keys.LAB_PLACES`."""

    TITLES = cast("dict[Place, str]", LAB_TITLES)
    ORDER = cast("tuple[Place, ...]", LAB_PLACES)

    def __init__(self, place: LabPlace) -> None:
        super().__init__(cast("Place", place), LAB_TITLES[place])

    @property
    def lab_place(self) -> LabPlace:
        return cast("LabPlace", self.place)

    def show_tabs(self, tabs: tuple[LabPlace, ...]) -> None:
        """Show these panes as tabs in the frame, if this one is among them."""
        self.set_tabs(cast("tuple[Place, ...]", tabs) if self.lab_place in tabs else ())

    def say_title(self, more: str) -> None:
        """Name the pane, and perhaps say more."""
        self.set_title(f"{LAB_TITLES[self.lab_place]} · {more}" if more else LAB_TITLES[self.lab_place])
