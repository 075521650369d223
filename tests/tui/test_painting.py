"""What is painted is what is there: an area that moves while something in it changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pyte
import pytest
from textual.app import App
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from tests.support.tutor import on_screen, run, tutor, until
from tpustarter.tui import opened
from tpustarter.tui.lesson_page import LessonPage
from tpustarter.tui.widgets import Aside, Scrolled


class Painted(App[None]):
    """Sixty rows with a line below them, on a terminal that keeps what was painted last."""

    def __init__(self, area: type[VerticalScroll]) -> None:
        super().__init__()
        self.terminal = pyte.Screen(80, 24)
        self._stream = pyte.Stream(self.terminal)
        self._area = area

    def compose(self) -> Iterable[Widget]:
        """Yield rows, and what is below them."""
        with self._area(id="area"):
            yield Static("\n".join(f"row {number}" for number in range(60)))
            yield Static("ready", id="below")

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if renderable is not None:
            self._stream.feed(renderable.render_segments(self.console))
        super()._display(screen, renderable)


async def first_row(area: type[VerticalScroll]) -> str:
    """Move down and back, where something below is asked for before the next layout.

    So it happens while one types into a block that prints; there it is a matter of chance.
    """
    app = Painted(area)
    async with app.run_test(size=(80, 24)) as pilot:
        moved, below = app.query_one("#area", VerticalScroll), app.query_one("#below", Static)
        moved.scroll_to(y=10, animate=False, immediate=True)
        await pilot.pause(0.2)
        assert app.terminal.display[0].startswith("row 10 ")
        compositor = cast("Any", app.screen)._compositor
        moved.scroll_y = 0
        compositor.update_widgets({below})  # it is out of sight: all places are worked out anew
        assert compositor.full_map
        below.update("busy")
        await pilot.pause(0.2)
        return app.terminal.display[0].strip()


def test_what_moved_is_painted() -> None:
    """Also where Textual takes the layout for the one that is on the screen."""
    assert asyncio.run(first_row(Scrolled)) == "row 0"


def test_textual_leaves_it_unpainted() -> None:
    """Or `Scrolled` is no longer needed."""
    assert asyncio.run(first_row(VerticalScroll)) == "row 10"


@pytest.mark.parametrize("area", [LessonPage, Aside])
def test_what_grows_stands_in_such_an_area(area: type[Widget]) -> None:
    """A lesson, and what is read beside a list."""
    assert issubclass(area, Scrolled)


def test_a_lesson_that_takes_a_moment_says_that_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty page looks broken; once the lesson is there, nothing is left of the words."""
    is_read = threading.Event()
    read = opened.read

    def read_late(*given: Any) -> Any:
        is_read.wait(10)
        return read(*given)

    monkeypatch.setattr(opened, "read", read_late)

    async def journey() -> None:
        async with tutor(tmp_path) as pilot:
            await pilot.press("enter")
            await until(pilot, lambda: "Opening the lesson ..." in on_screen(pilot.app))
            is_read.set()
            await until(pilot, lambda: "A first lesson" in on_screen(pilot.app))
            assert "Opening the lesson" not in on_screen(pilot.app)

    run(journey)
