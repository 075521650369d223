"""The explanation of a failure: the most likely cause, the evidence, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.checking.plan import interpreters
from tpustarter.core.problem import Problem
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import break_command, cut_text, escape_text
from tpustarter.tui.app.messages import EXPLAIN, EventsArrived, FactsLoaded
from tpustarter.tui.explain.failed_run import ANSWER, BLOCK, OWN_TITLES, PROGRAM, FailedRun
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence

if TYPE_CHECKING:
    from tpustarter.explain.explanation import Explanation
    from tpustarter.explain.explanation_text import ExplanationPart
    from tpustarter.explain.program_mistakes import FoundMistake

LABEL = 8
"""The width of the label before a text, in columns."""
OUTPUT = "output"
"""The label of a line from a block's output."""
IN_LESSON = "the section “If it fails” of this lesson"
BESIDE = 150
"""Minimum screen width, in columns, for showing the output next to the explanation."""
OF_LESSONS = {
    BLOCK: (
        "A block of a lesson runs as it comes. If you changed it, look first at the line of yours "
        "that the output names, or take the change back with `u` and run the block again."
    ),
    ANSWER: (
        "Look first at the line of yours that the output names. `h` in the exercise gives a hint, "
        "and `s` shows a solution."
    ),
}
"""The advice for a learner's code, before suspecting the machine."""
OTHERWISE = "If it fails unchanged, `tpustarter check` tells whether this machine is sound."
SURE = {"confirmed": "bold $fail", "likely": "bold $warn", "possible": "$code"}


