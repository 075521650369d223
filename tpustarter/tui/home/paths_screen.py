"""The choice of a learning path: a row for each kind of reader, with lessons and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.learning.content.paths import list_lessons_on_path
from tpustarter.setup.environment import needed_setups
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.page import PanelPage
from tpustarter.tui.kit.row_list import DelayedRowList, Row, RowList, SidePanel
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    TextLine,
    status_word,
    style_sentence,
)

if TYPE_CHECKING:
    from tpustarter.learning.content.paths import LessonPath
    from tpustarter.learning.progress.path_progress import PathProgress
    from tpustarter.tui.home.course_facts import Course
    from tpustarter.tui.home.machine_facts import MachineFacts

ASKING = "Which of these describes you? Your answer puts the lessons into an order that suits you."
LATER = "To change it later, press p on the first screen."
DIGITS = "1234567890"
"""The keys of the first ten paths, in order."""
HIGH = 34
"""Minimum screen height for a line per stage below the paths, or for spaces between the paths."""
HIGHEST = 48
"""Minimum screen height, in lines, for a line about each path's readers."""
LOW = 20
"""Minimum screen height, in lines, for the details of the highlighted path."""
BESIDE = 120
"""Minimum screen width, in columns, for showing the stages next to the paths."""
NARROW = 80
LOW_AND_NARROW = 28
"""The equivalent of `LOW` on a narrow screen, where each sentence takes more lines."""


class PathList(DelayedRowList):
    """The list of paths; Enter chooses the highlighted one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "take this path", key_display="Enter"),
    ]


class PathsScreen(PanelPage):
    """The choice of a learning path, with a suggestion for this machine and its reason."""

    HELP = """
A path is an order of lessons for one kind of reader. To choose one, press its number, or press
Enter on its line.

