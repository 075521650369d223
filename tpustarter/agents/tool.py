"""Tools of the MCP server: commands of this program, with their options as arguments.

A tool's answer is what its command prints with `--json`. Its schema is made from the command's own
options, so both take the same values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tpustarter.agents.answer_shape import AnswerShape
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import cut_text

Schema = dict[str, object]
"""A JSON Schema."""
LONGEST_TEXT = 1_000_000
"""Most characters of a text that a command reads from its stdin."""
LONGEST_VALUE = 4096
MOST_VALUES = 100
_LONGEST_ERROR = 300


@dataclass(frozen=True)
class ToolArgument:
    """An argument of a tool, and the option or argument of the command that takes it."""

    name: str
    schema: Schema
    option: str = ""
    """The option, such as `--level`; empty for a positional argument."""
    is_required: bool = False
    is_input: bool = False
    """True if the command reads it from its stdin."""
    writes: bool = False
    """True if it makes the command write into the state folder."""
    is_shape: bool = False
    """True if it is a field of `AnswerShape`, which the command doesn't get."""


@dataclass(frozen=True)
class Tool:
    """A tool of the MCP server."""

    name: str
    command: str
    """The command of this program."""
    description: str
    arguments: tuple[ToolArgument, ...]
    starts_programs: bool = False
    """True if it starts a Python or a program that the caller names."""

    def make_schema(self, *, allow: bool = True) -> Schema:
        """Return the JSON Schema of the arguments; without `allow`, of those that only read."""
        return {
            "type": "object",
            "additionalProperties": False,
            "required": [one.name for one in self.arguments if one.is_required],
            "properties": {
                one.name: one.schema for one in self.arguments if allow or not one.writes
            },
        }

    def build_call(self, values: Mapping[str, object]) -> tuple[list[str], bytes]:
        """Return the command's words after the program's name, and its stdin.

        Raises:
            Problem: The values do not fit the schema; it names the first that doesn't.
        """
        self._validate(values)
        words, positional, text = [self.command, "--json"], list[str](), ""
        for argument in self.arguments:
            value = values.get(argument.name)
            if value is None or value is False or argument.is_shape:
                continue
            texts = [str(one) for one in _as_list(value)]
            if argument.is_input:
                text = texts[0]
            elif not argument.option:
                positional += texts
            elif value is True:
                words.append(argument.option)
            else:
                words += [f"{argument.option}={one}" for one in texts]
        reads = [argument.name for argument in self.arguments if argument.is_input]
        if reads and bool(text) == bool(positional):
            other = next(one.name for one in self.arguments if not (one.option or one.is_input))
            what = f"give the tool `{self.name}` either `{reads[0]}` or `{other}`"
            raise Problem(what, code=ExitCode.USAGE)
        return [*words, "--", *positional], text.encode()

    def make_shape(self, values: Mapping[str, object]) -> AnswerShape:
        """Return the part of the answer that valid values ask for."""
        names = {argument.name for argument in self.arguments if argument.is_shape}
        wanted = {name: value for name, value in values.items() if name in names}
        return msgspec.convert(wanted, AnswerShape)

    def _validate(self, values: Mapping[str, object]) -> None:
        import jsonschema  # of the extra `mcp`, as is the server itself

        named = phrases.join_words(f"`{argument.name}`" for argument in self.arguments)
        for name in values:
            if name not in [argument.name for argument in self.arguments]:
                what = f"the tool `{self.name}` has no argument `{cut_text(name, _LONGEST_ERROR)}`"
                raise Problem(what, hint=f"it takes {named}", code=ExitCode.USAGE)
        try:
            jsonschema.validate(dict(values), self.make_schema())
        except jsonschema.ValidationError as error:
            where = "/".join(str(part) for part in error.absolute_path)
            what = f"`{where}` of the tool `{self.name}`" if where else f"the tool `{self.name}`"
            what = f"{what}: {cut_text(error.message, _LONGEST_ERROR)}"
            hint = self._describe([*error.absolute_path])
            raise Problem(what, hint=hint, code=ExitCode.USAGE) from error

    def _describe(self, path: Sequence[str | int]) -> str:
        """Return the meaning of the argument that a path of a JSON Schema leads to."""
        about = {one.name: str(one.schema.get("description", "")) for one in self.arguments}
        meaning = " ".join(about.get(str(path[0]), "").split()) if path else ""
        return meaning or f"it takes {phrases.join_words(f'`{name}`' for name in about)}"


def _as_list(value: object) -> list[object]:
    return [*value] if isinstance(value, list) else [value]
