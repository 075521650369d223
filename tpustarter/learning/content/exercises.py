"""Exercises: programs with a gap, completed in the learner's editor and judged on each save.

`lessons/TRACK/exercises/NAME.py` has the task, code with a gap, and below a mark the judging code.
`lessons/TRACK/solutions/NAME.py` begins with a docstring of hints, whose last paragraph `Learned:
...` sums up the right answer, and has the gap filled. The learner works on a copy. It is run up to
the mark, followed by the shipped judging code, so editing that code has no effect.
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
from tpustarter.learning.run.lines_at_fault import FaultyLines

LISTED_BY = "tpustarter learn --exercise --all"
"""The command that lists all exercises."""
LEARNED = "Learned: "
"""The start of the last paragraph in a solution's docstring."""
MARK = "# Judged below: leave this part as it is."
"""The line between the learner's code and the judging code."""
_QUOTES = '"""'
_TRACEBACK = re.compile(r'^(?:Traceback \(most recent call last\):| {2}File ")', re.MULTILINE)
"""The start of Python's report of an exception; a syntax error's starts with its file."""
LOOK_S = 0.3
"""Seconds between two checks whether the file was saved."""

State = Literal["new", "begun", "fail", "pass", "shown"]
"""`shown`: the learner has seen the solution without a passing answer."""
WORDS: dict[State, str] = {
    "new": "",
    "begun": "begun",
    "fail": "not yet",
    "pass": "solved",
    "shown": "shown",
}
"""Words for the state of an exercise in a list."""
WIDTH = 9
"""Width of such a word in columns."""


@dataclass(frozen=True)
class Exercise:
    """An exercise as shipped."""

    id: str
    """Track and name: `jax/one-row-each`."""
    lesson: Lesson
    title: str
    task: str
    """The instructions without the title."""
    gap: str
    """The learner's part of the program, above the mark."""
    judged: str
    """The judging code, from the mark on."""
    hints: tuple[str, ...]
    """Hints, from a nudge to almost the answer."""
    solution: str
    """The program with the gap filled."""
    learned: str = ""
    """A one-sentence summary of the right answer."""

    @property
    def name(self) -> str:
        """Return the exercise's name within its track."""
        return self.id.rpartition("/")[2]


@dataclass(frozen=True)
class AnswerVerdict:
    """The verdict on a learner's answer, with its reason and the lines at fault."""

    is_right: bool
    why: str
    """The values found and expected, or the error; empty for a right answer."""
    result: BlockResult
    lines: FaultyLines | None = None
    """The lines of the learner's code at fault, if known."""


def read_exercises(lesson: Lesson) -> list[Exercise]:
    """Read a lesson's exercises, in the order of its header.

    Raises:
        Problem: An exercise cannot be read or is incomplete.
    """
    return [_read_exercise(lesson, name) for name in lesson.exercise_names]


def find_exercise(
    lessons: Sequence[Lesson], exercise_id: str, listed_by: str = LISTED_BY
) -> Exercise:
    """Return the exercise whose id was typed in full or in part.

    Args:
        lessons: The lessons to search.
        exercise_id: The id, or part of it.
        listed_by: The command that lists all exercises.

    Raises:
        Problem: No exercise matches, or several do.
    """
    by_id = {
        f"{lesson.id.partition('/')[0]}/{name}": lesson
        for lesson in lessons
        for name in lesson.exercise_names
    }
    titles = {name: f"of the lesson {lesson.title}" for name, lesson in by_id.items()}
    found = short_ids.find_id(exercise_id, titles, kind="exercise", listed_by=listed_by)
    return next(exercise for exercise in read_exercises(by_id[found]) if exercise.id == found)


def read_exercise_titles(lessons: Iterable[Lesson]) -> dict[str, str]:
    """Return the titles of the exercises in some lessons, keyed by id. Broken ones are skipped."""
    known: dict[str, str] = {}
    for lesson in lessons:
        with contextlib.suppress(Problem):  # the error is shown when the lesson is opened
            known |= {exercise.id: exercise.title for exercise in read_exercises(lesson)}
    return known


def find_next_unsolved_exercise(exercise: Exercise) -> Exercise | None:
    """Return the lesson's next unsolved exercise, starting again at the first one if needed."""
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


def learner_file_path(exercise: Exercise) -> Path:
    """Return the path of the learner's copy, which may not exist yet."""
    return locations.state_folder_path() / "exercises" / f"{exercise.id}.py"


def ensure_learner_file(exercise: Exercise) -> Path:
    """Create the learner's copy of an exercise if it is missing, and return its path.

    Raises:
        Problem: It cannot be written.
    """
    path = learner_file_path(exercise)
    locations.make_folder(path.parent)
    if not path.exists():
        with locations.convert_write_errors(path):
            path.write_text(_join_source(exercise), encoding="utf-8")
        locations.chown_to_caller(path)
    code_files.write_code_files(exercise.lesson, path.parent)  # lets an editor resolve the imports
    return path


def restart_exercise(exercise: Exercise) -> Path | None:
    """Replace the learner's copy with the shipped exercise, keeping the previous copy.

    Returns:
        The kept file, `NAME.py.old` if that name is free; None if the learner had changed nothing.

    Raises:
        Problem: It cannot be written.
    """
    path = learner_file_path(exercise)
    kept = None
    if has_changed_copy(exercise):
        with locations.convert_write_errors(path):
            kept = locations.move_aside(path, f"{path.name}.old")
    ensure_learner_file(exercise)
    return kept


def describe_kept_copy(kept: Path | None) -> str:
    """Return a clause about the previous copy after an exercise was restarted."""
    if kept is None:
        return "you had changed nothing, so nothing was kept"
    return f"what was there is kept as {kept.name}"


