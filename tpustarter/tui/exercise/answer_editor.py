"""The learner's part of an exercise: the code and its editor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.text_area import Selection

from tpustarter.tui.exercise import verdict_text
from tpustarter.tui.kit.editor import CodeEditor, find_edit_selection
from tpustarter.tui.kit.markdown_text import colour_code, mark_rows
from tpustarter.tui.kit.safe_text import clean_text, plain_source
from tpustarter.tui.kit.wrapped_code import WrappedCode


class AnswerEditor(CodeEditor):
    """The editor of an exercise, in which Ctrl+R judges the answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "screen.run", "judge", key_display="Ctrl+R", tooltip="what is typed"),
    ]

    def on_resize(self) -> None:
        """Have the selected code scrolled into view at first: it may be far below the top."""
        if not self._was_laid_out:  # Textual calls the method of the base class later
            self.post_message(self.SelectionChanged(self.selection, self))


class LearnerCode(Vertical):
    """The learner's part of the file, as saved or while it is edited."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.border_title = "Your file"
        self._code, self._first_line = "", 1
        self._marked: frozenset[int] = frozenset()
        """The lines of the file that a verdict refers to."""
        self._typed_at: Selection | None = None
        """The editor's selection when it was last closed."""

    def compose(self) -> Iterable[Widget]:
        yield Static("", classes="path")
        yield Static("", classes="above")
        yield Static("", classes="code")

    def show(self, code: str, path: str | None = None, *, first_line: int = 1) -> None:
        """Show highlighted code with its file's path and with the file's line numbers.

        The line numbers are those that error messages use.
        """
        if code.strip() != self._code.strip():
            self._typed_at = None
        self._code, self._first_line = code, first_line
        self._paint()
        if path is not None:
            self.query_one(".path", Static).update(Content.styled(path, "$muted"))
        self._say_above()

    def _say_above(self) -> None:
        """Show which code typing replaces, or else which lines of the file are above the code."""
        offered = self.editor.offered if self.editor else ""
        above = verdict_text.format_replaced_note(offered) or verdict_text.format_lines_above(
            self._first_line
        )
        self.query_one(".above", Static).update(above)

    def on_text_area_selection_changed(self) -> None:
        self._say_above()

    def mark(self, numbers: Iterable[int]) -> None:
        """Mark these lines of the file, and clear all other marks."""
        if self._marked != (chosen := frozenset(numbers)):
            self._marked = chosen
            self._paint()

    @property
    def last_marked_row(self) -> int:
        """The screen row after the last marked line, or 0 if no line is marked."""
        if not self._marked:
            return 0
        region = self.query_one(".code").region
        rows = self._code.split("\n")[: max(self._marked) - self._first_line + 1]
        shown = WrappedCode(Content("\n".join(rows)), first_line=self._first_line)
        return region.y + len(shown.lines(region.width))

    def _paint(self) -> None:
        rows = {number - self._first_line for number in self._marked}
        code = mark_rows(colour_code(clean_text(self._code)), rows)
        self.query_one(".code", Static).update(WrappedCode(code, first_line=self._first_line))
        if editor := self.editor:
            above = len(editor.text) - len(editor.text.lstrip("\n"))  # lines that are not saved
            editor.mark(row + above for row in rows)

    @property
    def editor(self) -> CodeEditor | None:
        """The open editor, or None."""
        return next(iter(self.query(CodeEditor)), None)

    async def edit(self, code: str) -> None:
        """Open the editor with the selection that `_place` returns."""
        editor = AnswerEditor(plain_source(code), first_line=self._first_line)
        self.query_one(".code").display = False
        self.add_class("-current")
        await self.mount(editor)
        editor.preselect(self._place(editor.text))  # before, the cursor would have no place yet
        self._paint()
        self._say_above()
        self.screen.set_focus(editor)

    def _place(self, code: str) -> Selection:
        """Return the initial selection: the last one, or the gap, or the end of the code.

        If the verdict refers to lines outside the selection, return a cursor at the first of them.
        """
        lines = code.split("\n")
        last = len(lines) - 1
        end = Selection.cursor((last, len(lines[last])))
        place = self._typed_at or find_edit_selection(code) or end
        (first, _), (last, _) = sorted(place)
        rows = (number - self._first_line for number in sorted(self._marked))
        named = [row for row in rows if 0 <= row < len(lines)]
        if not named or any(first <= row <= last for row in named):
            return place
        line = lines[named[0]]
        return Selection.cursor((named[0], len(line) - len(line.lstrip())))

    def remember(self, editor: CodeEditor) -> None:
        """Store the text and selection of an editor, which may be in the file's other view."""
        self._code, self._typed_at = editor.text, editor.selection

    async def end_edit(self) -> None:
        """Close the editor and show the code."""
        if editor := self.editor:
            await editor.remove()
            self._paint()
            self._say_above()
        self.remove_class("-current")
        self.query_one(".code").display = True
