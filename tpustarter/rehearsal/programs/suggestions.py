"""Commands that the user may have meant or could try: functions with example shapes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.rehearsal.programs.example_arguments import ExampleArgument, make_examples
from tpustarter.rehearsal.programs.file_functions import FileFunction, FileSource
from tpustarter.text import phrases

MOST_FUNCTIONS = 8
"""Most functions of a file that are suggested."""
EXAMPLES = {
    "jax.matmul_precision": "a matmul at three precisions",
    "jax.all_reduce": "a sum over all devices of a TPU",
    "jax.meshes": "a matmul on several mesh shapes",
}
"""Checks whose programs compile in seconds, with a description, for users without a program."""
OTHER_WAYS = (
    "Or let `programs(devices)` yield the function with its arguments, or run the script that "
    "calls it with `--script`: `tpustarter learn jax/try-a-tpu-you-do-not-have` shows both"
)


@dataclass(frozen=True)
class SuggestedProgram:
    """A program of a file, and the command that rehearses it."""

    command: str
    function: FileFunction | None = None
    """None for the file as a script."""
    examples: tuple[ExampleArgument, ...] = ()
    """Its arguments; those that the command names are examples to change."""
    notes: tuple[str, ...] = ()
    """The origin of its arguments, and the functions still to be written for it."""


def format_command(
    file: str,
    function: FileFunction | None,
    given: Sequence[str] = (),
    tpus: Sequence[str] = (),
    source: FileSource | None = None,
) -> str:
    """Return the command that rehearses a function, with examples for the arguments not given.

    Args:
        file: The file as the user types it.
        function: The function; None for the file as a script.
        given: The arguments that were given.
        tpus: The TPUs to name.
        source: The file's source, whose functions may create an argument.
    """
    words = ["tpustarter", "rehearse"]
    if function is None:
        words += ["--script", file]
    elif function.lists_programs and function.name == "programs":
        words.append(file)
    else:
        words.append(f"{file}:{function.name}")
        examples = [] if function.lists_programs else make_examples(function, source, given)
        for one in (*given, *(example.text for example in examples)):
            words += ["--arg", one]
    if function and function.lists_programs and (sized := function.needed[1:]):
        words += ["--fit", sized[0]]
    if tpus:
        words += ["--tpu", ",".join(tpus)]
    return shlex.join(words)


def format_signature(function: FileFunction) -> str:
    """Return the signature to display: `step(weights, batch)`."""
    return f"{function.name}({', '.join(function.needed)})"


def suggest_programs(
    source: FileSource, file: str, tpus: Sequence[str] = ()
) -> list[SuggestedProgram]:
    """Return the programs of a file: jitted functions first, the file as a script last.

    A function without parameters that is not jitted is left out, because most such functions run a
    program.
    """
    listed = [one for one in source.functions if one.lists_programs and one.name == "programs"]
    others = [one for one in source.functions if one not in listed and one.name != "main"]
    others = [one for one in others if one.needed or one.jitted]
    chosen = [*listed, *sorted(others, key=lambda one: not one.jitted)]
    programs = [_suggest(source, file, function, tpus) for function in chosen]
    if source.runs and source.jits:
        programs.append(SuggestedProgram(format_command(file, None, tpus=tpus)))
    return programs


def _suggest(
    source: FileSource, file: str, function: FileFunction, tpus: Sequence[str]
) -> SuggestedProgram:
    command = format_command(file, function, tpus=tpus, source=source)
    examples = [] if function.lists_programs else make_examples(function, source)
    notes = describe_examples(examples, file)
    if not (function.certain or function.needed):
        notes.append(f"`{file}` doesn't show its parameters: give an argument for each")
    return SuggestedProgram(command, function, tuple(examples), tuple(notes))


def describe_examples(examples: Sequence[ExampleArgument], file: str) -> list[str]:
    """Return notes on arguments that a function creates, and on functions still to be written."""
    notes = [
        f"`{one.name}` has the types that `{one.made_by}` returns"
        for one in examples
        if one.made_by
    ]
    if missing := [one for one in examples if one.missing]:
        names = phrases.join_words(f"`{one.name}`" for one in missing)
        functions = phrases.join_words(f"`{one.missing}()`" for one in missing)
        count = len(missing)
        are, write = (
            phrases.choose_plural(count, "is", "are"),
            phrases.choose_plural(count, "write a function", "write functions"),
        )
        them = phrases.choose_plural(count, "that returns it", "that return them")
        notes.append(
            f"{names} {are} most likely nested (dicts, lists): {write} {functions} in `{file}` "
            f"{them}"
        )
    return notes


def suggest_commands(source: FileSource, file: str, tpus: Sequence[str] = ()) -> list[str]:
    """Return the commands of a file's first programs, and that of the file as a script."""
    programs = suggest_programs(source, file, tpus)
    functions = [one.command for one in programs if one.function]
    scripts = [one.command for one in programs if not one.function]
    return [*functions[:MOST_FUNCTIONS], *scripts]
