"""The place in a lesson stays when the window changes its width."""

from __future__ import annotations

from pathlib import Path

from tests.support.made_lessons import fence
from tests.support.tutor import on_screen, press, run, settle, tutor

WORDS = "Every paragraph of this lesson is so long that a narrow window wraps it three times. " * 3
LESSON = "# Long\n\n" + "\n\n".join(
    f"Part {number}. {WORDS}\n\n" + fence(f"print({number})", str(number), name=f"n{number}")
    for number in range(12)
)


def test_the_place_stays_when_the_window_changes(tmp_path: Path) -> None:
    """Narrower, wider, and back: the block that was marked still is, and is in sight."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"long": LESSON}, size=(120, 40)) as pilot:
            await press(pilot, "enter", *["j"] * 7)
            await settle(pilot)
            page = pilot.app.screen.query_one("LessonPage")
            block = page.marked.name_on_page  # type: ignore[attr-defined]
            assert block != "block 1"
            for size in ((60, 15), (200, 50), (80, 24), (120, 40)):
                await pilot.resize_terminal(*size)
                await settle(pilot)
                await pilot.pause(0.2)
                assert page.marked.name_on_page == block, size  # type: ignore[attr-defined]
                number = int(block.rpartition(" ")[2])
                assert f"print({number - 1})" in on_screen(pilot.app), size

    run(journey)
