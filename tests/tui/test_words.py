"""The list of the words and links of a lesson."""

from __future__ import annotations

from pathlib import Path

from tests.support.tutor import press, run, tutor

LINKS = """# Links

A [word](../glossary.md#word), [one](0002-short.md), [another](0003-measure-and-profile-it-well.md)
and a [page](https://example.com/a/very/long/address/of/a/page).
"""


def test_what_is_said_of_lessons_begins_in_one_column_however_long_their_ids_are(
    tmp_path: Path,
) -> None:
    """The longest one makes the column; a word or an address has no part in it."""
    lessons = {"links": LINKS, "short": "# A\n", "measure-and-profile-it-well": "# B\n"}

    async def journey() -> None:
        async with tutor(tmp_path, lessons=lessons) as pilot:
            lines = (await press(pilot, "enter", "w")).splitlines()
            short = next(line for line in lines if "start/short" in line)
            long = next(line for line in lines if "start/measure-and-profile-it-well" in line)
            assert short.index("Short") == long.index("Measure-And-Profile")
            assert "  word  What is said at once." in "\n".join(lines)

    run(journey)
