"""The answer of a tool: the JSON document of its command, bounded in size."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.checking.output import run_document
from tpustarter.core.json_values import is_array, is_object
from tpustarter.core.problem import Problem, find_schema_name

MOST_CHARACTERS = 65_536
"""Longest answer. Agents refuse longer ones: by default Claude Code does from 25,000 tokens on.
Source: https://developers.figma.com/docs/figma-mcp-server/mcp-clients-issues (read 2026-11).
"""
_SIZES = ((2000, 1000), (500, 200), (200, 80), (100, 25), (60, 8), (40, 3))
"""Most characters of a text and entries of a list; the first pair that is short enough is used."""


@dataclass(frozen=True)
class ToolAnswer:
    """The answer of a tool as text."""

    text: str
    """One JSON document."""
    is_error: bool = False


def make_answer(words: Sequence[str], output: bytes, errors: str, code: int | None) -> ToolAnswer:
    """Return the answer of a command that has ended.

    Args:
        words: The command's words.
        output: Its stdout.
        errors: The end of its stderr.
        code: Its exit code, or None if it was ended.
    """
    try:
        document: object = json.loads(output)
    except (ValueError, RecursionError):
        document = None
    if not is_object(document):
        what = f"`tpustarter {shlex.join(words)}` printed no document, and ended with {code}"
        return make_error(words, Problem(what, detail=errors))
    text = output.decode("utf-8", "replace").strip()
    if len(text) > MOST_CHARACTERS:
        text = _shorten(document, words)
    return ToolAnswer(text, is_error="error" in document)


def make_error(words: Sequence[str], problem: Problem) -> ToolAnswer:
    """Return the answer of a call that failed, in the form of the command's own errors."""
    fields = {**run_document.error_fields(problem), "schema": find_schema_name(words)}
    return ToolAnswer(run_document.format_json_line(fields), is_error=True)


def _shorten(document: dict[str, object], words: Sequence[str]) -> str:
    """Return a document as JSON with shorter texts and lists, and a note on what is left out."""
    command = shlex.join(["tpustarter", *words]).removesuffix(" --")
    note = f"ends of long texts and lists; `{command}` prints all of it"
    text = ""
    for characters, entries in _SIZES:
        short = _cut(document, characters, entries)
        text = json.dumps({**short, "left_out": note} if is_object(short) else short)
        if len(text) <= MOST_CHARACTERS:
            return text
    what = f"the answer has {len(text)} characters even without the ends of its texts and lists"
    return make_error(words, Problem(what, hint=f"ask for less, or run `{command}`")).text


def _cut(value: object, characters: int, entries: int) -> object:
    if isinstance(value, str):
        left = len(value) - characters
        return value if left <= 0 else f"{value[:characters]} [{left} characters left out]"
    if is_array(value):
        return [_cut(one, characters, entries) for one in value[:entries]]
    if is_object(value):
        return {name: _cut(one, characters, entries) for name, one in value.items()}
    return value
