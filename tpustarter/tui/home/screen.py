"""The home screen: the next step, the path with its stages, this machine, and the last check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.core import locations
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.home import course_facts, home_rows
from tpustarter.tui.home.course_facts import Course
from tpustarter.tui.kit.heading import Heading
from tpustarter.tui.kit.page import PanelPage
from tpustarter.tui.kit.row_list import DelayedRowList, Row, RowList, SidePanel
from tpustarter.tui.kit.text_layout import HangingText, StackedText

if TYPE_CHECKING:
    from tpustarter.learning.progress.path_progress import PathProgress
    from tpustarter.tui.home.machine_facts import MachineFacts
    from tpustarter.tui.home.paths_screen import PathsScreen

CORNERS = 6
"""Columns of a border title's line that the border itself takes."""
FRAMED_HEIGHT = 20
"""Minimum screen height for border titles, as in `app.VERTICAL_BREAKPOINTS`."""
BESIDE = 116
"""Minimum screen width, in columns, for side panels next to the path."""
SETTLE_S = 0.05
"""Seconds from a resize event to the update, so that dragging a window does not repaint often."""


class HomeScreen(PanelPage):
    """The home screen."""

    CALLED = "the first screen"
    HELP = """
The line that is marked when you arrive is your next step, and Enter takes it.

* **Path** is the order of lessons that you chose, in stages. Enter opens a stage, and folds it
  again. The bar above them has a part for each stage, as long as the time that it takes, which
  fills as you do its lessons. `p` shows the other paths, each with its lessons and its time.
* **Left open** names lessons that you began, and the next exercise that is not solved. `e` lists
  all exercises.
* **This machine** shows what was found without starting anything.
* **Last check** shows what was proven here the last time, and on which devices. Of two Pythons that
  were checked it shows both. `c` runs the checks again, and shows each of them.
* **TPUs** in Google Cloud that you asked for with tpustarter are counted until they are known to be
  gone. `u` asks Google for the current list.

An error of your own program is explained with `f`, or as soon as you paste it here.

Nothing runs and nothing is changed until you press a key for it. The last line of every screen
names the keys that you need most there, and `?` lists all of them. In every list, `j` and `k` move
the mark as the arrow keys do.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "next_lesson", "next lesson", show=False, tooltip="tpustarter learn LESSON"),
        Binding("c", "check", "check", tooltip="tpustarter check"),
        Binding("l", "lessons", "lessons", tooltip="tpustarter learn"),
        Binding("e", "exercises", "exercises", tooltip="tpustarter learn --exercise --all"),
        Binding("p", "paths", "paths", tooltip="tpustarter learn --path"),
        Binding("r", "rehearse", "rehearse", tooltip="tpustarter rehearse"),
        Binding("s", "setups", "set up", tooltip="tpustarter setup --help"),
        Binding("f", "explain", "explain an error", tooltip="tpustarter explain FILE"),
        Binding("u", "tpus", "TPUs", tooltip="tpustarter tpu list"),
        Binding("w", "watch", "watch the TPU", show=False, tooltip="tpustarter watch"),
        Binding(
            "comma",
            "settings",
            "settings",
            key_display=",",
            tooltip="kept for the next start",
        ),
        Binding("space", "read_on", "read on", show=False, tooltip="about the marked lesson"),
    ]

    def __init__(self) -> None:
        super().__init__("")
        self._facts: MachineFacts | None = None
        self._course: Course | None = None
        self._unfolded: set[int] | None = None
        """The stages whose lessons are shown, or None for the result of `choose_open_stages`."""
        self._following: str | None = None
        """The next lesson; when it changes, the highlight moves to it."""
        self._chooser: PathsScreen | None = None
        self._awaits_suggestion = False
        """True if the user wants the path that suits this machine and it is not known yet."""
        self._settling: Timer | None = None
        """The timer that runs while the window may still be resized."""

    def first_line(self) -> Heading:
        """Return the heading, which names the program at every width."""
        return Heading("", named=True)

    def body(self) -> Iterable[Widget]:
        machine, check = (Static(classes="panel", id=name) for name in ("machine", "last"))
        machine.border_title, check.border_title = "This machine", "Last check"
        lesson = SidePanel("next-lesson")
        lesson.add_class("panel")
        lesson.display = False
        yield Horizontal(
            DelayedRowList(id="home"),
            VerticalScroll(machine, check, lesson, id="side"),
            id="beside",
        )

    def on_mount(self) -> None:
        """Show the screen immediately; facts that take time are added later."""
        self.query_one("#side").can_focus = False
        self._show()
        self.set_focus(self.query_one(RowList))
        if self._is_first_start():
            self.action_paths()

    def on_screen_resume(self) -> None:
        """Read the facts again, because a lesson may have been done."""
        if self.tutor.screen is self:
            self._chooser = None
        self._read_course()
        self._look()

    def on_resize(self) -> None:
        """Place the panels next to the path or below it, and open the stages that fit."""
        self.set_class(self._is_beside, "-beside")
        if self._settling:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_S, self._show)

    @property
    def _is_beside(self) -> bool:
        return self.size.width >= BESIDE

    def _frame_title(self, progress: PathProgress) -> str:
        """Return the path's name as its border title, or "" if it does not fit."""
        title = home_rows.path_title(progress).plain
        has_room = len(title) + CORNERS <= self.query_one(RowList).size.width
        return title if self.size.height >= FRAMED_HEIGHT and has_room else ""

    def _is_first_start(self) -> bool:
        """Return whether the user has neither chosen a path nor made progress on this machine."""
        return (
            self.tutor.choices.path is None
            and not (locations.state_folder_path() / "progress.json").exists()
        )

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOAD}-machine")
    def _look(self) -> None:
        from tpustarter.tui.home import machine_facts  # late, for a fast first paint

        self.post_message(
            FactsLoaded(machine_facts.collect_machine_facts(self.tutor.machine, self.tutor.choices))
        )

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOAD}-course")
    def _read_course(self) -> None:
        self.post_message(FactsLoaded(course_facts.read_course(self.tutor.lessons)))

    def on_facts_loaded(self, message: FactsLoaded[Course | MachineFacts]) -> None:
        previous = (self._facts, self._course)
        if isinstance(message.facts, Course):
            self._course = message.facts
            lessons = message.facts.lessons
            self.tutor.titles = {name: one.title for name, one in lessons.items()}
        else:
            facts = self._facts = message.facts
            self.tutor.show_machine(facts.label, on_tpu=facts.on_tpu, lacks_tpu=facts.lacks_tpu)
        if previous != (self._facts, self._course):
            self._show()
            self.refresh_bindings()
        if self._chooser:
            self._chooser.show(self._course, self._facts)
        self._follow_suggestion()

    def _show(self) -> None:
        rows = self.query_one(RowList)
        progress = self._progress()
        following = progress.next if progress else None
        is_other = following != self._following and self._following is not None
        self._following = following
        is_first = rows.highlighted_id is None or is_other
        rows.show(self._rows(), highlight="next" if is_first else None)
        if progress:
            self.set_area_title("home", self._frame_title(progress))
            self._describe(progress)
        last = self._course.last if self._course else None
        for name, lines in (
            ("machine", home_rows.list_machine_panel_lines(self._facts)),
            ("last", home_rows.check_lines(last)),
        ):
            self.query_one(f"#{name}", Static).update(StackedText(lines))

    def _describe(self, progress: PathProgress) -> None:
        """Show the details of the highlighted lesson, or else of the next one, if they fit."""
        course, panel = self._course, self.query_one(SidePanel)
        chosen = (self.query_one(RowList).highlighted_id or "").removeprefix(home_rows.UNFINISHED)
        is_lesson = course is not None and chosen in course.lessons
        name = chosen if is_lesson else course.find_next_lesson(progress) if course else None
        lesson = course.lessons[name] if course and name else None
        panel.display = bool(lesson) and self._is_beside
        if course and lesson and panel.display:
            from tpustarter.tui.library import lesson_details  # most terminals do not need it

            label = "Next: " if progress.next else "The lesson of this exercise: "
            panel.border_title = Content(f"{label * (not is_lesson)}{escape_text(lesson.title)}")
            panel.show(lesson_details.describe_lesson(lesson, course, progress))

    @on(RowList.OptionHighlighted)
    def highlighted(self) -> None:
        if progress := self._progress():
            self._describe(progress)

    def _rows(self) -> Iterator[Row]:
        course, progress = self._course, self._progress()
        if course is None:
            yield home_rows.title_row("Next")
            yield Row(None, "  reading the lessons ...")
        else:
            above = [*home_rows.next_step_rows(course, self._facts, progress)]
            if progress:
                above += home_rows.make_unfinished_rows(course, progress)
                above.append(Row(None, ""))
                if not self._frame_title(progress):
                    above.append(Row(None, HangingText("", home_rows.path_title(progress))))
                above = self._with_path(above, course, progress)
            yield from above
        if not self._is_beside:
            yield from home_rows.group_rows(
                "This machine", home_rows.machine_lines(self._facts, "  ")
            )
            if course:
                lines = home_rows.check_lines(course.last, "  ")
                yield from home_rows.group_rows("Last check", lines)

    def _with_path(self, above: list[Row], course: Course, progress: PathProgress) -> list[Row]:
        """Return the rows above the path, the path, and other activities if they fit."""
        opened = self._open_stages(progress)

        def path(most: int | None) -> list[Row]:
            return [*home_rows.path_rows(course, progress, opened, most)]

        if not self._is_beside or self.size.height < home_rows.ACTIVITIES_HEIGHT:
            return [*above, *path(None)]
        size = self.query_one(RowList).scrollable_content_region.size
        return home_rows.add_activities(above, path, size, is_whole=self._unfolded is not None)

    def _progress(self) -> PathProgress | None:
        course = self._course
        path = self.tutor.find_path(course.paths if course else [])
        return course.find_path_progress(path) if course and path else None

    def _open_stages(self, progress: PathProgress) -> set[int]:
        if self._unfolded is not None:
            return self._unfolded
        if self._course is None:
            return set()
        below = 0 if self._is_beside else len(self._facts.rows if self._facts else "...") + 6
        left = len(list(home_rows.make_unfinished_rows(self._course, progress)))
        also = home_rows.ALSO_LINES if self._is_beside else 0
        free = self.query_one(RowList).size.height - below - left - also
        return home_rows.choose_open_stages(progress, self._course.find_next_lesson(progress), free)

    @on(RowList.OptionSelected)
    def open_row(self, event: RowList.OptionSelected) -> None:
        name, progress = event.option_id or "", self._progress()
        if name == "next":
            self._take_next_step(progress)
        elif name.startswith(home_rows.STAGE) and progress:
            self._unfolded = self._open_stages(progress) ^ {int(name.removeprefix(home_rows.STAGE))}
            self._show()
        elif name == home_rows.MORE and progress:
            self._unfolded = self._open_stages(progress)
            self._show()
        elif name == home_rows.EXERCISE:
            if self._course and progress and (id_ := self._course.find_next_exercise(progress)):
                self.tutor.go.open_exercise(id_)
        elif name.startswith(home_rows.ALSO_ID):
            action = name.removeprefix(home_rows.ALSO_ID)
            self.call_later(self.tutor.run_action, action, self)
        elif name in ("tpus", "tpus-unread"):
            self.action_tpus()
        elif name:
            self.tutor.go.open_lesson(name.removeprefix(home_rows.UNFINISHED))

    def _take_next_step(self, progress: PathProgress | None) -> None:
        following = progress.next if progress else None
        lesson = self._course.lessons[following] if self._course and following else None
        if home_rows.needs_setup(self._facts, lesson):
            self.tutor.go.open_setup()
        elif lesson:
            self.tutor.go.open_lesson(lesson.id)
        elif self._course and progress and (left := self._course.list_unsolved_on_path(progress)):
            self.tutor.go.open_exercise(left[0])
        else:
            self.action_check()

    def action_next_lesson(self) -> None:
        if following := self._next_lesson():
            self.tutor.go.open_lesson(following)

    def _next_lesson(self) -> str | None:
        progress = self._progress()
        return progress.next if progress else None

    def action_exercises(self) -> None:
        self.tutor.go.open_exercises()

    def action_check(self) -> None:
        self.tutor.go.open_checks()

    def action_lessons(self) -> None:
        self.tutor.go.open_lessons()

    def action_setups(self) -> None:
        self.tutor.go.open_setups()

    def action_rehearse(self) -> None:
        self.tutor.go.open_rehearsal()

    def action_tpus(self) -> None:
        self.tutor.go.open_tpus()

    def action_watch(self) -> None:
        self.tutor.go.open_watch()

    def action_settings(self) -> None:
        self.tutor.go.open_settings()

    def action_paths(self) -> None:
        from tpustarter.tui.home.paths_screen import PathsScreen  # late, for a fast first paint

        self._chooser = PathsScreen(self._follow, is_first=self._is_first_start())
        self._chooser.show(self._course, self._facts)
        self.tutor.push_screen(self._chooser)

    def _follow_suggestion(self) -> None:
        """Follow the path that suits this machine, if the user wants it and it is known."""
        if self._awaits_suggestion and self._facts and self._course and self._course.paths:
            ids = [path.id for path in self._course.paths]
            suggested = self._facts.suggestion[0]
            self._follow(suggested if suggested in ids else ids[0])

    def _follow(self, path_id: str | None) -> None:
        """Follow a path; None means the path that suits this machine."""
        self._awaits_suggestion = path_id is None
        if path_id is None:
            return
        self.tutor.choose(replace(self.tutor.choices, path=path_id))
        self._unfolded = None
        self._show()
        self.query_one(RowList).show(self._rows(), highlight="next")
        self.remember()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disallow `back`, because this is the first screen, and `paths` if there is only one."""
        if action == "back":
            return False
        if action == "next_lesson":
            return self._next_lesson() is not None
        if action == "paths":
            return self._course is None or len(self._course.paths) > 1
        return super().check_action(action, parameters)
