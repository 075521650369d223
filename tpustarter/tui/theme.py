"""The terminal's own colours: right on a light and on a dark background, gone with NO_COLOR."""

from __future__ import annotations

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
        "border": _DEFAULT,
        "border-blurred": "ansi_bright_black",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
        "block-cursor-text-style": "bold underline",
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
    },
)
