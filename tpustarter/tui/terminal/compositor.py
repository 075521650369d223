"""A compositor that paints whatever a layout has changed; Textual 8.2 leaves some of it out.

Textual paints where the map of the new layout differs from that of the last one. After a scroll,
the first widget that is asked for its region makes Textual rebuild the last map from the present
state. If something was hidden or has grown since the last layout, both maps are the same: a hidden
widget stays on the screen, and a moved one stays where it was.
Source: https://github.com/Textualize/textual/issues/6200 (read 2026-11), and `reflow` in 8.2.8
"""

from __future__ import annotations

from textual._compositor import Compositor, CompositorMap, ReflowResult
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widget import Widget


class WholeCompositor(Compositor):
    """A compositor that paints the whole screen where the last map is not what was painted."""

    def __init__(self) -> None:
        super().__init__()
        self._laid_out: CompositorMap = {}
        """The map of the last layout."""
        self._differs = False
        """True if the map was rebuilt since, and differs from what was painted."""

    @property
    def full_map(self) -> CompositorMap:
        """The map of all widgets, which may be ahead of what was painted."""
        was_stale = self._full_map_invalidated
        painted = self._full_map if self._visible_map is None else self._visible_map
        arranged = super().full_map
        if was_stale and not self._differs:
            self._differs = _in_sight(painted) != _in_sight(arranged)
        return arranged

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out the screen, and return the changes since the last layout."""
        if self._differs:
            self._full_map = self._laid_out  # else no widget gets its new size
            self._dirty_regions.add(size.region)
            self._differs = False
        result = super().reflow(parent, size)
        self._laid_out = self._full_map
        return result


class WholeScreen(Screen[None]):
    """A screen that is painted by a `WholeCompositor`."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = WholeCompositor()


def _in_sight(widgets: CompositorMap) -> dict[Widget, tuple[Region, Region]]:
    """Return the region of each visible widget, and the part of the screen that shows it."""
    return {
        widget: (place.region, place.clip)
        for widget, place in widgets.items()
        if place.clip.overlaps(place.region)
    }
