"""Exercises: gaps, the learner's copy, verdicts, hints and stored progress."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.made_lessons import make_lesson, make_session
from tests.support.shipped import DEFAULT, exercise_is_judged, shipped_exercises
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content import exercises
from tpustarter.learning.content.exercises import AnswerVerdict, Exercise
from tpustarter.learning.progress import lesson_progress, progress_transfer
from tpustarter.learning.run.block_output import OutputChunk

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
    return exercises.find_exercise([lesson_with(tmp_path, "double")], "made/double")


def judge(exercise: Exercise, *answers: str | None) -> Iterator[AnswerVerdict]:
    """Yield the verdicts on answers, all of them given to one process."""
    session = make_session(exercise.lesson)
    try:
        for answer in answers:
            *_, judged = exercises.judge_answer(exercise, session.run, answer)
            assert isinstance(judged, AnswerVerdict)

            yield judged
    finally:
        session.close()


def test_exercise_has_task_gap_hints_and_solution(exercise: Exercise) -> None:
    """The title, task, gap, hints and solution are read from the two files of an exercise."""
    assert exercise.title == "Return the double"
    assert exercise.task == "`double` must return twice its number."
    assert exercise.hints == ("Two times is a plus.", "`number + number` is one way.")
    assert exercise.learned == "a double is a sum."
    assert exercise.solution.startswith("def double(number):\n    return 2")
    assert exercise.gap + exercise.judged == SHIPPED


def test_as_shipped_it_fails_and_the_solution_passes(exercise: Exercise) -> None:
    """The verdict of the shipped exercise states the found and expected values."""
    wrong, right = judge(exercise, exercise.gap, exercise.solution)

    assert (wrong.is_right, wrong.why) == (False, "found 4, expected 8")
    assert "Traceback" in wrong.result.output
    assert (right.is_right, right.why) == (True, "")
    assert right.result.output == "doubled\n"


def test_traceback_is_shown_for_broken_answers_only(exercise: Exercise) -> None:
    """A traceback is shown only for a broken answer, and its last line only in the verdict."""
    session = make_session(exercise.lesson)
    told, why = [], []
    for answer in (
        exercise.gap + "print('here')\n",
        "print('here')\n1 / 0\n",
        "double = (4]\n",
        "raise ValueError('one\\ntwo')\n",
    ):
        *shown, judged = exercises.judge_answer(exercise, session.run, answer)
        told.append("".join(one.text for one in shown if isinstance(one, OutputChunk)))
        why.append(judged.why if isinstance(judged, exercises.AnswerVerdict) else "")
    session.close()

    assert told[0] == "here\n"
    assert told[1].startswith("here\nTraceback")
    assert told[1].endswith("    1 / 0\n    ~~^~~\n" if sys.version_info > (3, 11) else "1 / 0\n")
    assert "ZeroDivisionError: division by zero" == why[1]
    assert "    double = (4]\n" in told[2]
    assert "SyntaxError" not in told[2]
    assert why[2].startswith("SyntaxError: ")
    assert told[3].endswith("\nValueError: one\ntwo\n")


def test_names_of_earlier_answer_are_not_shared(exercise: Exercise) -> None:
    """An answer does not see names of an earlier answer in the same process."""
    right, empty = judge(exercise, exercise.solution, "")

    assert right.is_right
    assert "name 'double' is not defined" in empty.why


def test_answer_cannot_change_its_judge(exercise: Exercise) -> None:
    """The shipped judging code is used, whatever the learner's file has below the mark."""
    cheat = exercise.gap + exercises.MARK + "\nprint('all is well')\n"
    [judged] = judge(exercise, cheat)

    assert judged.why == "found 4, expected 8"


def test_syntax_error_and_exit_are_broken_answers(exercise: Exercise) -> None:
    """Code that ends before it is judged is broken, and the verdict gives the reason."""
    syntax, left = judge(exercise, "def double(", "raise SystemExit(0)")

    assert (syntax.is_right, left.is_right) == (False, False)
    assert "SyntaxError" in syntax.why
    assert "SystemExit" in left.why


