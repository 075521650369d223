"""An exercise's view: the task, the verdict, the learner's file and the hints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tpustarter.tui.exercise.answer_editor import LearnerCode
from tpustarter.tui.kit.editor import CodeEditor
from tpustarter.tui.kit.markdown_text import LessonText, colour_code, mark_rows
from tpustarter.tui.kit.safe_text import clean_text, plain_source
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence
from tpustarter.tui.kit.wrapped_code import WrappedCode
from tpustarter.tui.lesson.page.outline import BESIDE
from tpustarter.tui.terminal.removed_nodes import QuietWhenRemoved

ENDS = ("pass", "fail", "error")
"""The statuses of an answer with their own border colour."""
COMPARED = 120
"""Minimum screen width, in columns, for showing the solution and the file side by side."""


class ExerciseView(QuietWhenRemoved, Horizontal):
    """All parts of an exercise, with the learner's file next to the other parts if it fits."""

    def __init__(self) -> None:
        super().__init__(id="reading")
        self._answer_title = ""
        self._answer_offset: float | None = None
        """The scroll offset that shows the answer; if it differs now, the user has scrolled."""

    def on_mount(self) -> None:
        page = self.query_one("#page")
        self.watch(page, "virtual_size", lambda: self.call_next(self._keep_answer_in_sight))

    def compose(self) -> Iterable[Widget]:
        with VerticalScroll(id="page"):
            yield LessonText("", id="task")
            yield _panel("answer", "Your answer")
            yield LearnerCode(id="own-below")
            yield _panel("below", "Named in the task; part of what judges your answer")
            yield _panel("hints", "Hints")
            yield _panel("solution", "The solution")
        yield LearnerCode(id="own-beside")

    def fits_side_by_side(self, width: int) -> bool:
        """Return whether a screen is wide enough to show the file next to the task."""
        return width >= (COMPARED if self.query_one("#solution").display else BESIDE)

    def show_task(self, title: str, task: str, place: str) -> None:
        """Show the task; `place` is the exercise's position in its lesson, or ""."""
        self.query_one(LessonText).update(plain_source(f"# {title}\n\n{task}\n"))
        title = f"Your answer to exercise {place}" if place else "Your answer"
        self._answer_title = title

    def show_file(self, path: str, code: str, *, first_line: int) -> None:
        """Show the learner's part of the file, which begins at `first_line`."""
        for view in self.query(LearnerCode):
            view.show(code, path, first_line=first_line)

    def show_below(self, code: str) -> None:
        """Show the judging code that the task mentions, or hide it if there is none."""
        self._show("below", [WrappedCode(colour_code(clean_text(code)))] if code else [])

    def mark_lines(self, numbers: Iterable[int]) -> None:
        """Mark the lines of the learner's file that the verdict refers to."""
        for view in self.query(LearnerCode):
            view.mark(numbers)

    def show_answer(
        self, ended: str, pieces: Sequence[LaidOutLines | Content], *, is_old: bool = False
    ) -> None:
        """Show the verdict.

        Args:
            ended: The answer's status, which determines the border's colour.
            pieces: The verdict, the output, and the next steps after a right answer.
            is_old: Whether the user has typed since, which may have moved lines.
        """
        answer = self._show("answer", pieces)
        answer.border_title = self._answer_title + ", before your change" * is_old
        for end in ENDS:
            answer.set_class(end == ended, f"-{end}")

    def keep_in_sight(self, verdict: Content | str) -> None:
        """Show the verdict on the line that does not scroll, unless the layout is wide."""
        is_said = bool(verdict) and not self.screen.has_class("-beside")
        line = self.screen.query_one("#headline", Static)
        line.update(verdict)
        line.set_class(not is_said, "-silent")

    def show_hints(self, hints: Sequence[str], count: int) -> None:
        """Show the revealed hints; `count` is the number of all hints."""
        pieces = [
            HangingText(f"Hint {number} of {count}  ", style_sentence(hint))
            for number, hint in enumerate(hints, 1)
        ]
        self._show("hints", pieces)

    def show_solution(self, code: str, numbers: Collection[int]) -> None:
        """Show the solution with the given lines in bold, or hide it if the code is empty."""
        rows = [number - 1 for number in numbers]
        shown = WrappedCode(mark_rows(colour_code(clean_text(code)), rows, "bold"))
        panel = self._show("solution", [shown] if code else [])
        panel.border_title = "The solution" + "; what it changes is bold" * bool(rows)

    def _show(self, name: str, pieces: Sequence[LaidOutLines | Content]) -> Static:
        panel = self.query_one(f"#{name}", Static)
        panel.update(StackedText(pieces))
        panel.display = bool(pieces)
        return panel

    def show_more_of_answer(self) -> None:
        """Scroll the verdict into view.

        While the user types, it is scrolled to the top, to leave space for the typed line.
        Otherwise the line that it refers to is scrolled into view with it, if both fit.
        """
        answer = self.query_one("#answer")
        if self.editor is not None:
            self.call_after_refresh(answer.scroll_visible, animate=False, top=True)
        else:
            self.call_after_refresh(self._show_answer_and_line)

    def _keep_answer_in_sight(self) -> None:
        # Textual (8.2.8) may run `call_after_refresh` callbacks before it has laid out a change.
        if self.editor is None and self.query_one("#page").scroll_offset.y == self._answer_offset:
            self._show_answer_and_line()

    def _show_answer_and_line(self) -> None:
        page, answer = self.query_one("#page"), self.query_one("#answer").region
        top, height, here = page.region.y, page.size.height, page.scroll_offset.y
        below = self.query_one("#own-below", LearnerCode)
        bottom = max(answer.bottom, (below.display and below.last_marked_row) or 0)
        most = answer.y - top + here
        offset = min(most, max(here, bottom - top + here - height))
        page.scroll_to(y=offset, animate=False, immediate=True)
        self._answer_offset = page.scroll_offset.y

    def show_top_of_solution(self) -> None:
        """Scroll to the first line of the solution."""
        show = self.query_one("#solution").scroll_visible
        self.call_after_refresh(show, animate=False, top=True)

    def show_end(self) -> None:
        """Scroll to the end."""
        self.call_after_refresh(self.query_one("#page").scroll_end, animate=False)

    def follow(self, editor: TextArea) -> None:
        """Scroll the line that the user is typing into view."""
        page = self.query_one("#page")
        line = editor.cursor_screen_offset.y - page.region.y
        if editor.has_focus and editor in page.query(TextArea) and not 0 <= line < page.size.height:
            top = page.scroll_offset.y + line - page.size.height // 2
            page.scroll_to(y=max(top, 0), animate=False, immediate=True)

    def release_keys(self) -> None:
        """Move the focus out of the editor, so that keys act as commands again."""
        self.screen.set_focus(self.query_one("#page"))

    @property
    def editor(self) -> CodeEditor | None:
        """The open editor, or None."""
        return next((view.editor for view in self.query(LearnerCode) if view.editor), None)

    async def edit(self, code: str) -> None:
        """Open the editor in the visible view of the file."""
        shown = next(view for view in self.query(LearnerCode) if view.display)
        await shown.edit(code)
        shown.scroll_visible(animate=False)

    async def end_edit(self) -> None:
        """Close the editor and show the file."""
        editor = self.editor
        for view in self.query(LearnerCode):
            if editor:
                view.remember(editor)
            await view.end_edit()


def _panel(name: str, title: str) -> Static:
    """Create a titled part, which is hidden until it is filled."""
    panel = Static("", id=name, classes="part")
    panel.border_title, panel.display = title, False
    return panel
