"""The screen of a rehearsal: a table that fills as programs compile, and the marked answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.probe.finding import Hint
from tpustarter.rehearsal.compile.compiler import CompileProgress, CompileTaskDone
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.result_fields import FittingSize
from tpustarter.rehearsal.run import (
    Event,
    Rehearsal,
    RehearsalAnswer,
    RehearsalStarted,
    describe_local_chips,
)
from tpustarter.rehearsal.text import rehearsal_text
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import REHEARSE, EventsArrived, FactsLoaded
from tpustarter.tui.explain.failed_run import FailedRun, make_program_failure
from tpustarter.tui.kit.list_with_details import LOW, ListWithDetails
from tpustarter.tui.kit.page import ConfirmWindow
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import StackedText, group_heading
from tpustarter.tui.rehearse import answer_details, status_line
from tpustarter.tui.rehearse.answer_table import (
    Program,
    RehearsalAnswers,
    RehearsalTable,
    format_label,
)
from tpustarter.tui.rehearse.rehearsed_script import RehearsedScript

NARROW = 70
"""Width in columns below which lists are placed below each other."""
MANY_PROGRAMS, LONG_LABEL = 8, 30
"""Number of programs above which the table takes the full height, and length of a label above which
it takes the full width."""
BESIDE_TPU = """This machine has TPU chips, and the compiler was never tried beside a running job.

It is kept off the chips. Go on, when nothing runs on them that must not be disturbed?"""
_HELP = """
Each line is a program and each column is a TPU. The words are the compiler's answers, and
**nothing is run on a TPU**. A script of yours runs on CPU devices.

* `ok` means that the program compiles and fits. `too big` means that it needs more memory than one
  device has, `refused` that JAX or the compiler doesn't accept it for this TPU, and `ERROR` that
  there is no answer. `skip` means that it was left out, for example because it is for another
  number of devices than this TPU has, and `..12s` that it has been compiling for 12 seconds.
* The **arrow keys** choose an answer, and you see what the compiler says about it. **Enter** gives
  it the whole screen, and a second Enter brings the table back.
* **c** compares all programs of your file for the marked TPU, and all TPUs for the marked program.
  **g** shows the compiler's own words. **o** shows what your script printed, and what it passed to
  `jax.jit`.
* **f** says why a program was refused or broke.
* **e** goes back to the arguments of your function, to change them. **b** does so to search the
  largest batch that fits, or the largest size of another dimension. The table then has these sizes.
* **l** opens the lesson on memory, where a program is too big.
* **x** stops at once, and **Esc** asks before it does so. **r** starts all of it again, and uses
  stored answers.
