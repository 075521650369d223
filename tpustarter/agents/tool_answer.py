"""The answer of a tool: the JSON document of its command, bounded in size."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.agents.answer_shape import AnswerShape
from tpustarter.checking.output import run_document
from tpustarter.core.json_values import is_object
from tpustarter.core.problem import Problem, find_schema_name

WHOLE = AnswerShape()


@dataclass(frozen=True)
class ToolAnswer:
    """The answer of a tool as text."""

    text: str
    """One JSON document."""
    is_error: bool = False


def make_answer(
    words: Sequence[str],
    output: bytes,
    errors: str,
    code: int | None,
    shape: AnswerShape = WHOLE,
) -> ToolAnswer:
    """Return the answer of a command that has ended.

    Args:
        words: The command's words.
        output: Its stdout.
        errors: The end of its stderr.
        code: Its exit code, or None if it was ended.
        shape: The part of the document that is wanted.
    """
    try:
        document: object = json.loads(output)
    except (ValueError, RecursionError):
        document = None
    if not is_object(document):
        what = f"`tpustarter {shlex.join(words)}` printed no document, and ended with {code}"
        return make_error(words, Problem(what, detail=errors))
    is_error, text = "error" in document, output.decode("utf-8", "replace").strip()
    try:
        chosen = document if is_error else shape.choose(document)
    except Problem as problem:
        return make_error(words, problem)
    text = text if chosen == document else json.dumps(chosen)
    if len(text) > shape.characters:
        return _shorten(chosen, words, shape, is_error=is_error)
    return ToolAnswer(text, is_error=is_error)


def make_error(words: Sequence[str], problem: Problem) -> ToolAnswer:
    """Return the answer of a call that failed, in the form of the command's own errors."""
    fields = {**run_document.error_fields(problem), "schema": find_schema_name(words)}
    return ToolAnswer(run_document.format_json_line(fields), is_error=True)


def _shorten(
    document: dict[str, object], words: Sequence[str], shape: AnswerShape, *, is_error: bool
) -> ToolAnswer:
    command = shlex.join(["tpustarter", *words]).removesuffix(" --")
    if text := shape.shorten(document, command):
        return ToolAnswer(text, is_error=is_error)
    what = f"the answer has more than {shape.characters} characters without long texts and lists"
    return make_error(words, Problem(what, hint=f"ask for less, or run `{command}`"))