def test_verdict_names_line_of_learner_code(exercise: Exercise) -> None:
    """The verdict names the learner's line that raised, or else the lines that were changed."""
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


def test_copy_is_kept_when_exercise_starts_again(exercise: Exercise) -> None:
    """Starting an exercise again keeps what the learner typed."""
    assert exercises.read_exercise_state(exercise) == "new"
    path = exercises.ensure_learner_file(exercise)
    path.write_text("my work")

    assert path == exercises.ensure_learner_file(exercise)
    assert (exercises.read_exercise_state(exercise), path.read_text()) == ("begun", "my work")


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ([None], {}),
        (["my work"], {"double.py.old": "my work"}),
        (["a", "b"], {"double.py.old": "a", "double.py-2.old": "b"}),
        (["a", "b", "a"], {"double.py.old": "a", "double.py-2.old": "b"}),
        (["a", None, "a"], {"double.py.old": "a"}),
        ([b"\xff\xfe", b"\xff\xfe"], {"double.py.old": b"\xff\xfe"}),
        ([Path], {"double.py.old": Path}),
        (
            [Path, "a", Path],
            {"double.py.old": Path, "double.py-2.old": "a", "double.py-3.old": Path},
        ),
    ],
)
def test_starting_again_keeps_typed_code(
    exercise: Exercise, typed: list[Any], kept: dict[str, Any]
) -> None:
    """Changed files are kept once under another name, which is returned; shipped ones are not."""
    path = exercises.ensure_learner_file(exercise)
    for one in typed:
        put(path, one)
        place = exercises.restart_exercise(exercise)
        assert (None if place is None else held(place)) == one
        assert path.read_text() == SHIPPED

    assert kept == {
        one.name: held(one, like=kept.get(one.name)) for one in path.parent.iterdir() if one != path
    }


def put(path: Path, content: Any) -> None:
    """Write a text or bytes at a path, or make a folder there; None leaves it."""
    if content is None:
        return
    path.unlink()
    if content is Path:
        path.mkdir()
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def held(path: Path, *, like: Any = None) -> Any:
    """Return the content at a path in the form that `put` accepts."""
    if path.is_dir():
        return Path
    data = path.read_bytes()
    return data if isinstance(like, bytes) or b"\xff" in data else data.decode()


def test_exercise_starts_when_learner_types(exercise: Exercise) -> None:
    """An exercise counts as begun after a change, not after opening or saving it unchanged."""
    path = exercises.ensure_learner_file(exercise)
    assert "new" == exercises.read_exercise_state(exercise)
    exercises.save_learner_code(exercise, exercises.read_learner_code(exercise)[0])
    assert "new" == exercises.read_exercise_state(exercise)
    exercises.save_learner_code(exercise, "def double(number):\n    return 3")
    assert "begun" == exercises.read_exercise_state(exercise)
    path.write_bytes(b"\xff\xfe")

    assert "begun" == exercises.read_exercise_state(exercise)


def test_verdict_of_learner_file_is_remembered(exercise: Exercise) -> None:
    """A right verdict stays; an answer that is not the learner's file changes nothing."""
    path = exercises.ensure_learner_file(exercise)
    list(judge(exercise, exercise.solution))
    assert exercises.read_exercise_state(exercise) == "new"
    list(judge(exercise, None))
    assert exercises.read_exercise_state(exercise) == "fail"
    path.write_text(exercise.solution)
    list(judge(exercise, None))
    assert exercises.read_exercise_state(exercise) == "pass"
    path.write_text("")
    list(judge(exercise, None))
    assert exercises.read_exercise_state(exercise) == "pass"


def test_hints_come_one_by_one_and_are_counted(exercise: Exercise) -> None:
    """Hints are revealed one at a time until none is left, and are counted."""
    told = [exercises.reveal_next_hint(exercise) for _ in range(3)]

    assert told == ["Two times is a plus.", "`number + number` is one way.", None]
    assert exercises.count_given_hints(exercise) == 2


