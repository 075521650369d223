"""The parts of a lesson: text, runnable blocks and their expected output, questions, figures.

A lesson is Markdown that reads well on GitHub. A fence `python run id=NAME` is a block to run,
`python try id=NAME` a block for the learner to change, and `python answer of=NAME` its answer.
Fences
`output of=NAME on=cpu|tpu|gpu|any` hold the expected output; a line such as `*On a TPU, as
reported in 2022:*` above one states where it applies. `plot=VARIABLES x=VARIABLE` and `show=ARRAY`
name values of a block to draw. A fence `quiz id=NAME` is a question, see `quiz.py`; `<details>`
folds its content; an image followed by a comment with a fence `figure` is shown as that text.
Nothing in this module runs code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tpustarter.core.content import Lesson
from tpustarter.learning.content.lesson_elements import (
    LessonElement,
    find_lesson_elements,
    make_lesson_problem,
)
from tpustarter.learning.content.markdown import source_lines
from tpustarter.learning.content.quiz import Quiz, parse_quiz
from tpustarter.learning.run.expected_output import NUMBER, ExpectedOutput

PLATFORMS = ("any", "cpu", "tpu", "gpu")
"""Platforms that an expected output can be for."""
TIMEOUT_S = 120.0
"""Default timeout of a block: enough to start a TPU and compile once."""


@dataclass(frozen=True)
class Block:
    """A piece of code that the learner may run."""

    id: str
    code: str
    line: int
    """Line number of the block's fence in the lesson's file."""
    timeout_s: float
    expected: tuple[ExpectedOutput, ...]
    alone: bool = False
    """True if the block shares no names with the blocks before it."""
    file: str = ""
    """The file name in tracebacks; empty for a lesson's block."""
    answer: str | None = None
    """The right answer of a task; None for a block that runs as shown."""
    plot: tuple[str, ...] = ()
    """Variables to plot after the run: sequences of numbers, or one table of numbers by name."""
    x: str = ""
    """The variable with the x values; empty for 0, 1, 2 and so on."""
    show: tuple[str, ...] = ()
    """Arrays whose layout over devices is drawn."""
    is_optional: bool = False
    """True for a folded block or a task, without which the lesson can be read."""
    number: int = 0
    """The block's number in the lesson, from 1; 0 for a folded block."""

    @property
    def name(self) -> str:
        """Return the block's name for readers and tracebacks: `block 2`."""
        return f"block {self.number or self.id}"

    @property
    def title(self) -> str:
        """Return the block's name as the start of a line: `Block 2`."""
        return f"Block {self.number or self.id}"

    @property
    def id_in_brackets(self) -> str:
        """Return ` (ID)` for use in commands, or "" if the name already contains the id."""
        return f" ({self.id})" if self.number else ""

    @property
    def is_try(self) -> bool:
        """Return whether the block is a task, which is code for the learner to change."""
        return self.answer is not None

    @property
    def expected_code(self) -> str:
        """Return the code that prints the expected output."""
        return self.code if self.answer is None else self.answer

    def expected_on(self, platform: str) -> ExpectedOutput | None:
        """Return the expected output on a platform, or None if the lesson has none."""
        by_platform = {expected.platform: expected for expected in self.expected}
        return by_platform.get(platform) or by_platform.get("any")

    def expected_of(self, code: str, platform: str) -> ExpectedOutput | None:
        """Return the expected output of some code on a platform.

        Code that the learner has changed may print more lines. A task's output must match exactly.
        """
        expected = self.expected_on(platform)
        is_changed = code.strip() != self.code.strip() and not self.is_try
        return replace(expected, allows_more=True) if expected and is_changed else expected


@dataclass(frozen=True)
class Figure:
    """A figure: its text for terminals and its picture."""

    text: str
    caption: str
    file: str
    """The picture's path as in the lesson's Markdown."""
    by_hand: bool
    """True if the picture was drawn by hand instead of generated from the text."""
    line: int
    """Line number of the image in the lesson's file."""


HINT, ANSWER = "Hint", "Answer"
"""The summaries of the two folds below a task, in this order."""


@dataclass(frozen=True)
class LessonPart:
    """One element of a lesson's page: Markdown, a code block, a quiz, a figure or a hint."""

    kind: Literal["markdown", "block", "quiz", "figure", "hint"]
    text: str
    """The Markdown, block's code, question, figure's text, or a hint added by a screen."""
    block: Block | None = None
    quiz: Quiz | None = None
    figure: Figure | None = None
    fold: str = ""
    """The summary of the enclosing fold; empty outside a fold."""
    exercise: str = ""
    """The name of the exercise that a hint leads to; empty for other kinds."""
    is_setup_offer: bool = False
    """True for a hint on what the lesson lacks here, which goes once it is installed."""


def parse_lesson(lesson: Lesson) -> list[LessonPart]:
    """Return a lesson's parts from top to bottom. Output fences are attached to their blocks.

    Raises:
        Problem: A fence is malformed, duplicate, or without its block; the error has file and line.
    """
    lines = source_lines(lesson)
    elements = list(find_lesson_elements(lesson, lines))
    blocks = _collect_blocks(lesson, elements)
    parts: list[LessonPart] = []
    position, fold, count = 0, "", 0
    for element in elements:
        _add_markdown(parts, lines[position : element.first_line], fold)
        position = element.end
        fold = _follow_fold(lesson, element, fold)
        if element.kind == "quiz":
            quiz = _make_quiz(lesson, element)
            parts.append(LessonPart("quiz", quiz.question, quiz=quiz, fold=fold))
        elif element.kind in ("run", "try"):
            block = blocks[element.options["id"]]
            count += not fold
            number = 0 if fold else count
            block = replace(block, is_optional=block.is_try or bool(fold), number=number)
            parts.append(LessonPart("block", block.code, block, fold=fold))
        elif element.kind == "figure":
            figure = _make_figure(lesson, element)
            parts.append(LessonPart("figure", figure.text, figure=figure, fold=fold))
        elif element.kind == "answer":  # shown in the folded text, not run
            _add_markdown(parts, ["```python", element.content.rstrip("\n"), "```"], fold)
    if fold:
        raise make_lesson_problem(
            lesson, len(lines) - 1, f"`<details>` of `{fold}` is opened and never closed"
        )
    _add_markdown(parts, lines[position:], fold)
    return parts


