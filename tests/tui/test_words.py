"""The list of a lesson's glossary words and links."""

from __future__ import annotations

import re
from pathlib import Path

from textual.pilot import Pilot

from tests.support.tutor import on_screen, press, tutor, until

LINKS = """# Links

A [word](../glossary.md#word), [one](0002-short.md), [another](0003-measure-and-profile-it-well.md)
and a [page](https://example.com/a/very/long/address/of/a/page).
"""


async def test_link_descriptions_align_beside_longest_id(tmp_path: Path) -> None:
    """Descriptions align beside the longest id; words and addresses do not count."""
    lessons = {"links": LINKS, "short": "# A\n", "measure-and-profile-it-well": "# B\n"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        lines = (await press(pilot, "enter", "w")).splitlines()
        short = next(line for line in lines if "start/short" in line)
        long = next(line for line in lines if "start/measure-and-profile-it-well" in line)
        assert short.index("Short") == long.index("Measure-And-Profile")
        assert "  word  What is said at once." in "\n".join(lines)


async def test_cut_address_is_whole_in_details(tmp_path: Path) -> None:
    """The details show an address whole that its row cuts."""
    address = "https://example.com/" + "/".join(["part"] * 20)
    lesson = f"# Linked\n\nRead [the page]({address}).\n"

    async with tutor(tmp_path, lessons={"linked": lesson}, size=(120, 35)) as pilot:
        await press(pilot, "enter", "w", "end", "up")
        await until(pilot, lambda: "the page" in _beside(pilot))
        assert address in re.sub(r"[\s│]+", "", _beside(pilot))


def _beside(pilot: Pilot[None]) -> str:
    """Return the text beside the list."""
    first = pilot.app.screen.query_one("#detail").region.x
    return "\n".join(line[first:] for line in on_screen(pilot.app).splitlines())  # type: ignore[arg-type]
