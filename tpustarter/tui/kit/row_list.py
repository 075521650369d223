"""Lists of selectable rows, used by every screen.

The first screen needs this module at start-up, so keep slow imports out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.visual import VisualType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tpustarter.tui.app.theme import TERMINAL
from tpustarter.tui.kit.text_layout import LaidOutLines, TextLine


def get_app(node: MessagePump) -> App[object]:
    """Return the app of a widget or screen."""
    return node.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


REVERSE = RichStyle(reverse=True)
EDGE = "▌"
"""The mark in the first column of the highlighted row."""


@dataclass(frozen=True)
class Row:
    """A row of a list; without an id, it is text that cannot be selected."""

    id: str | None
    left: Content | str | LaidOutLines
    right: str = ""
    more: tuple[LaidOutLines, ...] = ()
    whole: Content | None = None
    """Text after `left`, shown only if all of it fits."""
    hang: int = 0
    """The width of a label in `left`, in columns; wrapped lines are indented by it."""

    def line(self) -> LaidOutLines:
        """Return the row as lines that are laid out for each width."""
        if isinstance(self.left, LaidOutLines):
            return self.left
        label = Content(self.left) if isinstance(self.left, str) else self.left
        return TextLine(label, self.right, self.more, self.whole, hang=self.hang)


class RowList(OptionList):
    """A list of selectable rows that keeps its highlighted row when rows change or move."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "open", key_display="Enter"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    def show(self, rows: Iterable[Row], *, highlight: str | None = None) -> None:
        """Replace all rows, and highlight the given row or, by default, the same row as before.

        The list keeps its scroll offset unless the new order moves the highlighted row out of view.
        """
        target = highlight or self.highlighted_id
        top, before = self.scroll_offset.y, [option.id for option in self.options]
        options = [Option(row.line(), row.id, disabled=row.id is None) for row in rows]
        self.set_options(options)
        index = next(
            (n for n, option in enumerate(options) if option.id and option.id == target), None
        )
        is_gone = index is None
        if index is None:
            index = next((n for n, option in enumerate(options) if option.id), None)
        self.highlighted = index
        if target and highlight is None and not is_gone:
            self.scroll_to(y=top, animate=False)
            if before != [option.id for option in options]:
                self.call_after_refresh(self.scroll_to_highlight)
        elif index is not None and not any(option.id for option in options[:index]):
            self.scroll_home(animate=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of all rows; Textual (8.2.8) ignores the scrollbar's width."""
        return super().get_content_height(container, viewport, width - 1)

    def change(self, row: Row) -> None:
        """Replace the content of one row."""
        if row.id is not None:
            self.replace_option_prompt(row.id, row.line())

    def render_line(self, y: int) -> Strip:
        """Render a line, marking the highlighted row even on terminals without colours."""
        return paint_highlight(self, super().render_line(y), is_in_use=self.has_focus)

    @property
    def highlighted_id(self) -> str | None:
        """The highlighted row's id, or None."""
        option = self.highlighted_option
        return option.id if option else None

    def action_page_up(self) -> None:
        self._move_by(super().action_page_up)

    def action_page_down(self) -> None:
        self._move_by(super().action_page_down)

    def _move_by(self, page: Callable[[], object]) -> None:
        """Move by a page; in an area of zero size, Textual (8.2.8) would look up a missing line."""
        if self.highlighted is None:
            page()
        elif self.scrollable_content_region.area:
            page()
            self._show_rest()

    def action_last(self) -> None:
        """Move to the last selectable row, and show the text below it."""
        super().action_last()
        self._show_rest()

    def action_cursor_down(self) -> None:
        """Move down; at the last selectable row, show the text below it first."""
        if self._show_rest():
            return
        super().action_cursor_down()

    def _show_rest(self) -> bool:
        """Scroll to the end if the last selectable row is highlighted; return whether it did."""
        index = self.highlighted
        is_last = index is not None and not any(option.id for option in self.options[index + 1 :])
        if not is_last or self.is_vertical_scroll_end:
            return False
        self.scroll_end(animate=False)
        return True

    def action_cursor_up(self) -> None:
        """Move up; at the first selectable row, show the text above it."""
        super().action_cursor_up()
        index = self.highlighted
        if index is not None and not any(option.id for option in self.options[:index]):
            self.scroll_home(animate=False)


def paint_highlight(rows: OptionList, strip: Strip, *, is_in_use: bool) -> Strip:
    """Return a list's rendered line, painted if it belongs to the highlighted row.

    The highlight is an edge, or reverse video in the terminal's own theme. Textual's option lists
    ignore `text-style: reverse` (8.2.8, `get_visual_style`).
    """
    first = next(iter(strip), None) if is_in_use else None
    if first is None or first.style is None:
        return strip
    option = first.style.meta.get("option")
    if option is None or option != rows.highlighted:
        return strip
    app = get_app(rows)
    if app.theme == TERMINAL.name:
        return strip.apply_style(REVERSE)
    if not first.text.startswith(" "):  # no space for an edge
        return strip
    edge = Segment(EDGE, first.style + RichStyle(color=app.current_theme.variables["key"]))
    return Strip([edge, *strip.crop(1)], strip.cell_length)


class DelayedRowList(RowList):
    """A list whose rows may arrive after the first keys, which are handled once there is a row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._early: list[Callable[[], None]] = []
        self.is_moved = False
        """True if a key has moved the highlight."""

    def show(self, rows: Iterable[Row], *, highlight: str | None = None) -> None:
        """Replace all rows, and handle the keys that were pressed before there were any."""
        super().show(rows, highlight=highlight)
        while self._early and self.highlighted_id:
            self._early.pop(0)()

    def call_once_shown(self, action: Callable[[], None]) -> None:
        """Call a function now if the list has rows, or else when they arrive."""
        if self.highlighted_id:
            action()
        else:
            self._early.append(action)

    def action_select(self) -> None:
        self.call_once_shown(super().action_select)

    def action_cursor_down(self) -> None:
        self.is_moved = True
        self.call_once_shown(super().action_cursor_down)

    def action_cursor_up(self) -> None:
        self.is_moved = True
        self.call_once_shown(super().action_cursor_up)


class DetailRows(RowList):
    """A list whose rows have details."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "details", key_display="Enter", tooltip="read all of it"),
        Binding("enter", "leave", "open", key_display="Enter"),
    ]
    leading: Collection[str] = ()
    """Ids of rows that open another screen instead of details."""

    def on_resize(self) -> None:
        """Post the highlighted row again once the list is high enough for all rows."""
        option, index = self.highlighted_option, self.highlighted
        if option and index is not None and not self.max_scroll_y:
            self.post_message(self.OptionHighlighted(self, option, index))

    def action_leave(self) -> None:
        """Select the highlighted row, as Enter does. The action exists for its label, "open"."""
        self.action_select()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `leave` if the highlighted row opens another screen, and `select` otherwise."""
        if action in ("select", "leave"):
            wanted = "leave" if self.highlighted_id in self.leading else "select"
            return self.highlighted_id is not None and action == wanted
        return super().check_action(action, parameters)


class DelayedDetailRows(DetailRows, DelayedRowList):
    """A `DetailRows` list whose rows may arrive after the first keys."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow Enter before there are rows, for the row that will be highlighted."""
        if action == "leave" and self.highlighted_id is None:
            return True
        return super().check_action(action, parameters)


class SidePanel(VerticalScroll, can_focus=False):
    """Text next to the focused widget. The panel's border names the key that scrolls it."""

    def __init__(self, area: str, rest: str = "Space reads on") -> None:
        self._text = Static()
        super().__init__(self._text, id=area)
        self._rest = rest

    def show(self, found: VisualType) -> None:
        """Show another text from its beginning."""
        self._text.update(found)  # the panel may not be mounted yet
        self.scroll_home(animate=False)

    def read_on(self) -> None:
        """Scroll down by a page, or from the end back to the top."""
        if self.scroll_offset.y < self.max_scroll_y:
            self.scroll_page_down(animate=False)
        else:
            self.scroll_home(animate=False)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:  # noqa: FBT001  Textual's
        self.border_subtitle = self._rest if shown else ""