def list_blocks(lesson: Lesson) -> list[Block]:
    """Return a lesson's blocks from top to bottom; raises Problem as `parse_lesson` does."""
    return [part.block for part in parse_lesson(lesson) if part.block]


def _collect_blocks(lesson: Lesson, elements: Sequence[LessonElement]) -> dict[str, Block]:
    blocks: dict[str, Block] = {}
    names: set[str] = set()
    for element in elements:
        name = element.options.get("id")
        if element.kind == "output":
            _add_expected(lesson, blocks, element)
        elif element.kind == "answer":
            _add_answer(lesson, blocks, element)
        elif element.kind in ("run", "try", "quiz"):
            if name is None:
                raise make_lesson_problem(
                    lesson, element.start, "a block that runs, or a quiz, has no `id=`"
                )
            if name in names:
                raise make_lesson_problem(
                    lesson, element.start, f"there is already a block `{name}`"
                )
            names.add(name)
            if element.kind != "quiz":
                blocks[name] = _make_block(lesson, element)
    for block in blocks.values():
        if block.answer == "":
            line = block.line - lesson.first_line
            raise make_lesson_problem(
                lesson, line, f"`{block.id}` is to be changed, and has no `answer of=`"
            )
    return blocks


def _make_block(lesson: Lesson, element: LessonElement) -> Block:
    return Block(
        element.options["id"],
        element.content,
        lesson.first_line + element.start,
        _parse_positive(lesson, element, "timeout") or TIMEOUT_S,
        (),
        answer="" if element.kind == "try" else None,
        plot=_names(element, "plot"),
        x=element.options.get("x", ""),
        show=_names(element, "show"),
    )


def _names(element: LessonElement, key: str) -> tuple[str, ...]:
    return tuple(element.options[key].split(",")) if key in element.options else ()


def _add_expected(lesson: Lesson, blocks: dict[str, Block], element: LessonElement) -> None:
    name, platform = element.options.get("of"), element.options.get("on", "any")
    if name is None:
        raise make_lesson_problem(lesson, element.start, "an output has no `of=`")
    if name not in blocks:
        raise make_lesson_problem(
            lesson, element.start, f"an output of `{name}`, and no such block above it"
        )
    if platform not in PLATFORMS:
        message = f"found `on={platform}`, expected one of {', '.join(PLATFORMS)}"
        raise make_lesson_problem(lesson, element.start, message)
    block = blocks[name]
    if any(expected.platform == platform for expected in block.expected):
        raise make_lesson_problem(
            lesson, element.start, f"a second output of `{name}` on {platform}"
        )
    rtol = _parse_positive(lesson, element, "rtol")
    line = lesson.first_line + element.start
    expected = ExpectedOutput(element.content, platform, rtol, line, element.label)
    blocks[name] = replace(block, expected=(*block.expected, expected))


def _add_answer(lesson: Lesson, blocks: dict[str, Block], element: LessonElement) -> None:
    name = element.options.get("of", "")
    if name not in blocks or blocks[name].answer != "":
        message = f"an answer of `{name}`, and no `try` of this name above it that has none yet"
        raise make_lesson_problem(lesson, element.start, message)
    blocks[name] = replace(blocks[name], answer=element.content or "\n")


def _parse_positive(lesson: Lesson, element: LessonElement, key: str) -> float | None:
    text = element.options.get(key)
    if text is None:
        return None
    if not NUMBER.fullmatch(text) or not 0 < float(text) < float("inf"):
        raise make_lesson_problem(
            lesson, element.start, f"`{key}={text}` is not a number above zero"
        )
    return float(text)


def _make_quiz(lesson: Lesson, element: LessonElement) -> Quiz:
    try:
        return parse_quiz(element.options["id"], element.content, lesson.first_line + element.start)
    except ValueError as error:
        raise make_lesson_problem(lesson, element.start, str(error)) from None


def _make_figure(lesson: Lesson, element: LessonElement) -> Figure:
    options = element.options
    line = lesson.first_line + element.start
    caption = " ".join(options["caption"].split())
    return Figure(element.content, caption, options["file"], "by-hand" in options, line)


def _follow_fold(lesson: Lesson, element: LessonElement, fold: str) -> str:
    if element.kind == "fold" and fold:
        raise make_lesson_problem(
            lesson, element.start, f"`<details>` stands inside that of `{fold}`"
        )
    if element.kind == "unfold" and not fold:
        raise make_lesson_problem(lesson, element.start, "`</details>` closes nothing")
    return {"fold": element.content, "unfold": ""}.get(element.kind, fold)


def _add_markdown(parts: list[LessonPart], lines: Sequence[str], fold: str) -> None:
    text = "\n".join(lines).strip("\n")
    if not text.strip():
        return
    if parts and parts[-1].kind == "markdown" and parts[-1].fold == fold:
        text = f"{parts.pop().text}\n\n{text}"
    parts.append(LessonPart("markdown", text, fold=fold))
