"""The two themes of memdeck."""

from __future__ import annotations

from textual.theme import Theme

DARK = "memdeck-dark"
LIGHT = "memdeck-light"

MEMDECK_DARK = Theme(
    name=DARK,
    dark=True,
    primary="#5fb0d8",
    secondary="#8fa8bd",
    accent="#5fb0d8",
    foreground="#d8dce3",
    background="#14171c",
    surface="#1b1f26",
    panel="#232831",
    success="#86b97a",
    warning="#d9ab5a",
    error="#e88787",
    variables={
        "text-muted": "#9aa3b0",
        "text-disabled": "#9aa3b0",
        "foreground-muted": "#9aa3b0",
        "border": "#5fb0d8",
        "border-blurred": "#3d4552",
        "block-cursor-background": "#1b3341",
        "block-cursor-foreground": "#f2f5f8",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#20262f",
        "block-cursor-blurred-foreground": "#d8dce3",
        "block-hover-background": "#20252d",
        "input-selection-background": "#5fb0d8 35%",
        "input-cursor-background": "#5fb0d8",
        "input-cursor-foreground": "#14171c",
        "footer-key-foreground": "#d8dce3",
        "scrollbar": "#3d4552",
        "scrollbar-hover": "#56606f",
        "scrollbar-active": "#5fb0d8",
        "scrollbar-background": "#14171c",
        "scrollbar-background-hover": "#14171c",
        "scrollbar-background-active": "#14171c",
        "scrollbar-corner-color": "#14171c",
    },
)

MEMDECK_LIGHT = Theme(
    name=LIGHT,
    dark=False,
    primary="#0b6390",
    secondary="#4d6273",
    accent="#0b6390",
    foreground="#22272e",
    background="#fbfaf7",
    surface="#f1f0ec",
    panel="#e7e6e1",
    success="#2f6b2a",
    warning="#7a5200",
    error="#a32727",
    variables={
        "text-muted": "#535c67",
        "text-disabled": "#5c6570",
        "foreground-muted": "#535c67",
        "border": "#0b6390",
        "border-blurred": "#bdbbb2",
        "block-cursor-background": "#dcebf4",
        "block-cursor-foreground": "#10202b",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#eeede9",
        "block-cursor-blurred-foreground": "#22272e",
        "block-hover-background": "#efeee9",
        "input-selection-background": "#0b6390 25%",
        "input-cursor-background": "#0b6390",
        "input-cursor-foreground": "#fbfaf7",
        "footer-key-foreground": "#22272e",
        "scrollbar": "#c6c4bb",
        "scrollbar-hover": "#a9a79d",
        "scrollbar-active": "#0b6390",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-background-hover": "#fbfaf7",
        "scrollbar-background-active": "#fbfaf7",
        "scrollbar-corner-color": "#fbfaf7",
    },
)

THEMES = (MEMDECK_DARK, MEMDECK_LIGHT)
