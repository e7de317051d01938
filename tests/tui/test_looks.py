"""Themes and styles: AA contrast, theme variables only, readable in 16 colours and in none."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from textual.color import Color

import styles
from core.settings import Settings, UiSettings
from core.settings.model import THEMES as NAMES
from tests.tui.driving import screen, settle, told, typed
from tui.themes import DARK, LIGHT, THEMES

SHEETS = sorted(Path(styles.__file__).parent.glob("*.tcss"))
OURS = [*SHEETS, *sorted((Path(styles.__file__).parent.parent / "tui").rglob("*.py"))]
AA = 4.5


def contrast(text: Color, ground: Color) -> float:
    """The WCAG ratio."""

    def luminance(color: Color) -> float:
        parts = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in (color.r / 255, color.g / 255, color.b / 255)
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(text), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_text_colour_has_aa_contrast_on_every_ground(theme) -> None:
    colors = theme.to_color_system().generate()
    texts = (
        "foreground",
        "text-muted",
        "text-disabled",
        "text-success",
        "text-warning",
        "text-error",
        "accent",
        "border",
    )
    grounds = ("background", "surface", "block-cursor-blurred-background")
    for text, ground in product(texts, grounds):
        ratio = contrast(Color.parse(colors[text]), Color.parse(colors[ground]))
        assert ratio >= AA, (theme.name, text, ground, round(ratio, 2))
    pairs = (
        ("block-cursor-foreground", "block-cursor-background"),
        ("accent", "block-cursor-background"),
        ("input-cursor-foreground", "input-cursor-background"),
        ("background", "border"),
    )
    for text, ground in pairs:
        assert contrast(Color.parse(colors[text]), Color.parse(colors[ground])) >= AA, (
            theme.name,
            text,
            ground,
        )


def sheets() -> list[tuple[str, str]]:
    found = []
    for path in OURS:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            text = "\n".join(re.findall(r'DEFAULT_CSS = """(.*?)"""', text, re.DOTALL))
        found.append((path.name, re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))
    return found


def test_styles_use_theme_variables_only() -> None:
    for name, text in sheets():
        for prop, value in re.findall(r"([a-z-]*(?:color|background|border[a-z-]*)):\s*([^;]+);", text):
            if "title-style" in prop or "title-align" in prop:
                continue
            words = [word for word in value.split() if not word.startswith("$")]
            plain = {"none", "round", "solid", "outer", "hkey", "blank", "auto"}
            assert all(word in plain or word.endswith("%") for word in words), (name, prop, value)


def test_no_universal_selector_meets_a_pseudo_class() -> None:
    for name, text in sheets():
        assert not re.search(r"(^|[\s>,])\*\s*(:|\{[^}]*&:)", text), name


async def test_the_theme_of_the_settings_is_used_and_an_unknown_one_is_said(app, memory) -> None:
    memory.settings = Settings(ui=UiSettings(theme=LIGHT))
    async with app.run_test(size=(120, 40)) as pilot:
        assert app.theme == DARK
        await settle(pilot)
        assert app.theme == LIGHT


async def test_an_unknown_theme_keeps_the_one_there_is(app, memory) -> None:
    memory.settings = Settings(ui=UiSettings(theme="midnight[/]"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert app.theme == DARK
        assert "There is no theme midnight[/]" in told(app)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "nord", LIGHT])
async def test_every_theme_draws_the_same_words(app, theme) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await typed(pilot, "token")
        await settle(pilot)
        words = screen(app)
        app.theme = theme
        await settle(pilot)
        assert screen(app) == words


async def test_focus_shows_without_colour(app) -> None:
    """The cursor's edge, the bold title and the prompt are glyphs or weights; none of them is colour alone."""
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("1")
        await settle(pilot)
        assert "▌▾widgets" in screen(app)


async def test_the_settings_know_every_theme_of_the_app(app) -> None:
    assert sorted(app.available_themes) == sorted(NAMES)
