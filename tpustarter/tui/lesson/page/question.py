"""A question in a lesson, answered with a digit; every answer has an explanation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tpustarter.learning.content.quiz import Quiz
from tpustarter.learning.progress.lesson_progress import QuizRecord
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    status_word,
    style_sentence,
)


@dataclass
class AnswerPicked(Message):
    """Sent when the user has clicked an answer."""

    view: QuestionView
    number: int


class QuestionView(Static):
    """A question with its answers, which the user may try until one is right."""

    def __init__(self, quiz: Quiz, known: QuizRecord) -> None:
        """Show a question with the answers given in earlier sessions."""
        super().__init__(classes="question")
        self.quiz = quiz
        self.was_left = False
        """True if the reader was shown how to answer; the next Enter then reads on."""
        numbered = list(enumerate(quiz.answers, 1))
        self._chosen = {number for number, answer in numbered if answer.text in known.answers}
        if known.right:
            self._chosen.add(quiz.right_number)
        self._show()

    @property
    def is_done(self) -> bool:
        """True if the right answer was given."""
        return self.quiz.right_number in self._chosen

    @property
    def text(self) -> str:
        """The text of the question and its answers in the lesson."""
        answers = (f"{answer.text}\n{answer.why}" for answer in self.quiz.answers)
        return "\n".join([self.quiz.question, *answers])

    def answer(self, number: int) -> bool | None:
        """Record an answer; return whether it is right, or None if there is no such answer."""
        if not 1 <= number <= len(self.quiz.answers):
            return None
        self._chosen.add(number)
        self._show()
        return number == self.quiz.right_number

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        row = offset.y if offset else -1
        for number, piece in self._pieces():
            height = len(piece.lines(self.content_size.width))
            if 0 <= row < height and number:
                self.post_message(AnswerPicked(self, number))
            row -= height

    def show_how_to_answer(self) -> None:
        """Show how to answer below the answers, for readers who would skip the question."""
        self.was_left = True
        self._show()

    def _show(self) -> None:
        if self.is_done:
            state = status_word("pass", "answered right")
        else:
            press = Content(f"press {self._numbers}")
            state = status_word("warn", "not yet") if self._chosen else press
        self.border_title = Content("Question: ") + state
        self.update(StackedText(piece for _, piece in self._pieces()))

    @property
    def _numbers(self) -> str:
        """The keys of the answers, such as `1, 2 or 3`."""
        *others, last = (str(number + 1) for number in range(len(self.quiz.answers)))
        return f"{', '.join(others)} or {last}"

    def _pieces(self) -> Iterator[tuple[int, LaidOutLines]]:
        """Yield the lines with the number of the answer they belong to, or 0."""
        yield 0, HangingText("", style_sentence(self.quiz.question))
        for number, answer in enumerate(self.quiz.answers, 1):
            yield number, HangingText(f"  {number}  ", style_sentence(answer.text))
            if number in self._chosen:
                word = ("pass", "right  ") if answer.is_right else ("warn", "no  ")
                verdict = status_word(*word).pad_left(5)
                yield number, HangingText(verdict, style_sentence(answer.why))
        if self.was_left and not self.is_done:
            how = f"Press {self._numbers} to answer. Enter goes on without it."
            # Nothing else shows that the key had an effect.
            yield 0, HangingText("", status_word("run", how))
