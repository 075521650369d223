"""Exercises: programs with a gap, filled in the learner's own editor and judged when saved.

`lessons/TRACK/exercises/NAME.py` is a task, code with a gap, and below a mark the part that judges
it. `lessons/TRACK/solutions/NAME.py` begins with the hints, and a last paragraph `Learned: ...`
with the lesson of a right answer, and fills the gap. The learner works on a copy. The copy is
judged down to the mark, with the shipped part below it, so editing that part changes nothing.
"""

from __future__ import annotations

import ast
import contextlib
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tpustarter.core import locations, short_ids
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content import code_files
from tpustarter.learning.content.blocks import TIMEOUT_S, Block
from tpustarter.learning.progress import lesson_progress
from tpustarter.learning.run import lines_at_fault
from tpustarter.learning.run.block_output import OutputChunk
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lines_at_fault import LearnerLines

LISTED_BY = "tpustarter learn --exercise --all"
"""The command that lists all exercises."""
LEARNED = "Learned: "
"""Begins the last paragraph above a solution."""
MARK = "# Judged below: leave this part as it is."
"""The line between the code that the learner changes and the part that judges it."""
_QUOTES = '"""'
_TRACEBACK = re.compile(r'^(?:Traceback \(most recent call last\):| {2}File ")', re.MULTILINE)
"""The beginning of Python's text on an error; that of a syntax error begins with its file."""
LOOK_S = 0.3
"""Seconds between two checks for a saved file."""

State = Literal["new", "begun", "fail", "pass", "shown"]
"""`shown`: the learner has seen the solution before an answer passed."""
WORDS: dict[State, str] = {
    "new": "",
    "begun": "begun",
    "fail": "not yet",
    "pass": "solved",
    "shown": "shown",
}
"""The state of an exercise in a list."""
WIDTH = 9
"""Columns for such a word."""


@dataclass(frozen=True)
class Exercise:
    """An exercise as it is shipped."""

    id: str
    """Track and name: `jax/one-row-each`."""
    lesson: Lesson
    title: str
    task: str
    """The instructions, below the title."""
    gap: str
    """The program for the learner, without the part that judges."""
    judged: str
    """The part that judges, from the mark on."""
    hints: tuple[str, ...]
    """From a nudge to almost the answer."""
    solution: str
    """The program with the gap filled."""
    learned: str = ""
    """The lesson of a right answer, in one sentence."""

    @property
    def name(self) -> str:
        """Return the exercise's name within its track."""
        return self.id.rpartition("/")[2]


@dataclass(frozen=True)
class AnswerVerdict:
    """The verdict on a learner's answer, with the reason and the lines that it is about."""

    is_right: bool
    why: str
    """The values found and expected, or the error; empty for a right answer."""
    result: BlockResult
    lines: LearnerLines | None = None
    """The lines of the learner's code that the verdict is about, where they are known."""


def read_exercises(lesson: Lesson) -> list[Exercise]:
    """Read the exercises of a lesson, in order; raise Problem for one that is broken."""
    return [_read_exercise(lesson, name) for name in lesson.exercise_names]


def find_exercise(
    lessons: Sequence[Lesson], exercise_id: str, listed_by: str = LISTED_BY
) -> Exercise:
    """Return the exercise with an id that was typed, whole or in part.

    Args:
        lessons: The lessons to search.
        exercise_id: The id, or a part of it.
        listed_by: The command that lists all exercises.

    Raises:
        Problem: There is no such exercise, or there are several.
    """
    by_id = {
        f"{lesson.id.partition('/')[0]}/{name}": lesson
        for lesson in lessons
        for name in lesson.exercise_names
    }
    titles = {name: f"of the lesson {lesson.title}" for name, lesson in by_id.items()}
    found = short_ids.find_id(exercise_id, titles, kind="exercise", listed_by=listed_by)
    return next(exercise for exercise in read_exercises(by_id[found]) if exercise.id == found)


def read_titles(lessons: Iterable[Lesson]) -> dict[str, str]:
    """Return the titles of the exercises of some lessons, by id; broken ones are left out."""
    known: dict[str, str] = {}
    for lesson in lessons:
        with contextlib.suppress(Problem):  # opening the lesson shows the error
            known |= {exercise.id: exercise.title for exercise in read_exercises(lesson)}
    return known


def find_next_open(exercise: Exercise) -> Exercise | None:
    """Return the next unsolved exercise of the lesson, wrapping around at its end."""
    all_of_lesson = read_exercises(exercise.lesson)
    place = [other.id for other in all_of_lesson].index(exercise.id)
    others = all_of_lesson[place + 1 :] + all_of_lesson[:place]
    return next((other for other in others if read_exercise_state(other) != "pass"), None)


def format_position(exercise: Exercise) -> str:
    """Return an exercise's number in its lesson, such as `2 of 3`, or "" if it has only one."""
    names = exercise.lesson.exercise_names
    return f"{names.index(exercise.name) + 1} of {len(names)}" if len(names) > 1 else ""