class ExplanationScreen(Page):
    """A screen that explains a failure from its output and from checks of this machine."""

    HELP = """
The output of what failed was searched for failures that are known. The most likely cause comes
first, with the line that shows it and how certain it is.

* **confirmed** means that this machine shows it too, **likely** that a line of the output says so,
  and **possible** that the signs are weak.
* The commands after **do** and **or** are for you to run, and nothing is run from here. A line that
  ends with `\\` goes on in the next one, so copy both together.
* **o** opens the lesson that explains the failure. Where that is the one you came from, it leads
  to its section on what can go wrong. **Esc** goes back to where you were.

Nothing is sent anywhere. Only the host checks look at this machine, and they only read files.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
        Binding("o", "section", "to that section", tooltip="of the lesson you came from"),
        Binding("space", "page_down", "read on", key_display="Space", tooltip="the next lines"),
    ]

    def __init__(self, failed: FailedRun, *, why_no_look: str = "") -> None:
        """Explain a failure.

        Args:
            failed: The failure.
            why_no_look: The reason not to check this machine now, or "".
        """
        name = escape_text(failed.name)
        super().__init__(
            f"What {name} means" if failed.kind in OWN_TITLES else f"Why it failed: {name}"
        )
        self._failed = failed
        self._why_no_look = why_no_look
        self._found: Explanation | None = None
        self._runner = ScreenRunner["tuple[Explanation, str]"](self, EXPLAIN)
        self._written = ""

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="explaining"):
            with VerticalScroll(id="page"):
                explained = Static("", id="explained")
                explained.border_title = "What is known of it"
                yield explained
            with VerticalScroll(id="wrote", can_focus=False):
                yield Static("", id="written")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#page"))
        self._show_note("searching what it wrote")
        self._runner.begin(self._explanations)

    def _explanations(self) -> Iterator[tuple[Explanation, str]]:
        """Yield the explanation from the output, and then one with evidence from this machine."""
        from tpustarter.explain import explain_output, machine_evidence

        app = self.tutor
        try:
            scan = self._failed.scan()
            self.post_message(FactsLoaded(self._failed.read_last_output()))
        except OSError as error:
            raise Problem(f"its log cannot be read: {error.strerror or error}") from error
        end = explain_output.CommandEnd(self._failed.code)
        is_own = self._failed.kind in OWN_TITLES
        python = None if is_own else _tested_python(app.machine.env)
        found = explain_output.explain_log(
            scan, end, python=python, lessons=app.lessons, lesson=self._failed.lesson
        )
        if not machine_evidence.can_confirm(found.matches):
            yield found, ""
        elif self._why_no_look:
            yield found, f"This machine was not looked at, because {self._why_no_look}."
        else:
            yield found, "looking at this machine, without touching the TPU"
            try:
                checks = machine_evidence.plan_host_checks(
                    found.python, app.machine, app.checks, is_tested=not is_own
                )
                self._runner.on_stop(checks.check.stop)
                if self._runner.is_stopped:
                    return
                machine = checks.collect()
            except Problem as problem:
                yield found, f"This machine was not looked at: {problem.full_text}."
                return
            matches = tuple(machine_evidence.add_machine_evidence(found.matches, machine))
            shows = any(match.confidence == "confirmed" for match in matches)
            result = "it shows the same" if shows else "it shows no sign of this"
            yield replace(found, matches=matches), f"This machine was looked at, and {result}."

    def on_facts_loaded(self, message: FactsLoaded[str]) -> None:
        self._written = message.facts.strip("\n")
        self._show_written()

    def _show_written(self) -> None:
        """Show the output, with the evidence marked, if it fits next to the explanation."""
        is_beside = self.size.width >= BESIDE and bool(self._written)
        self.set_class(is_beside, "-beside")
        title = OWN_TITLES.get(self._failed.kind, f"What this {self._failed.kind} wrote last")
        self.query_one("#wrote").border_title = title
        likeliest = self._found.matches[:1] if self._found else ()
        quotes = [sign.quote for match in likeliest for sign in match.signs]
        text = Content(self._written)
        for quote in filter(None, quotes):
            if (at := self._written.find(quote)) >= 0:
                text = text.stylize("bold $fail", at, at + len(quote))
        self.query_one("#written", Static).update(text)

    def on_resize(self) -> None:
        self._show_written()

    def on_events_arrived(self, message: EventsArrived) -> None:
        for found, note in self._runner.take_events(message):
            self._found = found
            self._show_written()
            self.query_one("#explained", Static).update(StackedText(self._pieces(found)))
            self._show_note(escape_text(note))
        self.call_after_refresh(self.refresh_bindings)

    def _show_note(self, text: str) -> None:
        line = self.query_one("#headline", Static)
        line.update(Content(text))
        line.display = bool(text)

    def _pieces(self, found: Explanation) -> Iterator[LaidOutLines | Content]:
        from tpustarter.explain import explanation_text

        parts: Iterable[ExplanationPart] = ()
        if found.is_explained:
            parts = explanation_text.explanation_parts(found)
        elif mistake := self._mistake(found):
            parts = explanation_text.describe_mistake(mistake, found.library)
        elif found.library and self._failed.kind in (PROGRAM, *OWN_TITLES):
            parts = explanation_text.describe_library_error(found.last_error, found.library)
        elif self._failed.advice:
            yield from self._list_findings()
        else:
            yield Content.styled("No known failure of a TPU matches.", "bold")
            yield from self._list_evidence(found.last_error)
            yield Content("")
            if self._failed.kind in OF_LESSONS:
                yield style_sentence(f"{OF_LESSONS[self._failed.kind]} {OTHERWISE}")
            else:
                yield from (
                    _piece(part)
                    for part in explanation_text.describe_next_commands(found.framework)
                )
        for number, part in enumerate(parts):
            yield _piece(self._adapt_part(part), is_title=not number)
        if self._failed.file:
            yield Content("")
            shown = interpreters.format_path(self._failed.file, self.tutor.machine.env)
            yield HangingText(_label("log"), escape_text(shown))

    def _adapt_part(self, part: ExplanationPart) -> ExplanationPart:
        """Return a part of an explanation with this screen's label and key.

        A block's output gets a label without its line number, which would look like a code line.
        """
        if part.lesson:
            where = IN_LESSON if self._is_section else part.lesson
            return replace(part, text=f"{where} (o)")
        is_block_line = part.line is not None and self._failed.kind in (BLOCK, ANSWER)
        return replace(part, label=OUTPUT) if is_block_line else part

    def _mistake(self, found: Explanation) -> FoundMistake | None:
        """Return the mistake in the user's own program, or None, as for a check or a step."""
        return found.mistake if self._failed.kind in (BLOCK, ANSWER, PROGRAM, *OWN_TITLES) else None

    def _list_evidence(self, last_error: str) -> Iterator[LaidOutLines | Content]:
        failed = self._failed
        if not (failed.log or failed.file):
            yield Content(f"This {failed.kind} wrote nothing, so there is only how it ended:")
        elif last_error:
            yield HangingText(_label("last"), escape_text(cut_text(last_error, 300)))
        for line in failed.end_lines:
            yield HangingText(_label("ended"), escape_text(line))

    def _list_findings(self) -> Iterator[LaidOutLines | Content]:
        """Yield the check's own findings and hints, because they are the explanation."""
        from tpustarter.explain import explanation_text

        failed = self._failed
        yield Content.styled("The check itself says what is wrong.", "bold")
        for line in failed.end_lines:
            yield HangingText(_label("found"), style_sentence(line))
        yield Content("")
        for number, line in enumerate(failed.advice):
            yield HangingText(
                _label("and" if number else "do"),
                style_sentence(explanation_text.hint_as_sentence(line)),
            )
        if failed.lesson:
            yield HangingText(_label("read"), f"{escape_text(failed.lesson)} (o)")

    def action_section(self) -> None:
        """Go back to the open lesson's section on failures."""
        from tpustarter.explain import lesson_failures

        self.tutor.go.back_to_lesson(self._lesson, at=lesson_failures.HEADING)

    def action_lesson(self) -> None:
        """Open the lesson that explains the failure, or go back to it if it is open."""
        lesson = self._lesson
        if not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.open_lesson(lesson)

    @property
    def _lesson(self) -> str:
        matches = self._found.matches if self._found else ()
        if self._found and (found := self._mistake(self._found)):
            return found.mistake.read
        if not matches and self._failed.advice:
            return self._failed.lesson
        return matches[0].failure.read if matches else ""

    @property
    def _is_section(self) -> bool:
        """True if the open lesson has a section that explains the failure."""
        return self._failed.is_in_lesson and self._lesson == self._failed.lesson

    def action_page_down(self) -> None:
        self.query_one("#page").scroll_page_down(animate=False)

    def stop_work(self) -> bool:
        """Stop checking this machine; return False, so that one Esc is enough to leave."""
        self._runner.stop()
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "lesson":
            return bool(self._lesson) and not self._is_section
        if action == "section":
            return self._is_section
        if action == "page_down":
            return self.query_one("#page").max_scroll_y > 0
        return super().check_action(action, parameters)


