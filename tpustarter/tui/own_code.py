"""The learner's part of an exercise, below or beside the task: shown, and typed into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.text_area import Selection

from tpustarter.tui import exercise_words
from tpustarter.tui.editor import Editor, place_to_edit
from tpustarter.tui.plain import plain, plain_source
from tpustarter.tui.reading import coloured, marked
from tpustarter.tui.wrapped_code import Code


class Answer(Editor):
    """The editor of an exercise: what is typed is judged, not only run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "screen.run", "judge", key_display="Ctrl+R", tooltip="what is typed"),
    ]


class OwnCode(Vertical):
    """The learner's part of the file, as it was saved last, or as it is typed."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.border_title = "Your file"
        self._code, self._first_line = "", 1
        self._marked: frozenset[int] = frozenset()
        """The lines of the file that a verdict is about."""
        self._typed_at: Selection | None = None
        """Where the learner typed last."""

    def compose(self) -> Iterable[Widget]:
        """Yield where the file is, and the code."""
        yield Static("", classes="path")
        yield Static("", classes="above")
        yield Static("", classes="code")

    def show(self, code: str, path: str | None = None, *, first_line: int = 1) -> None:
        """Show code, in colours, where it is kept, and where in the file it begins.

        Errors name the lines of the file.
        """
        if code.strip() != self._code.strip():
            self._typed_at = None
        self._code, self._first_line = code, first_line
        self._paint()
        if path is not None:
            self.query_one(".path", Static).update(Content.styled(path, "$muted"))
        self._say_above()

    def _say_above(self) -> None:
        """Say what typing replaces, else what the file holds above the code that is shown."""
        offered = self.editor.offered if self.editor else ""
        above = exercise_words.replaced(offered) or exercise_words.above(self._first_line)
        self.query_one(".above", Static).update(above)

    def on_text_area_selection_changed(self) -> None:
        """Say it no longer once something else is selected, or typed."""
        self._say_above()

    def mark(self, numbers: Iterable[int]) -> None:
        """Mark lines of the file, and no others."""
        if self._marked != (chosen := frozenset(numbers)):
            self._marked = chosen
            self._paint()

    def _paint(self) -> None:
        rows = {number - self._first_line for number in self._marked}
        code = marked(coloured(plain(self._code)), rows)
        self.query_one(".code", Static).update(Code(code, first_line=self._first_line))
        if editor := self.editor:
            above = len(editor.text) - len(editor.text.lstrip("\n"))  # lines that are not kept
            editor.mark(row + above for row in rows)

    @property
    def editor(self) -> Editor | None:
        """What is typed into now."""
        return next(iter(self.query(Editor)), None)

    async def edit(self, code: str) -> None:
        """Let the learner type, see `_place`."""
        editor = Answer(plain_source(code), first_line=self._first_line)
        editor.preselect(self._place(editor.text))
        self.query_one(".code").display = False
        self.add_class("-current")
        await self.mount(editor)
        self._paint()
        self._say_above()
        self.screen.set_focus(editor)

    def _place(self, code: str) -> Selection:
        """Return where one types: in a line that a verdict names, or where one did before.

        Without either it is the gap, which is marked.
        """
        lines = code.split("\n")
        last = len(lines) - 1
        end = Selection.cursor((last, len(lines[last])))
        place = self._typed_at or place_to_edit(code) or end
        (first, _), (last, _) = sorted(place)
        rows = (number - self._first_line for number in sorted(self._marked))
        named = [row for row in rows if 0 <= row < len(lines)]
        if not named or any(first <= row <= last for row in named):
            return place
        line = lines[named[0]]
        return Selection.cursor((named[0], len(line) - len(line.lstrip())))

    def remember(self, editor: Editor) -> None:
        """Go on from where one types, which may be in the other place of the file."""
        self._code, self._typed_at = editor.text, editor.selection

    async def end_edit(self) -> None:
        """Show the code again."""
        if editor := self.editor:
            await editor.remove()
            self._paint()
            self._say_above()
        self.remove_class("-current")
        self.query_one(".code").display = True