def _read_exercise(lesson: Lesson, name: str) -> Exercise:
    track = lesson.path.parent
    files = [track / folder / f"{name}.py" for folder in ("exercises", "solutions")]
    try:
        shipped, solved = (locations.read_text(file) for file in files)
        task, hints = (ast.get_docstring(ast.parse(text)) or "" for text in (shipped, solved))
    except (OSError, ValueError, SyntaxError) as error:
        raise Problem(f"cannot read the exercise `{track.name}/{name}`: {error}") from error
    gap, mark, judged = shipped.partition(MARK)
    title, _, description = task.partition("\n")
    if not mark or not description.strip() or not hints:
        what = "a task of a title and a text, the mark, and hints in the solution"
        raise Problem(f"the exercise `{track.name}/{name}` has not {what}")
    solution = solved.split('"""', 2)[2].lstrip("\n")
    paragraphs = [" ".join(paragraph.split()) for paragraph in hints.split("\n\n")]
    learned = paragraphs.pop() if paragraphs[-1].startswith(LEARNED) else ""
    return Exercise(
        f"{track.name}/{name}",
        lesson,
        title.rstrip("."),
        description.strip(),
        gap,
        mark + judged,
        tuple(paragraphs),
        solution,
        learned.removeprefix(LEARNED),
    )


def learner_file(exercise: Exercise) -> Path:
    """Return the path of the learner's copy, which may not exist."""
    return locations.state_folder_path() / "exercises" / f"{exercise.id}.py"


def open_learner_file(exercise: Exercise) -> Path:
    """Return the path of the learner's copy, after making the copy if necessary.

    Raises:
        Problem: It cannot be written.
    """
    path = learner_file(exercise)
    locations.make_folder(path.parent)
    if not path.exists():
        with locations.convert_write_errors(path):
            path.write_text(_shipped(exercise), encoding="utf-8")
        locations.chown_to_caller(path)
    code_files.write_code_files(exercise.lesson, path.parent)  # so that an editor finds its imports
    return path


def restart_exercise(exercise: Exercise) -> Path | None:
    """Replace the learner's copy by the shipped exercise, and keep the former one.

    Returns:
        The kept file, `NAME.py.old` if that name is free; None where there was no copy, or none
        that differs from the exercise.

    Raises:
        Problem: It cannot be written.
    """
    path = learner_file(exercise)
    kept = None
    if has_changed_copy(exercise):
        with locations.convert_write_errors(path):
            kept = locations.move_aside(path, f"{path.name}.old")
    open_learner_file(exercise)
    return kept


def describe_kept_copy(kept: Path | None) -> str:
    """Return a clause on the former copy, after an exercise was started again."""
    if kept is None:
        return "you had changed nothing, so nothing was kept"
    return f"what was there is kept as {kept.name}"


def has_changed_copy(exercise: Exercise) -> bool:
    """Return whether the learner has a copy that differs from the shipped exercise."""
    try:
        return locations.read_text(learner_file(exercise)) != _shipped(exercise)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # a folder, or bytes that are no text: the learner made it
        return True


def _shipped(exercise: Exercise) -> str:
    return exercise.gap + exercise.judged


def read_exercise_state(exercise: Exercise) -> State:
    """Return the learner's state in an exercise; a copy that was only opened is still `new`."""
    status = lesson_progress.read_exercise(exercise.lesson.id, exercise.name).status
    if status in ("pass", "fail", "shown"):
        return status
    return "begun" if _is_typed_into(exercise) else "new"


def _is_typed_into(exercise: Exercise) -> bool:
    if not learner_file(exercise).exists():
        return False
    try:
        own = _read_answer(exercise).partition(MARK)[0]
    except Problem:  # it can't be read, so it isn't the shipped one
        return True
    return own.strip() != exercise.gap.strip()


def judge_answer(
    exercise: Exercise, run: Callable[[Block], Iterator[object]], text: str | None = None
) -> Iterator[OutputChunk | AnswerVerdict]:
    """Run an answer, and yield its output; the last item is the verdict.

    The verdict on the learner's file is remembered.

    Args:
        exercise: The exercise.
        run: Runs a block, as `LessonSession.run` does.
        text: Another answer than the learner's file.

    Raises:
        Problem: The file cannot be read.
    """
    traceback = ""
    answer = _read_answer(exercise) if text is None else text
    own = answer.partition(MARK)[0]
    code = own + exercise.judged
    file = str(learner_file(exercise)) if text is None else f"{exercise.name}.py"
    for item in run(Block(exercise.name, code, 1, TIMEOUT_S, (), alone=True, file=file)):
        if isinstance(item, OutputChunk):
            printed = traceback + item.text
            begin = found.start() if (found := _TRACEBACK.search(printed)) else len(printed)
            traceback = printed[begin:]
            yield OutputChunk(printed[:begin])
        elif isinstance(item, BlockResult):
            judged = _judge_result(item, own, exercise.gap)
            if judged.result.status != "fail":  # the verdict on a wrong answer needs no traceback
                yield OutputChunk(_without(judged.why, traceback))
            if text is None and item.status in ("pass", "error"):
                key = exercise.lesson.id, exercise.name
                lesson_progress.record_verdict(*key, is_right=judged.is_right)
            yield judged


