"""A rehearsal: the table fills while the compiler works, and the marked answer stands below."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal import rehearsal_text
from tpustarter.rehearsal.compiler import Finished, Working
from tpustarter.rehearsal.request import Request
from tpustarter.rehearsal.run import Began, Event, Rehearsal, Rehearsed, beside
from tpustarter.terminal import visible
from tpustarter.tui import rehearsal_details as details
from tpustarter.tui import rehearsal_line as line
from tpustarter.tui.failed import Failed, program
from tpustarter.tui.lines import Stack, heading
from tpustarter.tui.messages import REHEARSE, Arrived, Inbox, Looked, feed
from tpustarter.tui.plain import plain
from tpustarter.tui.rehearsal_script import Script
from tpustarter.tui.rehearsal_table import Answers, Program, Table, label
from tpustarter.tui.screens import rehearsing_keys
from tpustarter.tui.screens.page import Question
from tpustarter.tui.screens.split import LOW, Split
from tpustarter.tui.widgets import Rows

NARROW = 70
"""Columns below which lists stand below each other."""
MANY, LONG = 8, 30
"""Programs that have the whole height where there is room, and letters of a name the width."""
BESIDE_TPU = """This machine has TPU chips, and the compiler was never tried beside a running job.

It is kept off the chips. Go on, when nothing runs on them that must not be disturbed?"""


class Rehearsing(Split):
    """Compiles programs, and shows what the compiler says."""

    HELP = rehearsing_keys.HELP
    STILL_RUNS = "The rehearsal still runs. Press Esc again or x to stop it."
    BESIDE = 150
    """A table with seven TPUs takes half of that."""
    BINDINGS: ClassVar[list[BindingType]] = rehearsing_keys.BINDINGS

    def __init__(self, request: Request, *, change: Callable[[], None]) -> None:
        """Take what is asked for.

        Args:
            request: What is asked for.
            change: Lets its arguments be changed, on the screen behind this one.
        """
        super().__init__(f"Rehearsal: nothing is run{' on a TPU' if request.script else ''}")
        self._request = request
        self._change = change
        self._rehearsal: Rehearsal | None = None
        self._without_compiler = False
        self._inbox: Inbox[Event | list[dict[str, str]] | None] = Inbox()
        self._answers = self._new_answers()
        self._job: Working | None = None
        self._began = 0.0
        self._clock: Timer | None = None
        self._stopped = False
        self._problem: Problem | None = None
        """Why nothing was compiled."""
        self._view = self._opening = ""
        self._total = 0
        """How much there was to do."""
        self._script = Script()

    def _new_answers(self) -> Answers:
        """Return what is known before the first answer."""
        programs: list[Program] = [(check, "") for check in self._request.ids]
        return Answers([(None, "")] if line.is_own(self._request) else programs, self._request.tpus)

    def body(self) -> Iterable[Widget]:
        """Return the compiler, the table, the details and the line below them."""
        opening = Static("", id="opening")
        opening.display = False
        yield opening
        with Container(id="both"):
            with Vertical(id="table"):
                yield Static("", id="tpu-names")
                yield Table(self._answers)
            with VerticalScroll(id="details"):
                yield Static("", id="found")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        """Start at once: that is what the key that led here says."""
        super().on_mount()
        self._start()

    def _start(self) -> None:
        self._began, self._stopped, self._problem, self._job = time.monotonic(), False, None, None
        self._rehearsal, self._inbox, self._answers = None, Inbox(), self._new_answers()
        self._script = Script()
        self.query_one(Table).known = self._answers
        self._clock = self.set_interval(1.0, self._tick)
        self._show()
        self.refresh_bindings()
        self._work(self._request, self._inbox)

    @work(thread=True, exclusive=True, exit_on_error=False, group=REHEARSE)
    def _work(self, request: Request, inbox: Inbox[Event | list[dict[str, str]] | None]) -> None:
        app = self.tutor
        try:
            if beside(app.machine):
                if not request.beside_tpu:
                    self.post_message(Looked(BESIDE_TPU))
                    return
                app.live.release()
            rehearsal = Rehearsal(request, machine=app.machine, checks=app.checks)
            self._rehearsal = rehearsal
            if self._stopped:
                rehearsal.stop()
            for event in rehearsal.events():
                feed(self, inbox, [event])
                if isinstance(event, Began | Rehearsed):
                    feed(self, inbox, [list(rehearsal.skipped)])
            feed(self, inbox, [list(rehearsal.skipped)])
        finally:
            feed(self, inbox, [None])

    def on_looked(self, message: Looked) -> None:
        """Ask before the compiler is used beside a TPU."""
        self.tutor.push_screen(Question("TPU chips", str(message.what)), self._answered)

    def _answered(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer:
            self._request = replace(self._request, beside_tpu=True)
            self._start()
        else:
            self.dismiss()

    def show_error(self, error: BaseException) -> None:
        """Show why nothing was compiled; that it was stopped is no error."""
        if not isinstance(error, Problem):
            super().show_error(error)
        elif not self._stopped:
            self._problem = error
            self._without_compiler = "setup rehearse" in str(error.hint)
            self.say(plain(line.of_problem(error, self._request)))
            self.refresh_bindings()

    def action_setup(self) -> None:
        """Show how the compiler gets here."""
        self.tutor.go.to_setup("rehearse")

    @property
    def can_stop(self) -> bool:
        """Whether a rehearsal goes on that was not stopped yet."""
        return self._answers.busy and not self._stopped

    def on_arrived(self, message: Arrived) -> None:
        """Show what has happened since."""
        if message.inbox is not self._inbox:
            return
        for event in message.inbox.take():
            self._follow(event)
        self._show()
        self.refresh_bindings()

    def _follow(self, event: Event | list[dict[str, str]] | None) -> None:
        if isinstance(event, Began):
            names = ("jax", "libtpu")
            versions = ", ".join(f"{name} {event.versions[name]}" for name in names)
            self._opening = visible(
                f"compiler {event.compiler} {event.versions['python']}, {versions}"
            )
            self._show_opening()
        elif isinstance(event, Working):
            self._job = event
            self._answers.working(event.check, event.program, event.tpu, event.seconds)
        elif isinstance(event, Rehearsed):
            self._answers.answer(event.result)
        elif isinstance(event, list):
            self._answers.skip(event)
        elif event is None:
            self._finish()
        elif not isinstance(event, Finished):
            self._script.follow(event)

    def _finish(self) -> None:
        if self._clock:
            self._clock.stop()
        if self._rehearsal:
            self._script.finish(self._rehearsal)
            self._total = self._rehearsal.progress.total
        self._clock, self._job, self._rehearsal = None, None, None
        self._answers.busy, self._answers.is_whole = False, not self._stopped

    def _tick(self) -> None:
        """Say what is waited for; runs only while the compiler does."""
        self.say(self._headline())

    def _headline(self) -> str:
        answers, request = self._answers, self._request
        if answers.busy:
            if self._stopped:
                return "stopping"
            progress = self._rehearsal.progress if self._rehearsal else None
            seconds = time.monotonic() - self._began
            return line.while_it_runs(self._job, answers, progress, seconds, self.size.width)
        text = line.at_the_end(answers, request, stopped_of=self._total if self._stopped else None)
        if self._view or self.has_class("-details"):  # from which Esc leads to the table
            return text
        parting = "\n" if self.size.height >= LOW else " "
        compares = self._has_room_to_compare
        keys = line.what_to_press(answers, request, stopped=self._stopped, compares=compares)
        return f"{text}{parting}{keys}"

    def _show_opening(self) -> None:
        """Say which compiler it is, where there is room."""
        has_room = self.size.height >= LOW and self.size.width >= NARROW
        self.say(self._opening if has_room else "", where="opening")

    def _show(self) -> None:
        """Paint the table, the details and how far it is."""
        labels = [label(program) for program in self._answers.programs]
        self.set_class(len(labels) > MANY, "-many")
        self.set_class(max(map(len, labels), default=0) > LONG, "-long")
        names = self.query_one(Table).show_known()
        self.query_one("#tpu-names", Static).update(names)
        counts = Counter(str(result["status"]) for result in self._answers.results)
        words = rehearsal_text.WORDS
        self.entitle("table", ", ".join(f"{n} {words[said]}" for said, n in counts.items()))
        if not self._problem:
            self.say(self._headline())
        self._show_details()

    @on(Rows.OptionHighlighted)
    @on(Table.Moved)
    def marked(self, event: Rows.OptionHighlighted | Table.Moved) -> None:
        """Show what is known of the marked cell."""
        if isinstance(event, Table.Moved):
            self._show()
        else:
            self._show_details()
        self.refresh_bindings()

    def _show_details(self) -> None:
        table = self.query_one(Table)
        program, tpu = table.program, table.tpu
        self.entitle("details", f"for {tpu}" if program else "")
        if self._view == "script":
            self.show_details(Stack(self._script.describe()))
        elif program is None:
            self.show_details("")
        elif self._view == "words" and (words := self._words()):
            self.show_details(Content(words))
        elif self._view == "compare":
            self.show_details(Stack(details.comparison(self._answers, program, tpu)))
        else:
            is_alone = self.has_class("-details")
            pieces = [*details.describe_cell(self._answers, program, tpu, names_words=not is_alone)]
            if self._has_room_to_compare:
                pieces += [Content(""), *details.comparison(self._answers, program, tpu)]
            if is_alone and (words := self._words()):
                pieces += [Content(""), heading("The compiler's own words"), Content(words)]
            if self._request.script and self.has_class("-airy") and self.has_class("-beside"):
                pieces += [Content(""), *self._script.describe()]
            self.show_details(Stack(pieces))

    @property
    def _has_room_to_compare(self) -> bool:
        """Whether the other TPUs stand below the marked one without being asked for."""
        return self.has_class("-airy") and len(self._answers.tpus) > 1 and not self._answers.busy

    def _words(self) -> str:
        table = self.query_one(Table)
        return details.words(self._answers.result(table.program, table.tpu))

    def action_lesson(self) -> None:
        """Open the lesson on memory, or go back to it."""
        if not self.tutor.go.back_to_lesson(details.LESSON):
            self.tutor.go.to_lesson(details.LESSON)

    @property
    def _is_too_big(self) -> bool:
        table = self.query_one(Table)
        answer = self._answers.result(table.program, table.tpu)
        return answer is not None and answer["status"] == "does-not-fit"

    def action_explain(self) -> None:
        """Say why the marked program failed, as far as that is known."""
        if failed := self._what_failed():
            self.tutor.go.to_explanation(failed)

    def _what_failed(self) -> Failed | None:
        """Return what there is to explain: the marked answer, else of the script, or of all."""
        table = self.query_one(Table)
        failed = details.failed(self._answers, table.program, table.tpu) or self._script.failed
        problem = None if self._without_compiler else self._problem
        if problem and problem.code == ExitCode.INCONCLUSIVE:
            failed = failed or program("your program", problem.what)
        return failed

    def action_view(self, view: str) -> None:
        """Show something else of the marked cell, and back."""
        self._view = "" if self._view == view else view
        self.set_class(self._view == "compare", "-compare")
        self._show()
        self.query_one("#details").scroll_home(animate=False)
        self.refresh_bindings()

    def action_back(self) -> None:
        """Return from what else was shown first, then as everywhere."""
        if self._view and not self.has_class("-details"):
            self.action_view(self._view)
        else:
            super().action_back()

    def action_details(self) -> None:
        """Give the details the whole screen, and back; what else is said follows that."""
        super().action_details()
        self.call_after_refresh(self._show)

    def action_again(self) -> None:
        """Go through all of it again."""
        if not self._answers.busy:
            self._start()

    def action_change(self) -> None:
        """Go back to what was typed, to change the arguments there."""
        self.dismiss()
        self._change()

    def stop_work(self) -> bool:
        """Stop the compiler."""
        if not self.can_stop:
            return False
        self._stopped = True
        if self._rehearsal:
            self._rehearsal.stop()
        return True

    def action_stop(self) -> None:
        """Stop the compiler, and say so at once."""
        super().action_stop()
        self._tick()

    def on_resize(self) -> None:
        """Lay the table out anew."""
        super().on_resize()
        self._show_opening()
        self.call_after_refresh(self._show)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now; what else is shown is left before anything is stopped."""
        if action == "back" and self._view:
            return True
        if action == "setup":
            return self._without_compiler
        if action == "again":
            return not self._answers.busy
        if action == "change":
            return bool(self._request.arguments) and not self._answers.busy
        if action == "lesson":
            return self._is_too_big
        if action == "explain":
            return self._what_failed() is not None
        if action == "view":
            if parameters == ("script",):
                return bool(self._request.script)
            return parameters != ("words",) or bool(self._words())
        return super().check_action(action, parameters)
