"""The themes: one for dark terminals, one for light ones, and one with the terminal's colours.

Colours never carry information that the text does not. The dark and the light theme paint their own
background, so they look right on every terminal with 256 colours. On a terminal with fewer colours
the terminal's own are used.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

_DEFAULT = "ansi_default"

TERMINAL = Theme(
    "terminal",
    ansi=True,
    primary=_DEFAULT,
    secondary=_DEFAULT,
    accent=_DEFAULT,
    foreground=_DEFAULT,
    background=_DEFAULT,
    surface=_DEFAULT,
    panel=_DEFAULT,
    boost=_DEFAULT,
    success="ansi_green",
    warning="ansi_yellow",
    error="ansi_red",
    variables={
        "ansi-background": _DEFAULT,
        "ansi-foreground": _DEFAULT,
        "surface": _DEFAULT,  # Textual (8.2.8) makes both transparent otherwise
        "panel": _DEFAULT,
        "border": _DEFAULT,
        "border-blurred": "ansi_bright_black",
        "block-cursor-foreground": _DEFAULT,
        "block-cursor-background": _DEFAULT,
        "block-cursor-text-style": "none",
        "block-cursor-blurred-foreground": _DEFAULT,
        "block-cursor-blurred-background": _DEFAULT,
        "block-cursor-blurred-text-style": "bold",
        "block-hover-background": _DEFAULT,
        "input-cursor-background": _DEFAULT,
        "input-cursor-foreground": _DEFAULT,
        "input-cursor-text-style": "reverse",
        "input-selection-background": "ansi_cyan",
        "input-selection-foreground": "ansi_black",
        "screen-selection-background": "ansi_cyan",
        "screen-selection-foreground": "ansi_black",
        "scrollbar": "ansi_bright_black",
        "scrollbar-hover": "ansi_bright_black",
        "scrollbar-active": "ansi_bright_black",
        "scrollbar-background": _DEFAULT,
        "scrollbar-background-hover": _DEFAULT,
        "scrollbar-background-active": _DEFAULT,
        "scrollbar-corner-color": _DEFAULT,
        "muted": "$muted",
        "muted-colour": "ansi_bright_black",  # for style sheets, which need a colour, not a style
        "key": _DEFAULT,
        "code": "ansi_cyan",
        "label": "ansi_cyan",
        "pass": "ansi_green",
        "pass-ground": _DEFAULT,
        "warn": "ansi_yellow",
        "warn-ground": _DEFAULT,
        "fail": "ansi_red",
        "fail-ground": _DEFAULT,
        "broken": "ansi_magenta",
        "broken-ground": _DEFAULT,
        "keyword": "ansi_magenta",
        "string": "ansi_green",
        "number": "ansi_cyan",
    },
)


def _painted(name: str, *, dark: bool, colours: Mapping[str, str]) -> Theme:
    return Theme(
        name,
        dark=dark,
        primary=colours["accent"],
        secondary=colours["muted"],
        accent=colours["accent"],
        foreground=colours["text"],
        background=colours["ground"],
        surface=colours["surface"],
        panel=colours["panel"],
        boost=colours["surface"],
        success=colours["pass"],
        warning=colours["warn"],
        error=colours["fail"],
        variables={
            **{name: colour for name, colour in colours.items() if name not in _OURS},
            "key": colours["accent"],
            "muted-colour": colours["muted"],
            "code": colours["number"],
            "border": colours["accent"],
            "border-blurred": colours["border"],
            "block-cursor-background": colours["marked"],
            "block-cursor-foreground": colours["marked-text"],
            "block-cursor-text-style": "none",
            "block-cursor-blurred-background": colours["surface"],
            "block-cursor-blurred-foreground": colours["text"],
            "block-cursor-blurred-text-style": "bold",
            "block-hover-background": colours["surface"],
            "input-cursor-background": colours["accent"],
            "input-cursor-foreground": colours["ground"],
            "input-cursor-text-style": "none",
            "input-selection-background": colours["marked"],
            "input-selection-foreground": colours["marked-text"],
            "screen-selection-background": colours["marked"],
            "screen-selection-foreground": colours["marked-text"],
            "scrollbar": colours["border"],
            "scrollbar-hover": colours["border"],
            "scrollbar-active": colours["border"],
            "scrollbar-background": colours["ground"],
            "scrollbar-background-hover": colours["ground"],
            "scrollbar-background-active": colours["ground"],
            "scrollbar-corner-color": colours["ground"],
        },
    )


_OURS = ("accent", "text", "ground", "surface", "panel", "border", "marked", "marked-text")
"""Names above for which Textual has its own names."""

# With 256 colours, Rich maps a colour of low saturation to the nearest grey, and others to the
# nearest of the 6 x 6 x 6 cube. These values keep the highlighted row navy and warnings off red.
DARK = _painted(
    "tpustarter-dark",
    dark=True,
    colours={
        "ground": "#141319",
        "surface": "#1c1b23",
        "panel": "#24212c",
        "border": "#4d4860",
        "text": "#dcd9e4",
        "muted": "#a09bb0",
        "accent": "#b8a4ff",
        "label": "#7fc4bd",
        "marked": "#2f2d5c",
        "marked-text": "#ffffff",
        "pass": "#74cf94",
        "pass-ground": "#15301f",
        "warn": "#ecbd5c",
        "warn-ground": "#2f280f",
        "fail": "#ff9a96",
        "fail-ground": "#4a1c1f",
        "broken": "#f49bd0",
        "broken-ground": "#46203a",
        "keyword": "#f0a3cb",
        "string": "#93d3a2",
        "number": "#7fd0de",
    },
)
LIGHT = _painted(
    "tpustarter-light",
    dark=False,
    colours={
        "ground": "#fcfbfe",
        "surface": "#f3f1f8",
        "panel": "#e9e7ed",
        "border": "#b3adc2",
        "text": "#211e2b",
        "muted": "#5a5465",
        "accent": "#5b2fc4",
        "label": "#0f6a63",
        "marked": "#e2daff",
        "marked-text": "#170d33",
        "pass": "#17693a",
        "pass-ground": "#dcf3e4",
        "warn": "#7d5200",
        "warn-ground": "#fbedc9",
        "fail": "#a8211a",
        "fail-ground": "#fbe0dd",
        "broken": "#97206b",
        "broken-ground": "#fbe0f1",
        "keyword": "#97206b",
        "string": "#17693a",
        "number": "#00616f",
    },
)

CHOICES = {"dark": DARK, "light": LIGHT, "terminal": TERMINAL}
"""The themes offered in the settings."""
NO_COLOURS = "none"
COLOURS = {
    "": "automatic: dark or light, as your terminal reports it",
    "dark": "dark",
    "light": "light",
    "terminal": "the terminal's own 16 colours",
}
"""The descriptions of the choices except `NO_COLOURS`; "" chooses by the terminal."""


def choose_theme(
    color_system: str | None, env: Mapping[str, str], *, on_light: bool | None
) -> Theme:
    """Choose the theme for a terminal.

    Args:
        color_system: Rich's name, such as `truecolor`, `256` or `standard`, or None for no colours.
        env: The environment; `COLORFGBG` ends with the number of the background colour.
        on_light: Whether the terminal's background is light, or None if it is not known.
    """
    if color_system not in ("truecolor", "256"):
        return TERMINAL
    if on_light is None:
        on_light = env.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    return LIGHT if on_light else DARK
