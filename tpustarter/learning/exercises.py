"""Exercises: programs with a gap, filled in the learner's own editor and judged when saved.

`lessons/TRACK/exercises/NAME.py` is a task, code with a gap, and below a mark the part that judges
it. `lessons/TRACK/solutions/NAME.py` begins with the hints, says in a last paragraph `Learned: ...`
what a right answer has shown, and fills the gap. The learner works on a copy. The copy is judged
down to the mark, with the shipped part below: editing that helps nobody.
"""

from __future__ import annotations

import ast
import contextlib
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tpustarter import locations, short_ids
from tpustarter.content import Lesson
from tpustarter.learning import code_files, own_lines, progress
from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.blocks import TIMEOUT_S, Block
from tpustarter.learning.output import Output
from tpustarter.learning.own_lines import OwnLines
from tpustarter.problem import Problem

LISTED_BY = "tpustarter learn --exercise --all"
"""The command that lists all exercises."""
LEARNED = "Learned: "
"""Begins the last paragraph above a solution."""
MARK = "# Judged below: leave this part as it is."
"""Stands between what the learner changes and what judges it."""
_QUOTES = '"""'
_TRACEBACK = re.compile(r'^(?:Traceback \(most recent call last\):| {2}File ")', re.MULTILINE)
"""Begins what Python says of an error; one of syntax begins with its file."""
LOOK_S = 0.3
"""Seconds between two looks at whether a file was saved."""

State = Literal["new", "begun", "fail", "pass", "shown"]
"""`shown`: the solution was looked at before an answer had passed."""
WORDS: dict[State, str] = {
    "new": "", "begun": "begun", "fail": "not yet", "pass": "solved", "shown": "shown",
}  # fmt: skip
"""How an exercise stands, in a list."""
WIDTH = 9
"""Columns for such a word."""


@dataclass(frozen=True)
class Exercise:
    """One exercise, as it is shipped."""

    id: str
    """Track and name: `jax/one-row-each`."""
    lesson: Lesson
    title: str
    task: str
    """What to do, below the title."""
    gap: str
    """The program as the learner gets it, without the part that judges."""
    judged: str
    """That part, from the mark on."""
    hints: tuple[str, ...]
    """From a nudge to almost the answer."""
    solution: str
    """The program with the gap filled."""
    learned: str = ""
    """What a right answer has shown, in one sentence."""

    @property
    def name(self) -> str:
        """Return its name within the track."""
        return self.id.rpartition("/")[2]


@dataclass(frozen=True)
class Judged:
    """What an answer came to."""

    is_right: bool
    why: str
    """What was found and expected, or how it broke; empty for a right answer."""
    result: BlockResult
    lines: OwnLines | None = None
    """The lines of the learner's code that this is about, where they are known."""


def read(lesson: Lesson) -> list[Exercise]:
    """Return the exercises of a lesson, in order; raises Problem for one that is broken."""
    return [_read_exercise(lesson, str(name)) for name in lesson.header.get("exercises") or ()]


def find(lessons: Sequence[Lesson], exercise_id: str, listed_by: str = LISTED_BY) -> Exercise:
    """Return the exercise of some lessons whose id was typed, whole or in part.

    Args:
        lessons: Where to look.
        exercise_id: What was typed.
        listed_by: The command that lists what there is.

    Raises:
        Problem: there is none, or there are several.
    """
    by_id = {f"{lesson.id.partition('/')[0]}/{name}": lesson for lesson in lessons
             for name in lesson.header.get("exercises") or ()}  # fmt: skip
    titles = {name: f"of the lesson {lesson.title}" for name, lesson in by_id.items()}
    found = short_ids.find(exercise_id, titles, kind="exercise", listed_by=listed_by)
    return next(exercise for exercise in read(by_id[found]) if exercise.id == found)


def titles(lessons: Iterable[Lesson]) -> dict[str, str]:
    """Return what the exercises of some lessons are called, by id; broken ones are left out."""
    known: dict[str, str] = {}
    for lesson in lessons:
        with contextlib.suppress(Problem):  # the lesson itself says what is wrong
            known |= {exercise.id: exercise.title for exercise in read(lesson)}
    return known


def following(exercise: Exercise) -> Exercise | None:
    """Return the lesson's next exercise that is not done: after this one, else before it."""
    all_of_lesson = read(exercise.lesson)
    place = [other.id for other in all_of_lesson].index(exercise.id)
    others = all_of_lesson[place + 1 :] + all_of_lesson[:place]
    return next((other for other in others if state(other) != "pass"), None)


def place(exercise: Exercise) -> str:
    """Return which of its lesson's exercises it is: `2 of 3`; empty where it is the only one."""
    names = [str(name) for name in exercise.lesson.header.get("exercises") or ()]
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
    """Return where the learner's copy is, or would be."""
    return locations.state_place() / "exercises" / f"{exercise.id}.py"


def open_file(exercise: Exercise, *, anew: bool = False) -> Path:
    """Return the learner's copy, made if need be; `anew` keeps the former one as `NAME.py.old`.

    Raises:
        Problem: it cannot be written.
    """
    path = learner_file(exercise)
    locations.make_folder(path.parent)
    if anew and path.exists():
        with locations.writing(path):
            path.replace(path.with_name(f"{path.name}.old"))
    if not path.exists():
        with locations.writing(path):
            path.write_text(exercise.gap + exercise.judged, encoding="utf-8")
        locations.give_to_caller(path)
    code_files.place(exercise.lesson, path.parent)  # so that an editor finds what it imports
    return path


