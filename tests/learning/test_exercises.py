"""Exercises: a gap in a program, the learner's copy, the verdict, hints and what is remembered."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.made_lessons import make_lesson, make_session
from tests.support.shipped import DEFAULT, exercise_is_judged, shipped_exercises
from tpustarter import content
from tpustarter.content import Lesson
from tpustarter.learning import exercises, merging, progress
from tpustarter.learning.exercises import Exercise, Judged
from tpustarter.learning.output import Output
from tpustarter.problem import Problem

SHIPPED = '''"""Return the double.

`double` must return twice its number.
"""


def double(number):
    return number  # your code here


# Judged below: leave this part as it is.

assert double(4) == 8, f"found {double(4)}, expected 8"
print("doubled")
'''
SOLVED = '''"""Two times is a plus.

`number + number`
is one way.

Learned: a double is
a sum.
"""


def double(number):
    return 2 * number
'''


KINDS = ("start/read-a-name", "jax/pad-uneven-batch", "project/read-a-header")
ONE_OF_EACH_KIND = [one for one in shipped_exercises(*DEFAULT) if one.id in KINDS]


def shipped(folder: Path, name: str = "double", text: str = SHIPPED, solved: str = SOLVED) -> None:
    """Write an exercise of the track `made`."""
    for kind, program in (("exercises", text), ("solutions", solved)):
        file = folder / "made" / kind / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(program)


def lesson_with(folder: Path, *names: str) -> Lesson:
    """Return a lesson that names exercises."""
    lesson = make_lesson(folder, "Text.\n")
    text = lesson.path.read_text().replace("minutes: 3", f"minutes: 3\nexercises: {list(names)}")
    lesson.path.write_text(text)
    return content.read_lesson(lesson.path)


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    """Return the sample exercise."""
    shipped(tmp_path)
    return exercises.find([lesson_with(tmp_path, "double")], "made/double")


def judge(exercise: Exercise, *answers: str | None) -> Iterator[Judged]:
    """Yield the verdicts on answers, all of them given to one process."""
    session = make_session(exercise.lesson)
    try:
        for answer in answers:
            *_, judged = exercises.judge(exercise, session.run, answer)
            assert isinstance(judged, Judged)

            yield judged
    finally:
        session.close()


def test_an_exercise_is_its_task_gap_hints_and_solution(exercise: Exercise) -> None:
    """What the two files hold, apart."""
    assert exercise.title == "Return the double"
    assert exercise.task == "`double` must return twice its number."
    assert exercise.hints == ("Two times is a plus.", "`number + number` is one way.")
    assert exercise.learned == "a double is a sum."
    assert exercise.solution.startswith("def double(number):\n    return 2")
    assert exercise.gap + exercise.judged == SHIPPED


def test_as_shipped_it_fails_and_the_solution_passes(exercise: Exercise) -> None:
    """The verdict says what was found and what was expected."""
    wrong, right = judge(exercise, exercise.gap, exercise.solution)

    assert (wrong.is_right, wrong.why) == (False, "found 4, expected 8")
    assert "Traceback" in wrong.result.output
    assert (right.is_right, right.why) == (True, "")
    assert right.result.output == "doubled\n"


def test_of_a_wrong_answer_no_traceback_is_shown_of_a_broken_one_it_is(exercise: Exercise) -> None:
    """The error itself is told once, by the verdict; lines that only the traceback has stay."""
    session = make_session(exercise.lesson)
    told, why = [], []
    for answer in (
        exercise.gap + "print('here')\n",
        "print('here')\n1 / 0\n",
        "double = (4]\n",
        "raise ValueError('one\\ntwo')\n",
    ):
        *shown, judged = exercises.judge(exercise, session.run, answer)
        told.append("".join(one.text for one in shown if isinstance(one, Output)))
        why.append(judged.why if isinstance(judged, exercises.Judged) else "")
    session.close()

    assert told[0] == "here\n"
    assert told[1].startswith("here\nTraceback")
    assert told[1].endswith("    1 / 0\n    ~~^~~\n" if sys.version_info > (3, 11) else "1 / 0\n")
    assert "ZeroDivisionError: division by zero" == why[1]
    assert "    double = (4]\n" in told[2]
    assert "SyntaxError" not in told[2]
    assert why[2].startswith("SyntaxError: ")
    assert told[3].endswith("\nValueError: one\ntwo\n")


def test_names_of_an_earlier_answer_do_not_help_a_later_one(exercise: Exercise) -> None:
    """Each answer stands alone, though the process is the same."""
    right, empty = judge(exercise, exercise.solution, "")

    assert right.is_right
    assert "name 'double' is not defined" in empty.why


def test_an_answer_cannot_change_how_it_is_judged(exercise: Exercise) -> None:
    """What stands below the mark is the shipped part, whatever the learner's file has there."""
    cheat = exercise.gap + exercises.MARK + "\nprint('all is well')\n"
    [judged] = judge(exercise, cheat)

    assert judged.why == "found 4, expected 8"


