"""Why something failed: the most likely cause, the line that shows it, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.invocation import as_typed
from tpustarter.problem import Problem
from tpustarter.terminal import continued, cut, visible
from tpustarter.tui.failed import ANSWER, BLOCK, OWN, PROGRAM, Failed
from tpustarter.tui.lines import Hanging, Lines, Stack, prose
from tpustarter.tui.messages import EXPLAIN, Arrived, Inbox, Looked, feed
from tpustarter.tui.screens.page import Page

if TYPE_CHECKING:
    from tpustarter.checking.selfcheck import SelfCheck
    from tpustarter.explain.explanation import Explanation, Part
    from tpustarter.explain.mistakes import Found as MistakeFound

LABEL = 8
"""Columns of what stands before a text."""
OUTPUT = "output"
"""Stands before a line that a block has written."""
IN_LESSON = "the section “If it fails” of this lesson"
BESIDE = 150
"""Columns from which what the failure wrote stands beside what is known of it."""
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
"""What helps with what a learner wrote, before anybody looks for a fault of the machine."""
OTHERWISE = "If it fails unchanged, `tpustarter check` tells whether this machine is sound."
SURE = {"confirmed": "bold $fail", "likely": "bold $warn", "possible": "$code"}


class Explained(Page):
    """Searches what a failure wrote for what is known, and looks at this machine."""

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

    def __init__(self, failed: Failed, *, why_no_look: str = "") -> None:
        """Take what failed.

        Args:
            failed: What failed.
            why_no_look: Why this machine is better not looked at now; empty where it can be.
        """
        name = visible(failed.name)
        super().__init__(f"What {name} means" if failed.kind in OWN else f"Why it failed: {name}")
        self._failed = failed
        self._why_no_look = why_no_look
        self._found: Explanation | None = None
        self._inbox: Inbox[tuple[Explanation, str]] = Inbox()
        self._checks: SelfCheck | None = None
        self._is_left = False
        self._written = ""

    def body(self) -> Iterable[Widget]:
        """Return the explanation, empty at first, and the line below."""
        with Horizontal(id="explaining"):
            with VerticalScroll(id="page"):
                explained = Static("", id="explained")
                explained.border_title = "What is known of it"
                yield explained
            with VerticalScroll(id="wrote", can_focus=False):
                yield Static("", id="written")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        """Begin: that is what the key that led here says."""
        self.set_focus(self.query_one("#page"))
        self._say("searching what it wrote")
        self._work()

    @work(thread=True, exclusive=True, exit_on_error=False, group=EXPLAIN)
    def _work(self) -> None:
        feed(self, self._inbox, self._explanations())

    def _explanations(self) -> Iterator[tuple[Explanation, str]]:
        """Yield what the output says, then the same with what this machine shows."""
        from tpustarter.explain import explaining, looking

        app = self.tutor
        try:
            scan = self._failed.scan()
            self.post_message(Looked(self._failed.last_words()))
        except OSError as error:
            raise Problem(f"its log cannot be read: {error.strerror or error}") from error
        end = explaining.End(self._failed.code)
        found = explaining.from_log(
            scan, app.machine.env, end, lessons=app.lessons, lesson=self._failed.lesson
        )
        if not explaining.can_look(found):
            yield found, ""
        elif self._why_no_look:
            yield found, f"This machine was not looked at, because {self._why_no_look}."
        else:
            yield found, "looking at this machine, without touching the TPU"
            try:
                self._checks = looking.host_checks(app.machine, app.checks)
                if self._is_left:
                    return
                machine = looking.seen(self._checks)
            except Problem as problem:
                yield found, f"This machine was not looked at: {problem.what}."
                return
            matches = tuple(looking.confirmed(found.matches, machine))
            shows = any(match.confidence == "confirmed" for match in matches)
            result = "it shows the same" if shows else "it shows no sign of this"
            yield replace(found, matches=matches), f"This machine was looked at, and {result}."

    def on_looked(self, message: Looked) -> None:
        """Take the end of what it wrote."""
        self._written = str(message.what).strip("\n")
        self._show_written()

    def _show_written(self) -> None:
        """Show beside the explanation what it is of, where there is room; the line is marked."""
        is_beside = self.size.width >= BESIDE and bool(self._written)
        self.set_class(is_beside, "-beside")
        title = OWN.get(self._failed.kind, f"What this {self._failed.kind} wrote last")
        self.query_one("#wrote").border_title = title
        likeliest = self._found.matches[:1] if self._found else ()
        quotes = [sign.quote for match in likeliest for sign in match.signs]
        text = Content(self._written)
        for quote in filter(None, quotes):
            if (at := self._written.find(quote)) >= 0:
                text = text.stylize("bold $fail", at, at + len(quote))
        self.query_one("#written", Static).update(text)

    def on_resize(self) -> None:
        """Put what it wrote beside the explanation, where there is room."""
        super().on_resize()
        self._show_written()

    def on_arrived(self, message: Arrived) -> None:
        """Show what is known by now."""
        for found, note in message.inbox.take():
            self._found = found
            self._show_written()
            self.query_one("#explained", Static).update(Stack(self._pieces(found)))
            self._say(visible(note))
        self.call_after_refresh(self.refresh_bindings)

    def _say(self, text: str) -> None:
        line = self.query_one("#headline", Static)
        line.update(Content(text))
        line.display = bool(text)

    def _pieces(self, found: Explanation) -> Iterator[Lines | Content]:
        from tpustarter.explain import explanation

        if found.matches:
            for number, part in enumerate(explanation.parts(found)):
                yield _piece(self._told(part), is_title=not number)
        elif mistake := self._mistake(found):
            parts = explanation.of_mistake(mistake)
            for number, part in enumerate(parts):
                yield _piece(self._told(part), is_title=not number)
        elif self._failed.advice:
            yield from self._what_it_says()
        else:
            yield Content.styled("No known failure of a TPU matches.", "bold")
            yield from self._what_is_there(found.last_error)
            yield Content("")
            if self._failed.kind in OF_LESSONS:
                yield prose(f"{OF_LESSONS[self._failed.kind]} {OTHERWISE}")
            else:
                yield from (_piece(part) for part in explanation.advice())
        if self._failed.file:
            yield Content("")
            home = f"{self.tutor.machine.env.get('HOME', '').rstrip('/')}/"
            path = str(self._failed.file)
            shown = f"~/{path[len(home) :]}" if path.startswith(home) and home != "/" else path
            yield Hanging(_label("log"), visible(shown))

    def _told(self, part: Part) -> Part:
        """Return a piece as it is told here.

        The line of the output is left out where it reads as one of the block.
        """
        if part.label == "read":
            where = IN_LESSON if self._is_section else part.text.rpartition(" ")[2]
            return replace(part, text=f"{where} (o)")
        is_line = part.label.startswith("line ") and self._failed.kind in (BLOCK, ANSWER)
        return replace(part, label=OUTPUT) if is_line else part

    def _mistake(self, found: Explanation) -> MistakeFound | None:
        """Return what is wrong in the reader's own program; a check or a step is none."""
        return found.mistake if self._failed.kind in (BLOCK, ANSWER, PROGRAM, *OWN) else None

    def _what_is_there(self, last_error: str) -> Iterator[Lines | Content]:
        failed = self._failed
        if not (failed.log or failed.file):
            yield Content(f"This {failed.kind} wrote nothing, so there is only how it ended:")
        elif last_error:
            yield Hanging(_label("last"), visible(cut(last_error, 300)))
        for line in failed.ended:
            yield Hanging(_label("ended"), visible(line))

    def _what_it_says(self) -> Iterator[Lines | Content]:
        """Yield what the check itself found and advises: there is nothing else to explain."""
        from tpustarter.explain import explanation

        failed = self._failed
        yield Content.styled("The check itself says what is wrong.", "bold")
        for line in failed.ended:
            yield Hanging(_label("found"), prose(line))
        yield Content("")
        for number, line in enumerate(failed.advice):
            yield Hanging(_label("and" if number else "do"), prose(explanation.sentence(line)))
        if failed.lesson:
            yield Hanging(_label("read"), f"{visible(failed.lesson)} (o)")

    def action_section(self) -> None:
        """Go back to the lesson, to what it says of failures."""
        from tpustarter.explain import taught

        self.tutor.go.back_to_lesson(self._lesson, at=taught.HEADING)

    def action_lesson(self) -> None:
        """Open the lesson that explains it; go back to it where it is open."""
        lesson = self._lesson
        if not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.to_lesson(lesson)

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
        """Whether it is the lesson that is open which explains it, in a section of its own."""
        return self._failed.is_in_lesson and self._lesson == self._failed.lesson

    def action_page_down(self) -> None:
        """Read on."""
        self.query_one("#page").scroll_page_down(animate=False)

    def stop_work(self) -> bool:
        """End the look at this machine; returns whether one went on. Esc leaves all the same."""
        self._is_left = True
        if self._checks:
            self._checks.stop()
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now."""
        if action == "lesson":
            return bool(self._lesson) and not self._is_section
        if action == "section":
            return self._is_section
        if action == "page_down":
            return self.query_one("#page").max_scroll_y > 0
        return super().check_action(action, parameters)


def _label(text: str) -> Content:
    return Content.styled(f"{text:<{LABEL}}", "$label")


def _piece(part: Part, *, is_title: bool = False) -> Lines | Content:
    if part.is_literal and part.label not in ("read", "source"):
        return Command(part.label, part.text)
    if part.label == "read":
        return Hanging(_label("read"), part.text)
    sure = f"({part.sure})" if part.sure else ""
    words = part.text.removesuffix(sure)
    is_quoted = part.label.startswith("line ") or part.label in (OUTPUT, "error", "where")
    text = (Content(words) if is_quoted else prose(words)).stylize("bold" if is_title else "")
    if part.sure:
        text += Content.styled(sure, SURE[part.sure])
    if not part.label:
        return text
    return Hanging(_label(" " * part.indent + part.label).pad_right(bool(part.indent) * 4), text)


class Command(Lines):
    """A command that can be copied: it goes on behind a backslash, and never inside a quote."""

    def __init__(self, label: str, command: str) -> None:
        self._label = label
        self._command = as_typed(command)

    def lines(self, width: int) -> list[Content]:
        """Return the command over as many lines as it needs."""
        first, *rest = continued(self._command, width - LABEL) or [""]
        return [
            line
            for number, text in enumerate([first, *rest])
            for line in (_label("" if number else self._label) + text).wrap(max(width, 1))
        ]
