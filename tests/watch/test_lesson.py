"""The output in the lesson about live numbers matches the command's."""

from __future__ import annotations

import re

from tests.watch.test_situations import make_reading
from tpustarter.core import locations
from tpustarter.watch.watch_text import render_reading

LESSON = locations.content_folder("lessons") / "trouble" / "07-live-numbers.md"


def test_lesson_shows_what_is_printed() -> None:
    """The table line by line, and the sentence but for its line breaks."""
    shown = re.search(r"```text\n(TPU v6e.+?)```", LESSON.read_text(encoding="utf-8"), re.DOTALL)
    reading = make_reading(duty=98, matrix=6, memory=38, bandwidth=85)
    *printed, _, _ = render_reading(reading, None)

    assert shown
    assert re.sub(r"\d\d:00:00", "12:00:00", " ".join(" ".join(printed).split())) == " ".join(
        shown[1].split()
    )
