"""Draws the lessons' figures: `lessons/figures/NAME.svg` of each text figure.

    python tests/figures.py [--check]

`--check` writes nothing, names what is out of date or no sound figure, and exits with 1. Where a
fence says `figure by-hand`, the SVG was drawn by hand: it is kept, and names its text, so that it
is seen when the text has changed:

    <metadata>text 1a2b3c4d</metadata>

The screenshot of a page is a `figure by-hand`, too, and a PNG with this text in a chunk of its own.
"""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tests.support.figure_svg import draw
from tpustarter.core import content, locations
from tpustarter.core.content import Lesson
from tpustarter.learning.content.blocks import Figure, parse_lesson

MOST_COLUMNS = 74
FOLDER = "figures"
_FENCE = re.compile(r"^```figure\b", re.MULTILINE)
_FILE = re.compile(r"\.\./figures/([a-z0-9]+(?:-[a-z0-9]+)*)\.(svg|png)")
_SENTENCE = re.compile(r"\w(?:[^*`_\[\]]*)\.")
_NAMESPACE = "{http://www.w3.org/2000/svg}"


def figures_of(lesson: Lesson) -> list[Figure]:
    """Return the figures of a lesson, in order."""
    return [part.figure for part in parse_lesson(lesson) if part.figure]


def name_of(figure: Figure) -> str:
    """Return the name of a figure's SVG, without the ending; empty where it has none that holds."""
    found = _FILE.fullmatch(figure.file)
    return found[1] if found and (found[2] == "svg" or figure.by_hand) else ""


def caption_of(figure: Figure) -> str:
    """Return the caption in one line."""
    return " ".join(figure.caption.split())


def mark_of(figure: Figure) -> str:
    """Return the mark of a hand-drawn SVG: a hash of the text that it was drawn for."""
    return f"text {hashlib.sha256(figure.text.encode()).hexdigest()[:8]}"


def problems(lessons: list[Lesson], folder: Path) -> list[str]:
    """Return the mistakes in the figures of these lessons and in their SVGs in a folder."""
    found: list[str] = []
    seen: dict[str, str] = {}
    for lesson in lessons:
        figures = figures_of(lesson)
        if len(figures) != len(_FENCE.findall(lesson.text)):
            found.append(f"{lesson.path.name}: a figure stands in no comment right below its image")
        for figure in figures:
            where = f"{lesson.path.parent.name}/{lesson.path.name}:{figure.line}"
            is_page = figure.file.endswith(".png")
            wrong_picture = (_wrong_screenshot if is_page else _wrong_svg)(figure, folder)
            what = [*_wrong_text(figure), *wrong_picture]
            name = name_of(figure)
            if name in seen:
                what.append(f"`{name}` is already the figure of {seen[name]}")
            seen[name] = where
            found += [f"{where}: {one}" for one in what]
    strays = {path.stem for path in folder.glob("*")} - seen.keys()
    return [*found, *(f"{folder.name}/{name}.svg: no lesson shows it" for name in sorted(strays))]


def _wrong_text(figure: Figure) -> Iterator[str]:
    """Yield the mistakes in the lesson's text of a figure."""
    if not name_of(figure):
        yield f"found `{figure.file}`, expected ../figures/NAME.svg, a name such as `two-hosts`"
    if not _SENTENCE.fullmatch(caption_of(figure)) or caption_of(figure).count(" ") < 3:
        yield f"the caption is no sentence: {caption_of(figure)}"
    widest = max(figure.text.split("\n"), key=len)
    if len(widest) > MOST_COLUMNS:
        yield f"{len(widest)} columns, {MOST_COLUMNS} at most: {widest.strip()}"
    odd = {one for one in figure.text if unicodedata.east_asian_width(one) in "WF" or one == "\t"}
    if odd:
        yield f"a character is not one column wide: {''.join(sorted(odd))!a}"


def _wrong_screenshot(figure: Figure, folder: Path) -> Iterator[str]:
    """Yield the reason why the PNG isn't the one of this figure."""
    path = folder / f"{name_of(figure)}.png"
    if not path.is_file():
        yield f"{path.name} is missing: take it again"
    elif mark_of(figure).encode() not in path.read_bytes():
        yield f"{path.name} was taken for another text: look at it, then write `{mark_of(figure)}`"


def _wrong_svg(figure: Figure, folder: Path) -> Iterator[str]:
    """Yield the reason why the SVG isn't the one of this figure."""
    path = folder / f"{name_of(figure)}.svg"
    if not path.is_file():
        yield f"{path.name} is missing: run tests/figures.py"
        return
    drawn = path.read_text(encoding="utf-8")
    if not figure.by_hand:
        if drawn != draw(figure.text, caption_of(figure)):
            yield f"{path.name} is out of date: run tests/figures.py"
        return
    try:
        root = ElementTree.fromstring(drawn)
    except ElementTree.ParseError as error:
        yield f"{path.name} is no XML: {error}"
        return
    if root.findtext(f"{_NAMESPACE}title") != caption_of(figure):
        yield f"{path.name}, drawn by hand, needs the caption as its <title>"
    if root.findtext(f"{_NAMESPACE}metadata") != mark_of(figure):
        mark = f"<metadata>{mark_of(figure)}</metadata>"
        yield f"{path.name} was drawn by hand for another text: look at it, then write {mark}"


def write(lessons: list[Lesson], folder: Path) -> list[str]:
    """Write the SVGs of the lessons' figures; returns the names of those that changed."""
    changed: list[str] = []
    for figure in (one for lesson in lessons for one in figures_of(lesson)):
        path = folder / f"{name_of(figure)}.svg"
        drawn = draw(figure.text, caption_of(figure))
        if not name_of(figure) or figure.by_hand:
            continue
        if not path.is_file() or path.read_text(encoding="utf-8") != drawn:
            folder.mkdir(exist_ok=True)
            path.write_text(drawn, encoding="utf-8")
            changed.append(path.name)
    return changed


def main() -> int:
    """Draw the figures that are out of date, then print the remaining mistakes."""
    lessons = content.read_lessons()
    folder = locations.content_folder("lessons") / FOLDER
    if "--check" not in sys.argv[1:]:
        for name in write(lessons, folder):
            print(f"drew {name}")
    wrong = problems(lessons, folder)
    print("\n".join(wrong) if wrong else "every figure has its SVG")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
