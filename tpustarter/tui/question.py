"""A question in a lesson: answered with a digit, and every answer says why."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tpustarter.learning import progress
from tpustarter.learning.progress import Fields
from tpustarter.learning.quiz import Quiz
from tpustarter.tui.lines import Hanging, Lines, Stack, prose, word


class Picked(Message):
    """An answer was clicked."""

    def __init__(self, view: QuestionView, number: int) -> None:
        super().__init__()
        self.view, self.number = view, number


class QuestionView(Static):
    """A question; what was answered is shown below it, and another answer may follow."""

    def __init__(self, quiz: Quiz, known: Fields) -> None:
        """Take a question, and what is remembered of it from earlier sessions."""
        super().__init__(classes="question")
        self.quiz = quiz
        self.was_left = False
        """Whether the reader was told how to answer it: after that Enter reads on."""
        given = progress.answers_given(known)
        numbered = list(enumerate(quiz.answers, 1))
        self._chosen = {number for number, answer in numbered if answer.text in given}
        if known.get("right"):
            self._chosen.add(quiz.right)
        self._show()

    @property
    def is_done(self) -> bool:
        """Whether the right answer was given."""
        return self.quiz.right in self._chosen

    @property
    def text(self) -> str:
        """What the lesson says here."""
        answers = (f"{answer.text}\n{answer.why}" for answer in self.quiz.answers)
        return "\n".join([self.quiz.question, *answers])

    def answer(self, number: int) -> bool | None:
        """Take an answer by its number; returns whether it is right, None where there is none."""
        if not 1 <= number <= len(self.quiz.answers):
            return None
        self._chosen.add(number)
        self._show()
        return number == self.quiz.right

    def on_click(self, event: events.Click) -> None:
        """Take the answer that was clicked, or whose reason was."""
        offset = event.get_content_offset(self)
        row = offset.y if offset else -1
        for number, piece in self._pieces():
            height = len(piece.lines(self.content_size.width))
            if 0 <= row < height and number:
                self.post_message(Picked(self, number))
            row -= height

    def say_how(self) -> None:
        """Say below the answers how one is given, to whoever would read on past it."""
        self.was_left = True
        self._show()

    def _show(self) -> None:
        if self.is_done:
            state = word("pass", "answered right")
        else:
            state = word("warn", "not yet") if self._chosen else Content(self._invitation)
        self.border_title = Content("Question: ") + state
        self.update(Stack(piece for _, piece in self._pieces()))

    @property
    def _invitation(self) -> str:
        """What is said before an answer: `press 1, 2 or 3`."""
        return f"press {self._numbers}"

    @property
    def _numbers(self) -> str:
        *others, last = (str(number + 1) for number in range(len(self.quiz.answers)))
        return f"{', '.join(others)} or {last}"

    def _pieces(self) -> Iterator[tuple[int, Lines]]:
        """Yield what is shown, each with the number of its answer; 0 for what is none."""
        yield 0, Hanging("", prose(self.quiz.question))
        for number, answer in enumerate(self.quiz.answers, 1):
            yield number, Hanging(f"  {number}  ", prose(answer.text))
            if number in self._chosen:
                verdict = word("pass", "right  ") if answer.is_right else word("warn", "no  ")
                yield number, Hanging(verdict.pad_left(5), prose(answer.why))
        if self.was_left and not self.is_done:
            how = f"Press {self._numbers} to answer. Enter goes on without it."
            yield 0, Hanging("", word("run", how))  # nothing else says that a key did something