def test_viewed_solution_is_remembered(exercise: Exercise) -> None:
    """After the solution was viewed, a right answer counts and a wrong one changes nothing."""
    assert exercises.reveal_solution(exercise) == exercise.solution
    path = exercises.ensure_learner_file(exercise)
    list(judge(exercise, None))
    assert exercises.read_exercise_state(exercise) == "shown"
    path.write_text(exercise.solution)
    list(judge(exercise, None))
    exercises.reveal_solution(exercise)
    assert exercises.read_exercise_state(exercise) == "pass"


def test_exercises_done_on_another_machine_are_added(exercise: Exercise) -> None:
    """Exercises of two machines merge, and the newer entry of each counts."""
    exercises.reveal_next_hint(exercise)
    exported = progress_transfer.make_progress_export()
    fields = exported["lessons"]["made/sample"]["exercises"]
    fields["double"] = {"status": "pass", "hints": 2, "when": "2999-01-01T00:00:00+00:00"}
    progress_transfer.merge_progress_export(exported)

    assert (exercises.read_exercise_state(exercise), exercises.count_given_hints(exercise)) == (
        "pass",
        2,
    )


def test_next_exercise_is_first_open_after_current(tmp_path: Path) -> None:
    """The next exercise is the first open one after the current, then those before it."""
    names = ("first", "double", "last")
    for name in names:
        shipped(tmp_path, name)
    first, double, last = exercises.read_exercises(lesson_with(tmp_path, *names))
    assert exercises.find_next_unsolved_exercise(double) == last
    assert exercises.find_next_unsolved_exercise(last) == first
    for name in ("first", "last"):
        lesson_progress.record_verdict("made/sample", name, is_right=True)

    assert exercises.find_next_unsolved_exercise(double) is None
    assert exercises.find_next_unsolved_exercise(first) == double


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
    """The error names the exercise and what it lacks."""
    shipped(tmp_path, text=text, solved=solved)

    with pytest.raises(Problem, match="made/double") as refused:
        exercises.read_exercises(lesson_with(tmp_path, "double"))

    assert what in refused.value.full_text


def test_an_unknown_exercise_names_the_nearest(tmp_path: Path) -> None:
    """A misspelt id suggests the nearest one, and a missing file is named."""
    shipped(tmp_path)
    lesson = lesson_with(tmp_path, "double")
    with pytest.raises(Problem) as refused:
        exercises.find_exercise([lesson], "made/duble")

    assert refused.value.hint == "did you mean `made/double`?"
    with pytest.raises(Problem, match="cannot read the exercise `made/nowhere`"):
        exercises.read_exercises(lesson_with(tmp_path, "nowhere"))


def test_unreadable_copy_explains_how_to_start_again(exercise: Exercise) -> None:
    """A copy that is not text names the command to start again."""
    exercises.ensure_learner_file(exercise).write_bytes(b"\xff\xfe")
    with pytest.raises(Problem, match="cannot read your answer") as refused:
        list(judge(exercise, None))

    assert "--exercise made/double --reset" in str(refused.value.hint)
    assert sys.executable  # the process was never started


@pytest.mark.parametrize("one", ONE_OF_EACH_KIND, ids=lambda one: one.id)
def test_shipped_exercise_fails_and_its_solution_passes(one: Exercise) -> None:
    """A sample of exercises fails as shipped and passes solved; `tests/content` has all."""
    with contextlib.closing(make_session(one.lesson)) as session:
        exercise_is_judged(one, session)


def test_every_exercise_belongs_to_a_lesson() -> None:
    """Every exercise file is named by a lesson."""
    folder = content.locations.content_folder("lessons")
    files = {f"{path.parents[1].name}/{path.stem}" for path in folder.glob("*/exercises/*.py")}
    solutions = {f"{path.parents[1].name}/{path.stem}" for path in folder.glob("*/solutions/*.py")}

    assert (
        files
        == solutions
        == {one.id for lesson in content.read_lessons() for one in exercises.read_exercises(lesson)}
    )
