"""What was asked for, looked at before anything is started: checks, and functions of a file.

A file is read and not run for that. What it doesn't show, its own process tells later.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from tpustarter import content, short_ids
from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal import source, suggestions
from tpustarter.rehearsal.own_code import ENTRY, Code
from tpustarter.rehearsal.source import Listed, Source
from tpustarter.rehearsal.suggestions import command


class Unclear(Problem):
    """What was named cannot be compiled as it stands; these commands are what it may mean."""

    def __init__(self, what: str, commands: Sequence[str] = (), *, hint: str) -> None:
        super().__init__(what, hint=hint, code=ExitCode.USAGE)
        self.commands = tuple(commands)


def checks(typed: Sequence[str], folder: Path | None) -> list[content.Check]:
    """Return the checks that list programs, of those asked for; raises Problem.

    Of an id that is typed in part the check of JAX is meant, where there is one.
    """
    known = content.read_checks(folder)
    with_programs = [check for check in known if check.has_programs]
    whole = {check.id for check in known}
    titles = {check.id: check.title for check in with_programs}
    jax = {check.id for check in with_programs if check.framework == "jax"}
    ids = [name if name in whole or content.is_glob(name) else _whole(name, titles, jax)
           for name in typed]  # fmt: skip
    chosen = content.select(known, ids, "soak", None)
    if found := [check for check in chosen if check.has_programs]:
        return found
    names = ", ".join(check.id for check in chosen)
    raise Problem(f"nothing to compile: {names} runs nothing on a device",
                  hint="`tpustarter rehearse --list` shows the checks with programs",
                  code=ExitCode.USAGE)  # fmt: skip


def _whole(name: str, titles: Mapping[str, str], jax: set[str]) -> str:
    """Return the id that was typed in part; raises Problem."""
    if not short_ids.candidates(name, titles):
        _verify_is_no_path(name)
    listed_by = "tpustarter rehearse --list"
    return short_ids.find(name, titles, kind="check", listed_by=listed_by, preferred=jax)


def _verify_is_no_path(name: str) -> None:
    """Raise Problem where what is no check is a folder, or a file without its ending."""
    if Path(name).expanduser().is_dir() and "/" in name:
        inside = shlex.join(["cd", name])
        raise Problem(f"`{name}` is a folder, expected a file or a check",
                      hint=f"`{inside} && tpustarter rehearse` shows what can be compiled in it",
                      code=ExitCode.USAGE)  # fmt: skip
    if Path(f"{name}.py").expanduser().is_file():
        meant = shlex.join(["tpustarter", "rehearse", f"{name}.py"])
        raise Problem(f"there is no check `{name}`, but a file `{name}.py`",
                      hint=f"did you mean `{meant}`?", code=ExitCode.USAGE)  # fmt: skip


def verify(code: Code, file: str, given: Sequence[str], tpus: Sequence[str]) -> None:
    """Raise Problem where a file shows that a function isn't there, or needs other arguments.

    Args:
        code: What was named.
        file: The file as it was typed, for the commands that are offered.
        given: The arguments as they were typed.
        tpus: The TPUs that were typed; empty where none was.
    """
    read = None if code.torch else source.read(code.file)
    if read is None:
        return
    function = read.function(code.function)
    if function is None and read.complete and code.function not in read.bound:
        raise _no_function(code, read, file, given, tpus)
    if function and function.certain and not (function.lists_programs and not given):
        _verify_arguments(function, file, given, tpus)


def _no_function(
    code: Code, read: Source, file: str, given: Sequence[str], tpus: Sequence[str]
) -> Unclear:
    """Return that a function isn't there, with the commands for those that are."""
    offers: list[str] = []
    names = [one.name for one in read.functions]
    near = [] if code.function == ENTRY else get_close_matches(code.function, names, n=1)
    what = f"`{file}` has no function `{code.function}`"
    if near and (function := read.function(near[0])):
        offers = [command(file, function, given, tpus)]
        hint = f"did you mean `{offers[0]}`?"
    elif offers := suggestions.offers(read, file, tpus):
        lines = "\n".join(f"  {offer}" for offer in offers)
        hint = f"type one of these, with the shapes of your own arrays:\n{lines}"
        if code.function == ENTRY:
            what = f"`{file}` is given without the function to compile"
            hint = f"name the function to compile, with the shapes of your own arrays:\n{lines}"
    elif names:
        function = read.functions[0]
        hint = suggestions.programs_example(file, function)
        if offers := suggestions.offers_of_trees(read, file, tpus):
            lines = "\n".join(f"  {offer}" for offer in offers)
            hint = f"if each argument is one array, type:\n{lines}\nElse {hint}"
            if code.function == ENTRY:
                what = f"`{file}` is given without the function to compile"
    else:
        what = f"`{file}` defines no function"
        run = command(file, None, tpus=tpus)
        hint = f"`{run}` runs the file and compiles what it jits"
        if read.jits:
            offers = [run]
        else:
            what += ", and has no `jax.jit`"
            hint = f"put `@jax.jit` before a function that you call, and then type `{run}`"
    return Unclear(what, offers, hint=hint)


def _verify_arguments(
    function: Listed, file: str, given: Sequence[str], tpus: Sequence[str]
) -> None:
    """Raise Problem where `--arg` gives too few arguments, or too many."""
    by_position = function.needed[: len(function.needed) - len(function.by_name)]
    missing = [*by_position[len(given) :], *function.by_name]
    fixed = next((name for name in (*function.by_name, *missing) if name in function.static
                  or name in function.by_name), None)  # fmt: skip
    shown = suggestions.signature(function)
    if fixed:
        why = "is static" if fixed in function.static else "is given by name"
        raise Unclear(f"`{shown}` needs `{fixed}`, which {why}",
                      hint=suggestions.programs_example(file, function))  # fmt: skip
    if missing:
        *others, last = (f"`{name}`" for name in missing)
        names = f"{', '.join(others)} and {last}" if others else last
        trees = [name for name in missing if not suggestions.is_array(name)]
        full = command(file, function, given, tpus)
        hint = f"type this, with the shapes of your own arrays:\n  {full}"
        if trees:
            hint += f"\nIf `{trees[0]}` is a pytree, "
            hint += suggestions.programs_example(file, function)
        raise Unclear(f"`{shown}` needs an `--arg` for {names}", [full], hint=hint)
    if function.most is not None and len(given) > function.most:
        takes = f"{function.most} argument{'' if function.most == 1 else 's'}"
        fewer = command(file, function, given[: function.most], tpus)
        raise Unclear(f"`{shown}` takes {takes} by position, and {len(given)} were given",
                      [fewer], hint=f"type `{fewer}`")  # fmt: skip
