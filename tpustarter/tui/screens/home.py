"""Home: what this machine is, the one next step, the path, and the last check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import settings
from tpustarter.tui.lines import Hanging, Lines, word
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.screens.page import Page
from tpustarter.tui.widgets import Row, Rows

if TYPE_CHECKING:
    from tpustarter.content import Lesson, LessonPath
    from tpustarter.learning.progress import Progress
    from tpustarter.tui.facts import Facts


@dataclass(frozen=True)
class Course:
    """What there is to learn, and how far one is."""

    lessons: dict[str, Lesson]
    paths: list[LessonPath]
    done: Progress
    last: dict[str, Any] | None
    trouble: str = ""
    """Why lessons cannot be read, if they cannot."""
    tpus: int = 0
    """TPUs of Google Cloud that this program asked for and that may be billed."""
    unread: int = 0
    """Ledgers of such TPUs that could not be read."""


class Home(Page):
    """The first screen."""

    HELP = """
The line that is marked when you arrive is the one next step: press Enter.

* **This machine** says what was found without starting anything.
* **Path** is an order of lessons. `p` shows the next path: for a TPU VM, for a laptop, for
  trouble.
* **Last check** is what was proven here the last time, and on what.
* **TPUs** of Google Cloud that this program asked for are counted until they are known to be gone.
  `u` shows them, and asks Google for that.

