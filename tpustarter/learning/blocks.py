"""Reads a lesson's runnable blocks and what they should print, and judges what they printed.

A lesson is Markdown that reads well on GitHub. A fence `python run id=NAME` can be run; fences
`output of=NAME on=cpu|tpu|gpu|any` below it say what comes out, and a line such as `*On a TPU, as
reported in 2022:*` above such a fence where that holds; a fence `quiz id=NAME` is a question, see
`quiz.py`. Nothing here runs anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from tpustarter.content import Lesson
from tpustarter.learning.expected import NUMBER, Expected
from tpustarter.learning.markdown import source_lines, tokens
from tpustarter.learning.quiz import Quiz
from tpustarter.learning.quiz import parse as parse_quiz
from tpustarter.problem import Problem

PLATFORMS = ("any", "cpu", "tpu", "gpu")
"""Where an expected output holds."""
TIMEOUT_S = 120.0
"""Seconds a block may take: a TPU's start and a first compilation fit in."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_LABEL = re.compile(r"\*([^*]+?):?\*")
_OPTIONS = {"run": {"id", "timeout"}, "output": {"of", "on", "rtol"}, "quiz": {"id"}}
"""What may stand behind the first word of a fence."""


@dataclass(frozen=True)
class Block:
    """One piece of code a learner may run."""

    id: str
    code: str
    line: int
    """Line of its fence in the lesson's file."""
    timeout_s: float
    expected: tuple[Expected, ...]
    alone: bool = False
    """Whether it shares no names with blocks that ran before it."""
    file: str = ""
    """What tracebacks call it; empty for a block of a lesson."""

    def expected_on(self, platform: str) -> Expected | None:
        """Return what it should print on this platform; None where the lesson does not say."""
        by_platform = {expected.on: expected for expected in self.expected}
        return by_platform.get(platform) or by_platform.get("any")


@dataclass(frozen=True)
class Part:
    """A piece of a lesson, in order: Markdown to show, a block to run, or a question."""

    kind: Literal["markdown", "block", "quiz"]
    text: str
    """The Markdown, the block's code, or the question."""
    block: Block | None = None
    quiz: Quiz | None = None


@dataclass
class _Fence:
    """A fence as it stands in the file."""

    words: list[str]
    values: dict[str, str]
    content: str
    start: int
    """First line of the fence, counted from 0 in the lesson's text."""
    end: int
    """The line after its last."""
    label: str
    """What stands above an output's fence of where it holds; empty where nothing does."""
    top: int
    """The first line that belongs to it: its label's, or `start`."""
    expected: list[Expected] = field(default_factory=list[Expected])


def parse(lesson: Lesson) -> list[Part]:
    """Return the parts of a lesson, in order; output fences belong to their block.

    Raises:
        Problem: names file and line of a fence that is broken, doubled, or belongs to no block.
    """
    lines = source_lines(lesson)
    blocks: dict[str, _Fence] = {}
    names: set[str] = set()
    fences: list[_Fence] = []
    for fence in _find_fences(lesson, lines):
        name = fence.values.get("id")
        if fence.words[0] == "output":
            _add_expected(lesson, blocks, fence)
        elif name is None:
            raise _problem(lesson, fence.start, "a block that runs, or a quiz, has no `id=`")
        elif name in names:
            raise _problem(lesson, fence.start, f"there is already a block `{name}`")
        else:
            names.add(name)
            if fence.words[0] != "quiz":
                blocks[name] = fence
        fences.append(fence)
    parts: list[Part] = []
    position = 0
    for fence in fences:
        _add_markdown(parts, lines[position : fence.top])
        position = fence.end
        if fence.words[0] == "quiz":
            quiz = _make_quiz(lesson, fence)
            parts.append(Part("quiz", quiz.question, quiz=quiz))
        elif fence.words[0] != "output":
            block = _make_block(lesson, fence)
            parts.append(Part("block", block.code, block))
    _add_markdown(parts, lines[position:])
    return parts


def blocks_of(lesson: Lesson) -> list[Block]:
    """Return the blocks of a lesson, in order; raises Problem as `parse` does."""
    return [part.block for part in parse(lesson) if part.block]


