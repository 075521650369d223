"""The lines of a live view as styled text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.content import Content

from tpustarter.text.terminal import Paint
from tpustarter.tui.kit.text_layout import style_lines

STYLES = {"sentence": "bold $key", "missing": "bold $warn"}
"""The style of a line by its status."""


def paint_frame(render: Callable[[Paint], Iterable[str]]) -> Content:
    """Return the lines that `render` makes with a function that marks a line with its status."""
    styled = dict[str, str]()

    def paint(line: str, status: str) -> str:
        styled[line] = STYLES[status]
        return line

    lines = [*render(paint)]
    return Content("\n").join(style_lines(line).stylize(styled.get(line, "")) for line in lines)
