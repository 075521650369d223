"""The code editor, with syntax highlighting, and with Python indentation for Tab and Enter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from pygments.lexers.python import PythonLexer  # pyright: ignore[reportMissingTypeStubs]
from pygments.token import Comment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets.text_area import Selection, TextAreaTheme

from tpustarter.learning.run.lines_at_fault import TO_CHANGE, find_differing_rows
from tpustarter.text.terminal import cut_text
from tpustarter.tui.kit.markdown_text import MARKED, CodeColours
from tpustarter.tui.kit.row_list import get_app
from tpustarter.tui.kit.wrapped_code import mark_continuation
from tpustarter.tui.terminal.highlighting import HighlightedArea

THEME = "lesson"
_GAP = re.compile(r"(?<![\w\"'.\[])\.\.\.(?![\w\"'.])|(?<=[\"'])\.\.\.(?=[\"'])")
"""The placeholder for code to fill in; it is selected when the editor opens."""
FILL_GAP = "Type what belongs in place of ... first. To read on without it, press Esc."
"""The message for a key that would leave the gap unfilled."""
CHANGE_LINE = "Change this line first. To read on without that, press Esc."
"""The message shown if Enter or Tab would only move or replace the line to change."""
_STAND_IN = re.compile(r"\s*((?:return |[^=#]+ [-+*/@]?= ).*\S)\s+# your code here")
"""A placeholder statement that learners replace with their own."""
_ALL_BELOW = re.compile(r"\s*# your code here: replace the lines below")
"""The comment above several lines that learners replace."""
_MARK = "mark"
"""The style name for lines that a verdict refers to."""
INDENT = "    "
_MOST_COPIED = 40
"""Maximum number of copied characters that the notification repeats."""
Token = Any
"""A type of a piece of code; Pygments has no types of its own."""
_LEXER = PythonLexer(stripnl=False, ensurenl=False)


class CodeEditor(HighlightedArea):
    """An editor for a block's code that stays open while the block runs."""

    HELP = """
Type Python here. What you type is saved as you type it, and **Ctrl+R** runs it.

| key | in the text |
|---|---|
| `Enter` | begins a line that is indented as the one above |
| `Tab` | moves on to the next step of four columns, or indents the lines that are selected |
| `Shift+Tab` | takes four columns of indent from the line, or from those that are selected |
| `Ctrl+Z`, `Ctrl+Y` | undo, and redo |
| `Ctrl+A`, `Ctrl+E` | go to the beginning and the end of the line |
| `Ctrl+Home`, `Ctrl+End` | go to the first line, and to the last |
| `Ctrl+Left`, `Ctrl+Right` | go a word to the left, or to the right |
| `Backspace` | deletes a character, or the indent back to the step of four columns before |
| `Ctrl+W` | deletes the word before the cursor |
| `Ctrl+U`, `Ctrl+K` | delete the line up to the cursor, and from it on |
| `PageDown`, `PageUp` | go a page down or up; before you type or move, they scroll the page |
| `Shift` and an arrow | selects; `F7` selects everything |
| `Ctrl+C` | copies what you selected; while code runs, it stops that |
| `Ctrl+X`, `Ctrl+V` | cut what is selected, or the line, and paste it |

Running leaves this editor open: you see what the code prints below it, and can go on typing. If it
fails, **F2** says why. **Ctrl+C** asks whether to quit where it has nothing to stop or to copy.
**Esc** ends typing, and then **u** brings the original code back.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "screen.run", "run", key_display="Ctrl+R", tooltip="what is typed here"),
        Binding(
            "escape",
            "screen.back",
            "done",
            key_display="Esc",
            tooltip="stop typing; what you typed is kept",
            priority=True,  # otherwise this key makes Textual leave the field
        ),
        Binding(
            "enter",
            "screen.leave_done",
            "go on",
            key_display="Enter",
            tooltip="end typing and read on: what is typed here has passed",
        ),
        Binding("ctrl+home", "cursor_to('start')", show=False),
        Binding("ctrl+end", "cursor_to('end')", show=False),
    ]

    def __init__(self, code: str, *, first_line: int | None = None) -> None:
        """Open the editor with code, whose lines are numbered if `first_line` is given."""
        self._marked: frozenset[int] = frozenset()
        """The rows that a verdict refers to, until something is typed."""
        self._first_code = code
        self.to_change_at: Selection | None = None
        """The selection of the line to change, if there is one."""
        self.is_done = False
        """True if the typed code has passed; Enter then continues the lesson."""
        self.offered = ""
        """The preselected code, which typing replaces."""
        self._is_copied = False
        """True if the selection has been copied."""
        self._was_laid_out = False
        super().__init__(
            code,
            soft_wrap=True,
            show_line_numbers=first_line is not None,
            line_number_start=first_line or 1,
            tab_behavior="indent",
            theme="css",
            highlight_cursor_line=False,
        )
        self.cursor_blink = False

    def on_resize(self) -> None:
        """Scroll into view at the first layout, because focusing may request it too early."""
        if not self._was_laid_out:
            self._was_laid_out = True
            self.scroll_visible(animate=False, immediate=True)

    def on_mount(self) -> None:
        variables = get_app(self).theme_variables
        styles = {
            str(token): Style.parse(style, variables).rich_style
            for token, style in CodeColours.STYLES.items()
        }
        styles[_MARK] = Style.parse(MARKED, variables).rich_style
        muted = Style.parse("$muted", variables).rich_style
        self.register_theme(TextAreaTheme(THEME, gutter_style=muted, syntax_styles=styles))
        self.theme = THEME

    async def on_key(self, event: events.Key) -> None:
        """Keep a gap until it is filled, and indent a new line like the one above it."""
        is_gap = event.key in ("enter", "tab") and self.selected_text == "..."
        is_kept = event.key == "enter" or (event.key == "tab" and self.selected_text)
        if is_gap or (is_kept and self._is_untouched):
            self.notify(FILL_GAP if is_gap else CHANGE_LINE, markup=False, timeout=3)
        elif event.key == "shift+tab" or (event.key == "tab" and "\n" in self.selected_text):
            self._indent(deeper=event.key == "tab")
        elif event.key == "enter" and self.is_done:
            await self.run_action("screen.leave_done")
        elif event.key == "enter":
            start, end = sorted(self.selection)
            before = self.document.get_line(start[0])[: start[1]]
            self.replace(f"\n{_indent_below(before)}", start, end, maintain_selection_offset=False)
        else:
            return
        event.stop()
        event.prevent_default()  # otherwise Textual handles the key as well

    def action_delete_left(self) -> None:
        """Delete the selection, one level of indentation, or one character to the left."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        spaces = (column - 1) % len(INDENT) + 1
        if self.selected_text or not before or before.strip(" ") or spaces == 1:
            super().action_delete_left()
        else:
            self.delete((row, column - spaces), (row, column), maintain_selection_offset=False)

    def action_cursor_page_down(self) -> None:
        """Move down a page; while code is preselected, scroll instead, because it is to stay."""
        if not self._scroll_around(1):
            super().action_cursor_page_down()

    def action_cursor_page_up(self) -> None:
        """Move up a page; while code is preselected, scroll instead, because it is to stay."""
        if not self._scroll_around(-1):
            super().action_cursor_page_up()

    def _scroll_around(self, pages: int) -> bool:
        """Scroll the page around this editor if code is preselected; return whether it is."""
        if self.offered:
            parents = (one for one in self.ancestors if isinstance(one, Widget))
            page = next((one for one in parents if one.max_scroll_y), self)
            page.scroll_relative(y=pages * page.scrollable_content_region.height, animate=False)
        return bool(self.offered)

    def _indent(self, *, deeper: bool) -> None:
        (first, begin), (last, end) = sorted(self.selection)
        if last > first and not end:  # the selection ends before the last line
            last -= 1
        before = [self.document.get_line(row) for row in range(first, last + 1)]
        after = [_shifted(line, deeper=deeper) for line in before]
        if after == before:
            return
        is_selected = bool(self.selected_text)
        self.replace("\n".join(after), (first, 0), (last, len(before[-1])))
        if is_selected:
            self.selection = Selection((first, 0), (last, len(after[-1])))
        else:
            self.move_cursor((first, max(begin + len(after[0]) - len(before[0]), 0)))

    def preselect(self, place: Selection) -> None:
        """Set the initial cursor or selection; Ctrl+C does not copy this selection."""
        self.selection = place
        self.offered = self.selected_text

    def watch_selection(self) -> None:
        """Treat every later selection as the user's own."""
        self._is_copied, self.offered = False, ""

    def copy_selected(self) -> bool:
        """Copy the user's selection unless it was copied already; return whether it was copied."""
        text = self.selected_text
        if self._is_copied or self.offered or not text:
            return False
        self.action_copy()
        self._is_copied = True
        count = len(text.rstrip("\n").split("\n"))
        what = f"{count} lines" if count > 1 else cut_text(text.strip(), _MOST_COPIED) or "spaces"
        self.notify(f"Copied: {what}\nCtrl+C again asks to quit.", markup=False)
        return True

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render the lines, with a mark before each continuation of a wrapped line."""
        column = self.gutter.left + self.gutter_width - 1 - crop.x
        first = crop.y - self.gutter.top + self.scroll_offset.y
        strips = super().render_lines(crop)
        if column < 0:
            return strips
        return [
            mark_continuation(strip, column) if self._goes_on(row) else strip
            for row, strip in enumerate(strips, first)
        ]

    def _goes_on(self, row: int) -> bool:
        document = self.wrapped_document
        is_there = 0 <= row < document.height
        return is_there and document.offset_to_location(Offset(0, row))[1] > 0

    @property
    def _is_untouched(self) -> bool:
        """True if the line to change is untouched, where Enter would only break it."""
        is_there = self.to_change_at is not None and self.selection == self.to_change_at
        is_line = is_there and (self.selected_text or not self.cursor_at_end_of_line)
        return bool(is_line) and self.text == self._first_code  # else Enter begins a line

    def get_cursor_line_start_location(self, smart_home: bool = False) -> tuple[int, int]:  # noqa: FBT001, FBT002  Textual's
        """Return the start of the whole code line, even if it is wrapped.

        With `smart_home`, that is the first character after the indentation, unless the cursor is
        there already.
        """
        row, column = self.cursor_location
        line = self.document.get_line(row)
        indent = len(line) - len(line.lstrip())
        return row, 0 if column == indent or not smart_home else indent

    def get_cursor_line_end_location(self) -> tuple[int, int]:
        """Return the end of the whole code line, even if it is wrapped."""
        row = self.cursor_location[0]
        return row, len(self.document.get_line(row))

    def mark(self, rows: Iterable[int]) -> None:
        """Mark these rows, counted from 0, and clear all other marks."""
        if self._marked != (chosen := frozenset(rows)):
            self._marked = chosen
            self.highlight_again()

    def action_cursor_to(self, place: str) -> None:
        self.move_cursor((0, 0) if place == "start" else self.document.end)

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Return whether the editor consumes a key, including Enter and Shift+Tab."""
        if key == "enter":
            return not self.is_done
        return key == "shift+tab" or super().check_consume_key(key, character)

    def highlights(self) -> Iterable[tuple[int, int, int, str]]:
        """Yield each styled range as `(row, first byte, end byte, style)`.

        Textual would use tree-sitter for this.
        """
        row = column = 0
        for token, text in _LEXER.get_tokens(self.text):
            style = _style_of(token)
            for number, line in enumerate(text.split("\n")):
                row, column = (row + 1, 0) if number else (row, column)
                end = column + len(line.encode())
                if style and line:
                    yield row, column, end, style
                column = end
        for row in self._marked:
            if row < self.document.line_count:
                line = self.document.get_line(row)
                begin = len(line.encode()) - len(line.lstrip().encode())
                yield row, begin, len(line.encode()), _MARK


