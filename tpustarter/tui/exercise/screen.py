"""The exercise screen: the task, the learner's file, and a verdict after each save."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tpustarter.core import content
from tpustarter.core.problem import Problem
from tpustarter.learning.content import exercises
from tpustarter.learning.content.exercises import Exercise
from tpustarter.learning.progress.lesson_summary import NextLearningStep
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, EventsArrived, FactsLoaded
from tpustarter.tui.exercise import verdict_text
from tpustarter.tui.exercise.answer_judge import (
    AnswerJudge,
    SolvedExerciseText,
    read_solved_exercise_text,
)
from tpustarter.tui.exercise.exercise_view import ExerciseView
from tpustarter.tui.explain import failed_run
from tpustarter.tui.kit import external_editor
from tpustarter.tui.kit.page import CTRL_C, ConfirmWindow, Page
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word
from tpustarter.tui.lesson.block.printed_output import FoldedOutput

WAIT_S = 0.2
"""Seconds from a key press until the file is written."""
LESS_THAN_HELP = ("judge", "open", "anew")
"""Actions listed late after a wrong answer, because hints and the solution help more."""


class ExerciseScreen(Page):
    """The screen for one exercise."""

    HELP = """
Fill the gap in the file that is named here.

* **Enter** or **e** lets you type here. Ctrl+R judges what you typed, and Esc ends typing.
  Everything you type is in the file at once.
* **o** opens the file in another editor, and says how to come back from it before it does. You can
  also edit the file elsewhere, because it is judged whenever you **save** it there.
* **r** judges it now, and **x** or **Esc** stops an answer that doesn't end.
* **f** says why an answer broke, and F2 does so while you type.
* Once an answer is right, **Enter** or **n** goes on to the lesson's next exercise, or to the next
  lesson of your path.
* **h** shows the next hint, and **s** the whole solution, which is worth a look once your answer is
  right, too. **u** begins anew, and keeps your file under another name.

