"""The list of all exercises, with each one's state and task."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on, work
from textual.binding import Binding, BindingType

from tpustarter.core.problem import Problem
from tpustarter.learning.content import exercises
from tpustarter.learning.content.exercises import Exercise, State
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.home import course_facts
from tpustarter.tui.kit.list_with_details import ListWithDetails
from tpustarter.tui.kit.page import EXPLAIN
from tpustarter.tui.kit.row_list import DetailRows, Row, RowList
from tpustarter.tui.kit.text_layout import (
    HangingText,
    StackedText,
    group_heading,
    status_word,
    style_sentence,
)
from tpustarter.tui.library import search_details

if TYPE_CHECKING:
    from tpustarter.core.content import Lesson

STATES: dict[str, Collection[State]] = {
    "all": ("new", "begun", "fail", "pass", "shown"),
    "open": ("new", "begun", "fail", "shown"),
    "solved": ("pass",),
}
"""The states shown by each filter."""
_STYLES: dict[State, str] = {"pass": "pass", "fail": "warn", "shown": "warn"}


@dataclass(frozen=True)
class _Listed:
    exercise: Exercise
    state: State
    is_on_path: bool


@dataclass(frozen=True)
class _Found:
    """The facts read by the worker."""

    listed: list[_Listed]
    following: str | None
    """The id of the next open exercise of lessons already read, or None."""
    trouble: str
    """The reasons why some exercises cannot be read, or ""."""

    @property
    def next(self) -> str | None:
        """The id of the exercise to start with: `following`, or else the first unsolved one."""
        left = (one.exercise.id for one in self.listed if one.state != "pass")
        return self.following or next(left, None)


class ExerciseListScreen(ListWithDetails):
    """The list of exercises, those on the path first."""

    CALLED = "the list of exercises"
    HELP = """
These are the exercises of all lessons, those of your path first. Enter opens the marked one, and
the first that is open is marked when you arrive. `v` shows only those that are open, then only
those that are solved, then all of them.