"""


class RehearsalScreen(ListWithDetails):
    """A rehearsal with the compiler's answers."""

    HELP = _HELP
    STILL_RUNS = "The rehearsal still runs. Press Esc again or x to stop it."
    BESIDE = 150
    """Twice the width in columns of a table with seven TPUs."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
        Binding("c", "view('compare')", "compare", tooltip="tpustarter rehearse ID --json"),
        Binding("e", "change", "change arguments", tooltip="of your function"),
        Binding("b", "search", "largest size", tooltip="tpustarter rehearse --fit NAME"),
        Binding("g", "view('words')", "compiler's words", tooltip="tpustarter rehearse ID -v"),
        Binding("o", "view('script')", "script", tooltip="tpustarter rehearse --script FILE.py"),
        Binding("l", "lesson", "lesson", tooltip="tpustarter learn LESSON"),
        Binding("r", "again", "again", tooltip="tpustarter rehearse"),
        Binding("s", "setup", "set up", tooltip="tpustarter setup rehearse"),
    ]

    def __init__(
        self, request: RehearsalRequest, *, change: Callable[[], None], search: Callable[[], None]
    ) -> None:
        """Prepare a rehearsal that starts once the screen is shown.

        Args:
            request: The programs and TPUs.
            change: Called to edit the arguments on the previous screen.
            search: Called to name, on the previous screen, the dimension to search.
        """
        super().__init__(f"Rehearsal: nothing is run{' on a TPU' if request.script else ''}")
        self._request = request
        self._change, self._search = change, search
        self._rehearsal: Rehearsal | None = None
        self._without_compiler = False
        self.runner = self._run = ScreenRunner[Event | list[dict[str, str]]](
            self, REHEARSE, self._tick
        )
        self._answers = self._new_answers()
        self._job: CompileProgress | None = None
        self._problem: Problem | None = None
        """The reason why nothing was compiled."""
        self._view = self._opening = ""
        self._total = 0
        """The number of planned compilations."""
        self._script = RehearsedScript()

    def _new_answers(self) -> RehearsalAnswers:
        programs: list[Program] = [(check, "") for check in self._request.ids]
        return RehearsalAnswers(
            [(None, "")] if status_line.is_user_program(self._request) else programs,
            self._request.tpus,
        )

    def body(self) -> Iterable[Widget]:
        opening = Static("", id="opening")
        opening.display = False
        yield opening
        with Container(id="both"):
            with Vertical(id="table"):
                yield Static("", id="tpu-names")
                yield RehearsalTable(self._answers)
            with VerticalScroll(id="details"):
                yield Static("", id="found")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        self._start()

    def _start(self) -> None:
        self._problem = self._job = self._rehearsal = None
        self._answers, self._script = self._new_answers(), RehearsedScript()
        self.query_one(RehearsalTable).known = self._answers
        self._run.begin(partial(self._play, self._request))
        self._show()
        self.refresh_bindings()

    def _play(self, request: RehearsalRequest) -> Iterator[Event | list[dict[str, str]]]:
        """Compile the programs, in the worker thread."""
        app = self.tutor
        if describe_local_chips(app.machine):
            if not request.beside_tpu:
                self.post_message(FactsLoaded(BESIDE_TPU))
                return
            app.live.release()
        rehearsal = Rehearsal(request, machine=app.machine, checks=app.checks)
        self._rehearsal = rehearsal
        self._run.on_stop(rehearsal.stop)
        for event in rehearsal.events():
            yield event
            if isinstance(event, RehearsalStarted | RehearsalAnswer):
                yield list(rehearsal.skipped)
        yield list(rehearsal.skipped)

    def on_facts_loaded(self, message: FactsLoaded[str]) -> None:
        """Ask the user before the compiler is used on a machine with TPU chips."""
        self.tutor.push_screen(ConfirmWindow("TPU chips", message.facts), self._answered)

    def _answered(self, answer: bool | None) -> None:  # noqa: FBT001  Textual's callback
        if answer:
            self._request = replace(self._request, beside_tpu=True)
            self._start()
        else:
            self.dismiss()

    def show_error(self, error: BaseException) -> None:
        """Show the reason why nothing was compiled, unless the user stopped the run."""
        if not isinstance(error, Problem):
            super().show_error(error)
        elif not self._run.is_stopped:
            self._problem = error
            self._without_compiler = Hint.of(error.hint).setup == "rehearse"
            self.show_text(clean_text(status_line.format_error(error, self._request)))
            self.refresh_bindings()

    def action_setup(self) -> None:
        self.tutor.go.open_setup("rehearse")

    def on_events_arrived(self, message: EventsArrived) -> None:
        for event in self._run.take_events(message):
            self._follow(event)
        if not self._run.is_busy:
            self._finish()
        self._show()
        self.refresh_bindings()

    def _follow(self, event: Event | list[dict[str, str]]) -> None:
        if isinstance(event, RehearsalStarted):
            names = ("jax", "libtpu")
            versions = ", ".join(f"{name} {event.versions[name]}" for name in names)
            self._opening = escape_text(
                f"compiler {event.compiler} {event.versions['python']}, {versions}"
            )
            self._show_opening()
        elif isinstance(event, CompileProgress):
            self._job = event
            self._answers.record_running(event.check, event.program, event.tpu, event.seconds)
        elif isinstance(event, RehearsalAnswer):
            self._answers.record_answer(event.result)
        elif isinstance(event, list):
            self._answers.record_skipped(event)
        elif isinstance(event, FittingSize):
            self._answers.record_fit(event)
        elif not isinstance(event, CompileTaskDone):
            self._script.follow(event)

    def _finish(self) -> None:
        if self._rehearsal:
            self._answers.sort_programs(self._rehearsal.results)
            self._script.finish(self._rehearsal)
            self._total = self._rehearsal.progress.total
        self._job = self._rehearsal = None
        self._answers.busy, self._answers.is_whole = False, not self._run.is_stopped

    def _tick(self) -> None:
        self.show_text(self._headline())

    def _headline(self) -> str:
        answers, request = self._answers, self._request
        if answers.busy:
            if self._run.is_stopped:
                return "stopping"
            progress = self._rehearsal.progress if self._rehearsal else None
            seconds, width = self._run.seconds, self.size.width
            return status_line.format_progress(
                self._job, answers, progress, seconds, width, runs_script=bool(request.script)
            )
        stopped = self._run.is_stopped
        text = status_line.format_headline(
            answers, request, stopped_of=self._total if stopped else None
        )
        if self._view or self.has_class("-details"):  # Esc returns to the table from there
            return text
        parting = "\n" if self.size.height >= LOW else " "
        compares = self._has_room_to_compare
        keys = status_line.format_next_key(answers, request, stopped=stopped, compares=compares)
        return f"{text}{parting}{keys}"

    def _show_opening(self) -> None:
        has_room = self.size.height >= LOW and self.size.width >= NARROW
        self.show_text(self._opening if has_room else "", where="opening")

    def _show(self) -> None:
        labels = [format_label(program) for program in self._answers.programs]
        self.set_class(len(labels) > MANY_PROGRAMS, "-many")
        self.set_class(max(map(len, labels), default=0) > LONG_LABEL, "-long")
        names = self.query_one(RehearsalTable).show_known()
        self.query_one("#tpu-names", Static).update(names)
        counts = Counter(str(result["status"]) for result in self._answers.results)
        words = rehearsal_text.WORDS
        self.set_area_title("table", ", ".join(f"{n} {words[said]}" for said, n in counts.items()))
        if not self._problem:
            self.show_text(self._headline())
        self._show_details()

    @on(RowList.OptionHighlighted)
    @on(RehearsalTable.SelectionMoved)
    def show_cell_details(
        self, event: RowList.OptionHighlighted | RehearsalTable.SelectionMoved
    ) -> None:
        """Show the details of the marked cell."""
        if isinstance(event, RehearsalTable.SelectionMoved):
            self._show()
        else:
            self._show_details()
        self.refresh_bindings()

    def _show_details(self) -> None:
        table = self.query_one(RehearsalTable)
        program, tpu = table.program, table.tpu
        self.set_area_title("details", f"for {tpu}" if program else "")
        if self._view == "script":
            self.show_details(StackedText(self._script.describe()))
        elif program is None:
            self.show_details("")
        elif self._view == "words" and (words := self._words()):
            self.show_details(Content(words))
        elif self._view == "compare":
            pieces: list[answer_details.Piece] = []  # a search for sizes makes them differ
            if not self._request.fit:
                pieces += answer_details.compare_alternatives(self._answers, tpu)
            pieces += answer_details.compare_tpus(self._answers, program, tpu)
            self.show_details(StackedText(pieces))
        else:
            is_alone = self.has_class("-details")
            pieces = [
                *answer_details.describe_answer_cell(
                    self._answers, program, tpu, names_words=not is_alone
                )
            ]
            if self._has_room_to_compare:
                pieces += [Content(""), *answer_details.compare_tpus(self._answers, program, tpu)]
            if is_alone and (words := self._words()):
                pieces += [Content(""), group_heading("The compiler's own words"), Content(words)]
            if self._request.script and self.has_class("-airy") and self.has_class("-beside"):
                pieces += [Content(""), *self._script.describe()]
            self.show_details(StackedText(pieces))

    @property
    def _has_room_to_compare(self) -> bool:
        """True if the comparison of TPUs is shown below the marked answer without a key."""
        return self.has_class("-airy") and len(self._answers.tpus) > 1 and not self._answers.busy

    def _words(self) -> str:
        table = self.query_one(RehearsalTable)
        return answer_details.compiler_message(self._answers.result(table.program, table.tpu))

    def action_lesson(self) -> None:
        if not self.tutor.go.back_to_lesson(answer_details.LESSON):
            self.tutor.go.open_lesson(answer_details.LESSON)

    @property
    def _is_too_big(self) -> bool:
        table = self.query_one(RehearsalTable)
        answer = self._answers.result(table.program, table.tpu)
        return answer is not None and answer["status"] == "does-not-fit"

    def action_explain(self) -> None:
        if failed := self._what_failed():
            self.tutor.go.open_explanation(failed)

    def _what_failed(self) -> FailedRun | None:
        """Return the failure to explain: the marked answer's, or the script's, or the run's."""
        table = self.query_one(RehearsalTable)
        failed = (
            answer_details.find_failed_run(self._answers, table.program, table.tpu)
            or self._script.failed_run
        )
        problem = None if self._without_compiler else self._problem
        if problem and problem.code == ExitCode.INCONCLUSIVE:
            failed = failed or make_program_failure("your program", problem.full_text)
        return failed

    def action_view(self, view: str) -> None:
        """Show another view of the marked cell, or return to its answer."""
        self._view = "" if self._view == view else view
        self.set_class(self._view == "compare", "-compare")
        self._show()
        self.query_one("#details").scroll_home(animate=False)
        self.refresh_bindings()

    def action_back(self) -> None:
        if self._view and not self.has_class("-details"):
            self.action_view(self._view)
        else:
            super().action_back()

    def action_details(self) -> None:
        super().action_details()
        self.call_after_refresh(self._show)

    def action_again(self) -> None:
        if not self._answers.busy:
            self._start()

    def action_change(self) -> None:
        self.dismiss()
        self._change()

    def action_search(self) -> None:
        self.dismiss()
        self._search()

    def on_resize(self) -> None:
        self._show_opening()
        self.call_after_refresh(self._show)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "back" and self._view:
            return True
        if action == "setup":
            return self._without_compiler
        if action == "again":
            return not self._answers.busy
        if action == "change":
            return bool(self._request.arguments) and not self._answers.busy
        if action == "search":
            own = status_line.is_user_program(self._request) and not self._request.script
            return own and not self._answers.busy
        if action == "lesson":
            return self._is_too_big
        if action == "explain":
            return self._what_failed() is not None
        if action == "view":
            if parameters == ("script",):
                return bool(self._request.script)
            return parameters != ("words",) or bool(self._words())
        return super().check_action(action, parameters)
