"""The outlines of the five source documents, and where lessons teach their points.

`python -m tests.lessons.test_coverage` prints the table and its totals.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tpustarter.core import content
from tpustarter.learning.content import blocks, exercises, markdown, tutorial_claims
from tpustarter.learning.content.paths import read_paths

COUNTS = {"000": 14, "001": 29, "002": 10, "003": 14, "004": 10}
"""Points of the outline of each source document."""


def read() -> list[dict[str, Any]]:
    """Return all points, in order."""
    file = Path(__file__).with_name("coverage.yml")
    return content.read_yaml(file.read_text(encoding="utf-8"))


def table() -> str:
    """Return the table, with a line for each place that teaches a point."""
    lines = []
    for point in read():
        item, about = point["item"], point["about"]
        for place in point["taught"]:
            lines.append(f"{item:<13} {about:<74.74} {place}".rstrip())
            item = about = ""
    return "\n".join(lines)


def test_each_point_stands_once() -> None:
    """Every point of each document is listed once and taught somewhere."""
    points = read()

    assert Counter(one["item"] for one in points).most_common(1)[0][1] == 1
    assert Counter(one["item"][:3] for one in points) == COUNTS
    for one in points:
        assert {"item", "about", "taught"} == set(one), one
        assert one["taught"], one


def test_each_point_is_taught_at_named_heading() -> None:
    """Every lesson and heading that a point names exists."""
    headings = {one.id: markdown.list_anchors(one.text) for one in content.read_lessons()}
    for point in read():
        for place in point["taught"]:
            lesson, _, heading = place.partition("#")

            assert heading in headings.get(lesson, ()), f"{point['item']}: {place}"


def test_the_table_has_every_point_and_place() -> None:
    """The printed table contains every point and every place that teaches it."""
    printed = table()

    for point in read():
        assert point["item"] in printed
        assert all(place in printed for place in point["taught"])


def figures() -> str:
    """Return the totals of lessons, blocks, questions and the rest, one per line."""
    lessons = content.read_lessons()
    parts = [part for one in lessons for part in blocks.parse_lesson(one)]
    claims = tutorial_claims.read_claims()
    minutes = sum(one.header["minutes"] for one in lessons)
    proven = sum(bool(one.proof) for one in claims)
    return "\n".join([
        f"{len(lessons)} lessons, {minutes} minutes",
        f"{sum(one.kind == 'block' for one in parts)} blocks that run",
        f"{sum(one.kind == 'quiz' for one in parts)} questions",
        f"{sum(len(exercises.read_exercises(one)) for one in lessons)} exercises",
        f"{len(read_paths())} paths",
        f"{len(claims)} claims of older tutorials: {proven} proven by code, the rest by a source",
    ])  # fmt: skip


if __name__ == "__main__":
    print(table(), figures(), sep="\n\n")
