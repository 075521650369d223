"""Home: the one next step, the path with its stages, what this machine is, and the last check."""

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

from tpustarter import locations
from tpustarter.terminal import visible
from tpustarter.tui import home_room, home_rows, known
from tpustarter.tui.heading import Heading
from tpustarter.tui.known import Course
from tpustarter.tui.lines import Hanging, Stack
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.screens.page import Page
from tpustarter.tui.widgets import Aside, AwaitedRows, Row, Rows

if TYPE_CHECKING:
    from tpustarter.learning.standing import Standing
    from tpustarter.tui.facts import Facts
    from tpustarter.tui.screens.paths import Paths

CORNERS = 6
"""Columns that a frame takes of the line with its title."""
FRAMED_HEIGHT = 20
"""Lines from which areas have titles, as in `app.VERTICAL_BREAKPOINTS`."""
BESIDE = 116
"""Columns from which machine and last check stand beside the path."""
SETTLE_S = 0.05
"""After a change of the window: while it is pulled larger, each step would paint it all again."""


class Home(Page):
    """The first screen."""

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
        self._facts: Facts | None = None
        self._course: Course | None = None
        self._unfolded: set[int] | None = None
        """Stages whose lessons are shown; null for the one that the next lesson is in, and those
        after it that fit."""
        self._following: str | None = None
        """The lesson that is next; with another one the mark goes there."""
        self._chooser: Paths | None = None
        self._awaits_suggestion = False
        """Whether the path that suits this machine is followed as soon as that is known."""
        self._settling: Timer | None = None
        """Runs while the window may still change its size."""

    def first_line(self) -> Heading:
        """Return the heading: what this program is, at any width."""
        return Heading("", named=True)

    def body(self) -> Iterable[Widget]:
        """Return the list most of it stands in, and what stands beside it where there is room."""
        machine, check = (Static(classes="panel", id=name) for name in ("machine", "last"))
        machine.border_title, check.border_title = "This machine", "Last check"
        lesson = Aside("next-lesson")
        lesson.add_class("panel")
        lesson.display = False
        yield Horizontal(
            AwaitedRows(id="home"), VerticalScroll(machine, check, lesson, id="side"), id="beside"
        )

    def on_mount(self) -> None:
        """Paint at once; what takes time comes when it is known."""
        self.query_one("#side").can_focus = False
        self._show()
        self.set_focus(self.query_one(Rows))
        if self._is_first_start():
            self._ask()

    def on_screen_resume(self) -> None:
        """Look again: a lesson may be done by now."""
        if self.tutor.screen is self:
            self._chooser = None
        self._read_course()
        self._look()

    def on_resize(self) -> None:
        """Move what stands beside the path, or below it; more stages are open where they fit."""
        self.set_class(self._is_beside, "-beside")
        if self._settling:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_S, self._show)

    @property
    def _is_beside(self) -> bool:
        return self.size.width >= BESIDE

    def _frame_title(self, standing: Standing) -> str:
        """Return the path as the title of its area, where that has one and all of it fits."""
        title = home_rows.path_title(standing).plain
        has_room = len(title) + CORNERS <= self.query_one(Rows).size.width
        return title if self.size.height >= FRAMED_HEIGHT and has_room else ""

    def _is_first_start(self) -> bool:
        """Return whether nobody chose a path here, or did anything yet."""
        return (
            self.tutor.choices.path is None
            and not (locations.state_place() / "progress.json").exists()
        )

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOOK}-machine")
    def _look(self) -> None:
        from tpustarter.tui import facts  # not needed for the first paint

        self.post_message(Looked(facts.look(self.tutor.machine, self.tutor.choices)))

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOOK}-course")
    def _read_course(self) -> None:
        self.post_message(Looked(known.read(self.tutor.lessons)))

    def on_looked(self, message: Looked) -> None:
        """Show what is known now."""
        previous = (self._facts, self._course)
        if isinstance(message.what, Course):
            self._course = message.what
            lessons = message.what.lessons
            self.tutor.titles = {name: one.title for name, one in lessons.items()}
        else:
            facts = self._facts = message.what
            self.tutor.show_place(facts.place, on_tpu=facts.on_tpu, lacks_tpu=facts.lacks_tpu)
        if previous != (self._facts, self._course):
            self._show()
            self.refresh_bindings()
        if self._chooser:
            self._chooser.show(self._course, self._facts)
        self._follow_suggestion()

    def _show(self) -> None:
        rows = self.query_one(Rows)
        standing = self._standing()
        following = standing.next if standing else None
        is_other = following != self._following and self._following is not None
        self._following = following
        is_first = rows.chosen is None or is_other
        rows.show(self._rows(), highlight="next" if is_first else None)
        if standing:
            self.entitle("home", self._frame_title(standing))
            self._describe(standing)
        last = self._course.last if self._course else None
        for name, lines in (("machine", home_rows.panel_lines(self._facts)),
                            ("last", home_rows.check_lines(last))):  # fmt: skip
            self.query_one(f"#{name}", Static).update(Stack(lines))

    def _describe(self, standing: Standing) -> None:
        """Say what the marked lesson is about, else the next one, where there is room for it."""
        course, panel = self._course, self.query_one(Aside)
        marked = (self.query_one(Rows).chosen or "").removeprefix(home_rows.LEFT)
        is_marked = course is not None and marked in course.lessons
        name = marked if is_marked else course.next_on(standing) if course else None
        lesson = course.lessons[name] if course and name else None
        panel.display = bool(lesson) and self._is_beside
        if course and lesson and panel.display:
            from tpustarter.tui import lesson_detail  # not needed on most terminals

            label = "Next: " if standing.next else "The lesson of this exercise: "
            panel.border_title = Content(f"{label * (not is_marked)}{visible(lesson.title)}")
            panel.show(lesson_detail.describe(lesson, course, standing))

    @on(Rows.OptionHighlighted)
    def highlighted(self) -> None:
        """Say what a lesson is about that is marked now."""
        if standing := self._standing():
            self._describe(standing)

    def _rows(self) -> Iterator[Row]:
        course, standing = self._course, self._standing()
        if course is None:
            yield home_rows.title("Next")
            yield Row(None, "  reading the lessons ...")
        else:
            above = [*home_rows.next_rows(course, self._facts, standing)]
            if standing:
                above += home_rows.left_rows(course, standing)
                above.append(Row(None, ""))
                if not self._frame_title(standing):
                    above.append(Row(None, Hanging("", home_rows.path_title(standing))))
                above = self._with_path(above, course, standing)
            yield from above
        if not self._is_beside:
            yield from home_rows.group("This machine", home_rows.machine_lines(self._facts, "  "))
            if course:
                lines = home_rows.check_lines(course.last, "  ")
                yield from home_rows.group("Last check", lines)

    def _with_path(self, above: list[Row], course: Course, standing: Standing) -> list[Row]:
        """Return what stands above the path, the path, and what is beside it where that fits."""
        opened = self._open_stages(standing)

        def path(most: int | None) -> list[Row]:
            return [*home_rows.path_rows(course, standing, opened, most)]

        if not self._is_beside or self.size.height < home_room.HIGH:
            return [*above, *path(None)]
        size = self.query_one(Rows).scrollable_content_region.size
        return home_room.with_also(above, path, size, is_whole=self._unfolded is not None)

    def _standing(self) -> Standing | None:
        course = self._course
        path = self.tutor.path_of(course.paths if course else [])
        return course.standing(path) if course and path else None

    def _open_stages(self, standing: Standing) -> set[int]:
        if self._unfolded is not None:
            return self._unfolded
        if self._course is None:
            return set()
        below = 0 if self._is_beside else len(self._facts.rows if self._facts else "...") + 6
        left = len(list(home_rows.left_rows(self._course, standing)))
        also = home_rows.ALSO_LINES if self._is_beside else 0
        free = self.query_one(Rows).size.height - below - left - also
        return home_room.open_stages(standing, self._course.next_on(standing), free)

    @on(Rows.OptionSelected)
    def open_row(self, event: Rows.OptionSelected) -> None:
        """Open what is marked."""
        name, standing = event.option_id or "", self._standing()
        if name == "next":
            self._take_next_step(standing)
        elif name.startswith(home_rows.STAGE) and standing:
            self._unfolded = self._open_stages(standing) ^ {int(name.removeprefix(home_rows.STAGE))}
            self._show()
        elif name == home_rows.MORE and standing:
            self._unfolded = self._open_stages(standing)
            self._show()
        elif name == home_rows.EXERCISE:
            if name := self._next_exercise():
                self.tutor.go.to_exercise(name)
        elif name.startswith(home_rows.ALSO_ID):
            action = name.removeprefix(home_rows.ALSO_ID)
            self.call_later(self.tutor.run_action, action, self)
        elif name in ("tpus", "tpus-unread"):
            self.action_tpus()
        elif name:
            self.tutor.go.to_lesson(name.removeprefix(home_rows.LEFT))

    def _take_next_step(self, standing: Standing | None) -> None:
        following = standing.next if standing else None
        lesson = self._course.lessons[following] if self._course and following else None
        if home_rows.needs_setup(self._facts, lesson):
            self.tutor.go.to_setup()
        elif lesson:
            self.tutor.go.to_lesson(lesson.id)
        elif self._course and standing and (left := self._course.open_on(standing)):
            self.tutor.go.to_exercise(left[0])
        else:
            self.action_check()

    def action_next_lesson(self) -> None:
        """Open the first lesson of the path that is not done."""
        if following := self._next_lesson():
            self.tutor.go.to_lesson(following)

    def _next_lesson(self) -> str | None:
        standing = self._standing()
        return standing.next if standing else None

    def action_exercises(self) -> None:
        """Show all exercises, with the next one that is open marked."""
        self.tutor.go.to_exercises()

    def _next_exercise(self) -> str | None:
        course, standing = self._course, self._standing()
        return course.next_exercise(standing) if course and standing else None

    def action_check(self) -> None:
        """Run the checks."""
        self.tutor.go.to_checks()

    def action_lessons(self) -> None:
        """Show all lessons."""
        self.tutor.go.to_lessons()

    def action_setups(self) -> None:
        """Show which environments can be made."""
        self.tutor.go.to_setups()

    def action_rehearse(self) -> None:
        """Choose what to compile for TPUs that are not here."""
        self.tutor.go.to_rehearsal()

    def action_tpus(self) -> None:
        """Show the TPUs of Google Cloud; that asks Google."""
        self.tutor.go.to_tpus()

    def action_read_on(self) -> None:
        """Show the rest of what is said of the lesson."""
        self.query_one(Aside).read_on()

    def action_settings(self) -> None:
        """Show what can be chosen."""
        self.tutor.go.to_settings()

    def action_paths(self) -> None:
        """Show the paths, to choose one."""
        self._ask()

    def _ask(self) -> None:
        """Ask which path to follow."""
        from tpustarter.tui.screens.paths import Paths  # not needed for the first paint

        self._chooser = Paths(self._follow, is_first=self._is_first_start())
        self._chooser.show(self._course, self._facts)
        self.tutor.push_screen(self._chooser)

    def _follow_suggestion(self) -> None:
        """Follow what suits this machine, if that was asked for and is known by now."""
        if self._awaits_suggestion and self._facts and self._course and self._course.paths:
            ids = [path.id for path in self._course.paths]
            suggested = self._facts.suggestion[0]
            self._follow(suggested if suggested in ids else ids[0])

    def _follow(self, path_id: str | None) -> None:
        """Follow a path from now on; null for the one that suits this machine."""
        self._awaits_suggestion = path_id is None
        if path_id is None:
            return
        self.tutor.choose(replace(self.tutor.choices, path=path_id))
        self._unfolded = None
        self._show()
        self.query_one(Rows).show(self._rows(), highlight="next")
        self.remember()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to go back to, and perhaps no other path."""
        if action == "back":
            return False
        if action == "read_on":
            return self.query_one(Aside).max_scroll_y > 0
        if action == "next_lesson":
            return self._next_lesson() is not None
        if action == "paths":
            return self._course is None or len(self._course.paths) > 1
        return super().check_action(action, parameters)
