"""One exercise: the task, the learner's file, and the verdict whenever it is saved."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import ClassVar, cast

from textual import work
from textual.binding import BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tpustarter import content
from tpustarter.learning import exercises
from tpustarter.learning.exercises import Exercise
from tpustarter.learning.lesson_end import Way
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import exercise_words, external_editor, failed
from tpustarter.tui.exercise_view import ExerciseView
from tpustarter.tui.judging import Judging
from tpustarter.tui.lines import Hanging, Lines, word
from tpustarter.tui.messages import LOOK, Arrived, Looked
from tpustarter.tui.onward import Onward, onward
from tpustarter.tui.plain import plain
from tpustarter.tui.printed import Printout
from tpustarter.tui.screens import exercise_keys
from tpustarter.tui.screens.page import Page, Question

WAIT_S = 0.2
"""From a key to the file."""


class ExercisePage(Page):
    """Works on one exercise."""

    HELP = exercise_keys.HELP
    BINDINGS: ClassVar[list[BindingType]] = exercise_keys.BINDINGS

    def __init__(self, exercise: str) -> None:
        super().__init__(visible(exercise))
        self._id = exercise
        self._view = ExerciseView()
        self._exercise: Exercise | None = None
        self._path: Path | None = None
        self._saved: tuple[int, int] | None = None
        self._judging = Judging(self)
        self._is_typed = False
        """Whether something was typed since the file was judged: its lines may be others by now."""
        self._clock: Timer | None = None
        self._writing: Timer | None = None
        """Runs from a key to the file: what is typed meanwhile is written with it."""
        self._hints: list[str] = []
        self._solution = ""
        self._way: Way | None = None
        """What one goes on with; null until an answer is right."""
        self._back = "the lesson of this exercise"
        """Where Esc leads."""
        self._achieved = ""
        """How many exercises are solved."""

    def body(self) -> Iterable[Widget]:
        """Return the page, empty at first, and a line for the verdict."""
        return (self._view, Static("", id="headline", classes="-silent"))

    def on_mount(self) -> None:
        """Read the exercise in the background, then watch the learner's file."""
        self._view.give_back_keys()
        self._clock = self.set_interval(exercises.LOOK_S, self._look)
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _read(self) -> None:
        try:
            lessons = content.read_lessons(self.tutor.lessons)
            exercise = exercises.find(lessons, self._id)
            exercises.open_file(exercise)
            self.post_message(Looked(exercise))
        except Problem as problem:
            self.post_message(Looked(problem))

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _look_on(self, exercise: Exercise) -> None:
        """Look where a right answer leads."""
        self.post_message(Looked(onward(self.tutor, exercise, self._below)))

    @property
    def _below(self) -> Page:
        """The screen that it was opened from, to which Esc leads."""
        stack = self.tutor.screen_stack
        return cast("Page", stack[stack.index(self) - 1])

    def on_looked(self, message: Looked) -> None:
        """Show the task, or why there is none; after a right answer, where it leads."""
        if isinstance(message.what, Onward):
            found = message.what
            self._way, self._back, self._achieved = found.way, found.back, found.achieved
            self._show()
            self.refresh_bindings()
            self._view.show_more_of_answer()
            return
        if isinstance(message.what, Problem):
            self._view.show_answer("", [Content(plain(str(message.what)))])
            return
        exercise = self._exercise = cast("Exercise", message.what)
        self.rename(visible(exercise.title))
        self._path = exercises.learner_file(exercise)
        self._saved = exercises.saved(self._path)
        count = exercises.hints_given(exercise)
        self._hints = list(exercise.hints[:count])
        self._show_own_code()
        self._view.show_task(exercise.title, exercise.task, exercises.place(exercise))
        self._view.show_below(exercises.named_below(exercise))
        self._show()
        self.refresh_bindings()

    def _look(self) -> None:
        """Judge the file when it was saved; while an answer runs, say for how long."""
        if self._judging.is_busy:
            self._show()
            return
        saved = exercises.saved(self._path) if self._path else None
        if self._view.editor is None and saved not in (None, self._saved):
            self._saved = saved
            self._show_own_code()
            self.action_judge()

    def _show_own_code(self) -> None:
        """Show what the learner's file holds now, or why it cannot be shown."""
        if self._exercise is None:
            return
        try:
            code, first_line = exercises.own_code(self._exercise)
        except Problem as problem:
            code, first_line = str(problem), 1
        path = visible(exercise_words.short_path(self._path))
        self._view.show_file(path, code, first_line=first_line)

    def on_resize(self) -> None:
        """Show the file beside the task where there is room, else below it."""
        is_beside = self._view.has_room_beside(self.size.width)
        if self.has_class("-beside") != is_beside and self._view.editor:
            self.call_next(self._end_edit)  # the place where one types is out of sight then
        self.set_class(is_beside, "-beside")

    def action_judge(self) -> None:
        """Judge the file as it is."""
        if self._exercise is None or self._judging.comes_next():
            return
        self._way, self._is_typed = None, False
        self._judging.begin(self._exercise)
        self.refresh_bindings()
        self._show()

    async def on_arrived(self, message: Arrived) -> None:
        """Show what the answer printed, and the verdict."""
        judged = self._judging.arrived(message)
        if judged and judged.is_right and self._exercise:
            if not self._is_typed:  # who types on already goes on typing
                await self._end_edit()  # else the key that goes on would be typed
            self._look_on(self._exercise)
        if judged:
            self._view.show_more_of_answer()
        self._show()
        self.refresh_bindings()
        if self._judging.is_due:
            self.action_judge()

    def _show(self) -> None:
        exercise = self._exercise
        if exercise is None:
            return
        hints, is_typing = len(exercise.hints) - len(self._hints), self._view.editor is not None
        judged, printed = self._judging.judged, self._judging.printed
        verdict, lines = self._verdict(exercise), judged.lines if judged else None
        pieces: list[Lines | Content] = [Hanging("", verdict)]
        if lines:
            pieces.append(Hanging("", Content(lines.words)))
        if more := exercise_words.help_left(judged, hints=hints, is_typing=is_typing):
            pieces.append(Hanging("", more))
        if printed:
            pieces += [Content(""), Printout(printed)]
        if judged and judged.is_right:
            end = exercise_words.end(
                exercise, self._way, self._back, is_typing=is_typing, has_seen=bool(self._solution)
            )
            pieces += [Content(""), *end]
        ended, is_old = judged.result.status if judged else "", bool(judged and self._is_typed)
        self._view.show_answer(ended, pieces, is_old=is_old)
        is_kept = is_typing and bool(judged or self._judging.is_busy)
        kept = exercise_words.kept(judged, verdict, self._way, is_old=is_old) if is_kept else ""
        self._view.keep_in_sight(kept)
        self._view.mark_lines(lines.numbers if lines and not self._is_typed else ())
        self._view.show_hints(self._hints, len(exercise.hints))
        changes = exercises.solution_lines(exercise) if self._solution else ()
        self._view.show_solution(self._solution, changes)

    def _verdict(self, exercise: Exercise) -> Content:
        if self._judging.is_busy:
            return word("run", f"RUN  {self._judging.seconds:.0f} s")
        is_typing = self._view.editor is not None
        return exercise_words.verdict(
            self._judging.judged,
            exercises.state(exercise),
            is_typing=is_typing,
            achieved=self._achieved,
        )

    async def action_edit(self) -> None:
        """Let the learner type here; what is typed goes into the file."""
        if self._exercise and self._view.editor is None:
            await self._view.edit(exercises.own_code(self._exercise)[0])
            self._show()
            self.refresh_bindings()

    def on_text_area_changed(self) -> None:
        """Keep what is typed, a moment later."""
        self._writing = self._writing or self.set_timer(WAIT_S, self._keep)
        if not self._is_typed:
            self._is_typed = True
            self._show()

    def on_text_area_selection_changed(self, message: TextArea.SelectionChanged) -> None:
        """Bring into sight where something is typed: a verdict may have pushed it away."""
        self._view.follow(message.text_area)

    def _keep(self) -> None:
        """Write what is typed; it is judged when that is asked for, not at every letter."""
        editor, self._writing = self._view.editor, None
        if editor and self._exercise and self._path:
            try:
                exercises.keep_code(self._exercise, editor.text)
            except Problem as problem:
                self.show_error(problem)
            self._saved = exercises.saved(self._path)

    def action_run(self) -> None:
        """Judge what is typed."""
        self._keep()
        self.action_judge()

    def action_back(self) -> None:
        """End typing, else stop what runs, else leave."""
        if self._view.editor is None:
            super().action_back()
        else:
            self.call_next(self._end_edit)

    async def _end_edit(self) -> None:
        self._keep()
        await self._view.end_edit()
        self._show_own_code()
        self._view.give_back_keys()
        self._show()
        self.refresh_bindings()

    def action_open(self) -> None:
        """Say which editor opens and how to come back from it, then open it."""
        command = external_editor.editor()
        if self._path is None or command is None:
            self.notify("No editor was found, but e edits the file here.", markup=False)
            return
        name, file = Path(command[0]).name, exercise_words.short_path(self._path)
        text = exercise_words.opens(name, file, external_editor.leaving(command))
        self.tutor.push_screen(Question("Open in another editor", text), self._answered_open)

    def _answered_open(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        command = external_editor.editor()
        if answer and self._path and command:
            if message := external_editor.run(command, self._path, self.tutor.suspend):
                self.notify(message, markup=False)
            self.tutor.refresh(layout=True)

    def action_explain(self) -> None:
        """Say why the answer broke, as far as that is known."""
        if self._exercise and (judged := self._judging.judged):
            session = self.tutor.live.session
            shown = failed.answer(judged.result, self._exercise.lesson, session)
            self.tutor.go.to_explanation(shown)

    def action_hint(self) -> None:
        """Show the next hint."""
        if self._exercise and (hint := exercises.next_hint(self._exercise)):
            self._hints.append(hint)
            self._show()
            self.refresh_bindings()
            self._view.show_end()

    def action_solution(self) -> None:
        """Show the solution, after asking where no answer has passed."""
        exercise = self._exercise
        if exercise is None:
            return
        if exercises.state(exercise) in ("pass", "shown"):
            self._answered_solution(True)  # noqa: FBT003  as if asked
            return
        unseen = len(exercise.hints) - len(self._hints)
        note = f" {unseen} of its hints you have not seen." if unseen else ""
        self.tutor.push_screen(
            Question("Solution", f"Show the whole solution?{note}"), self._answered_solution
        )

    def _answered_solution(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer and self._exercise:
            self._solution = exercises.show_solution(self._exercise)
            self._show()
            self.on_resize()
            self.refresh_bindings()
            self._view.show_top_of_solution()

    def action_anew(self) -> None:
        """Begin anew, after asking."""
        text = (
            "Begin anew? Your file is kept beside the new one, with `.old` at the end of its name."
        )
        self.tutor.push_screen(Question("Begin anew", text), self._answered_anew)

    def _answered_anew(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer and self._exercise:
            path = exercises.open_file(self._exercise, anew=True)
            self._saved = exercises.saved(path)
            self._judging.forget()
            self._show_own_code()
            self._show()

    def action_next(self) -> None:
        """Go on: to the lesson's next exercise, to what is left of it, or to the next lesson."""
        if self._way and self._way.exercise:
            self.tutor.go.to_exercise_instead(self._way.exercise)
        elif self._way and self._way.lesson and not self.tutor.go.back_to_lesson(self._way.lesson):
            self.tutor.go.to_lesson_instead(self._way.lesson)

    def action_page_down(self) -> None:
        """Read on."""
        self._view.read_on()

    @property
    def late(self) -> Collection[str]:
        """Return what is wanted less than the solution: once an answer is right, all that mends."""
        judged = self._judging.judged
        return ("edit", "judge", "hint", "open", "anew") if judged and judged.is_right else ()

    @property
    def can_stop(self) -> bool:
        """Whether an answer runs."""
        return self._judging.is_busy

    def stop_work(self) -> bool:
        """Stop the answer that runs."""
        return self._judging.stop()

    def on_unmount(self) -> None:
        """Keep what is typed, and end the process that judged it: the exercise is left."""
        self._keep()
        self.stop_work()
        if self.tutor.is_running and self._judging.has_process:
            self.tutor.release_lesson()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now."""
        exercise = self._exercise
        if action == "back" and self._view.editor:
            return True
        if action in ("judge", "anew", "open"):
            return exercise is not None and not self._judging.is_busy
        # Also while an answer is judged: a letter must not be a key then.
        if action in ("edit", "run"):
            return exercise is not None
        if action == "leave_done":
            return False  # a right answer ends typing by itself
        if action == "explain":
            judged = self._judging.judged
            return judged is not None and judged.result.status == "error"
        if action == "next":
            can_go = self._way and (self._way.exercise or self._way.lesson)
            return bool(can_go and not self._judging.is_busy)
        if action == "hint":
            return exercise is not None and len(self._hints) < len(exercise.hints)
        if action == "solution":
            return exercise is not None and not self._solution
        return super().check_action(action, parameters)
