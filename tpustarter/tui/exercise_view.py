"""An exercise as it is seen: the task, what the answer came to, the learner's file, the hints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tpustarter.tui.editor import Editor
from tpustarter.tui.lines import Hanging, Lines, Stack, prose
from tpustarter.tui.outline import BESIDE
from tpustarter.tui.own_code import OwnCode
from tpustarter.tui.plain import plain, plain_source
from tpustarter.tui.reading import LessonText, coloured, marked
from tpustarter.tui.wrapped_code import Code

ENDS = ("pass", "fail", "error")
"""How an answer may have ended: each has a frame of its own colour."""
COMPARED = 120
"""Columns from which the solution and the learner's file stand side by side, to be compared."""


class ExerciseView(Horizontal):
    """All of an exercise; the file stands beside the rest where there is room."""

    def __init__(self) -> None:
        super().__init__(id="reading")
        self._answer_title = ""

    def compose(self) -> Iterable[Widget]:
        """Yield the parts, empty at first."""
        with VerticalScroll(id="page"):
            yield LessonText("", id="task")
            yield _panel("answer", "Your answer")
            yield OwnCode(id="own-below")
            yield _panel("below", "Named in the task; part of what judges your answer")
            yield _panel("hints", "Hints")
            yield _panel("solution", "The solution")
        yield OwnCode(id="own-beside")

    def has_room_beside(self, width: int) -> bool:
        """Return whether the file stands beside the rest: sooner where the solution is shown."""
        return width >= (COMPARED if self.query_one("#solution").display else BESIDE)

    def show_task(self, title: str, task: str, place: str) -> None:
        """Show what is to be done, and which of the lesson's exercises it is."""
        self.query_one(LessonText).update(plain_source(f"# {title}\n\n{task}\n"))
        title = f"Your answer to exercise {place}" if place else "Your answer"
        self._answer_title = title

    def show_file(self, path: str, code: str, *, first_line: int) -> None:
        """Show what the learner's file holds from a line on."""
        for view in self.query(OwnCode):
            view.show(code, path, first_line=first_line)

    def show_below(self, code: str) -> None:
        """Show what stands below the learner's part and is named in the task, if anything."""
        self._show("below", [Code(coloured(plain(code)))] if code else [])

    def mark_lines(self, numbers: Iterable[int]) -> None:
        """Mark the lines of the learner's file that the verdict is about."""
        for view in self.query(OwnCode):
            view.mark(numbers)

    def show_answer(
        self, ended: str, pieces: Sequence[Lines | Content], *, is_old: bool = False
    ) -> None:
        """Show what the answer came to.

        Args:
            ended: One of `ENDS`, or nothing.
            pieces: The verdict, what was printed, and where a right answer leads.
            is_old: Whether something was typed since: it has other lines by now.
        """
        answer = self._show("answer", pieces)
        answer.border_title = self._answer_title + ", before your change" * is_old
        for end in ENDS:
            answer.set_class(end == ended, f"-{end}")

    def keep_in_sight(self, verdict: Content | str) -> None:
        """Say it below all that scrolls; not where the file stands beside the verdict."""
        is_said = bool(verdict) and not self.screen.has_class("-beside")
        line = self.screen.query_one("#headline", Static)
        line.update(verdict)
        line.set_class(not is_said, "-silent")

    def show_hints(self, hints: Sequence[str], count: int) -> None:
        """Show the hints that were asked for, of so many."""
        pieces = [Hanging(f"Hint {number} of {count}  ", prose(hint))
                  for number, hint in enumerate(hints, 1)]  # fmt: skip
        self._show("hints", pieces)

    def show_solution(self, code: str, numbers: Collection[int]) -> None:
        """Show the solution, with some lines in bold; nothing while it is not asked for."""
        rows = [number - 1 for number in numbers]
        shown = Code(marked(coloured(plain(code)), rows, "bold"))
        panel = self._show("solution", [shown] if code else [])
        panel.border_title = "The solution" + "; what it changes is bold" * bool(rows)

    def _show(self, name: str, pieces: Sequence[Lines | Content]) -> Static:
        panel = self.query_one(f"#{name}", Static)
        panel.update(Stack(pieces))
        panel.display = bool(pieces)
        return panel

    def show_more_of_answer(self) -> None:
        """Bring what the answer came to into sight; the task or the hints may be there.

        While one types below it stands on top, which leaves room for the line that is typed.
        """
        top = self.editor is not None
        show = self.query_one("#answer").scroll_visible
        self.call_after_refresh(show, animate=False, top=top)

    def show_top_of_solution(self) -> None:
        """Bring the solution into sight, from its first line on."""
        show = self.query_one("#solution").scroll_visible
        self.call_after_refresh(show, animate=False, top=True)

    def show_end(self) -> None:
        """Bring what came last into sight."""
        self.call_after_refresh(self.query_one("#page").scroll_end, animate=False)

    def follow(self, editor: TextArea) -> None:
        """Bring the line that is typed into sight."""
        page = self.query_one("#page")
        line = editor.cursor_screen_offset.y - page.region.y
        if editor.has_focus and editor in page.query(TextArea) and not 0 <= line < page.size.height:
            top = page.scroll_offset.y + line - page.size.height // 2
            page.scroll_to(y=max(top, 0), animate=False, immediate=True)

    def read_on(self) -> None:
        """Show the next lines."""
        self.query_one("#page").scroll_page_down(animate=False)

    def give_back_keys(self) -> None:
        """Put the focus where keys are no letters."""
        self.screen.set_focus(self.query_one("#page"))

    @property
    def editor(self) -> Editor | None:
        """What is typed into now."""
        return next((view.editor for view in self.query(OwnCode) if view.editor), None)

    async def edit(self, code: str) -> None:
        """Let the learner type into the file that is in sight."""
        shown = next(view for view in self.query(OwnCode) if view.display)
        await shown.edit(code)
        shown.scroll_visible(animate=False)
        if editor := self.editor:
            self.call_after_refresh(self.follow, editor)

    async def end_edit(self) -> None:
        """Show the file again."""
        editor = self.editor
        for view in self.query(OwnCode):
            if editor:
                view.remember(editor)
            await view.end_edit()


def _panel(name: str, title: str) -> Static:
    """Return a part with a title, not seen before it holds something."""
    panel = Static("", id=name, classes="part")
    panel.border_title, panel.display = title, False
    return panel