def _find_fences(lesson: Lesson, lines: list[str]) -> Iterator[_Fence]:
    """Yield the fences that run or say what comes out; raises Problem for a broken one."""
    for token in tokens("\n".join(lines)):
        if token.type != "fence":
            continue
        start, end = cast("tuple[int, int]", token.map)
        last = lines[end - 1].strip(" \t>")
        if end - start < 2 or set(last) != set(token.markup[0]) or len(last) < len(token.markup):
            raise _problem(lesson, start, "a fence is opened and never closed")
        words = token.info.split()
        if not words or (words[0] not in ("output", "quiz") and "run" not in words[1:2]):
            continue
        if token.level > 0:
            raise _problem(lesson, start, "a fence that runs must not stand in a list or a quote")
        values = _parse_values(lesson, start, words)
        label = _find_label(lines[:start]) if words[0] == "output" else ""
        top = start - 2 if label else start
        yield _Fence(words, values, token.content, start, end, label, top)


def _find_label(above: list[str]) -> str:
    """Return what the paragraph that ends these lines says of the output below it."""
    stands_alone = len(above) > 1 and not above[-1].strip() and not "".join(above[-3:-2]).strip()
    match = _LABEL.fullmatch(above[-2].strip()) if stands_alone else None
    return match[1] if match else ""


def _parse_values(lesson: Lesson, start: int, words: list[str]) -> dict[str, str]:
    kind = words[0] if words[0] in ("output", "quiz") else "run"
    if kind == "run" and words[0] != "python":
        raise _problem(lesson, start, f"only `python` runs, found `{words[0]}`")
    values: dict[str, str] = {}
    for word in words[2 if kind == "run" else 1 :]:
        key, equals, value = word.partition("=")
        if key not in _OPTIONS[kind] or not equals or not value or key in values:
            allowed = ", ".join(f"{option}=" for option in sorted(_OPTIONS[kind]))
            raise _problem(lesson, start, f"found `{word}` on the fence, expected once: {allowed}")
        values[key] = value
    name = values.get("id", values.get("of"))
    if name and not _NAME.fullmatch(name):
        raise _problem(lesson, start, f"`{name}` is no name: small letters, digits and hyphens are")
    return values


def _add_expected(lesson: Lesson, blocks: dict[str, _Fence], fence: _Fence) -> None:
    name, platform = fence.values.get("of"), fence.values.get("on", "any")
    if name is None:
        raise _problem(lesson, fence.start, "an output has no `of=`")
    if name not in blocks:
        raise _problem(lesson, fence.start, f"an output of `{name}`, and no such block above it")
    if platform not in PLATFORMS:
        message = f"found `on={platform}`, expected one of {', '.join(PLATFORMS)}"
        raise _problem(lesson, fence.start, message)
    if any(expected.on == platform for expected in blocks[name].expected):
        raise _problem(lesson, fence.start, f"a second output of `{name}` on {platform}")
    rtol = _parse_positive(lesson, fence, "rtol")
    line = lesson.first_line + fence.start
    blocks[name].expected.append(Expected(fence.content, platform, rtol, line, fence.label))


def _parse_positive(lesson: Lesson, fence: _Fence, key: str) -> float | None:
    text = fence.values.get(key)
    if text is None:
        return None
    if not NUMBER.fullmatch(text) or not 0 < float(text) < float("inf"):
        raise _problem(lesson, fence.start, f"`{key}={text}` is no number above zero")
    return float(text)


def _make_block(lesson: Lesson, fence: _Fence) -> Block:
    timeout_s = _parse_positive(lesson, fence, "timeout") or TIMEOUT_S
    return Block(
        fence.values["id"],
        fence.content,
        lesson.first_line + fence.start,
        timeout_s,
        tuple(fence.expected),
    )


def _make_quiz(lesson: Lesson, fence: _Fence) -> Quiz:
    try:
        return parse_quiz(fence.values["id"], fence.content, lesson.first_line + fence.start)
    except ValueError as error:
        raise _problem(lesson, fence.start, str(error)) from None


def quizzes_of(lesson: Lesson) -> list[Quiz]:
    """Return the questions of a lesson, in order; raises Problem as `parse` does."""
    return [part.quiz for part in parse(lesson) if part.quiz]


def _add_markdown(parts: list[Part], lines: Sequence[str]) -> None:
    text = "\n".join(lines).strip("\n")
    if not text.strip():
        return
    if parts and parts[-1].kind == "markdown":
        text = f"{parts.pop().text}\n\n{text}"
    parts.append(Part("markdown", text))


def _problem(lesson: Lesson, line: int, what: str) -> Problem:
    return Problem(f"the lesson `{lesson.path}`, line {lesson.first_line + line}: {what}")
