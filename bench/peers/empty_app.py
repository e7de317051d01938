"""Peer of starting: a Textual app with nothing in it."""

from __future__ import annotations

from textual.app import App


class EmptyApp(App[None]):
    """Paints its background and waits."""


if __name__ == "__main__":
    EmptyApp().run()