def state(exercise: Exercise) -> State:
    """Return how far the learner is; a file that was only opened is none that was begun."""
    entry = progress.exercise(exercise.lesson.id, exercise.name)
    if entry.get("status") in ("pass", "fail", "shown"):
        return entry["status"]
    return "begun" if _is_typed_into(exercise) else "new"


def _is_typed_into(exercise: Exercise) -> bool:
    """Return whether the learner's part is another than that of the exercise."""
    if not learner_file(exercise).exists():
        return False
    try:
        own = _read_answer(exercise).partition(MARK)[0]
    except Problem:  # it is none that was shipped
        return True
    return own.strip() != exercise.gap.strip()


def judge(
    exercise: Exercise, run: Callable[[Block], Iterator[Any]], text: str | None = None
) -> Iterator[Output | Judged]:
    """Run an answer, the learner's file unless a text is given; the last item is the verdict.

    What comes of the learner's file is remembered.

    Args:
        exercise: The exercise.
        run: Runs a block, as `LessonSession.run` does.
        text: Another answer than the learner's file.

    Raises:
        Problem: the file cannot be read.
    """
    traceback = ""
    answer = _read_answer(exercise) if text is None else text
    own = answer.partition(MARK)[0]
    code = own + exercise.judged
    file = str(learner_file(exercise)) if text is None else f"{exercise.name}.py"
    for item in run(Block(exercise.name, code, 1, TIMEOUT_S, (), alone=True, file=file)):
        if isinstance(item, Output):
            printed = traceback + item.text
            begin = found.start() if (found := _TRACEBACK.search(printed)) else len(printed)
            traceback = printed[begin:]
            yield Output(printed[:begin])
        elif isinstance(item, BlockResult):
            judged = _judge_result(item, own, exercise.gap)
            if judged.result.status != "fail":  # of a wrong answer the verdict says it all
                yield Output(_without(judged.why, traceback))
            if text is None and item.status in ("pass", "error"):
                key = exercise.lesson.id, exercise.name
                progress.exercise_judged(*key, is_right=judged.is_right)
            yield judged


def _without(why: str, traceback: str) -> str:
    """Return a traceback without its last line, where that is what the verdict says."""
    lines = traceback.rstrip("\n").split("\n")
    if lines[-1] and why.startswith(lines[-1]):
        lines.pop()
    return "".join(f"{line}\n" for line in lines) if any(lines) else ""


def own_code(exercise: Exercise) -> tuple[str, int]:
    """Return what stands between the task and what judges it, and its first line in the file.

    Raises:
        Problem: the file cannot be read.
    """
    above, code = _divided(_read_answer(exercise))
    return code, above.count("\n") + 1


def named_below(exercise: Exercise) -> str:
    """Return the functions and classes of the part that judges which the task or the gap names."""
    names = set(re.findall(r"`(\w+)", exercise.task))
    names |= {node.id for node in ast.walk(ast.parse(exercise.gap)) if isinstance(node, ast.Name)}
    lines = exercise.judged.split("\n")
    pieces: list[str] = []
    for node in ast.parse(exercise.judged).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            pieces.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n".join(pieces)


def keep_code(exercise: Exercise, code: str) -> None:
    """Write the learner's part into the file; the task above it stays, and so does what judges it.

    Raises:
        Problem: the file cannot be read or written.
    """
    path = learner_file(exercise)
    above, _ = _divided(_read_answer(exercise))
    text = f"{above}{code.strip()}\n\n\n{exercise.judged}"
    with locations.writing(path):
        locations.replace(path, text.encode(), stat.S_IMODE(path.stat().st_mode))


def _divided(text: str) -> tuple[str, str]:
    """Return what stands above the learner's part, such as the task, and that part."""
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


def _judge_result(result: BlockResult, own: str, gap: str) -> Judged:
    is_wrong = result.detail.startswith("AssertionError: ")
    why = result.detail.removeprefix("AssertionError: ") if result.status != "pass" else ""
    why = " ".join(why.split("\n")[: None if is_wrong else 1])  # an error's traceback says more
    if result.status == "error" and is_wrong:
        result = replace(result, status="fail")
    lines = None
    if result.reason == "exception":
        lines = own_lines.raised_at(own, result.raised_at) or own_lines.changed(own, gap)
    return Judged(result.status == "pass", why or result.reason or "", result, lines)


def next_hint(exercise: Exercise) -> str | None:
    """Return the next hint, and remember that it was told; None once all were."""
    count = hints_given(exercise)
    if count == len(exercise.hints):
        return None
    progress.record_hint(exercise.lesson.id, exercise.name, count + 1)
    return exercise.hints[count]


def hints_given(exercise: Exercise) -> int:
    """Return how many hints the learner has had."""
    count = progress.exercise(exercise.lesson.id, exercise.name).get("hints")
    return min(count, len(exercise.hints)) if isinstance(count, int) and count > 0 else 0


def show_solution(exercise: Exercise) -> str:
    """Return the solution; one looked at before an answer passed is remembered as `shown`."""
    if state(exercise) != "pass":
        progress.solution_shown(exercise.lesson.id, exercise.name)
    return exercise.solution


def solution_lines(exercise: Exercise) -> tuple[int, ...]:
    """Return the numbers of the solution's lines that are others than those of the exercise."""
    lines = own_lines.changed(exercise.solution, _divided(exercise.gap)[1])
    return lines.numbers if lines else ()


def saved(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is saved; None while it is not there."""
    try:
        file_stat = path.stat()
    except OSError:
        return None
    return file_stat.st_mtime_ns, file_stat.st_size