The text below the list, or beside it in a wide window, says who the marked path is for, and what
its stages are. What you have done counts on every path that has the lesson, so you lose nothing
when you change.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "1", "take(1)", "take it", key_display="1, 2, ...", tooltip="tpustarter learn --path ID"
        ),
        *(
            Binding(digit, f"take({number})", show=False)
            for number, digit in enumerate(DIGITS[1:], 2)
        ),
        Binding(
            "escape",
            "suggested",
            "take the suggested one",
            key_display="Esc",
            tooltip="the path that is marked when you arrive",
        ),
        Binding("escape", "back", "back", key_display="Esc", tooltip="the screen before this one"),
        Binding("space", "read_on", "read on", show=False, tooltip="about the marked path"),
    ]

    def __init__(self, follow: Callable[[str | None], None], *, is_first: bool) -> None:
        """Create the screen.

        Args:
            follow: Called with the id of the chosen path, or None for the path that suits this
                machine if it is not known yet.
            is_first: Whether no path has been chosen yet; Esc then takes the suggested one.
        """
        super().__init__("Choose a path")
        self._follow = follow
        self._is_first = is_first
        self._course: Course | None = None
        self._facts: MachineFacts | None = None
        self._highlighted: str | None = None
        """The row highlighted by this screen instead of a key."""

    def body(self) -> Iterable[Widget]:
        text = f"{ASKING} {LATER}" if self._is_first else ASKING
        yield Static(Content(text), id="asking")
        with Container(id="choosing"):
            yield PathList(id="paths")
            yield SidePanel("about")

    def on_mount(self) -> None:
        self.set_focus(self.query_one(RowList))
        self._show()

    def on_resize(self) -> None:
        """Place the details next to the paths or below them; a low screen shows only the paths."""
        is_narrow = self.size.width < NARROW
        self.set_class(self.size.height < (LOW_AND_NARROW if is_narrow else LOW), "-low")
        self.set_class(self.size.width >= BESIDE, "-beside")
        self._show()
        self._describe()

    def show(self, course: Course | None, facts: MachineFacts | None) -> None:
        """Show the course and the machine; either may be None while it is not known."""
        self._course, self._facts = course, facts
        if self.is_mounted and self.is_attached:
            self._show()
            self._describe()

    @property
    def _paths(self) -> list[LessonPath]:
        return self._course.paths if self._course else []

    @property
    def _suggested(self) -> str | None:
        """The id of the path that suits this machine, or None while it is not known."""
        name = self._facts.suggestion[0] if self._facts else None
        return name if name in [path.id for path in self._paths] else None

    @property
    def _own(self) -> str | None:
        """The id of the user's path, or None if none has been chosen yet."""
        path = self.tutor.find_path(self._paths)
        return path.id if path and not self._is_first else None

    def _show(self) -> None:
        if self._course and len(self._paths) < 2:
            self.dismiss()  # there is nothing to choose, and the home screen shows why
            return
        rows = self.query_one(PathList)
        moved = rows.is_moved or rows.highlighted_id != self._highlighted
        rows.show(self._rows(), highlight=None if moved else self._own or self._suggested)
        self._highlighted = self._highlighted if moved else rows.highlighted_id
        self.set_area_title("paths", f"{len(self._paths)} paths" if self._paths else "")
        self.refresh_bindings()

    def _rows(self) -> Iterator[Row]:
        if self._course is None:
            yield Row(None, "  reading the lessons ...")
            return
        are_apart = self.size.height >= (HIGH if self.has_class("-beside") else HIGHEST)
        for number, path in enumerate(self._paths, 1):
            if are_apart and number > 1:
                yield Row(None, "")
            mark = "*" if path.id == self._own else " "
            digit = DIGITS[number - 1] if number <= len(DIGITS) else " "
            label = f" {digit} {mark} {escape_text(path.title)}"
            note: tuple[LaidOutLines, ...] = ()
            if self.size.height >= HIGHEST:  # otherwise only the details show it
                note = (HangingText("     ", Content.styled(escape_text(path.who), "$muted")),)
            if path.id == self._own:
                note = (*note, HangingText("     ", status_word("done", "You are on this path.")))
            if self._facts and path.id == self._suggested:
                text = f"Suggested for this machine: {self._facts.suggestion[1]}."
                note = (*note, HangingText("     ", status_word("next", text)))
            yield Row(path.id, label, _amount(self._course.find_path_progress(path)), note, hang=5)

    @on(RowList.OptionHighlighted)
    def _describe(self) -> None:
        chosen = self.query_one(PathList).highlighted_id
        path = next((path for path in self._paths if path.id == chosen), None)
        if path is None or self._course is None:
            return
        course = self._course
        stages = [stage for stage in course.find_path_progress(path).stages if stage.title]
        lines: list[LaidOutLines] = [HangingText("", Content.styled(escape_text(path.who), "bold"))]
        lines += [HangingText("", style_sentence(text)) for text in self._needs(path)]
        is_beside = self.has_class("-beside")
        if stages and (is_beside or self.size.height >= HIGH):
            for stage in stages:
                if not is_beside:
                    lines.append(
                        TextLine(Content(f"  {escape_text(stage.title)}"), stage.size_text, hang=2)
                    )
                    continue
                names = ", ".join(escape_text(course.lessons[one].title) for one in stage.lessons)
                title = Content.styled(escape_text(stage.title), "bold $key")
                lines += [HangingText("", ""), TextLine(title, stage.size_text, hang=2)]
                lines.append(HangingText("  ", Content.styled(names, "$muted")))
        elif stages:
            first, last = stages[0].title, stages[-1].title
            said = f"{len(stages)} stages, from “{first}” to “{last}”"
            if len(stages) == 1:
                said = f"One stage, “{first}”"
            lines.append(HangingText("", escape_text(said)))
        self.query_one(SidePanel).show(StackedText(lines))
        self.set_area_title("about", path.title if is_beside else "")

    def _needs(self, path: LessonPath) -> Iterator[str]:
        """Yield the sentences about what a path needs, once the machine has been examined."""
        if self._course and self._facts:
            on_path = list_lessons_on_path(path, self._course.lessons.values())
            for setup in needed_setups.find_needed_setups(on_path, self._facts.pythons):
                if self.has_class("-beside"):
                    yield setup.describe(len(on_path))
                elif setup.blocked:
                    yield setup.describe_briefly(len(on_path))

    @on(RowList.OptionSelected)
    def take_row(self, event: RowList.OptionSelected) -> None:
        self._take(event.option_id)

    def action_take(self, number: int) -> None:
        """Follow the path with this number, even if the key comes before the paths are read."""
        self.query_one(PathList).call_once_shown(partial(self._take_number, number))

    def _take_number(self, number: int) -> None:
        if number <= len(self._paths):
            self._take(self._paths[number - 1].id)

    def action_suggested(self) -> None:
        """Follow the path that suits this machine; the home screen waits until it is known."""
        is_known = self._facts and self._course
        self._take(self._suggested or self._paths[0].id if is_known else None)

    def _take(self, path_id: str | None) -> None:
        """Close the screen and report the choice; later keys choose nothing."""
        if self.is_current:
            self.dismiss()
            self._follow(path_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let Esc take the suggested path on the first start, and go back later."""
        if action in ("suggested", "back"):
            return self._is_first == (action == "suggested")
        return super().check_action(action, parameters)


def _amount(progress: PathProgress) -> str:
    """Return a path's number of lessons, or of those done, and its duration."""
    part = progress.whole
    count = len(part.lessons)
    said = f"{part.done} of {count} done" if part.is_begun else f"{count} lessons"
    return f"{said}  {phrases.format_reading_time(part.minutes):>11}"