def _shifted(line: str, *, deeper: bool) -> str:
    if deeper:
        return INDENT + line if line.strip() else line
    return line[min(_indent_of(line), len(INDENT)) :]


def _indent_below(line: str) -> str:
    spaces = line[: len(line) - len(line.lstrip(" "))]
    return spaces + (INDENT if line.rstrip().endswith(":") else "")


def _style_of(token: Token) -> str | None:
    """Return the style name of a token or of its nearest ancestor that has one."""
    while token and token not in CodeColours.STYLES:
        token = token.parent
    return str(token) if token else None


def find_edit_selection(code: str, answer: str = "") -> Selection | None:
    """Return the code to select for the learner to type over, or a cursor at the line to change.

    Args:
        code: The code to change.
        answer: A solution. If nothing in the code marks the line to change, the first difference
            from the solution does.
    """
    changes = find_differing_rows(code, answer) if answer else []
    lines = code.split("\n")
    for row, line in enumerate(lines):
        may_change = not answer or any(row in rows for rows in changes)
        if may_change and (match := _GAP.search(line)):
            return Selection((row, match.start()), (row, match.end()))
        if _ALL_BELOW.match(line):
            end = _end_of_body(lines, row)
            return Selection((row, _indent_of(line)), (end, len(lines[end])))
        if match := _STAND_IN.match(line):
            return Selection((row, match.start(1)), (row, match.end(1)))
        if TO_CHANGE.search(line):
            return (
                _statement(row, line)
                if any(row in rows for rows in changes)
                else (Selection.cursor((row, _indent_of(line))))
            )
    if not changes:
        return None
    row, is_new = changes[0].start, not changes[0]
    if is_new and row:  # a line is missing: Enter at the end of the one above begins it
        return Selection.cursor((row - 1, len(lines[row - 1])))
    indent, line = _indent_of(lines[row]), lines[row]
    if line.startswith("#", indent):  # a comment in place of a missing line
        return Selection((row, indent), (row, len(line)))
    return Selection.cursor((row, indent)) if is_new else _statement(row, line)


def _end_of_body(lines: list[str], first: int) -> int:
    end = first
    for row in range(first, len(lines)):
        if lines[row].strip():
            if _indent_of(lines[row]) < _indent_of(lines[first]):
                break
            end = row
    return end


def _statement(row: int, line: str) -> Selection:
    """Select a line's code without its comment, or return a cursor if it begins with a bracket."""
    code, indent = "", _indent_of(line)
    if not re.match(r"[\w@]", line[indent:]):
        return Selection.cursor((row, indent))
    for token, text in _LEXER.get_tokens(line):
        if token in Comment:
            break
        code += text
    return Selection((row, indent), (row, len(code.rstrip())))


def has_gap(code: str, answer: str) -> bool:
    """Return whether the code has a gap to fill in before it can run."""
    place = find_edit_selection(code, answer)
    if place is None:
        return False
    (row, begin), (_, end) = place
    return code.split("\n")[row][begin:end] == "..."


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())