def has_changed_copy(exercise: Exercise) -> bool:
    """Return whether the learner has a copy that differs from the shipped exercise."""
    try:
        return locations.read_text(learner_file_path(exercise)) != _join_source(exercise)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # a folder or binary file, made by the learner
        return True


def _join_source(exercise: Exercise) -> str:
    return exercise.gap + exercise.judged


def read_exercise_state(exercise: Exercise) -> State:
    """Return the state of an exercise; a copy that was opened but not edited is still `new`."""
    status = lesson_progress.read_exercise(exercise.lesson.id, exercise.name).status
    if status in ("pass", "fail", "shown"):
        return status
    return "begun" if _is_typed_into(exercise) else "new"


def _is_typed_into(exercise: Exercise) -> bool:
    if not learner_file_path(exercise).exists():
        return False
    try:
        own = _read_answer(exercise).partition(MARK)[0]
    except Problem:  # unreadable, so not the shipped file
        return True
    return own.strip() != exercise.gap.strip()


def judge_answer(
    exercise: Exercise, run: Callable[[Block], Iterator[object]], text: str | None = None
) -> Iterator[OutputChunk | AnswerVerdict]:
    """Run an answer, yielding its output and finally the verdict.

    The verdict is saved only if the learner's own file was judged.

    Args:
        exercise: The exercise that is answered.
        run: Runs a block, like `LessonSession.run`.
        text: The answer to judge instead of the learner's file.

    Raises:
        Problem: The file cannot be read.
    """
    traceback = ""
    answer = _read_answer(exercise) if text is None else text
    own = answer.partition(MARK)[0]
    code = own + exercise.judged
    file = str(learner_file_path(exercise)) if text is None else f"{exercise.name}.py"
    for item in run(Block(exercise.name, code, 1, TIMEOUT_S, (), alone=True, file=file)):
        if isinstance(item, OutputChunk):
            printed = traceback + item.text
            begin = found.start() if (found := _TRACEBACK.search(printed)) else len(printed)
            traceback = printed[begin:]
            yield OutputChunk(printed[:begin])
        elif isinstance(item, BlockResult):
            judged = _judge_result(item, own, exercise.gap)
            if judged.result.status != "fail":  # a wrong answer's verdict needs no traceback
                yield OutputChunk(_strip_repeated_line(judged.why, traceback))
            if text is None and item.status in ("pass", "error"):
                key = exercise.lesson.id, exercise.name
                lesson_progress.record_verdict(*key, is_right=judged.is_right)
            yield judged


def _strip_repeated_line(why: str, traceback: str) -> str:
    """Return a traceback without its last line if the verdict repeats that line."""
    lines = traceback.rstrip("\n").split("\n")
    if lines[-1] and why.startswith(lines[-1]):
        lines.pop()
    return "".join(f"{line}\n" for line in lines) if any(lines) else ""


def read_learner_code(exercise: Exercise) -> tuple[str, int]:
    """Return the code between the task and the judging code, and its first line in the file.

    Raises:
        Problem: The file cannot be read.
    """
    above, code = _divided(_read_answer(exercise))
    return code, above.count("\n") + 1


def read_mentioned_code(exercise: Exercise) -> str:
    """Return the functions and classes of the judging code that the task or the gap mentions."""
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
    """Write the learner's code to the file, between the task and the judging code.

    Args:
        exercise: The exercise to save.
        code: The learner's code.
        known: The `read_save_stamp` of the file when it was opened. If another program has saved
            the file since, that version is kept as `NAME.py.old`.

    Raises:
        Problem: The file cannot be read or written.
    """
    path = learner_file_path(exercise)
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
    path = learner_file_path(exercise)
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
    why = " ".join(why.split("\n")[: None if is_wrong else 1])  # an error's traceback has the rest
    if result.status == "error" and is_wrong:
        result = replace(result, status="fail")
    lines = None
    if result.reason == "exception":
        lines = lines_at_fault.find_raising_line(
            own, result.traceback_line_numbers
        ) or lines_at_fault.find_changed_lines(own, gap)
    return AnswerVerdict(result.status == "pass", why or result.reason or "", result, lines)


def reveal_next_hint(exercise: Exercise) -> str | None:
    """Return the next hint and record that it was given, or return None if there is none left."""
    count = count_given_hints(exercise)
    if count == len(exercise.hints):
        return None
    lesson_progress.record_hint(exercise.lesson.id, exercise.name, count + 1)
    return exercise.hints[count]


def count_given_hints(exercise: Exercise) -> int:
    """Return the number of hints that the learner has been given."""
    count = lesson_progress.read_exercise(exercise.lesson.id, exercise.name).hints
    return max(0, min(count, len(exercise.hints)))


def reveal_solution(exercise: Exercise) -> str:
    """Return the solution, recording the exercise as `shown` unless it is solved."""
    if read_exercise_state(exercise) != "pass":
        lesson_progress.record_solution_shown(exercise.lesson.id, exercise.name)
    return exercise.solution


def solution_lines(exercise: Exercise) -> tuple[int, ...]:
    """Return the line numbers of the solution that differ from the exercise."""
    lines = lines_at_fault.find_changed_lines(exercise.solution, _divided(exercise.gap)[1])
    return lines.numbers if lines else ()


def read_save_stamp(path: Path) -> tuple[int, int] | None:
    """Return a file's modification time and size, or None if it is missing."""
    try:
        file_stat = path.stat()
    except OSError:
        return None
    return file_stat.st_mtime_ns, file_stat.st_size