def _tested_python(env: Mapping[str, str]) -> str:
    """Return the command of the Python under test, or "" if there is none."""
    try:
        chosen, _ = interpreters.choose_interpreter(None, env, Path.cwd())
    except Problem:
        return ""
    return interpreters.format_path(chosen.path, env, Path.cwd())


def _label(text: str) -> Content:
    return Content.styled(f"{text:<{LABEL}}", "$label")


def _piece(part: ExplanationPart, *, is_title: bool = False) -> LaidOutLines | Content:
    from tpustarter.explain.explanation_text import PartKind

    if part.kind is PartKind.COMMAND:
        return CopyableCommand(part.label, part.text)
    if part.kind is PartKind.LESSON:
        return HangingText(_label(part.label), part.text)
    words = Content(part.text) if part.kind is PartKind.QUOTE else style_sentence(part.text)
    text = words.stylize("bold" if is_title else "")
    if part.sure:
        text += Content(" ") + Content.styled(f"({part.sure})", SURE[part.sure])
    if not part.label:
        return text
    return HangingText(
        _label(" " * part.indent + part.label).pad_right(bool(part.indent) * 4), text
    )


class CopyableCommand(LaidOutLines):
    """A command for copying, whose long lines are broken with a backslash, never inside quotes."""

    def __init__(self, label: str, command: str) -> None:
        self._label = label
        self._command = format_commands(command)

    def lines(self, width: int) -> list[Content]:
        first, *rest = break_command(self._command, width - LABEL) or [""]
        return [
            line
            for number, text in enumerate([first, *rest])
            for line in (_label("" if number else self._label) + text).wrap(max(width, 1))
        ]
