"""Draws the lessons' figures: `lessons/figures/NAME.svg` of each text figure.

    python tests/figures.py [--check]

`--check` writes nothing, names what is out of date or no sound figure, and exits with 1. Where a
fence says `figure by-hand`, the SVG was drawn by hand: it is kept, and names its text, so that it
is seen when the text has changed:

    <metadata>text 1a2b3c4d</metadata>
"""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.support.figure_svg import draw
from tpustarter import content, locations
from tpustarter.content import Lesson

MOST_COLUMNS = 74
FOLDER = "figures"
_FIGURE = re.compile(
    r"^!\[(?P<caption>[^\n]*)\]\((?P<file>[^)\s]*)\)\n\n"
    r"<!--\n```figure(?P<by_hand> by-hand)?\n(?P<text>.*?\n)```\n-->$",
    re.DOTALL | re.MULTILINE,
)
_FENCE = re.compile(r"^```figure\b", re.MULTILINE)
_FILE = re.compile(r"\.\./figures/([a-z0-9]+(?:-[a-z0-9]+)*)\.svg")
_SENTENCE = re.compile(r"[A-Z0-9](?:[^*`_\[\]]*)\.")
_NAMESPACE = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Figure:
    """One figure of a lesson."""

    where: str
    """File and line of its image."""
    caption: str
    file: str
    """Its SVG as the lesson names it."""
    text: str
    is_by_hand: bool

    @property
    def name(self) -> str:
        """Return the name of its SVG, without the ending; empty where it has none that holds."""
        found = _FILE.fullmatch(self.file)
        return found[1] if found else ""

    @property
    def mark(self) -> str:
        """Return what an SVG drawn by hand says of the text that it was drawn for."""
        return f"text {hashlib.sha256(self.text.encode()).hexdigest()[:8]}"


def figures_of(lesson: Lesson) -> Iterator[Figure]:
    """Yield the figures of a lesson, in order."""
    for found in _FIGURE.finditer(lesson.text):
        line = lesson.first_line + lesson.text.count("\n", 0, found.start())
        where = f"{lesson.path.parent.name}/{lesson.path.name}:{line}"
        by_hand = bool(found["by_hand"])
        yield Figure(where, found["caption"], found["file"], found["text"], by_hand)


def problems(lessons: list[Lesson], folder: Path) -> list[str]:
    """Return what is wrong with the figures of these lessons, or with their SVGs in a folder."""
    found: list[str] = []
    seen: dict[str, str] = {}
    for lesson in lessons:
        figures = list(figures_of(lesson))
        if len(figures) != len(_FENCE.findall(lesson.text)):
            found.append(f"{lesson.path.name}: a figure stands in no comment right below its image")
        for figure in figures:
            what = [*_wrong_text(figure), *_wrong_svg(figure, folder)]
            if figure.name in seen:
                what.append(f"`{figure.name}` is already the figure of {seen[figure.name]}")
            seen[figure.name] = figure.where
            found += [f"{figure.where}: {one}" for one in what]
    strays = {path.stem for path in folder.glob("*")} - seen.keys()
    return [*found, *(f"{folder.name}/{name}.svg: no lesson shows it" for name in sorted(strays))]


def _wrong_text(figure: Figure) -> Iterator[str]:
    """Yield what the lesson says wrong."""
    if not figure.name:
        yield f"found `{figure.file}`, expected ../figures/NAME.svg, a name such as `two-hosts`"
    if not _SENTENCE.fullmatch(figure.caption) or figure.caption.count(" ") < 3:
        yield f"the caption is no sentence: {figure.caption}"
    widest = max(figure.text.split("\n"), key=len)
    if len(widest) > MOST_COLUMNS:
        yield f"{len(widest)} columns, {MOST_COLUMNS} at most: {widest.strip()}"
    odd = {one for one in figure.text if unicodedata.east_asian_width(one) in "WF" or one == "\t"}
    if odd:
        yield f"a character is not one column wide: {''.join(sorted(odd))!a}"
    if "-->" in figure.text:
        yield "`-->` ends the comment for GitHub: draw ──→"


def _wrong_svg(figure: Figure, folder: Path) -> Iterator[str]:
    """Yield why the SVG is not the one of this figure."""
    path = folder / f"{figure.name}.svg"
    if not path.is_file():
        yield f"{path.name} is missing: run tests/figures.py"
        return
    drawn = path.read_text(encoding="utf-8")
    if not figure.is_by_hand:
        if drawn != draw(figure.text, figure.caption):
            yield f"{path.name} is out of date: run tests/figures.py"
        return
    try:
        root = ElementTree.fromstring(drawn)
    except ElementTree.ParseError as error:
        yield f"{path.name} is no XML: {error}"
        return
    if root.findtext(f"{_NAMESPACE}title") != figure.caption:
        yield f"{path.name}, drawn by hand, needs the caption as its <title>"
    if root.findtext(f"{_NAMESPACE}metadata") != figure.mark:
        mark = f"<metadata>{figure.mark}</metadata>"
        yield f"{path.name} was drawn by hand for another text: look at it, then write {mark}"


def write(lessons: list[Lesson], folder: Path) -> list[str]:
    """Write the SVGs of the lessons' figures; returns the names of those that changed."""
    changed: list[str] = []
    for figure in (one for lesson in lessons for one in figures_of(lesson)):
        path = folder / f"{figure.name}.svg"
        drawn = draw(figure.text, figure.caption)
        if not figure.name or figure.is_by_hand:
            continue
        if not path.is_file() or path.read_text(encoding="utf-8") != drawn:
            folder.mkdir(exist_ok=True)
            path.write_text(drawn, encoding="utf-8")
            changed.append(path.name)
    return changed


def main() -> int:
    """Draw what is out of date, then say what is wrong."""
    lessons = content.read_lessons()
    folder = locations.content("lessons") / FOLDER
    if "--check" not in sys.argv[1:]:
        for name in write(lessons, folder):
            print(f"drew {name}")
    wrong = problems(lessons, folder)
    print("\n".join(wrong) if wrong else "every figure has its SVG")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
