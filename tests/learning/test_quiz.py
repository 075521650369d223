"""Questions in lessons: parsing, printing and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.made_lessons import make_lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content import blocks, lesson_text, quiz
from tpustarter.learning.progress.lesson_progress import LessonProgress

TEXT = """\
How many devices has a v4-8,
as JAX counts them?

( ) 8
    8 counts TensorCores.
(x) 4
    Two cores of a v4 chip
    are one device.
"""


def test_every_answer_of_question_has_reason() -> None:
    """Each answer has a reason, and the right answer is known by its number."""
    made = quiz.parse_quiz("v4", TEXT, 7)

    assert made.question == "How many devices has a v4-8, as JAX counts them?"
    assert [one.text for one in made.answers] == ["8", "4"]
    assert made.answers[1].why == "Two cores of a v4 chip are one device."
    assert (made.right_number, made.line) == (2, 7)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("(x)", "( )", "not exactly one right answer"),
        ("( ) 8", "(x) 8", "not exactly one right answer"),
        ("    8 counts TensorCores.\n", "", "`8` does not say why"),
        ("    8 counts", "8 counts", "is not indented"),
        ("( ) 8", "() 8", "expected `( ) TEXT` or `(x) TEXT`"),
        ("How many devices has a v4-8,\nas JAX counts them?\n", "", "has no text"),
        (TEXT[TEXT.index("( )") : TEXT.index("(x)")], "", "1 answers, expected 2 to 5"),
    ],
)
def test_broken_question_names_its_mistake(old: str, new: str, what: str) -> None:
    """Each kind of invalid question is refused with its mistake."""
    with pytest.raises(ValueError, match=r".") as refused:
        quiz.parse_quiz("v4", TEXT.replace(old, new), 1)

    assert what in str(refused.value)


def test_a_lesson_holds_questions_beside_its_blocks(tmp_path: Path) -> None:
    """Questions and blocks share one set of ids; a broken question has file and line."""
    fence = f"```quiz id=v4\n{TEXT}```\n"
    lesson = make_lesson(tmp_path, f"Text.\n\n{fence}\nMore.\n")

    parts = blocks.parse_lesson(lesson)

    assert ["markdown", "quiz", "markdown"] == [part.kind for part in parts]
    assert ["v4"] == [part.quiz.id for part in parts if part.quiz]
    twice = make_lesson(tmp_path, fence + fence)
    with pytest.raises(Problem, match="line 21: there is already a block `v4`"):
        blocks.parse_lesson(twice)
    nameless = make_lesson(tmp_path, fence.replace(" id=v4", ""))
    with pytest.raises(Problem, match="has no `id=`"):
        blocks.parse_lesson(nameless)
    wrong = make_lesson(tmp_path, fence.replace("(x)", "( )"))
    with pytest.raises(Problem, match=r"01-sample\.md`, line 11: .*right answer"):
        blocks.parse_lesson(wrong)


def test_printed_question_has_answer_at_end(tmp_path: Path) -> None:
    """The answer is printed after the end of the text."""
    lesson = make_lesson(tmp_path, f"```quiz id=v4\n{TEXT}```\n\nThe last words.\n")
    lines = list(lesson_text.render_lesson(lesson, LessonProgress()))
    asked, said = lines.index("1. 8"), lines.index("The last words.")
    answer = lines.index("2. Right: Two cores of a v4 chip are one device.")

    assert asked < said < answer
    assert lines[answer - 1] == "1. No: 8 counts TensorCores."
