"""A run's report as a piece of HTML, which notebooks show in place of plain text."""

from __future__ import annotations

import html
import re
from pathlib import Path

from tpustarter.checking.output.results_text import format_opening, render_results
from tpustarter.checking.results.results import Run
from tpustarter.core import locations

_COLOURS = {
    "fail": "#d33c3c",
    "error": "#b04ac0",
    "notrun": "#b04ac0",
    "warn": "#b58900",
    "pass": "#2f9e44",
    "skip": "#868e96",
}
"""Colours that can be read on a white page and on a dark one."""
_START, _END = "\ue010", "\ue011"
"""Marks around a painted word, which no report contains: private characters are escaped in it."""
_WORD = re.compile(f"{_START}(\\w+) (.*?){_END}")


def render_html(run: Run, *, verbose: bool = False) -> str:
    """Return the report as one `pre` element, with coloured words and no script or style sheet."""
    text = render_results(
        run,
        verbose=verbose,
        fold_passes=True,
        paint=lambda word, status: f"{_START}{status} {word}{_END}",
    )
    body = _WORD.sub(
        lambda word: f'<b style="color: {_COLOURS.get(word[1], "inherit")}">{word[2]}</b>',
        html.escape(f"{format_opening(run)}\n\n{text}", quote=False),
    )
    # A notebook's own style would give it another font.
    return f'<pre style="font-family: monospace; white-space: pre-wrap">{body}</pre>\n'


def write_html(run: Run, path: Path, *, verbose: bool = False) -> None:
    """Write the report to a file; raises Problem if it cannot be written."""
    locations.write_user_file(path, render_html(run, verbose=verbose))