def test_a_syntax_error_and_an_exit_are_no_right_answers(exercise: Exercise) -> None:
    """What breaks before it is judged is broken, and the reason is told."""
    syntax, left = judge(exercise, "def double(", "raise SystemExit(0)")

    assert (syntax.is_right, left.is_right) == (False, False)
    assert "SyntaxError" in syntax.why
    assert "SystemExit" in left.why


def test_a_verdict_names_the_line_of_the_learners_own_code(exercise: Exercise) -> None:
    """Where that raised, else what was changed; a line of the part that judges is none of it."""
    answers = {
        exercise.gap: "yours to change is line 8: return number  # your code here",
        exercise.gap.replace("number  #", "nothing  #"): "line 8: return nothing  # your code here",
        exercise.gap.replace("number  #", "(2  #"): "line 8: return (2  # your code here",
        exercise.gap.replace("number  # your", "3 * number  # my"): (
            "you changed line 8: return 3 * number"
        ),
        exercise.gap.replace("return number", "number"): ("you changed line 8: number"),
        f"{exercise.gap}double = None\n": "you changed line 11: double = None",
    }
    judged = list(judge(exercise, *answers))

    assert [*answers.values()] == [one.lines.words if one.lines else "" for one in judged]
    assert judged[-1].why.startswith("TypeError: ")  # raised by the part that judges
    assert [None] == [one.lines for one in judge(exercise, exercise.solution)]


def test_the_learners_copy_is_made_once_and_kept_when_begun_anew(exercise: Exercise) -> None:
    """Nothing typed is lost."""
    assert exercises.state(exercise) == "new"
    path = exercises.open_file(exercise)
    path.write_text("my work")

    assert path == exercises.open_file(exercise)
    assert (exercises.state(exercise), path.read_text()) == ("begun", "my work")
    exercises.open_file(exercise, anew=True)
    assert path.read_text() == SHIPPED
    assert path.with_name("double.py.old").read_text() == "my work"


def test_an_exercise_is_begun_once_something_was_typed_into_it(exercise: Exercise) -> None:
    """Opening it, which writes the file, is not enough; nor is keeping what was there."""
    path = exercises.open_file(exercise)
    assert "new" == exercises.state(exercise)
    exercises.keep_code(exercise, exercises.own_code(exercise)[0])
    assert "new" == exercises.state(exercise)
    exercises.keep_code(exercise, "def double(number):\n    return 3")
    assert "begun" == exercises.state(exercise)
    path.write_bytes(b"\xff\xfe")

    assert "begun" == exercises.state(exercise)


def test_what_came_of_the_learners_file_is_remembered(exercise: Exercise) -> None:
    """Right once stays right; an answer that is none of the learner's changes nothing."""
    path = exercises.open_file(exercise)
    list(judge(exercise, exercise.solution))
    assert exercises.state(exercise) == "new"
    list(judge(exercise, None))
    assert exercises.state(exercise) == "fail"
    path.write_text(exercise.solution)
    list(judge(exercise, None))
    assert exercises.state(exercise) == "pass"
    path.write_text("")
    list(judge(exercise, None))
    assert exercises.state(exercise) == "pass"


def test_hints_come_one_by_one_and_are_counted(exercise: Exercise) -> None:
    """From a nudge to almost the answer; then there are no more."""
    told = [exercises.next_hint(exercise) for _ in range(3)]

    assert told == ["Two times is a plus.", "`number + number` is one way.", None]
    assert exercises.hints_given(exercise) == 2