The lines below `# Judged below` are written again each time, so changing them has no effect.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        CTRL_C,
        Binding("enter,n", "next", "go on", key_display="Enter", tooltip="tpustarter learn"),
        Binding("enter", "edit", "edit", key_display="Enter", tooltip="type here, as e does"),
        Binding("e", "edit", "edit", tooltip="type here"),
        Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
        Binding(
            "f2", "explain", "why it failed", key_display="F2", tooltip="as f does, while you type"
        ),
        Binding("r", "judge", "judge", tooltip="tpustarter learn --exercise ID"),
        Binding("h", "hint", "hint", tooltip="tpustarter learn --exercise ID --hint"),
        Binding("s,v", "solution", "solution", tooltip="tpustarter learn --exercise ID --solution"),
        Binding("o", "open", "own editor", tooltip="opens it in $EDITOR"),
        Binding("u", "anew", "begin anew", tooltip="tpustarter learn --exercise ID --reset"),
        Binding("space", "page_down", show=False),
    ]

    def __init__(self, exercise: str) -> None:
        super().__init__(escape_text(exercise))
        self._exercise_id = exercise
        self._view = ExerciseView()
        self._exercise: Exercise | None = None
        self._path: Path | None = None
        self._saved: tuple[int, int] | None = None
        self._judging = AnswerJudge(self)
        self._is_typed = False
        """True if the user has typed since the last verdict, which may have moved lines."""
        self._clock: Timer | None = None
        self._writing: Timer | None = None
        """The timer that writes the typed text, including text typed until it fires."""
        self._hints: list[str] = []
        self._solution = ""
        self._way: NextLearningStep | None = None
        """The next step, or None until an answer is right."""
        self._back = "the lesson of this exercise"
        """The description of the screen to which Esc leads."""
        self._achieved = ""
        """A description of the number of solved exercises."""

    def body(self) -> Iterable[Widget]:
        return (self._view, Static("", id="headline", classes="-silent"))

    def on_mount(self) -> None:
        self._view.release_keys()
        self._clock = self.set_interval(exercises.LOOK_S, self._look)
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _read(self) -> None:
        try:
            lessons = content.read_lessons(self.tutor.lessons)
            exercise = exercises.find_exercise(lessons, self._exercise_id)
            exercises.ensure_learner_file(exercise)
            self.post_message(FactsLoaded(exercise))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _look_on(self, exercise: Exercise) -> None:
        """Look up the next step after a right answer."""
        self.post_message(FactsLoaded(read_solved_exercise_text(self.tutor, exercise, self._below)))

    @property
    def _below(self) -> Page:
        """The screen from which the exercise was opened."""
        pages = [screen for screen in self.tutor.screen_stack if isinstance(screen, Page)]
        return pages[pages.index(self) - 1]

    def on_facts_loaded(
        self, message: FactsLoaded[SolvedExerciseText | Problem | Exercise]
    ) -> None:
        """Show the task or its Problem, or after a right answer the next step."""
        if isinstance(message.facts, SolvedExerciseText):
            end, self._back = message.facts.end, message.facts.back
            self._way, self._achieved = end.next_step, end.achieved
            self._show()
            self.refresh_bindings()
            self._view.show_more_of_answer()
            return
        if isinstance(message.facts, Problem):
            self._view.show_answer("", [Content(clean_text(str(message.facts)))])
            return
        exercise = self._exercise = message.facts
        self.rename(escape_text(exercise.title))
        self._path = exercises.learner_file_path(exercise)
        self._saved = exercises.read_save_stamp(self._path)
        count = exercises.count_given_hints(exercise)
        self._hints = list(exercise.hints[:count])
        self._show_own_code()
        self._view.show_task(exercise.title, exercise.task, exercises.format_position(exercise))
        self._view.show_below(exercises.read_mentioned_code(exercise))
        self._show()
        self.refresh_bindings()

    def _look(self) -> None:
        """Judge the file if it has been saved; while an answer runs, update the elapsed time."""
        if self._judging.is_busy:
            self._show()
            return
        saved = exercises.read_save_stamp(self._path) if self._path else None
        if self._view.editor is None and saved not in (None, self._saved):
            self._saved = saved
            self._show_own_code()
            self.action_judge()

    def _show_own_code(self) -> None:
        """Show the learner's file, or the Problem with it."""
        if self._exercise is None:
            return
        try:
            code, first_line = exercises.read_learner_code(self._exercise)
        except Problem as problem:
            code, first_line = str(problem), 1
        path = escape_text(verdict_text.short_path(self._path))
        self._view.show_file(path, code, first_line=first_line)

    def on_resize(self) -> None:
        """Show the file next to the task if it fits, otherwise below it."""
        is_beside = self._view.fits_side_by_side(self.size.width)
        if self.has_class("-beside") != is_beside and self._view.editor:
            self.call_next(self._end_edit)  # the editor would no longer be visible
        self.set_class(is_beside, "-beside")

    def action_judge(self) -> None:
        if self._exercise is None or self._judging.comes_next():
            return
        self._way, self._is_typed = None, False
        self._judging.begin(self._exercise)
        self.refresh_bindings()
        self._show()

    async def on_events_arrived(self, message: EventsArrived) -> None:
        judged = self._judging.take_events(message)
        if judged and judged.is_right and self._exercise:
            if not self._is_typed:  # do not interrupt a user who is still typing
                await self._end_edit()  # otherwise Enter would type a line break
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
        judged, printed = self._judging.judged, self._judging.output_tail
        verdict, lines = self._verdict(exercise), judged.lines if judged else None
        pieces: list[LaidOutLines | Content] = [HangingText("", verdict)]
        if lines:
            pieces.append(HangingText("", Content(lines.words)))
        if more := verdict_text.format_help_hint(judged, hints=hints, is_typing=is_typing):
            pieces.append(HangingText("", more))
        if printed:
            pieces += [Content(""), FoldedOutput(printed)]
        if judged and judged.is_right:
            end = verdict_text.lay_out_solved_exercise(
                exercise, self._way, self._back, is_typing=is_typing, has_seen=bool(self._solution)
            )
            pieces += [Content(""), *end]
        ended, is_old = judged.result.status if judged else "", bool(judged and self._is_typed)
        self._view.show_answer(ended, pieces, is_old=is_old)
        is_kept = is_typing and bool(judged or self._judging.is_busy)
        kept = (
            verdict_text.format_brief_verdict(judged, verdict, self._way, is_old=is_old)
            if is_kept
            else ""
        )
        self._view.keep_in_sight(kept)
        self._view.mark_lines(lines.numbers if lines and not self._is_typed else ())
        self._view.show_hints(self._hints, len(exercise.hints))
        changes = exercises.solution_lines(exercise) if self._solution else ()
        self._view.show_solution(self._solution, changes)

    def _verdict(self, exercise: Exercise) -> Content:
        if self._judging.is_busy:
            return status_word("run", f"RUN  {self._judging.seconds:.0f} s")
        is_typing = self._view.editor is not None
        return verdict_text.format_verdict(
            self._judging.judged,
            exercises.read_exercise_state(exercise),
            is_typing=is_typing,
            achieved=self._achieved,
        )

    async def action_edit(self) -> None:
        """Open the editor, whose text is written to the file."""
        if self._exercise and self._view.editor is None:
            known = exercises.read_save_stamp(self._path) if self._path else None
            await self._view.edit(exercises.read_learner_code(self._exercise)[0])
            self._saved = known  # the stamp of the edited text, even if the file was saved since
            self._show()
            self.refresh_bindings()

    def on_text_area_changed(self) -> None:
        self._writing = self._writing or self.set_timer(WAIT_S, self._keep)
        if not self._is_typed:
            self._is_typed = True
            self._show()

    def on_text_area_selection_changed(self, message: TextArea.SelectionChanged) -> None:
        """Scroll the typed line into view, because a verdict may have moved it."""
        self._view.follow(message.text_area)

    def _keep(self) -> None:
        """Write the typed text to the file without judging it."""
        editor, self._writing = self._view.editor, None
        if editor and self._exercise and self._path:
            try:
                exercises.save_learner_code(self._exercise, editor.text, self._saved)
            except Problem as problem:
                self.show_error(problem)
            self.show_moved_files()
            self._saved = exercises.read_save_stamp(self._path)

    def action_run(self) -> None:
        self._keep()
        self.action_judge()

    def action_back(self) -> None:
        """Close the editor if it is open; otherwise stop a running answer, or leave."""
        if self._view.editor is None:
            super().action_back()
        else:
            self.call_next(self._end_edit)

    async def _end_edit(self) -> None:
        self._keep()
        await self._view.end_edit()
        self._show_own_code()
        self._view.release_keys()
        self._show()
        self.refresh_bindings()

    def action_open(self) -> None:
        """Ask whether to open the file in another editor, and explain how to leave it."""
        command = external_editor.find_editor()
        if self._path is None or command is None:
            self.notify("No editor was found, but e edits the file here.", markup=False)
            return
        name, file = Path(command[0]).name, verdict_text.short_path(self._path)
        text = verdict_text.format_editor_question(
            name, file, external_editor.describe_leaving(command)
        )
        self.tutor.push_screen(ConfirmWindow("Open in another editor", text), self._answered_open)

    def _answered_open(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        command = external_editor.find_editor()
        if answer and self._path and command:
            if message := external_editor.run_editor(command, self._path, self.tutor.suspend):
                self.notify(message, markup=False)
            self.tutor.refresh(layout=True)

    def action_explain(self) -> None:
        if self._exercise and (judged := self._judging.judged):
            session = self.tutor.live.session
            shown = failed_run.make_answer_failure(judged.result, self._exercise.lesson, session)
            self.tutor.go.open_explanation(shown)

    def action_hint(self) -> None:
        if self._exercise and (hint := exercises.reveal_next_hint(self._exercise)):
            self._hints.append(hint)
            self._show()
            self.refresh_bindings()
            self._view.show_end()

    def action_solution(self) -> None:
        """Show the solution, after confirmation unless the exercise is solved or it was shown."""
        exercise = self._exercise
        if exercise is None:
            return
        if exercises.read_exercise_state(exercise) in ("pass", "shown"):
            self._answered_solution(True)  # noqa: FBT003  as if confirmed
            return
        unseen = len(exercise.hints) - len(self._hints)
        note = f" {unseen} of its hints you have not seen." if unseen else ""
        self.tutor.push_screen(
            ConfirmWindow("Solution", f"Show the whole solution?{note}"), self._answered_solution
        )

    def _answered_solution(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer and self._exercise:
            self._solution = exercises.reveal_solution(self._exercise)
            self._show()
            self.on_resize()
            self.refresh_bindings()
            self._view.show_top_of_solution()

    def action_anew(self) -> None:
        self._keep()
        is_changed = self._exercise is not None and exercises.has_changed_copy(self._exercise)
        fate = "is kept beside the new one" if is_changed else "is as it was at first"
        self.tutor.push_screen(
            ConfirmWindow("Begin anew", f"Begin anew? Your file {fate}."), self._answered_anew
        )

    def _answered_anew(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer and self._exercise:
            kept = exercises.restart_exercise(self._exercise)
            self.notify(
                escape_text(f"Started again; {exercises.describe_kept_copy(kept)}"), markup=False
            )
            self._saved = exercises.read_save_stamp(exercises.learner_file_path(self._exercise))
            self._judging.forget()
            self._show_own_code()
            self._show()

    def action_next(self) -> None:
        """Go to the lesson's next exercise, the rest of the lesson, or the next lesson."""
        if self._way and self._way.exercise:
            self.tutor.go.replace_with_exercise(self._way.exercise)
        elif self._way and self._way.lesson and not self.tutor.go.back_to_lesson(self._way.lesson):
            self.tutor.go.replace_with_lesson(self._way.lesson)

    def action_page_down(self) -> None:
        self.query_one("#page").scroll_page_down(animate=False)

    @property
    def late(self) -> Collection[str]:
        """The actions whose keys are listed late, which include editing after a right answer."""
        judged = self._judging.judged
        if judged is None:
            return ()
        return ("edit", "judge", "hint", "open", "anew") if judged.is_right else LESS_THAN_HELP

    @property
    def can_stop(self) -> bool:
        """True if an answer is running and being judged."""
        return self._judging.is_busy

    def stop_work(self) -> bool:
        return self._judging.stop()

    def on_unmount(self) -> None:
        """Save the typed text and end the judging process."""
        self._keep()
        self.stop_work()
        if self.tutor.is_running and self._judging.has_process:
            self.tutor.release_lesson()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        exercise = self._exercise
        if action == "back" and self._view.editor:
            return True
        if action in ("judge", "anew", "open"):
            return exercise is not None and not self._judging.is_busy
        # Allowed even while an answer is judged, so that letters typed after `e` are not commands.
        if action in ("edit", "run"):
            return exercise is not None
        if action == "leave_done":
            return False  # a right answer closes the editor
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
