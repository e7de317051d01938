"""The command line: the same verbs as the app, plain output on stdout, narration on stderr."""

from __future__ import annotations

from core.cli.entry import main

__all__ = ["main"]
