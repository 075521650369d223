"""The figures of the lessons: every figure has an SVG, drawn from its text."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import figures
from tests.support.figure_svg import draw
from tpustarter.core import content, locations
from tpustarter.core.content import Lesson

SVG = "{http://www.w3.org/2000/svg}"
CAPTION = "Two chips send to each other."
TEXT = "┌───┐\n│ 0 │\n└───┘\n"


def lay_out(folder: Path, text: str = TEXT, caption: str = CAPTION, **given: str) -> Lesson:
    """Write a lesson with one figure; return it parsed."""
    words = {"file": "../figures/two-chips.svg", "info": "figure", "between": "\n\n<!--\n"} | given
    path = folder / "lessons" / "jax" / "01-two.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"---\ntitle: Two\n---\n\n# Two\n\n![{caption}]({words['file']}){words['between']}"
        f"```{words['info']}\n{text}```\n-->\n"
    )
    return content.read_lesson(path)


def wrong(lesson: Lesson) -> list[str]:
    """Return the problems with the figures of one lesson."""
    return figures.problems([lesson], lesson.path.parents[1] / "figures")


def draw_all(lesson: Lesson) -> list[str]:
    """Draw the figures of one lesson; return the files written."""
    return figures.write([lesson], lesson.path.parents[1] / "figures")


def test_every_figure_has_its_svg_and_fits() -> None:
    """Every figure has an up-to-date SVG with the text of the terminal."""
    folder = locations.content_folder("lessons") / "figures"

    assert figures.problems(content.read_lessons(), folder) == []


def test_no_svg_reaches_out_or_is_large() -> None:
    """SVGs contain no script, image or link, and are a few KB."""
    for path in (locations.content_folder("lessons") / "figures").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(text).iter()}

        assert not tags & {"script", "image", "foreignObject", "a"}, path.name
        assert not re.search(r"@import|url\((?!#)|(?<!xmlns=\")https?:", text), path.name
        assert "prefers-color-scheme:dark" in text, path.name
        assert len(text) < 24_000, path.name


def test_screenshots_are_small_and_bear_their_text(tmp_path: Path) -> None:
    """PNGs are under 24 KB, and one whose text has changed is reported."""
    pages = [*(locations.content_folder("lessons") / "figures").glob("*.png")]
    assert pages
    assert max(path.stat().st_size for path in pages) < 24_000

    given = {"file": "../figures/two-chips.png", "info": "figure by-hand"}
    lesson = lay_out(tmp_path, **given)
    assert ["jax/01-two.md:7: two-chips.png is missing: take it again"] == wrong(lesson)
    folder = tmp_path / "lessons" / "figures"
    folder.mkdir()
    figure = figures.figures_of(lesson)[0]
    (folder / "two-chips.png").write_bytes(b"PNG " + figures.mark_of(figure).encode())
    assert [] == wrong(lesson)
    assert [] == draw_all(lesson)
    assert "taken for another text" in wrong(lay_out(tmp_path, TEXT.replace("0", "1"), **given))[0]
    assert wrong(lay_out(tmp_path, file=given["file"]))


def test_a_figure_is_drawn_once(tmp_path: Path) -> None:
    """A figure is missing, drawn, then up to date; a changed text or caption outdates it."""
    lesson = lay_out(tmp_path)
    assert [
        "jax/01-two.md:7: two-chips.svg is missing: run tests/figures.py",
    ] == wrong(lesson)

    assert ["two-chips.svg"] == draw_all(lesson)
    assert [] == wrong(lesson)
    assert [] == draw_all(lesson)

    for changed in (
        lay_out(tmp_path, TEXT.replace("0", "1")),
        lay_out(tmp_path, caption="A b c d."),
    ):
        assert ["out of date" in one for one in wrong(changed)] == [True]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "─" * 75 + "\n"}, "75 columns, 74 at most"),
        ({"caption": "Two chips"}, "the caption is no sentence"),
        ({"caption": "See [two](chips) and more."}, "the caption is no sentence"),
        ({"file": "../figures/Two_chips.svg"}, "expected ../figures/NAME.svg"),
        ({"file": "two-chips.svg"}, "expected ../figures/NAME.svg"),
        ({"text": "a\tb\n"}, "not one column wide"),
        ({"text": "図\n"}, "not one column wide"),
        ({"between": "\n\nWords.\n\n<!--\n"}, "in no comment right below its image"),
    ],
)
def test_damaged_figure_is_named(tmp_path: Path, given: dict[str, str], said: str) -> None:
    """Each damage is reported once, with file and line."""
    lesson = lay_out(tmp_path, **given)
    draw_all(lesson)

    found = [one for one in wrong(lesson) if said in one]

    assert len(found) == 1
    assert found[0].startswith(("jax/01-two.md:7: ", "01-two.md: "))


def test_figure_and_svg_belong_to_lesson(tmp_path: Path) -> None:
    """Two figures of one name, and an SVG of no lesson, are reported."""
    lesson = lay_out(tmp_path)
    draw_all(lesson)
    folder = tmp_path / "lessons" / "figures"
    (folder / "stray.svg").write_text("")

    found = figures.problems([lesson, lesson], folder)

    assert [
        "jax/01-two.md:7: `two-chips` is already the figure of jax/01-two.md:7",
        "figures/stray.svg: no lesson shows it",
    ] == found


def test_figure_drawn_by_hand_names_its_text(tmp_path: Path) -> None:
    """A figure drawn by hand is not redrawn, and is reported if its text has changed."""
    lesson = lay_out(tmp_path, info="figure by-hand")
    path = tmp_path / "lessons" / "figures" / "two-chips.svg"
    path.parent.mkdir()
    (figure,) = figures.figures_of(lesson)
    inside = f"<title>{CAPTION}</title><metadata>{figures.mark_of(figure)}</metadata>"
    svg = f'<svg xmlns="{SVG[1:-1]}">{inside}</svg>'
    path.write_text(svg)

    assert [] == draw_all(lesson)
    assert svg == path.read_text()
    assert [] == wrong(lesson)

    assert "for another text" in wrong(lay_out(tmp_path, TEXT * 2, info="figure by-hand"))[0]
    path.write_text(svg.replace("Two", "Three"))
    assert "needs the caption" in wrong(lesson)[0]
    path.write_text(svg[:-3])
    assert "is no XML" in wrong(lesson)[0]


def paths(text: str, kind: str = "line") -> set[str]:
    """Return the path segments of one class in a drawing of a text."""
    found = ElementTree.fromstring(draw(text, CAPTION)).iterfind(f"{SVG}path[@class='{kind}']")
    return {piece for path in found for piece in re.split(r"(?=M)", path.attrib["d"]) if piece}


def test_a_box_is_four_lines_through_its_corners() -> None:
    """Each side of a box is one line between the centres of its corners."""
    assert {
        "M20.5 25.5H56.5",
        "M20.5 63.5H56.5",
        "M20.5 25.5V63.5",
        "M56.5 25.5V63.5",
    } == paths("┌───┐\n│   │\n└───┘")


def test_a_double_box_is_two_boxes() -> None:
    """A double box is an outer and an inner box, and a double cross has four corners."""
    assert {"M18.5 23.5H31.5", "M22.5 27.5H27.5"} <= paths("╔╗\n╚╝")
    assert {"M16 23.5H18.5", "M22.5 23.5H25", "M18.5 16V23.5", "M22.5 27.5V35"} <= paths("╬")


def test_every_character_of_lines_and_blocks_is_drawn() -> None:
    """Characters of lines and blocks are paths inside their cell, not text."""
    for character in map(chr, range(0x2500, 0x25A0)):
        root = ElementTree.fromstring(draw(character, CAPTION))
        drawn = [
            float(place)
            for path in root.iterfind(f"{SVG}path")
            for place in re.findall(r"[MLHV]([\d.]+)", path.attrib["d"])
        ]

        assert root.find(f"{SVG}text") is None, character
        assert drawn, character
        assert 16 <= min(drawn) <= max(drawn) <= 35, character


def test_blocks_are_areas() -> None:
    """Block characters are filled areas of exact width; shades are lighter."""
    assert {"M16 16h22.5v19h-22.5z"} == paths("██▌", "area")
    assert 'opacity="0.5"' in draw("▒", CAPTION)
    assert {"M16 16h18v38h-18z"} == paths("██\n██", "area")


def test_words_have_their_place_whatever_the_font() -> None:
    """Each run of words has its column and width in the SVG, and is escaped."""
    root = ElementTree.fromstring(draw("│ a<b and c  d ≥ 2\n", "Caption of <all>."))
    texts = [
        (one.attrib["x"], one.attrib["textLength"], one.text) for one in root.iter(f"{SVG}text")
    ]

    assert [
        ("34", "81", "a<b and c"),
        ("133", "9", "d"),
        ("151", "9", "≥"),
        ("169", "9", "2"),
    ] == texts
    assert root.findtext(f"{SVG}title") == "Caption of <all>."


def test_an_arrow_continues_its_line() -> None:
    """A line reaches the arrow head without a gap."""
    assert {"M16 25.5H36"} == paths("──→")
    assert {"M20.5 16V46"} == paths("│\n↓")
    assert {"M20.5 16V46"} == paths("│\n▼")
    assert set() == paths("▼")


def test_lines_reach_a_dot() -> None:
    """A chip drawn as a dot is reached by its links, but not by a line that passes it."""
    assert {"M25 25.5H43", "M20.5 30.5V54"} == paths("■──\n│")
    assert {"M16 23.5H25", "M16 27.5H25"} == paths("═■")
    assert {"M29.5 16V35"} == paths("■│")
