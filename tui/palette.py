"""The command palette: every action of the registry, every pane key's twin, and every workspace to go to."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher
from textual.markup import escape

from tui.actions import ACTIONS, EVERYWHERE, QUIT, Action
from tui.text import clean


class Palette(CommandPalette):
    """Textual's, which ends the app when a page is turned before its list was drawn."""

    BINDINGS = [QUIT]

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError, IndexError):  # no line is drawn yet: there is nothing to turn to
            super()._action_command_list(action)


class ActionProvider(Provider):
    """Lists the actions of the screen as ``area: Verb`` with their keys."""

    def _entries(self) -> list[tuple[str, str, Callable[[], Any]]]:
        return [
            (action.title, self._help(action), partial(self._run, action)) for action in self._actions()
        ] + [(f"Go: {clean(name)}", "Search in this workspace.", go) for name, go in self._workspaces()]

    def _actions(self) -> tuple[Action, ...]:
        """The registry's, or those of a screen that has its own; what works everywhere is always there."""
        own: tuple[Action, ...] | None = getattr(self.screen, "actions", None)
        if own is None:
            return ACTIONS
        return (*own, *(action for action in ACTIONS if action.id in EVERYWHERE))

    def _help(self, action: Action) -> str:
        key_of = getattr(self.screen, "key_of", None)
        key = key_of(action.id) if key_of else ""
        return escape(f"{key}  {action.help}" if key else action.help)

    async def _run(self, action: Action) -> None:
        namespace = self.app if action.id in EVERYWHERE else self.screen
        await namespace.run_action(action.run)

    def _workspaces(self) -> list[tuple[str, Callable[[], Any]]]:
        workspaces = getattr(self.screen, "workspaces_to_go", None)
        return workspaces() if workspaces else []

    async def discover(self) -> Hits:
        for title, help_text, command in self._entries():
            yield DiscoveryHit(Content(title), command, text=title, help=help_text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, help_text, command in self._entries():
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, _lit(matcher, query, title), command, text=title, help=help_text)


class ThemeProvider(Provider):
    """Lists the themes; a dot stands before the one in use."""

    def _entries(self) -> list[tuple[str, str, Callable[[], None]]]:
        now = self.app.theme
        return [
            (name, "● " if name == now else "  ", partial(self._use, name))
            for name in sorted(self.app.available_themes)
        ]

    def _use(self, name: str) -> None:
        self.app.theme = name

    async def discover(self) -> Hits:
        for name, mark, command in self._entries():
            yield DiscoveryHit(Content(mark + name), command, text=name)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, mark, command in self._entries():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, _lit(matcher, query, name, mark), command, text=name)


def _lit(matcher: Matcher, query: str, title: str, mark: str = "") -> Content:
    """The title with the letters that match lit.

    Never by matcher.highlight(): it reads the title as markup, and a folder's name is stored text.
    """
    _, offsets = matcher.fuzzy_search.match(query, title)
    shown = Content(title)
    for offset in offsets:
        shown = shown.stylize("bold underline", offset, offset + 1)
    return Content.assemble(mark, shown)