* **solved** means that an answer of yours was right, and it stays so.
* **begun** means that you have typed into it, and **not yet** that your last answer was wrong.
* **shown** means that you have looked at the solution, and have not solved it yourself.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "lesson", "lesson", tooltip="tpustarter learn LESSON"),
        Binding("v", "filter('open')", "only open ones", tooltip="tpustarter learn --exercise"),
        Binding("v", "filter('solved')", "only solved ones", tooltip="tpustarter learn --exercise"),
        Binding("v", "filter('all')", "all", tooltip="tpustarter learn --exercise --all"),
        EXPLAIN,
    ]

    def __init__(self) -> None:
        super().__init__("Exercises")
        self._listed: dict[str, _Listed] = {}
        self._filter = "all"
        self._trouble = ""
        self.is_ready = False

    def on_mount(self) -> None:
        self.show_text("Reading the exercises ...")

    def on_screen_resume(self) -> None:
        """Read the list again, because an exercise may have been solved."""
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _read(self) -> None:
        course = course_facts.read_course(self.tutor.lessons)
        path = self.tutor.find_path(course.paths)
        progress = course.find_path_progress(path) if path else None
        on_path = progress.whole.lessons if progress else ()
        listed, trouble = list[_Listed](), [course.trouble] if course.trouble else []
        for name in dict.fromkeys((*on_path, *course.lessons)):
            listed += _list_exercises(course.lessons[name], trouble, is_on_path=name in on_path)
        following = course.find_next_exercise(progress) if progress else None
        self.post_message(FactsLoaded(_Found(listed, following, "\n".join(trouble))))

    def on_facts_loaded(self, message: FactsLoaded[_Found]) -> None:
        found = message.facts
        rows, before = self.query_one(DetailRows), self._listed
        self._listed = {one.exercise.id: one for one in found.listed}
        rows.leading = self._listed.keys()
        rows.show(
            [*self._rows()],
            highlight=self._find_row_to_highlight(rows.highlighted_id, before, found),
        )
        self._entitle()
        self._trouble = found.trouble
        self._show_details()
        self.take_keys()

    def _entitle(self) -> None:
        """Show how many exercises on the path are solved, and how many there are in all."""
        listed = [*self._listed.values()]
        on_path = [one for one in listed if one.is_on_path] or listed
        count = sum(one.state == "pass" for one in on_path)
        is_part = len(on_path) < len(listed)
        exercises = phrases.format_count(len(on_path), "exercise")
        words = f"{count} of {exercises}{' of your path' * is_part} solved"
        if self._filter != "all":
            shown = sum(one.state in STATES[self._filter] for one in listed)
            words = f"{shown} {self._filter} of {phrases.format_count(len(listed), 'exercise')}"
        elif is_part:
            words += f", {len(listed)} in all"
        self.set_area_title("rows", words)

    def action_filter(self, kind: str) -> None:
        self._filter = kind
        self.query_one(DetailRows).show([*self._rows()])
        self._entitle()
        self._show_details()

    def _find_row_to_highlight(
        self, highlighted: str | None, before: Mapping[str, _Listed], found: _Found
    ) -> str | None:
        """Return the row to highlight: the same one, or the next exercise if that was solved."""
        if highlighted is None or highlighted not in self._listed:
            return found.next
        was_open = highlighted in before and before[highlighted].state != "pass"
        if (
            was_open
            and self._listed[highlighted].state == "pass"
            and (other := self.find_next_open(highlighted))
        ):
            return other.id
        return highlighted

    def find_next_open(self, name: str) -> Exercise | None:
        """Return the next open exercise below a solved one, or else above it, or None."""
        left = [one for one in self._listed if one == name or self._listed[one].state != "pass"]
        place = left.index(name) if name in left else 0
        others = left[place + 1 :] + left[:place]
        return self._listed[others[0]].exercise if others else None

    def _rows(self) -> Iterator[Row]:
        lesson, was_on_path = "", False
        states = STATES[self._filter]
        shown = {name: one for name, one in self._listed.items() if one.state in states}
        if self._listed and not shown:
            yield Row(None, "None yet. Press v to see the others.")
        for name, one in shown.items():
            exercise = one.exercise
            if was_on_path and not one.is_on_path:
                yield Row(None, "")
                yield Row(None, style_sentence("These are not on your path:"))
            was_on_path = one.is_on_path
            if exercise.lesson.id != lesson:
                lesson = exercise.lesson.id
                yield Row(None, group_heading(escape_text(exercise.lesson.title)))
            label = status_word(
                _STYLES.get(one.state, ""), exercises.WORDS[one.state], exercises.WIDTH
            )
            yield Row(name, HangingText(label, style_sentence(exercise.title)))

    @on(RowList.OptionHighlighted)
    def _show_details(self) -> None:
        one = self._listed.get(self.query_one(RowList).highlighted_id or "")
        self.set_area_title("details", escape_text(one.exercise.title) if one else "")
        pieces = [*search_details.describe_exercise(one.exercise, " (l)")][:-1] if one else []
        self.show_details(StackedText(pieces) if one else "")
        # The command has its own line, so that it is complete, and visible at every height.
        command = f"`tpustarter learn --exercise {one.exercise.id}`" if one else ""
        if one and cell_len(format_commands(f"In a shell: {command}")) <= self.size.width:
            command = f"In a shell: {command}"
        self.show_text("\n".join(filter(None, (self._trouble, command))))
        self.refresh_bindings()

    def action_details(self) -> None:
        if chosen := self.query_one(RowList).highlighted_id:
            self.tutor.go.open_exercise(chosen)

    def action_lesson(self) -> None:
        """Open the exercise's lesson, or go back to it."""
        if (lesson := self._lesson()) and not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.open_lesson(lesson)

    def _lesson(self) -> str:
        one = self._listed.get(self.query_one(RowList).highlighted_id or "")
        return one.exercise.lesson.id if one else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `lesson` if an exercise is highlighted, and `filter` for the next filter only."""
        if action == "lesson":
            return bool(self._lesson())
        if action == "filter":
            kinds = [*STATES]
            return parameters == (kinds[(kinds.index(self._filter) + 1) % len(kinds)],)
        return super().check_action(action, parameters)


def _list_exercises(lesson: Lesson, trouble: list[str], *, is_on_path: bool) -> list[_Listed]:
    """Return a lesson's exercises; on a Problem, add it to `trouble` and return none."""
    try:
        return [
            _Listed(one, exercises.read_exercise_state(one), is_on_path)
            for one in exercises.read_exercises(lesson)
        ]
    except Problem as problem:
        trouble.append(str(problem))
        return []
