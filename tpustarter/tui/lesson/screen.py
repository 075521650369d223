"""The screen for reading a lesson and running its blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import ActiveBinding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.checking.machine_check import CheckRequest
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import bookmarks, lesson_progress
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, EventsArrived, FactsLoaded
from tpustarter.tui.explain import failed_run
from tpustarter.tui.kit.heading import Heading
from tpustarter.tui.kit.page import NoticeSheet, Page
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.lesson import available_actions, lesson_keys
from tpustarter.tui.lesson.available_actions import AvailableActions, EnterAction
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.block.draft_saver import DraftSaver
from tpustarter.tui.lesson.block.run_blocks import BlockRunner
from tpustarter.tui.lesson.block.run_to_block import RunToBlock, find_last_block_to_run
from tpustarter.tui.lesson.opened_lesson import OpenedLesson, read_lesson
from tpustarter.tui.lesson.page.bookmark import Bookmark
from tpustarter.tui.lesson.page.lesson_page import LessonPage
from tpustarter.tui.lesson.page.outline import BESIDE, LessonMargin
from tpustarter.tui.lesson.page.question import AnswerPicked, QuestionView
from tpustarter.tui.lesson.references_screen import ReferencesScreen

OPENING = "Opening the lesson ..."


class LessonRunScreen(Page):
    """The screen for reading a lesson and running its blocks, which restores the reader's place."""

    HELP = lesson_keys.HELP
    BINDINGS: ClassVar[list[BindingType]] = lesson_keys.BINDINGS
    LOST_WITH_PROCESS = (
        "The variables of this lesson go with it. What you typed is kept, and `a` runs everything "
        "down to a block again."
    )

    def __init__(self, lesson: str, *, at: str = "") -> None:
        """Open the lesson with the given id, at a line of its text if `at` is given."""
        super().__init__(escape_text(lesson))
        self.lesson = lesson
        self.is_ready = False
        self._at = at
        self._page = LessonPage(id="page")
        """Created before the screen is composed, because the key line needs it earlier."""
        self._bookmark = Bookmark(self._page, self._keep_place)
        self._margin = LessonMargin()
        self._curtain = Static(OPENING, id="opening-lesson")
        """A cover for the page until it is laid out and scrolled to the reader's place."""
        self._opened: OpenedLesson | None = None
        self._player = BlockRunner(self, self._block_ended)
        self._typed = DraftSaver(self, lesson)
        self._offered_for: tuple[object, ...] = ()
        """The marked block and its state when the key line was last updated."""
        self._available: AvailableActions | None = None
        """The available actions while the active keys are read, or else None."""
        self._goes_on = False
        """True if the next block gets the focus once the running one has passed."""

    def first_line(self) -> Heading:
        return Heading(self._heading, wraps=True)

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="reading"):
            yield self._page
            yield self._margin
            yield self._curtain

    def on_mount(self) -> None:
        """Read the lesson in the background, because a long one takes a second."""
        self.watch(self.tutor, "heading_label", self._follow_process, init=False)
        self.rename(escape_text(self.tutor.titles.get(self.lesson, self.lesson)))
        self.set_focus(self._page)
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _read(self) -> None:
        try:
            self.post_message(FactsLoaded(read_lesson(self.tutor, self.lesson)))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    async def on_facts_loaded(self, message: FactsLoaded[OpenedLesson | Problem]) -> None:
        if isinstance(message.facts, Problem):
            await self._curtain.remove()
            await self._page.mount(Static(Content(clean_text(str(message.facts)))))
            self.take_keys()
            return
        opened_lesson = self._opened = message.facts
        minutes = escape_text(str(opened_lesson.lesson.header.get("minutes", "?")))
        self.rename(f"{escape_text(opened_lesson.lesson.title)}  {minutes} min")
        await self._page.show(opened_lesson, "tpu" if self.tutor.on_tpu else "cpu")
        self._margin.show(self._page, opened_lesson.refers)
        if opened_lesson.lost:
            self.tutor.push_screen(NoticeSheet("What you had typed", opened_lesson.lost))
        self._page.call_after_refresh(self._go_to_place, opened_lesson.left_at)

    async def _go_to_place(self, left_at: str | None) -> None:
        await self._bookmark.open(None if self._at else left_at)
        self._page.go_to(self._at)
        self._page.call_after_refresh(self._bookmark.call_when_there, self._begin)

    def go_to(self, line: str) -> None:
        """Scroll to a line of the lesson after the next refresh."""
        self._page.stop_following()
        self.set_focus(self._page)
        self._page.call_after_refresh(self._page.go_to, line)

    def _begin(self) -> None:
        self._curtain.display = False
        self._bookmark.follow(peeks=bool(self._at))
        self.take_keys()
        self.show_status(self._page.position_text)

    def _keep_place(self, place: str | None) -> None:
        keep = partial(bookmarks.save_bookmark, self.lesson, place)
        if self.tutor.is_running:
            self.tutor.run_worker(keep, thread=True, exit_on_error=False, group="remember")
        else:
            keep()

    def _note_read(self) -> None:
        """Record a lesson without blocks as done once its end has been seen."""
        is_whole = self._page.end_was_seen and not self._page.has_open
        if self._opened and not self._opened.has_blocks and is_whole:
            self._remember_read(self._opened.lesson.id)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_read(self, lesson: str) -> None:
        lesson_progress.record_lesson_done(lesson)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_left(self, lesson: Lesson) -> None:
        lesson_progress.record_lesson_left(lesson)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_answer(self, quiz: str, answer: str, *, is_right: bool) -> None:
        if self._opened:
            lesson = self._opened.lesson
            lesson_progress.record_quiz_answer(lesson, quiz, is_right=is_right, answer=answer)
        self._page.update_end_panel()

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BESIDE, "-beside")

    def on_block_marked(self) -> None:
        self._offer()
        if self.is_ready:  # otherwise the page is not complete
            self.show_status(available_actions.format_position(self._page))
        if self.has_class("-beside"):
            self._margin.outline.follow(self._page)

    def _offer(self) -> None:
        """Refresh the key line if the available keys have changed."""
        view = self._page.marked_block
        changed = (view.code.is_edited, view.state.has_failed) if view else ()
        before, page = self._offered_for, self._page
        self._offered_for = (view, changed, page.question, page.fold_to_open, self._enter_does)
        if self._offered_for != before:
            self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        self.refresh_bindings()

    def action_choose(self, step: int) -> None:
        view = self._page.neighbour(step)
        if view is None:
            self.show_notice("This is the last block." if step > 0 else "This is the first block.")
            view = self._page.marked_block
        if view:
            self._go_to(view)

    def _go_to(self, view: BlockView) -> None:
        self.set_focus(view, scroll_visible=False)
        view.scroll_visible(animate=False, immediate=True)
        with self.one_frame():
            self._page.mark()
            self.on_block_marked()

    def show_notice(self, text: str) -> None:
        """Show a notification for three seconds."""
        self.notify(text, markup=False, timeout=3)

    def action_jump(self) -> None:
        found = self._page.next_open()
        if found is None:
            return
        if found.is_above:
            self.show_notice("Nothing is open below. This is the first that is open.")
        if isinstance(found.view, BlockView):
            found.view.state.was_left = False  # so that Enter opens it instead of reading on
            self.set_focus(found.view, scroll_visible=False)
            self._page.bring_into_sight(found.view)
        else:
            self._show_question(found.view)

    def _show_question(self, view: QuestionView | None) -> None:
        if view:
            view.show_how_to_answer()
            self.set_focus(self._page)
            self._page.bring_into_sight(view)
            self._offer()

    action_jump_too = action_jump  # for when Enter does the same and is shown instead

    def action_to_end(self) -> None:
        """Scroll to the end of a finished lesson, and notify the user that all is done."""
        self.show_notice("Each block has passed, and each question is answered.")
        self._page.scroll_end(animate=False)

    def _chosen(self) -> BlockView | None:
        """Return the marked block, or go to the nearest one and return None."""
        view = self._page.marked_block
        if view is None and self._page.nearest_block:
            self._go_to(self._page.nearest_block)
        return view

    @property
    def late(self) -> frozenset[str]:
        """The actions whose keys are listed after the others."""
        if self._page.is_at_end:
            return lesson_keys.LATE | lesson_keys.OF_BLOCKS
        late = lesson_keys.LATE
        return (
            late | lesson_keys.LATE_IF_WRONG
            if available_actions.is_failed_task(self._page)
            else late
        )

    @property
    def _enter_does(self) -> EnterAction:
        return available_actions.choose_enter_action(self._page)

    def action_run(self) -> None:
        self._run()

    async def action_go_on(self, value: str) -> None:
        """Perform the `EnterAction` with the given value."""
        match EnterAction(value):
            case EnterAction.QUESTION:
                self._show_question(self._page.skipped_question)
            case EnterAction.RUN:
                self._run(goes_on=True)
            case EnterAction.FILL_GAP | EnterAction.CHANGE:
                await self.action_edit()
            case EnterAction.READ_ON:
                self._page.read_on(self._page.marked_block)
            case EnterAction.NEXT_OPEN:
                self.action_jump()
            case EnterAction.EXERCISE:
                self._note_read()
                self.action_exercise()
            case EnterAction.NEXT_LESSON:
                self.action_next()
            case EnterAction.SET_UP:
                self.action_setup_first()

    def action_wait(self) -> None:
        if run := self._player.current_run:
            self.show_notice(_waits_for(run))

    def action_leave_done(self) -> None:
        if view := self._page.edited_block:
            view.end_edit()
            self.refresh_bindings()
            self.call_after_refresh(lambda: self.run_action(f"go_on('{self._enter_does.value}')"))

    def action_run_to_here(self) -> None:
        self._run(anew=True)

    def _run(self, *, anew: bool = False, goes_on: bool = False) -> None:
        if self._opened is None or self._player.current_run:
            return
        view = (self._page.current_block if anew else None) or self._chosen()
        if view is None:
            return
        runs_above = anew and find_last_block_to_run(view, self._page.views)
        if view.code.has_gap and not runs_above:  # once filled, it also runs the blocks above it
            self.show_notice(view.gap_message)
            return
        self._goes_on = goes_on
        # Scroll now, because later it would look as if the reader had scrolled away.
        view.scroll_visible(animate=False, immediate=True)
        self._work_on(view)
        self._page.begin(view)
        self._player.run(self._opened.lesson, view, self._page.views, anew=anew)
        self.refresh_bindings()

    def _work_on(self, view: BlockView) -> None:
        self._page.remember_block(view)
        self._bookmark.end_peek()

    def on_events_arrived(self, message: EventsArrived) -> None:
        self._player.show_events(message)

    def _block_ended(self, run: RunToBlock) -> None:
        """Show the result of a block, which may be above the requested one."""
        self._follow_process()
        self.tutor.remove_toasts(_waits_for(run))
        self._page.mark_soon()
        self._page.update_end_panel()
        if run.is_over:
            goes_on = self._goes_on and run.requested_block.state.has_passed
            if run.here is self.focused:  # otherwise the reader has moved on
                self.set_focus(run.shown_block, scroll_visible=False)
            self._page.show_end(run.shown_block, was_pushed=run.has_run_above, goes_on=goes_on)
            if run.omitted_text:
                self.show_notice(run.omitted_text)
        self.refresh_bindings()

    def on_screen_resume(self) -> None:
        """Update the end panel, because an exercise may have been solved on another screen."""
        self._page.update_end_panel()

    def _follow_process(self) -> None:
        """Mark the blocks whose variables were lost when the process ended."""
        live = self.tutor.live
        changed = [view.follow(has_run=live.has_run(view.block.id)) for view in self._page.views]
        if any(changed) and self._player.current_run is None:
            self._page.keep_place()

    @property
    def can_stop(self) -> bool:
        return self._player.current_run is not None

    def stop_work(self) -> bool:
        return self._player.stop()

    def action_back(self) -> None:
        if self._end_edit():
            self.refresh_bindings()
        elif not self.stop_work():
            self.dismiss()

    def _end_edit(self) -> bool:
        """Close the editor; return whether one was open."""
        view = self._page.edited_block
        if view:
            view.end_edit()
            if view.state.result:
                self._page.show_end(view, was_pushed=True)
        return view is not None

    def on_text_area_changed(self) -> None:
        if view := self._page.edited_block:
            self._keep(view)
            view.show_typed()
            self._offer()
            self.show_status(available_actions.format_position(self._page))

    def _keep(self, view: BlockView) -> None:
        """Save a block's edited code, so that it survives if the program is killed."""
        self._typed.put(view.block, view.code.text if view.code.is_edited else None)

    def on_unmount(self) -> None:
        with contextlib.suppress(Problem):  # it was shown while the user typed
            self._typed.flush()
        self.stop_work()
        if self.tutor.is_running:
            self.tutor.release_lesson()
        self._bookmark.remember()

    async def action_edit(self) -> None:
        view = self._chosen() or self._page.nearest_block
        if view and not view.code.is_editing and not self._player.is_playing(view):
            self._work_on(view)
            await view.edit()
            self.refresh_bindings()

    def action_reset(self) -> None:
        """Restore the code of the marked block, or go to an edited block if none is in view."""
        view = self._page.marked_block
        if view is None or not self._page.is_in_sight(view):
            self._go_to(next(view for view in self._page.views if view.code.is_edited))
        else:
            view.reset()
            self._keep(view)
            self.refresh_bindings()

    def action_redo(self) -> None:
        """Restore the user's code from before the last reset."""
        if view := self._chosen():
            view.restore()
            self._keep(view)
            self.refresh_bindings()

    action_undo = action_reset  # for a block that has passed, whose next step is listed first

    def action_check(self) -> None:
        if self._opened:
            ids = tuple(self._opened.lesson.checks)
            request = CheckRequest(ids=ids, devices=self.tutor.choices.devices)
            self.tutor.go.open_checks(request, "Checks of this lesson")

    def action_explain(self) -> None:
        view = self._page.marked_block
        if self._opened and view and view.state.result:
            name, session = view.block.name, self.tutor.live.session
            shown = failed_run.make_block_failure(
                name, view.state.result, self._opened.lesson, session
            )
            why = "a block is running" if self._player.current_run else ""
            self.tutor.go.open_explanation(shown, why_no_look=why)

    def action_next(self) -> None:
        if self._opened and self._opened.following:
            self._note_read()
            self._remember_left(self._opened.lesson)
            self.tutor.go.replace_with_lesson(self._opened.following.id)

    action_next_now = action_next  # for when Enter does something else
    action_next_too = action_next  # for when Enter does the same and is shown instead

    def action_exercise(self) -> None:
        """Open the exercise that the visible text names, or else the first unsolved one."""
        opened, name = self._opened, self._page.exercise_in_sight
        if opened and (exercise := opened.next_exercise):
            exercise = next((one for one in opened.exercises if one.name == name), exercise)
            self.tutor.go.open_exercise(exercise.id)

    def action_answer(self, number: int) -> None:
        if view := self._page.question:
            self._answer(view, number)

    def action_no_question(self) -> None:
        self.notify("The question is out of sight; j leads to what is open.", markup=False)

    def on_answer_picked(self, message: AnswerPicked) -> None:
        self._answer(message.view, message.number)

    def _answer(self, view: QuestionView, number: int) -> None:
        is_right = view.answer(number)
        if is_right is not None:
            self._bookmark.end_peek()
            self._page.show_answer(view)
            self.refresh_bindings()
            answer = view.quiz.answers[number - 1].text
            self._remember_answer(view.quiz.id, answer, is_right=is_right)
            if not self._page.has_open and self._page.end_was_seen and not self._page.is_at_end:
                self.show_notice("That was the last question. j goes to the end of the lesson.")

    action_look_at = action_answer  # for viewing other answers after the right one

    def action_fold(self) -> None:
        if fold := self._page.fold_to_open:
            self._page.stop_following()
            fold.collapsed = not fold.collapsed

    def action_setup(self) -> None:
        if self._opened:
            self.tutor.go.open_setup(*self._opened.setups)

    def action_setup_first(self) -> None:
        if needed := self._page.needed_setup:
            self.tutor.go.open_setup(needed.profile.name)

    action_setup_too = action_setup_first  # for when Enter does the same and is shown instead

    def action_words(self) -> None:
        if self._opened:
            title = escape_text(self._opened.lesson.title)
            self.tutor.push_screen(ReferencesScreen(title, self._opened.refers))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        now = self._available or self._find_available()
        if action == "go_on":
            return self._player.current_run is None and parameters == (now.enter.value,)
        offer = now.conditions.get(action)
        return super().check_action(action, parameters) if offer is None else offer()

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys that do something now; the page is read once for all of them."""
        self._available = self._find_available()
        try:
            return super().active_bindings
        finally:
            self._available = None

    def _find_available(self) -> AvailableActions:
        running = self._player.current_run is not None
        return AvailableActions(self._page, self._opened, running=running)


def _waits_for(run: RunToBlock) -> str:
    return f"{run.playing.label} is running. Ctrl+C stops it."