def _without(why: str, traceback: str) -> str:
    """Return a traceback without its last line, where the verdict repeats that."""
    lines = traceback.rstrip("\n").split("\n")
    if lines[-1] and why.startswith(lines[-1]):
        lines.pop()
    return "".join(f"{line}\n" for line in lines) if any(lines) else ""


def read_learner_code(exercise: Exercise) -> tuple[str, int]:
    """Return the code between the task and the part that judges, and its first line in the file.

    Raises:
        Problem: The file cannot be read.
    """
    above, code = _divided(_read_answer(exercise))
    return code, above.count("\n") + 1


def read_mentioned_code(exercise: Exercise) -> str:
    """Return those functions and classes of the judging part that the task or the gap mentions."""
    names = set(re.findall(r"`(\w+)", exercise.task))
    names |= {node.id for node in ast.walk(ast.parse(exercise.gap)) if isinstance(node, ast.Name)}
    lines = exercise.judged.split("\n")
    pieces: list[str] = []
    for node in ast.parse(exercise.judged).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            pieces.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n".join(pieces)


def save_learner_code(exercise: Exercise, code: str, known: tuple[int, int] | None = None) -> None:
    """Write the learner's code into the file, between the task and the part that judges.

    Args:
        exercise: The exercise.
        code: The learner's code.
        known: The value of `read_save_stamp` for the file that was edited: where another program
            has saved the file since, that version is kept as `NAME.py.old`.

    Raises:
        Problem: The file cannot be read or written.
    """
    path = learner_file(exercise)
    above, _ = _divided(_read_answer(exercise))
    text = f"{above}{code.strip()}\n\n\n{exercise.judged}"
    with locations.convert_write_errors(path):
        mode = stat.S_IMODE(path.stat().st_mode)
        if known not in (None, read_save_stamp(path)):
            locations.move_aside(path, f"{path.name}.old", why="was saved by another program")
        locations.replace_file(path, text.encode(), mode)


def _divided(text: str) -> tuple[str, str]:
    """Return the text above the learner's code, such as the task, and that code."""
    own = text.partition(MARK)[0]
    start = len(own) - len(own.lstrip())
    if own.startswith(_QUOTES, start):
        end = own.find(_QUOTES, start + len(_QUOTES))
        start = end + len(_QUOTES) if end >= 0 else start
    start += len(own[start:]) - len(own[start:].lstrip())
    return own[:start], own[start:].rstrip()


def _read_answer(exercise: Exercise) -> str:
    path = learner_file(exercise)
    try:
        return locations.read_text(path)
    except (OSError, ValueError) as error:
        raise Problem(
            f"cannot read your answer `{path}`: {error}",
            hint=f"`tpustarter learn --exercise {exercise.id} --reset` starts it again",
        ) from error


def _judge_result(result: BlockResult, own: str, gap: str) -> AnswerVerdict:
    is_wrong = result.exception == AssertionError.__name__
    why = result.detail if result.status != "pass" else ""
    if is_wrong:
        why = why.removeprefix(f"{result.exception}: ")
    why = " ".join(why.split("\n")[: None if is_wrong else 1])  # an error's traceback says more
    if result.status == "error" and is_wrong:
        result = replace(result, status="fail")
    lines = None
    if result.reason == "exception":
        lines = lines_at_fault.find_raising_line(
            own, result.raised_at
        ) or lines_at_fault.find_changed_lines(own, gap)
    return AnswerVerdict(result.status == "pass", why or result.reason or "", result, lines)


def reveal_next_hint(exercise: Exercise) -> str | None:
    """Return the next hint and save that it was given, or return None if no hint is left."""
    count = count_given_hints(exercise)
    if count == len(exercise.hints):
        return None
    lesson_progress.record_hint(exercise.lesson.id, exercise.name, count + 1)
    return exercise.hints[count]


def count_given_hints(exercise: Exercise) -> int:
    """Return the number of hints that the learner has had."""
    count = lesson_progress.read_exercise(exercise.lesson.id, exercise.name).hints
    return max(0, min(count, len(exercise.hints)))


def reveal_solution(exercise: Exercise) -> str:
    """Return the solution, and save the exercise as `shown` unless it is solved."""
    if read_exercise_state(exercise) != "pass":
        lesson_progress.record_solution_shown(exercise.lesson.id, exercise.name)
    return exercise.solution


def solution_lines(exercise: Exercise) -> tuple[int, ...]:
    """Return the numbers of the solution's lines that differ from the exercise."""
    lines = lines_at_fault.find_changed_lines(exercise.solution, _divided(exercise.gap)[1])
    return lines.numbers if lines else ()


def read_save_stamp(path: Path) -> tuple[int, int] | None:
    """Return the time and size of a file, which change at each save, or None if it is missing."""
    try:
        file_stat = path.stat()
    except OSError:
        return None
    return file_stat.st_mtime_ns, file_stat.st_size
