"""The app: wiring only.  Themes, keys, palette and the one screen; what happens lives in screens and panes."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.dom import DOMNode

import styles
from tui.actions import APP_BINDINGS
from tui.messages import MemoryOpened, OpenFailed
from tui.screens.opening import OpeningScreen
from tui.text import clean_lines
from tui.themes import DARK, THEMES

if TYPE_CHECKING:
    from textual.command import Provider

    from core.memory import Memory
    from tui.screens.main import MainScreen
    from tui.session import Session


def _palette() -> type[Provider]:
    from tui.palette import ActionProvider  # loaded when the palette is first opened

    return ActionProvider


class MemdeckApp(App[int], inherit_bindings=False):
    """``memory_factory`` is called in a thread after the first paint; it may take its time and may fail."""

    TITLE = "memdeck"
    BINDINGS: ClassVar[list[BindingType]] = [*APP_BINDINGS]
    COMMANDS = {_palette}
    CSS_PATH = Path(styles.__file__).parent / "base.tcss"
    ENABLE_COMMAND_PALETTE = True
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, memory_factory: Callable[[], Memory], *, demo: bool = False) -> None:
        super().__init__()
        self._factory = memory_factory
        self._session: Session | None = None
        self.demo = demo
        self.rebound: dict[str, str] = {}
        self.animation_level = "none"
        for theme in THEMES:
            self.register_theme(theme)
        if not os.environ.get("TEXTUAL_THEME"):
            self.theme = DARK

    @property
    def session(self) -> Session:
        """What is asked of the memory, and how."""
        if self._session is None:
            from tui.session import Session

            self._session = Session(self._factory)
        return self._session

    # The first paint, and then the rest

    def get_default_screen(self) -> OpeningScreen:
        return OpeningScreen()

    def on_ready(self) -> None:
        self._enter()

    @work(group="enter", description="load the main screen")
    async def _enter(self) -> None:
        def load() -> type[MainScreen]:
            from tui.screens.main import MainScreen

            return MainScreen

        main = await asyncio.to_thread(load)
        opening = self.screen
        await self.push_screen(main(self.session, demo=self.demo))
        if isinstance(opening, OpeningScreen):
            for key in opening.pressed:
                self.post_message(events.Key(key.key, key.character))

    @on(MemoryOpened)
    def _memory_opened(self, event: MemoryOpened) -> None:
        if event.first:
            self._apply_settings(event.memory)
            # Modules and widgets live as long as the app, and every drawn line holds a dozen small objects.
            # Looked through in full as often as Python does by itself, they make a pause every few keys.
            gc.freeze()
            gc.set_threshold(2_000, 10, 100)
            # A search computes in a thread beside the loop, which must not wait 5 ms for its turn.
            sys.setswitchinterval(0.001)

    def _apply_settings(self, memory: Memory) -> None:
        """Take theme and keys from the settings; what is wrong in them is said, and the rest is used."""
        from tui.keymap import usable_keymap

        settings = memory.settings
        for problem in settings.problems:
            self._complain(str(problem), "Settings")
        if settings.ui.theme in self.available_themes:
            self.theme = settings.ui.theme
        else:
            self._complain(f"There is no theme {settings.ui.theme}; t lists them.", "Settings")
        self.rebound, complaints = usable_keymap(settings.keys)
        for complaint in complaints:
            self._complain(f"{settings.own_file}: {complaint}" if settings.own_file else complaint, "Keys")
        self.set_keymap(self.rebound)

    @on(OpenFailed)
    def _open_failed(self, event: OpenFailed) -> None:
        error = event.error
        said = "\n".join(clean_lines(part) for part in (str(error), error.data, error.hint) if part)
        self.exit(error.exit_code, return_code=error.exit_code, message=f"memdeck: {said}")

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: DOMNode) -> None:
        """Nothing to say here: clashes were found and told when the settings were read."""

    def _complain(self, text: str, title: str) -> None:
        self.notify(clean_lines(text), title=title, severity="warning", markup=False, timeout=8)

    def action_command_palette(self) -> None:
        from tui.palette import Palette

        if not any(isinstance(screen, Palette) for screen in self.screen_stack):
            self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        from tui.palette import Palette, ThemeProvider

        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def action_quit_app(self) -> None:
        self.exit(0)

    async def on_unmount(self) -> None:
        # A search or an indexing still running in its thread is stopped, or leaving would wait for it.
        if self._session is not None:
            await asyncio.shield(self._session.close())


def run(memory_factory: Callable[[], Memory], *, demo: bool = False) -> int:
    """Run the app until the person leaves; return the exit code (0, or that of an error at the start)."""
    app = MemdeckApp(memory_factory, demo=demo)
    app.run()
    return app.return_code or 0
