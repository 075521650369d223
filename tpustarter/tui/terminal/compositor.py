"""A compositor that repaints everything a layout has changed, unlike Textual 8.2 in some cases.

Textual repaints where the map of the new layout differs from the last one. After a scroll, the
first access to a widget's region rebuilds the last map from the current state. If a widget was
hidden or has grown since the last layout, the two maps are then equal, so a hidden widget stays
visible, and a moved one stays where it was.
Source: https://github.com/Textualize/textual/issues/6200 (read 2026-11), and `reflow` in 8.2.8
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from textual._compositor import Compositor, CompositorMap, ReflowResult
from textual.app import App
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widget import Widget


class WholeCompositor(Compositor):
    """A compositor that repaints the whole screen if the last map is not what was painted."""

    def __init__(self) -> None:
        super().__init__()
        self._laid_out: CompositorMap = {}
        """The map of the last layout."""
        self._differs = False
        """True if the map has been rebuilt since then and differs from what was painted."""

    @property
    def full_map(self) -> CompositorMap:
        """The map of all widgets, which may be newer than what was painted."""
        was_stale = self._full_map_invalidated
        painted = self._full_map if self._visible_map is None else self._visible_map
        arranged = super().full_map
        if was_stale and _in_sight(painted) == _in_sight(arranged):
            self._visible_map = painted  # otherwise a scroll paints all of the screen again
        elif was_stale:
            self._differs = True
        return arranged

    @property
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """The widgets in sight, without those removed since the last layout.

        Textual would paint these as well, but an editor cannot be painted without its styles.
        """
        widgets = super().visible_widgets
        return {widget: place for widget, place in widgets.items() if widget.parent}

    def place_widgets(self) -> None:
        """Compute the places of all widgets anew, without painting."""
        self._full_map_invalidated = True
        _ = self.full_map

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out the screen and return the changes since the last layout."""
        if self._differs:
            self._full_map = self._laid_out  # otherwise no widget gets its new size
            self._dirty_regions.add(size.region)
            self._differs = False
        result = super().reflow(parent, size)
        self._laid_out = self._full_map
        return result


class WholeScreen(Screen[None]):
    """A screen painted by a `WholeCompositor`."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor: WholeCompositor = WholeCompositor()

    def add_size_classes(self, app: App[object]) -> None:
        """Add the classes of the app's size before the first layout.

        Textual (8.2.8) adds them after it, and would lay out and paint the screen a second time.
        """
        width, height = app.size
        across = self._get_breakpoint_classes(width, app.HORIZONTAL_BREAKPOINTS or [])
        down = self._get_breakpoint_classes(height, app.VERTICAL_BREAKPOINTS or [])
        self.add_class(*across, *down, update=False)

    @contextmanager
    def one_frame(self) -> Generator[None]:
        """Show a scroll that has just happened in one frame with what changes in this context.

        Textual (8.2.8) hears of both later, from each widget when it is idle. So the next frame
        would show the old place, regions would be those of the old place, and a change of focus
        would paint the screen twice.
        """
        self._compositor.place_widgets()
        yield
        self._scroll_required = True
        if self._repaint_required:
            self._repaint_required = False
            self._dirty_widgets.add(self)
        for widget in [*self._compositor.visible_widgets]:
            widget._check_refresh()  # noqa: SLF001  this folder is where it may
        self.check_idle()


def _in_sight(widgets: CompositorMap) -> dict[Widget, tuple[Region, Region]]:
    """Return the region and the clip of each visible widget."""
    return {
        widget: (place.region, place.clip)
        for widget, place in widgets.items()
        if place.clip.overlaps(place.region)
    }
