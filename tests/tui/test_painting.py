"""Painting: the screen always shows the current layout, also if asked before it is done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyte
import pytest
from textual._compositor import Compositor, ReflowResult
from textual.app import App
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tests.support.processes import HANG_S
from tests.support.tutor import on_screen, press, settle, tutor, until
from tpustarter.tui.kit.page import Page
from tpustarter.tui.lesson import opened_lesson
from tpustarter.tui.terminal.compositor import WholeCompositor


class Row(Static):
    """A row that counts its resize events."""

    sizes = 0

    def on_resize(self) -> None:
        """Count the event."""
        self.sizes += 1


class Covered(Screen[None]):
    """A hundred rows behind a curtain."""

    DEFAULT_CSS = """
    Covered { layers: default curtain; }
    #curtain { layer: curtain; width: 100%; height: 100%; }
    Row { height: 1; }
    """

    def __init__(self, compositor: Compositor) -> None:
        super().__init__()
        self._compositor = compositor

    def compose(self) -> Iterable[Widget]:
        """Yield the rows and the curtain."""
        with VerticalScroll(id="area"):
            for number in range(100):
                yield Row(f"row {number}", id=f"row-{number}")
        yield Static("curtain", id="curtain")


class Painted(App[None]):
    """An app with the screen of covered rows, painted on a terminal emulator."""

    def __init__(self, compositor: Compositor) -> None:
        super().__init__()
        self.terminal = pyte.Screen(80, 24)
        self._stream = pyte.Stream(self.terminal)
        self._first = Covered(compositor)

    def get_default_screen(self) -> Screen[Any]:
        """Return the screen."""
        return self._first

    @property
    def rows(self) -> list[str]:
        """Return the rows of the terminal without the scroll bar."""
        return [line[:70].rstrip() for line in self.terminal.display]

    async def act_and_ask(self, pilot: Pilot[None], act: Callable[[], object]) -> None:
        """Change something, and ask for the place of a row before the next layout.

        This happens by chance while a user types into a block that prints.
        """
        act()
        while not self.screen._layout_required:
            await asyncio.sleep(0)
        # One that is not in sight is marked to be painted: all places are to be worked out anew.
        self.screen._compositor.update_widgets({self.query_one("#row-90")})
        assert self.query_one("#row-90").region
        await settle(pilot)

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if renderable is not None:
            self._stream.feed(renderable.render_segments(self.console))
        super()._display(screen, renderable)


async def hidden(compositor: Compositor) -> list[str]:
    """Hide the curtain."""
    app = Painted(compositor)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.rows[0] == "curtain"
        curtain = app.query_one("#curtain")
        await app.act_and_ask(pilot, lambda: setattr(curtain, "display", False))
        return app.rows


async def moved(compositor: Compositor) -> list[str]:
    """Move down and back."""
    app = Painted(compositor)
    async with app.run_test() as pilot:
        app.query_one("#curtain").display = False
        area = app.query_one("#area")
        area.scroll_to(y=10, animate=False, immediate=True)
        await settle(pilot)
        assert app.rows[0] == "row 10"

        def back() -> None:
            area.scroll_y = 0
            app.query_one("#row-89").refresh(layout=True)

        await app.act_and_ask(pilot, back)
        return app.rows


async def grown(compositor: Compositor) -> tuple[list[str], int]:
    """Return the screen after a row grew, and how many resize events the row got."""
    app = Painted(compositor)
    async with app.run_test() as pilot:
        app.query_one("#curtain").display = False
        await settle(pilot)
        row = app.query_one("#row-1", Row)
        sizes = row.sizes
        await app.act_and_ask(pilot, lambda: setattr(row.styles, "height", 3))
        return app.rows, row.sizes - sizes


async def removed(compositor: Compositor) -> str:
    """Remove an editor, and paint before the next layout, as a change of the keys may."""
    app = Painted(compositor)
    async with app.run_test() as pilot:
        app.query_one("#curtain").display = False
        editor = TextArea("typed here")
        await app.query_one("#area").mount(editor, before=0)
        editor.focus()
        await settle(pilot)
        with app.batch_update():
            await editor.remove()
            return "".join(strip.text for strip in app.screen._compositor.render_strips())


def test_hidden_widget_is_erased() -> None:
    """Hiding a widget repaints what was behind it."""
    assert [f"row {number}" for number in range(24)] == asyncio.run(hidden(WholeCompositor()))


def test_moved_widget_is_painted() -> None:
    """A moved widget is painted even if Textual takes the layout for unchanged."""
    assert [f"row {number}" for number in range(24)] == asyncio.run(moved(WholeCompositor()))


def test_grown_widget_is_painted_and_resized() -> None:
    """A grown widget is painted and resized, and the rows below it move down."""
    rows, sizes = asyncio.run(grown(WholeCompositor()))
    assert (["row 0", "row 1", "", "", "row 2"], 1) == (rows[:5], sizes)


def test_removed_editor_is_not_painted() -> None:
    """A removed editor, which has no styles, is not painted."""
    assert "row 0" in asyncio.run(removed(WholeCompositor()))
    with pytest.raises(KeyError):
        asyncio.run(removed(Compositor()))


def test_textual_compositor_misses_hidden_moved_and_grown_widgets() -> None:
    """Textual's own compositor still has the three faults that `WholeCompositor` fixes."""
    assert asyncio.run(hidden(Compositor()))[0] == "curtain"
    assert asyncio.run(moved(Compositor()))[0] == "row 10"
    assert asyncio.run(grown(Compositor()))[1] == 0


async def test_only_changed_regions_are_painted() -> None:
    """Only changed regions are painted, unless something would be missed."""
    app = Painted(WholeCompositor())
    async with app.run_test() as pilot:
        app.query_one("#curtain").display = False
        app.query_one("#area").scroll_to(y=10, animate=False, immediate=True)
        await settle(pilot)
        assert app.query_one("#row-90").region
        app.terminal.reset()
        await app.act_and_ask(pilot, lambda: app.query_one("#row-15").refresh(layout=True))
        assert ["row 15"] == [row for row in app.rows if row]


def test_every_page_uses_whole_compositor() -> None:
    """Every page has a `WholeCompositor`."""
    assert isinstance(Page("a page")._compositor, WholeCompositor)


async def test_first_layout_has_size_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first layout has the size classes, so pages are not painted twice."""
    seen: dict[str, list[bool]] = {}
    reflow = WholeCompositor.reflow

    def recorded(self: WholeCompositor, parent: Widget, size: Size) -> ReflowResult:
        has_classes = parent.has_class("-high") and parent.has_class("-slim")
        seen.setdefault(type(parent).__name__, []).append(has_classes)
        return reflow(self, parent, size)

    monkeypatch.setattr(WholeCompositor, "reflow", recorded)

    async with tutor(tmp_path) as pilot:
        await press(pilot, "l")
    assert {"HomeScreen": True, "LessonListScreen": True} == {
        name: all(with_classes) for name, with_classes in seen.items()
    }


async def test_slow_lesson_shows_opening_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow lesson shows a message, which disappears when the lesson is there."""
    is_read = threading.Event()
    read = opened_lesson.read_lesson

    def read_late(*given: Any) -> Any:
        is_read.wait(HANG_S)
        return read(*given)

    monkeypatch.setattr(opened_lesson, "read_lesson", read_late)

    async with tutor(tmp_path) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: "Opening the lesson ..." in on_screen(pilot.app))
        is_read.set()
        await until(pilot, lambda: "A first lesson" in on_screen(pilot.app))
        assert "Opening the lesson" not in on_screen(pilot.app)
