"""Lists of rows to choose from, which every screen uses.

The first screen needs only this module; keep imports that take long to load out of it.
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
"""The first column of the marked row."""


@dataclass(frozen=True)
class Row:
    """One row of a list; without an id it is text that cannot be chosen."""

    id: str | None
    left: Content | str | LaidOutLines
    right: str = ""
    more: tuple[LaidOutLines, ...] = ()
    whole: Content | None = None
    """Text after `left`, shown only where it fits whole."""
    hang: int = 0
    """Columns of a label; where `left` does not fit, it goes on below the end of the label."""

    def line(self) -> LaidOutLines:
        """Return the row as lines that are laid out again for every width."""
        if isinstance(self.left, LaidOutLines):
            return self.left
        label = Content(self.left) if isinstance(self.left, str) else self.left
        return TextLine(label, self.right, self.more, self.whole, hang=self.hang)


class RowList(OptionList):
    """Rows to choose from; the highlighted one stays so when rows change or move."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "open", key_display="Enter"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    def show(self, rows: Iterable[Row], *, highlight: str | None = None) -> None:
        """Replace all rows, and highlight the named row or, by default, the same row as before.

        The list keeps its scroll offset, unless another order would move the mark out of sight.
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
        """Return the height of all rows; Textual (8.2.8) forgets the room of a scrollbar."""
        return super().get_content_height(container, viewport, width - 1)

    def change(self, row: Row) -> None:
        """Replace the content of one row."""
        if row.id is not None:
            self.replace_option_prompt(row.id, row.line())

    def render_line(self, y: int) -> Strip:
        """Render a line, marking the highlighted row for terminals without colours too."""
        return mark_row(self, super().render_line(y), is_in_use=self.has_focus)

    @property
    def highlighted_id(self) -> str | None:
        """The id of the highlighted row, or None without one."""
        option = self.highlighted_option
        return option.id if option else None

    def action_page_up(self) -> None:
        self._move_by(super().action_page_up)

    def action_page_down(self) -> None:
        self._move_by(super().action_page_down)

    def _move_by(self, page: Callable[[], object]) -> None:
        """Move by a page; without room, Textual (8.2.8) looks for a line that is not there."""
        if self.highlighted is None:
            page()
        elif self.scrollable_content_region.area:
            page()
            self._show_rest()

    def action_last(self) -> None:
        """Move to the last row that can be chosen, and show the text below it."""
        super().action_last()
        self._show_rest()

    def action_cursor_down(self) -> None:
        """Move down; at the last row that can be chosen, show the text below it first."""
        if self._show_rest():
            return
        super().action_cursor_down()

    def _show_rest(self) -> bool:
        """Scroll to the end if the last row that can be chosen is marked; return whether it did."""
        index = self.highlighted
        is_last = index is not None and not any(option.id for option in self.options[index + 1 :])
        if not is_last or self.is_vertical_scroll_end:
            return False
        self.scroll_end(animate=False)
        return True

    def action_cursor_up(self) -> None:
        """Move up; at the first row that can be chosen, show the text above it."""
        super().action_cursor_up()
        index = self.highlighted
        if index is not None and not any(option.id for option in self.options[:index]):
            self.scroll_home(animate=False)


def mark_row(rows: OptionList, strip: Strip, *, is_in_use: bool) -> Strip:
    """Return a line of a list, marked if it is of the highlighted row.

    The mark is an edge; with the terminal's own theme the line is reversed. Textual's option lists
    leave `text-style: reverse` out (8.2.8, `get_visual_style`).
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
    if not first.text.startswith(" "):  # no room for an edge
        return strip
    edge = Segment(EDGE, first.style + RichStyle(color=app.current_theme.variables["key"]))
    return Strip([edge, *strip.crop(1)], strip.cell_length)


class DelayedRowList(RowList):
    """Rows that may arrive after the first keys; those keys act once there is a row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._early: list[Callable[[], None]] = []
        self.is_moved = False
        """True if a key has moved the mark."""

    def show(self, rows: Iterable[Row], *, highlight: str | None = None) -> None:
        """Replace all rows, and act on the keys that came before there were any."""
        super().show(rows, highlight=highlight)
        while self._early and self.highlighted_id:
            self._early.pop(0)()

    def call_once_shown(self, action: Callable[[], None]) -> None:
        """Call a function once the list has a row: now, or when the rows arrive."""
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
    """Ids of rows that open another screen; they have no details."""

    def on_resize(self) -> None:
        """Announce the highlighted row again, once the list is as high as its rows need."""
        option, index = self.highlighted_option, self.highlighted
        if option and index is not None and not self.max_scroll_y:
            self.post_message(self.OptionHighlighted(self, option, index))

    def action_leave(self) -> None:
        """Select the marked row; this action exists for its label, "open"."""
        self.action_select()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow the one of `select` and `leave` that fits the marked row."""
        if action in ("select", "leave"):
            wanted = "leave" if self.highlighted_id in self.leading else "select"
            return self.highlighted_id is not None and action == wanted
        return super().check_action(action, parameters)


class DelayedDetailRows(DetailRows, DelayedRowList):
    """Rows with details, or that lead to a screen, which may arrive after the first keys."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Accept Enter for the row that will be marked."""
        if action == "leave" and self.highlighted_id is None:
            return True
        return super().check_action(action, parameters)


class SidePanel(VerticalScroll, can_focus=False):
    """Text beside the widget that has the keys; its frame names the key that scrolls it."""

    def __init__(self, area: str, rest: str = "Space reads on") -> None:
        self._text = Static()
        super().__init__(self._text, id=area)
        self._rest = rest

    def show(self, found: VisualType) -> None:
        """Show another text, from its beginning."""
        self._text.update(found)  # this may come before it is mounted
        self.scroll_home(animate=False)

    def read_on(self) -> None:
        """Scroll down one page, or from the end back to the top."""
        if self.scroll_offset.y < self.max_scroll_y:
            self.scroll_page_down(animate=False)
        else:
            self.scroll_home(animate=False)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:  # noqa: FBT001  Textual's
        self.border_subtitle = self._rest if shown else ""
