"""Resolve and verify the requested checks and functions, before anything is started.

A file is parsed, not run. Whatever its source doesn't show is reported later by the process that
runs it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from tpustarter.core import content, locations, short_ids
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.probe.rehearse.program_arguments import parse_python_argument
from tpustarter.rehearsal.programs import example_arguments, file_functions, suggestions
from tpustarter.rehearsal.programs.file_functions import FileFunction, FileSource
from tpustarter.rehearsal.programs.suggestions import format_command
from tpustarter.rehearsal.programs.user_program import PROGRAMS_FUNCTION, UserFunction
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text


class UnclearProgram(Problem):
    """An ambiguous or incomplete request, with commands that the user may have meant."""

    def __init__(
        self, summary: str, commands: Sequence[str] = (), *, hint: str, in_app: str = ""
    ) -> None:
        super().__init__(summary, hint=hint, code=ExitCode.USAGE)
        self.commands = tuple(commands)
        self.in_app = escape_text(in_app) or self.summary
        """The summary for the app, where no option is typed."""


def resolve_checks(typed: Sequence[str], folder: Path | None) -> list[content.Check]:
    """Return the requested checks that list programs.

    For a partial id, a JAX check is preferred.

    Raises:
        Problem: A check is unknown, or none of them has programs.
    """
    known = content.read_checks(folder)
    with_programs = [check for check in known if check.has_programs]
    whole = {check.id for check in known}
    titles = {check.id: check.title for check in with_programs}
    jax = {check.id for check in with_programs if check.framework == "jax"}
    ids = [
        name if name in whole or content.is_glob(name) else _whole(name, titles, jax)
        for name in typed
    ]
    chosen = content.select_checks(known, ids, "soak", None)
    if found := [check for check in chosen if check.has_programs]:
        return found
    names = ", ".join(check.id for check in chosen)
    raise Problem(
        f"nothing to compile: {names} runs nothing on a device",
        hint="`tpustarter rehearse --list` shows the checks with programs",
        code=ExitCode.USAGE,
    )


def _whole(name: str, titles: Mapping[str, str], jax: set[str]) -> str:
    if not short_ids.list_matching_ids(name, titles):
        _verify_is_no_path(name)
    listed_by = "tpustarter rehearse --list"
    return short_ids.find_id(name, titles, kind="check", listed_by=listed_by, preferred=jax)


def _verify_is_no_path(name: str) -> None:
    if locations.expand_path(name).is_dir() and "/" in name:
        inside = shlex.join(["cd", name])
        raise Problem(
            f"`{name}` is a folder, expected a file or a check",
            hint=f"`{inside} && tpustarter rehearse` shows what can be compiled in it",
            code=ExitCode.USAGE,
        )
    if locations.expand_path(f"{name}.py").is_file():
        meant = shlex.join(["tpustarter", "rehearse", f"{name}.py"])
        raise Problem(
            f"there is no check `{name}`, but a file `{name}.py`",
            hint=f"did you mean `{meant}`?",
            code=ExitCode.USAGE,
        )


def verify_function_and_arguments(
    code: UserFunction, file: str, given: Sequence[str], tpus: Sequence[str]
) -> None:
    """Verify a function and its arguments against the source of its file.

    Args:
        code: The named function.
        file: The file as typed, for the commands that are suggested.
        given: The arguments as typed.
        tpus: The TPUs as typed; empty if none were.

    Raises:
        Problem: The function is missing, or needs other arguments.
    """
    read = None if code.torch else file_functions.read_source(code.file)
    if read is None:
        return
    function = read.find_function(code.function)
    if function is None and read.complete and code.function not in read.bound:
        raise _no_function(code, read, file, given, tpus)
    _verify_names(read, file, given)
    if function and function.certain and not (function.lists_programs and not given):
        _verify_arguments(function, read, file, given, tpus)


def _verify_names(read: FileSource, file: str, given: Sequence[str]) -> None:
    for text in given:
        written = parse_python_argument(text)
        if not (written and written.file_name and read.complete):
            continue
        if written.file_name in read.bound:
            continue
        near = phrases.near_matches(written.file_name, sorted(read.bound))
        hint = f"write a function `{written.file_name}` into `{file}` that returns it"
        if near:
            hint = f"did you mean `{near[0]}`?"
        raise Problem(
            f"`--arg {text}`: `{file}` has no `{written.file_name}`", hint=hint, code=ExitCode.USAGE
        )


def _no_function(
    code: UserFunction, read: FileSource, file: str, given: Sequence[str], tpus: Sequence[str]
) -> UnclearProgram:
    offers: list[str] = []
    names = [one.name for one in read.functions]
    near = [] if code.function == PROGRAMS_FUNCTION else phrases.near_matches(code.function, names)
    what = f"`{file}` has no function `{code.function}`"
    if near and (function := read.find_function(near[0])):
        offers = [format_command(file, function, given, tpus, read)]
        hint = f"did you mean `{offers[0]}`?"
    elif offers := suggestions.suggest_commands(read, file, tpus):
        lines = "\n".join(f"  {offer}" for offer in offers)
        hint = f"type one of these, with the shapes of your own arrays:\n{lines}"
        if code.function == PROGRAMS_FUNCTION:
            what = f"`{file}` is given without the function to compile"
            hint = f"name the function to compile, with the shapes of your own arrays:\n{lines}"
    else:
        what = f"`{file}` defines no function{' that takes anything' if names else ''}"
        run = format_command(file, None, tpus=tpus)
        hint = f"`{run}` runs the file and compiles what it jits"
        if read.jits:
            offers = [run]
        else:
            what += ", and has no `jax.jit`"
            hint = f"put `@jax.jit` before a function that you call, and then type `{run}`"
    return UnclearProgram(what, offers, hint=hint)


def _verify_arguments(
    function: FileFunction,
    read: FileSource,
    file: str,
    given: Sequence[str],
    tpus: Sequence[str],
) -> None:
    shown = suggestions.format_signature(function)
    if missing := example_arguments.list_missing_arguments(function, given):
        *others, last = (f"`{name}`" for name in missing)
        names = f"{', '.join(others)} and {last}" if others else last
        examples = example_arguments.make_examples(function, read, given)
        full = format_command(file, function, given, tpus, read)
        lines = [f"type this, with the shapes of your own arrays:\n  {full}"]
        lines += suggestions.describe_examples(examples, file)
        if any(one.missing for one in examples):
            lines.append(suggestions.OTHER_WAYS)
        in_app = f"`{shown}` needs the type of {names}"
        raise UnclearProgram(
            f"`{shown}` needs an `--arg` for {names}", [full], hint="\n".join(lines), in_app=in_app
        )
    positional = [one for one in given if not ((w := parse_python_argument(one)) and w.by_name)]
    if function.most is not None and len(positional) > function.most:
        takes = phrases.format_count(function.most, "argument")
        fewer = format_command(file, function, positional[: function.most], tpus, read)
        raise UnclearProgram(
            f"`{shown}` takes {takes} by position, and {len(positional)} were given",
            [fewer],
            hint=f"type `{fewer}`",
        )