Nothing runs and nothing is changed until you press a key for it, and every screen says on its
last line which keys work.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "check", "check", tooltip="tpustarter check"),
        Binding("l", "lessons", "lessons", tooltip="tpustarter learn"),
        Binding("r", "rehearse", "rehearse", tooltip="tpustarter rehearse"),
        Binding("s", "setup", "set up", tooltip="tpustarter setup jax"),
        Binding("u", "tpus", "TPUs", tooltip="tpustarter tpu list"),
        Binding("p", "next_path", "other path", tooltip="tpustarter learn"),
        Binding(
            "comma",
            "settings",
            "settings",
            key_display=",",
            tooltip="tpustarter check --python PATH --devices N",
        ),
    ]

    def __init__(self) -> None:
        super().__init__("tpustarter")
        self._facts: Facts | None = None
        self._course: Course | None = None

    def body(self) -> Iterable[Widget]:
        """Return the one list all of it stands in."""
        yield Rows(id="home")

    def on_mount(self) -> None:
        """Paint at once; what takes time comes when it is known."""
        self._show()
        self.set_focus(self.query_one(Rows))

    def on_screen_resume(self) -> None:
        """Look again: a lesson may be done by now."""
        self._read_course()
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOOK}-machine")
    def _look(self) -> None:
        from tpustarter.tui import facts  # not needed for the first paint

        self.post_message(Looked(facts.look(self.tutor.machine, self.tutor.choices)))

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOOK}-course")
    def _read_course(self) -> None:
        from tpustarter import content
        from tpustarter.cloud import ledger
        from tpustarter.learning import progress  # not needed for the first paint

        tpus = len(ledger.entries())
        unread = len(ledger.put_aside())
        try:
            lessons = {lesson.id: lesson for lesson in content.read_lessons(self.tutor.lessons)}
            paths = content.read_paths(self.tutor.lessons)
            course = Course(lessons, paths, progress.read(), progress.last_check())
        except Problem as problem:
            course = Course({}, [], progress.Progress(), progress.last_check(), str(problem))
        self.post_message(Looked(replace(course, tpus=tpus, unread=unread)))

    def on_looked(self, message: Looked) -> None:
        """Show what is known now."""
        previous = (self._facts, self._course)
        if isinstance(message.what, Course):
            self._course = message.what
        else:
            self._facts = message.what
            self.tutor.show_place(message.what.place, on_tpu=message.what.on_tpu)
        if previous != (self._facts, self._course):
            self._show()
            self.refresh_bindings()

    def _show(self) -> None:
        rows = self.query_one(Rows)
        first_time = rows.chosen is None
        rows.show(self._rows(), highlight="next" if first_time else None)

    def _rows(self) -> Iterator[Row]:
        yield Row(None, Content.styled("This machine", "bold"))
        facts = self._facts.rows if self._facts else (("", "looking ..."),)
        width = max(8, *(len(name) for name, _ in facts), 0)
        for name, text in facts:
            yield Row(None, Hanging(f"  {name:<{width}} ", text))
        course, path = self._course, self._current_path()
        if course is None:
            return
        yield from _tpu_rows(course)
        yield Row(None, "")
        yield Row(None, Content.styled("Next", "bold"))
        yield self._next_row(course, path)
        yield Row(None, "")
        for line in course.trouble.splitlines():
            yield Row(None, Hanging("", visible(line)))
        yield from _last_check_row(course.last)
        if path:
            yield Row(None, "")
            yield from self._path_rows(course, path)

    def _current_path(self) -> LessonPath | None:
        return self.tutor.path_of(self._course.paths if self._course else [])

    def _next_row(self, course: Course, path: LessonPath | None) -> Row:
        """Return the one next step; its id is always `next`."""
        self._next_step = ""
        lesson_id = _next_lesson(course, path)
        lesson = course.lessons[lesson_id] if lesson_id else None
        needs = str(lesson.header.get("needs") or "") if lesson else ""
        if self._facts and not self._facts.has_framework and "framework" in needs:
            text = "There is no JAX here yet. Shows the plan first; changes only the folder ~/tpu."
            self._next_step = "setup"
            return Row("next", "> Make an environment with the newest JAX", "3 min", _note(text))
        if lesson:
            self._next_step = lesson.id
            below = _note(visible(path.who)) if path and not course.done.lessons else ()
            return Row("next", f"> {visible(lesson.title)}", _minutes(lesson), below)
        if path and course.lessons:
            text = "Every lesson of this path is done."
            return Row("next", "> Check this machine", "1 min", _note(text))
        return Row("next", "> Check this machine", "1 min")

    def _path_rows(self, course: Course, path: LessonPath) -> Iterator[Row]:
        ids = [lesson_id for lesson_id in path.lessons if lesson_id in course.lessons]
        finished = [lesson_id for lesson_id in ids if _is_done(course, lesson_id)]
        title = Content.assemble(("Path: ", "bold"), (visible(path.title), "bold"))
        yield Row(None, title, f"{len(finished)} of {len(ids)} done")
        upcoming = _next_lesson(course, path)
        for lesson_id in ids:
            lesson = course.lessons[lesson_id]
            state = "done" if lesson_id in finished else "next" if lesson_id == upcoming else ""
            begun = not state and lesson_id in course.done.lessons
            label = word(state, "begun" if begun else state, 6) + visible(lesson.title)
            minutes = "" if state == "done" else _minutes(lesson)
            yield Row(lesson_id, Content("  ") + label, minutes)

    @on(Rows.OptionSelected)
    def open_row(self, event: Rows.OptionSelected) -> None:
        """Open what is marked."""
        step = self._next_step if event.option_id == "next" else event.option_id
        if step == "setup":
            self.action_setup()
        elif step in ("tpus", "tpus-unread"):
            self.action_tpus()
        elif step:
            self.tutor.go.to_lesson(step)
        else:
            self.action_check()

    def action_check(self) -> None:
        """Run the checks."""
        self.tutor.go.to_checks()

    def action_lessons(self) -> None:
        """Show all lessons."""
        self.tutor.go.to_lessons()

    def action_setup(self) -> None:
        """Show the set-up plan."""
        self.tutor.go.to_setup()

    def action_rehearse(self) -> None:
        """Choose what to compile for TPUs that are not here."""
        self.tutor.go.to_rehearsal()

    def action_tpus(self) -> None:
        """Show the TPUs of Google Cloud; that asks Google."""
        self.tutor.go.to_tpus()

    def action_settings(self) -> None:
        """Show what can be chosen."""
        self.tutor.go.to_settings()

    def action_next_path(self) -> None:
        """Show the next path, and remember it."""
        course, path = self._course, self._current_path()
        if course is None or path is None:
            return
        ids = [candidate.id for candidate in course.paths]
        following = ids[(ids.index(path.id) + 1) % len(ids)]
        self.tutor.choose(replace(self.tutor.choices, path=following))
        self._remember()
        self.query_one(Rows).show(self._rows(), highlight="next")

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember(self) -> None:
        settings.save(self.tutor.choices)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to go back to, and perhaps no other path."""
        if action == "back":
            return False
        if action == "next_path":
            return self._course is not None and len(self._course.paths) > 1
        return super().check_action(action, parameters)


def _tpu_rows(course: Course) -> Iterator[Row]:
    """Yield what the ledger of TPUs says, and whether one could not be read."""
    if course.tpus:
        one = course.tpus == 1
        what = "1 TPU" if one else f"{course.tpus} TPUs"
        text = f"{what} of Google Cloud may be billed: u shows {'it' if one else 'them'}"
        yield Row("tpus", word("warn", text))
    if course.unread:
        text = "A ledger of TPUs could not be read, so more may be billed: u says where it is"
        yield Row("tpus-unread", Hanging("", word("warn", text)))


def _note(text: str) -> tuple[Lines, ...]:
    return (Hanging("  ", Content.styled(text, "dim")),)


def _minutes(lesson: Lesson) -> str:
    return f"{visible(str(lesson.header.get('minutes', '?')))} min"


def _is_done(course: Course, lesson: str) -> bool:
    record = course.done.lessons.get(lesson)
    return record is not None and record.done is not None


def _next_lesson(course: Course, path: LessonPath | None) -> str | None:
    ids = path.lessons if path else tuple(course.lessons)
    return next(
        (name for name in ids if name in course.lessons and not _is_done(course, name)), None
    )


def _last_check_row(check: dict[str, Any] | None) -> Iterator[Row]:
    title = Content.styled("Last check", "bold")
    if check is None:
        yield Row(None, title + Content("   none yet: c runs one"))
        return
    yield Row(None, title, _when(check), (Hanging("  ", visible(str(check.get("headline", "")))),))


def _when(check: dict[str, Any]) -> str:
    try:
        time = datetime.fromisoformat(str(check.get("when"))).astimezone()
    except ValueError:
        return ""
    return f"{time:%Y-%m-%d %H:%M}, {visible(str(check.get('level', '')))}"