def test_a_solution_looked_at_before_is_remembered_as_shown(exercise: Exercise) -> None:
    """After that a right answer still counts, a wrong one changes nothing."""
    assert exercises.show_solution(exercise) == exercise.solution
    path = exercises.open_file(exercise)
    list(judge(exercise, None))
    assert exercises.state(exercise) == "shown"
    path.write_text(exercise.solution)
    list(judge(exercise, None))
    exercises.show_solution(exercise)
    assert exercises.state(exercise) == "pass"


def test_exercises_done_elsewhere_are_added(exercise: Exercise) -> None:
    """The newer entry of each counts."""
    exercises.next_hint(exercise)
    exported = merging.export()
    fields = exported["lessons"]["made/sample"]["exercises"]
    fields["double"] = {"status": "pass", "hints": 2, "when": "2999-01-01T00:00:00+00:00"}
    merging.merge(exported)

    assert (exercises.state(exercise), exercises.hints_given(exercise)) == ("pass", 2)


def test_the_next_exercise_is_the_first_after_it_that_is_not_done(tmp_path: Path) -> None:
    """Those before it come last; with all others done there is none."""
    names = ("first", "double", "last")
    for name in names:
        shipped(tmp_path, name)
    first, double, last = exercises.read(lesson_with(tmp_path, *names))
    assert exercises.following(double) == last
    assert exercises.following(last) == first
    for name in ("first", "last"):
        progress.exercise_judged("made/sample", name, is_right=True)

    assert exercises.following(double) is None
    assert exercises.following(first) == double


@pytest.mark.parametrize(
    ("text", "solved", "what"),
    [
        (SHIPPED.replace("# Judged below", "# below"), SOLVED, "has not a task"),
        (SHIPPED.replace("\n`double` must return twice its number.\n", ""), SOLVED, "a task"),
        (SHIPPED, SOLVED.split('"""')[2], "and hints"),
        (SHIPPED, "def (", "cannot read the exercise `made/double`"),
    ],
)
def test_a_broken_exercise_is_one_problem(
    tmp_path: Path, text: str, solved: str, what: str
) -> None:
    """It is named, with what it lacks."""
    shipped(tmp_path, text=text, solved=solved)

    with pytest.raises(Problem, match="made/double") as refused:
        exercises.read(lesson_with(tmp_path, "double"))

    assert what in refused.value.what


def test_an_unknown_exercise_names_the_nearest(tmp_path: Path) -> None:
    """A misspelt id is told as such; a file that is not there as well."""
    shipped(tmp_path)
    lesson = lesson_with(tmp_path, "double")
    with pytest.raises(Problem) as refused:
        exercises.find([lesson], "made/duble")

    assert refused.value.hint == "did you mean `made/double`?"
    with pytest.raises(Problem, match="cannot read the exercise `made/nowhere`"):
        exercises.read(lesson_with(tmp_path, "nowhere"))


def test_a_copy_that_cannot_be_read_says_how_to_begin_anew(exercise: Exercise) -> None:
    """Bytes that are no text, for example."""
    exercises.open_file(exercise).write_bytes(b"\xff\xfe")
    with pytest.raises(Problem, match="cannot read your answer") as refused:
        list(judge(exercise, None))

    assert "--exercise made/double --reset" in str(refused.value.hint)
    assert sys.executable  # the process was never started


@pytest.mark.parametrize("one", ONE_OF_EACH_KIND, ids=lambda one: one.id)
def test_a_shipped_exercise_fails_and_passes_with_its_solution(one: Exercise) -> None:
    """One of each framework and one with code of its own; `tests/content` tries them all."""
    with contextlib.closing(make_session(one.lesson)) as session:
        exercise_is_judged(one, session)


def test_every_exercise_belongs_to_a_lesson() -> None:
    """No file lies there that nobody is led to."""
    folder = content.locations.content("lessons")
    files = {f"{path.parents[1].name}/{path.stem}" for path in folder.glob("*/exercises/*.py")}
    solutions = {f"{path.parents[1].name}/{path.stem}" for path in folder.glob("*/solutions/*.py")}

    assert (
        files
        == solutions
        == {one.id for lesson in content.read_lessons() for one in exercises.read(lesson)}
    )
