"""The place in a lesson stays when the width changes or blocks above run."""

from __future__ import annotations

from pathlib import Path

from tests.support.gates import wait_for
from tests.support.made_lessons import fence
from tests.support.tutor import on_screen, press, settle, tutor, until
from tpustarter.tui.lesson.page.lesson_page import LessonPage

WORDS = "Every paragraph of this lesson is so long that a narrow window wraps it three times. " * 3
LESSON = "# Long\n\n" + "\n\n".join(
    f"Part {number}. {WORDS}\n\n" + fence(f"print({number})", str(number), name=f"n{number}")
    for number in range(12)
)


async def test_resize_keeps_marked_block_in_sight(tmp_path: Path) -> None:
    """Resizing keeps the marked block marked and in sight."""
    async with tutor(tmp_path, lessons={"long": LESSON}, size=(120, 40)) as pilot:
        await press(pilot, "enter", *["j"] * 7)
        await settle(pilot)
        page = pilot.app.screen.query_one("LessonPage")
        block = page.marked_block.block.name  # type: ignore[attr-defined]
        assert block != "block 1"
        for size in ((60, 15), (200, 50), (80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert page.marked_block.block.name == block, size  # type: ignore[attr-defined]
            number = int(block.rpartition(" ")[2])
            assert f"print({number - 1})" in on_screen(pilot.app), size


async def test_requested_block_stays_still_while_others_run(tmp_path: Path) -> None:
    """The block asked for stays marked and in place while the blocks above it run."""
    gates = [tmp_path / f"b{number}" for number in range(1, 4)]
    code = "for i in range(40): print(i, flush=True)\n"
    blocks = [fence(code + wait_for(gate), name=gate.name) for gate in gates]
    last = fence("print('asked for')", name="last")
    lesson = "# T\n\n" + "Text.\n\n".join(blocks) + f"The place.\n\n{last}" + "Below.\n\n" * 20

    async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
        pilot.app.go.open_lesson("start/t", at="The place.")
        await until(pilot, lambda: "The place." in on_screen(pilot.app))
        await settle(pilot)
        page = pilot.app.screen.query_one(LessonPage)
        asked, places = page.views[-1], set[tuple[str, int]]()

        def look() -> None:
            marked = [view.block.id for view in page.views if view.has_class("-current")]
            places.add((*marked, asked.region.y))

        look()
        before = set(places)
        page.watch(page, "virtual_size", lambda: page.call_later(look), init=False)
        await pilot.press("enter")
        for view, gate in zip(page.views, gates, strict=False):
            await until(pilot, lambda view=view: view.output_tail.split()[-1:] == ["39"])
            gate.touch()
        await settle(pilot)

        assert "asked for" in on_screen(pilot.app)
        assert before == {("last", 4)}
        # Between its end and what is next, the one above may be marked, and nobody sees that.
        assert {"last"} == {name for name, _ in places} - {"b3"}
        assert ("last", 4) == (page.marked_block.block.id, asked.region.y)
