"""Makes pictures of a lesson's page as GitHub shows it, on a light and on a dark screen.

    python tests/github_page.py LESSON FOLDER [FIGURE]

LESSON is an id such as `start/what-a-tpu-is`. FOLDER gets LESSON-light.png and LESSON-dark.png, of
the page from top to bottom, or of what stands round one figure. GitHub's own stylesheet is not used
here: the one below has its measures and colours. Needs a chromium (Debian: `chromium` or
`chromium-headless-shell`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tpustarter.core import content
from tpustarter.core.content import Lesson

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH, FIGURE_HEIGHT, MOST_HEIGHT = 1012, 900, 16_000
"""Pixels: of the column in which GitHub shows a file, of a picture round a figure, of a page."""
SCHEMES = {"light": 1, "dark": 0}
"""What chromium calls them."""
STYLE = """
:root{--page:#fff;--ink:#1f2328;--quiet:#59636e;--rule:#d1d9e0;--box:#f6f8fa;--link:#0969da;
--inline:#818b981f;--keyword:#cf222e;--string:#0a3069;--name:#6639ba;--number:#0550ae}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--ink:#f0f6fc;--quiet:#9198a1;
--rule:#3d444d;--box:#151b23;--link:#4493f8;--inline:#656c7633;--keyword:#ff7b72;
--string:#a5d6ff;--name:#d2a8ff;--number:#79c0ff}}
*{box-sizing:border-box}
body{margin:0;padding:32px;width:1012px;background:var(--page);color:var(--ink);
font:16px/1.5 -apple-system,BlinkMacSystemFont,"Segoe UI","Noto Sans",Helvetica,Arial,"DejaVu Sans",
sans-serif}
h1,h2,h3{margin:24px 0 16px;line-height:1.25;font-weight:600}
h1,h2{padding-bottom:.3em;border-bottom:1px solid var(--rule)}
h1{font-size:2em}h2{font-size:1.5em}h3{font-size:1.25em}
p,ul,ol,pre,table,details,blockquote{margin:0 0 16px}
ul,ol{padding-left:2em}li+li{margin-top:.25em}
a{color:var(--link)}
img{max-width:100%}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",
"DejaVu Sans Mono",monospace}
code{font-size:85%;padding:.2em .4em;border-radius:6px;background:var(--inline)}
pre{padding:16px;overflow:auto;border-radius:6px;background:var(--box);font-size:13.6px;
line-height:1.45}
pre code{padding:0;background:none;font-size:100%}
table{border-spacing:0;border-collapse:collapse}
th,td{padding:6px 13px;border:1px solid var(--rule)}
tr:nth-child(2n){background:var(--box)}
blockquote{padding:0 1em;color:var(--quiet);border-left:.25em solid var(--rule)}
.k,.kn,.ow,.o{color:var(--keyword)}.s1,.s2,.sd,.sa,.si,.se{color:var(--string)}
.nf,.nc,.fm{color:var(--name)}.mi,.mf,.kc,.nb{color:var(--number)}.c1{color:var(--quiet)}
"""
MEASURE = """<script>addEventListener("load",()=>{
const figure=document.querySelector('img[src*="/NAME."]');
const middle=figure?figure.getBoundingClientRect().top+figure.height/2:0;
const top=Math.max(0,Math.round(middle-450));
if(figure)document.body.style.marginTop=-top+"px";
document.documentElement.dataset.height=document.documentElement.scrollHeight;
})</script>"""
"""Moves a figure to the middle of the picture, and says how high the page is."""


def page(lesson: Lesson, figure: str = "") -> str:
    """Return a lesson as a page; it can be shown with one figure in the middle of the picture."""
    head = "".join(f"<th>{escape(key)}</th>" for key in lesson.header)
    row = "".join(f"<td>{_cell(value)}</td>" for value in lesson.header.values())
    body = MarkdownIt("commonmark", {"highlight": _highlight}).enable("table").render(lesson.text)
    return (
        f'<!doctype html><meta charset="utf-8"><base href="{lesson.path.resolve().as_uri()}">'
        f"<style>{STYLE}</style>{MEASURE.replace('NAME', figure or ' ')}"
        f"<body><table><tr>{head}</tr><tr>{row}</tr></table>{body}</body>"
    )


def _cell(value: Any) -> str:
    """Return the HTML with which GitHub shows one value of a file's header in its table."""
    if isinstance(value, dict):
        return ", ".join(f"{escape(str(key))}: {_cell(one)}" for key, one in value.items())
    return ", ".join(map(_cell, value)) if isinstance(value, list) else escape(str(value))


def _highlight(code: str, language: str, _: str) -> str:
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return ""
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def photograph(address: str, picture: Path, scheme: str, height: int = FIGURE_HEIGHT) -> None:
    """Make a PNG of a page, of so many pixels from its top."""
    _browse(address, scheme, f"--screenshot={picture}", f"--window-size={WIDTH},{height}")


def height_of(address: str) -> int:
    """Return the height of a page in pixels."""
    shown = _browse(address, "light", "--dump-dom", f"--window-size={WIDTH},{FIGURE_HEIGHT}")
    found = re.search(r'data-height="(\d+)"', shown)
    return min(int(found[1]), MOST_HEIGHT) if found else FIGURE_HEIGHT


def _browse(address: str, scheme: str, *arguments: str) -> str:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("no chromium on this machine: install chromium-headless-shell")
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            "--allow-file-access-from-files",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            *arguments,
            address,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def main(lesson_id: str, folder: Path, figure: str = "") -> None:
    """Make both pictures of one lesson."""
    lesson = {one.id: one for one in content.read_lessons()}[lesson_id]
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "page.html"
        file.write_text(page(lesson, figure), encoding="utf-8")
        height = FIGURE_HEIGHT if figure else height_of(file.as_uri())
        for scheme in SCHEMES:
            name = figure or lesson_id.replace("/", "-")
            photograph(file.as_uri(), folder / f"{name}-{scheme}.png", scheme, height)
            print(folder / f"{name}-{scheme}.png")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4])
