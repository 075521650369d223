"""A screenshot as a small SVG, with local fonts and short names."""

from __future__ import annotations

import re

from tpustarter.tui.app.app import TpustarterApp

_FONT = re.compile(r"\s*@font-face \{[^}]*\}")
_NAME = re.compile(r"terminal-\d+-")
_SPACE = re.compile(r">\s+<")


def screenshot(app: TpustarterApp, prefix: str = "t-") -> str:
    """Return the screen as an SVG; the prefix makes its names differ from another SVG's."""
    svg = app.export_screenshot(title="tpustarter")
    svg = _FONT.sub("", svg).replace("Fira Code, monospace", "ui-monospace, Menlo, monospace")
    return _SPACE.sub("><", _NAME.sub(prefix, svg)).replace("&#160;", "\u00a0") + "\n"
