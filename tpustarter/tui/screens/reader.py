"""One lesson: read it, and run its code where it stands."""

from __future__ import annotations

import contextlib
from typing import ClassVar

from textual.binding import BindingType

from tpustarter.checking.selfcheck import Request
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import failed, offers
from tpustarter.tui.block import BlockView
from tpustarter.tui.heading import Heading
from tpustarter.tui.messages import Arrived
from tpustarter.tui.playing import Player
from tpustarter.tui.question import Picked, QuestionView
from tpustarter.tui.screens import reader_keys
from tpustarter.tui.screens.lesson_screen import LessonScreen
from tpustarter.tui.screens.words import Words
from tpustarter.tui.turn import Turn, last_to_run
from tpustarter.tui.typed import Typed


class Reader(LessonScreen):
    """The lesson reader."""

    HELP = reader_keys.HELP
    BINDINGS: ClassVar[list[BindingType]] = reader_keys.BINDINGS
    LOST_WITH_PROCESS = (
        "The variables of this lesson go with it. What you typed is kept, and `a` runs everything "
        "down to a block again."
    )

    def __init__(self, lesson: str, *, at: str = "") -> None:
        super().__init__(lesson, at=at)
        self._player = Player(self, self._block_ended)
        self._typed = Typed(self, lesson)
        self._offered_for: tuple[object, ...] = ()
        """The block for which keys are offered, and what else they depend on."""
        self._goes_on = False
        """Whether the block after the one that runs is next, once that has passed."""

    def first_line(self) -> Heading:
        """Return the heading, with the whole title of the lesson."""
        return Heading(self._heading, wraps=True)

    def on_mount(self) -> None:
        """Follow the process that blocks run in."""
        self.watch(self.tutor, "place", self._follow_process, init=False)

    def on_marked(self) -> None:
        """Offer what the block that is marked now can do, and show beside it where that is."""
        self._offer()
        if self.is_ready:  # before that the page is not whole
            self.show_status(offers.where(self._page))
        if self.has_class("-beside"):
            self._margin.outline.follow(self._page)

    def _offer(self) -> None:
        """Offer what works now, where that is something else than before."""
        view = self._page.marked
        changed = (view.code.is_edited, view.has_failed) if view else ()
        before, page = self._offered_for, self._page
        self._offered_for = (view, changed, page.asked, page.fold, self._enter_does)
        if self._offered_for != before:
            self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        """Offer what can be done with the block that has the focus now."""
        self.refresh_bindings()

    def action_choose(self, step: int) -> None:
        """Go to the block after the marked one, or to the one before it."""
        view = self._page.neighbour(step)
        if view is None:
            self.say("This is the last block." if step > 0 else "This is the first block.")
            view = self._page.marked
        if view:
            self._go_to(view)

    def _go_to(self, view: BlockView) -> None:
        self.set_focus(view)
        view.scroll_visible(animate=False)  # one that has the focus already may be out of sight

    def say(self, text: str) -> None:
        """Say something for a moment."""
        self.notify(text, markup=False, timeout=3)

    def action_jump(self) -> None:
        """Go to what is open next: a block, a question or a task; from the end to the first."""
        found = self._page.next_open()
        if found is None:
            return
        if found.is_above:
            self.say("Nothing is open below. This is the first that is open.")
        if isinstance(found.view, BlockView):
            found.view.was_left = False  # Enter is to open it, and not to read on
            self.set_focus(found.view, scroll_visible=False)
            self._page.bring(found.view)
        else:
            self._show_question(found.view)

    def _show_question(self, view: QuestionView | None) -> None:
        """Show a question and how to answer it; after that Enter reads on."""
        if view:
            view.say_how()
            self._page.show_question(view)
            self._offer()

    action_jump_too = action_jump  # where Enter does it, and is named

    def action_to_end(self) -> None:
        """Say that nothing is open, and go where the course goes on."""
        self.say("Nothing is open: each block has passed, each question is answered.")
        self._page.scroll_end(animate=False)

    def _chosen(self) -> BlockView | None:
        """Return the marked block; where there is none, go to the nearest one, to be seen first."""
        view = self._page.marked
        if view is None and self._page.nearest:
            self._go_to(self._page.nearest)
        return view

    @property
    def late(self) -> frozenset[str]:
        """The actions whose keys are named after the others."""
        if self._page.is_at_end:
            return reader_keys.LATE | reader_keys.OF_BLOCKS
        late = reader_keys.LATE
        return late | reader_keys.LATE_IF_WRONG if offers.is_wrong(self._page) else late

    @property
    def _enter_does(self) -> str:
        """What Enter does now, see `reader_keys.ENTER`."""
        return offers.of_enter(self._page)

    def action_run(self) -> None:
        """Run the marked block as it stands, after those above that have not run."""
        self._run()

    async def action_run_on(self, what: str) -> None:
        """Do what comes next, see `reader_keys.ENTER`."""
        if what == "to the question":
            self._show_question(self._page.passed_over)
        elif what == "run":
            self._run(goes_on=True)
        elif what in ("fill the gap", "change it"):
            await self.action_edit()
        elif what == "read on":
            self._page.read_on(self._page.marked)
        elif what == "next open":
            self.action_jump()
        elif what == "exercise":
            self._note_read()
            self.action_exercise()
        else:
            self.action_next()

    def action_wait(self) -> None:
        """Say what is waited for."""
        if turn := self._player.turn:
            self.say(_waits_for(turn))

    def action_leave_done(self) -> None:
        """End typing in a task that has passed, and do what comes next."""
        if view := self._page.edited:
            view.end_edit()
            self.refresh_bindings()
            self.call_after_refresh(lambda: self.run_action(f"run_on('{self._enter_does}')"))

    def action_run_to_here(self) -> None:
        """Run every block down to the marked one, in a new process."""
        self._run(anew=True)

    def _run(self, *, anew: bool = False, goes_on: bool = False) -> None:
        if self._opened is None or self._player.turn:
            return
        view = (self._page.here if anew else None) or self._chosen()
        if view is None:
            return
        runs_above = anew and last_to_run(view, self._page.views)
        if view.code.has_gap and not runs_above:  # filled, it runs what is missing above it, too
            self.say(view.gap_first)
            return
        self._goes_on = goes_on
        # Later it would look as if the reader had scrolled away from what the block prints.
        view.scroll_visible(animate=False, immediate=True)
        self._work_on(view)
        self._page.begin(view)
        self._player.run(self._opened.lesson, view, self._page.views, anew=anew)
        self.refresh_bindings()

    def _work_on(self, view: BlockView) -> None:
        """Remember what is worked on: a peek is over."""
        self._page.use(view)
        self._bookmark.end_peek()

    def on_arrived(self, message: Arrived) -> None:
        """Show what a block printed, and how it ended."""
        self._player.arrived(message)

    def _block_ended(self, turn: Turn) -> None:
        """Bring into sight how a block ended; more blocks may follow it."""
        self._follow_process()
        self.tutor.withdraw(_waits_for(turn))
        self._page.mark_soon()
        self._page.look_at_end()
        if turn.is_over:
            goes_on = self._goes_on and turn.asked.has_passed
            if turn.here is self.focused:  # else the reader went elsewhere
                self.set_focus(turn.seen, scroll_visible=False)
            self._page.show_end(turn.seen, was_pushed=turn.ran_above, goes_on=goes_on)
            if turn.left_out:
                self.say(turn.left_out)
        self.refresh_bindings()

    def on_screen_resume(self) -> None:
        """Say at the end what was done elsewhere, such as an exercise."""
        self._page.look_at_end()

    def _follow_process(self) -> None:
        """Say of which blocks the names are gone."""
        live = self.tutor.live
        changed = [view.follow(has_run=live.has_run(view.block.id)) for view in self._page.views]
        if any(changed) and self._player.turn is None:
            self._page.keep_place()

    @property
    def can_stop(self) -> bool:
        """Whether a block runs."""
        return self._player.turn is not None

    def stop_work(self) -> bool:
        """Stop the block that runs."""
        return self._player.stop()

    def action_back(self) -> None:
        """End typing, else stop what runs, else leave."""
        if self._end_edit():
            self.refresh_bindings()
        elif not self.stop_work():
            self.dismiss()

    def _end_edit(self) -> bool:
        """End typing; returns whether anything could be typed."""
        view = self._page.edited
        if view:
            view.end_edit()
            if view.result:
                self._page.show_end(view, was_pushed=True)
        return view is not None

    def on_text_area_changed(self) -> None:
        """Keep what is typed, and say that it has not run."""
        if view := self._page.edited:
            self._keep(view)
            view.show_typed()
            self._offer()
            self.show_status(offers.where(self._page))

    def _keep(self, view: BlockView) -> None:
        """Remember what the learner made of a block, also when the program is killed."""
        self._typed.put(view.block, view.code.text if view.code.is_edited else None)

    def on_unmount(self) -> None:
        """Remember what was typed, and end the lesson's process: the lesson is left."""
        with contextlib.suppress(Problem):  # which was shown when it was typed
            self._typed.flush()
        self.stop_work()
        if self.tutor.is_running:
            self.tutor.release_lesson()

    async def action_edit(self) -> None:
        """Let the learner change the marked block."""
        view = self._chosen() or self._page.nearest
        if view and not view.code.is_editing and not self._player.is_playing(view):
            self._work_on(view)
            await view.edit()
            self.refresh_bindings()

    def action_reset(self) -> None:
        """Bring back the code of the block in sight; with none there go to one that was edited."""
        view = self._page.marked
        if view is None or not self._page.is_in_sight(view):
            self._go_to(next(view for view in self._page.views if view.code.is_edited))
        else:
            view.reset()
            self._keep(view)
            self.refresh_bindings()

    def action_redo(self) -> None:
        """Bring back what was typed into the marked block before that."""
        if view := self._chosen():
            view.restore()
            self._keep(view)
            self.refresh_bindings()

    action_undo = action_reset  # of a block that passed: what comes next stands before it

    def action_check(self) -> None:
        """Run the lesson's checks."""
        if self._opened:
            ids = tuple(self._opened.checks)
            request = Request(ids=ids, devices=self.tutor.choices.devices)
            self.tutor.go.to_checks(request, "Checks of this lesson")

    def action_explain(self) -> None:
        """Say why the marked block failed, as far as that is known."""
        view = self._page.marked
        if self._opened and view and view.result:
            name, session = view.block.name, self.tutor.live.session
            shown = failed.block(name, view.result, self._opened.lesson, session)
            why = "a block is running" if self._player.turn else ""
            self.tutor.go.to_explanation(shown, why_no_look=why)

    def action_next(self) -> None:
        """Go to the next lesson."""
        if self._opened and self._opened.following:
            self._note_read()
            self._remember_left(self._opened.lesson)
            self.tutor.go.to_lesson_instead(self._opened.following.id)

    action_next_now = action_next  # where it is one of two ways on
    action_next_too = action_next  # where Enter does it, and is named

    def action_exercise(self) -> None:
        """Work on the exercise that is asked for in sight, else the first that is not done yet."""
        opened, name = self._opened, self._page.exercise_in_sight
        if opened and (exercise := opened.next_exercise):
            exercise = next((one for one in opened.exercises if one.name == name), exercise)
            self.tutor.go.to_exercise(exercise.id)

    def action_answer(self, number: int) -> None:
        """Answer the question in sight."""
        if view := self._page.asked:
            self._answer(view, number)

    def action_no_question(self) -> None:
        """Say why a digit answers nothing."""
        self.notify("The question is out of sight; j leads to what is open.", markup=False)

    def on_picked(self, message: Picked) -> None:
        """Take an answer that was clicked."""
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
                self.say("Nothing is open any more. j goes to the end of the lesson.")

    action_look_at = action_answer  # one that was not given, where the right one was

    def action_fold(self) -> None:
        """Open the folded part in sight, or close it."""
        if fold := self._page.fold:
            self._page.look_away()
            fold.turn()

    def action_setup(self) -> None:
        """Show what this lesson sets up."""
        if self._opened:
            self.tutor.go.to_setup(*self._opened.setups)

    def action_words(self) -> None:
        """Show what the words mean, and where links lead."""
        if self._opened:
            title = visible(self._opened.lesson.title)
            self.tutor.push_screen(Words(title, self._opened.refers))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now."""
        if action == "run_on":
            return self._player.turn is None and parameters == (self._enter_does,)
        now = offers.of_lesson(self._page, self._opened, running=self._player.turn is not None)
        offer = now.get(action)
        return super().check_action(action, parameters) if offer is None else offer()


def _waits_for(turn: Turn) -> str:
    return f"{turn.playing.label} is running. Ctrl+C stops it."
