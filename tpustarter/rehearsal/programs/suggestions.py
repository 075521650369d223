"""Commands that the user may have meant or could try: functions with example shapes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tpustarter.rehearsal.programs.file_functions import FileFunction, FileSource

MOST_FUNCTIONS = 8
"""Most functions of a file that are offered."""
TREES = frozenset(
    {
        "params",
        "state",
        "opt_state",
        "optimizer_state",
        "optimizer",
        "model",
        "variables",
        "config",
        "cfg",
        "cache",
        "train_state",
        "carry",
        "graphdef",
        "tree",
        "pytree",
        "self",
        "mesh",
    }
)
"""Names of arguments that usually are a pytree or an object, and no array."""
_EXAMPLES = {
    "s32[8,1024]": ("tokens", "token", "ids", "input_ids", "token_ids", "segment_ids"),
    "s32[1024]": ("labels", "indices", "index", "positions", "lengths"),
    "f32[]": (
        "rate",
        "lr",
        "learning_rate",
        "scale",
        "step_size",
        "temperature",
        "alpha",
        "beta",
        "eps",
        "epsilon",
        "t",
        "dt",
    ),
    "s32[]": ("n", "i", "count", "step", "seed", "length", "epoch"),
    "u32[2]": ("key", "rng", "prng", "rng_key", "prng_key"),
    "f32[1024]": ("bias", "b", "vector", "mean", "std"),
    "f32[32,224,224,3]": ("image", "images", "pixels", "img"),
}
_EXAMPLE_OF = {name: example for example, names in _EXAMPLES.items() for name in names}
EXAMPLES = {
    "jax.matmul_precision": "a matmul at three precisions",
    "jax.all_reduce": "a sum over all devices of a TPU",
    "jax.meshes": "a matmul on several mesh shapes",
}
"""Checks whose programs compile in seconds, with a description, for users without a program."""
ARRAY = "f32[1024,1024]"
"""A square shape, so that any two of them can be multiplied."""


def example_argument(argument: str, usual: str = ARRAY) -> str:
    """Return a type and shape that suit an argument of this name; `usual` for most names."""
    return _EXAMPLE_OF.get(argument.casefold(), usual)


def can_be_array(argument: str) -> bool:
    """Return whether an argument of this name may be one array."""
    return argument.casefold() not in TREES


def needs_only_arrays(function: FileFunction) -> bool:
    """Return whether `--arg` can supply all required arguments of a function."""
    names = [
        *function.by_name,
        *function.static,
        *(n for n in function.needed if not can_be_array(n)),
    ]
    return function.certain and not set(names) & set(function.needed)


def format_command(
    file: str, function: FileFunction | None, given: Sequence[str] = (), tpus: Sequence[str] = ()
) -> str:
    """Return the command that rehearses a function, with examples for the arguments not given."""
    words = ["tpustarter", "rehearse"]
    if function is None:
        words += ["--script", file]
    elif function.lists_programs and function.name == "programs":
        words.append(file)
    else:
        words.append(f"{file}:{function.name}")
        missing = () if function.lists_programs else function.needed[len(given) :]
        usual = next((one for one in reversed(given) if "," in one), ARRAY)
        for one in (*given, *(example_argument(name, usual) for name in missing)):
            words += ["--arg", one]
    if function and function.lists_programs and (sized := function.needed[1:]):
        words += ["--fit", sized[0]]
    if tpus:
        words += ["--tpu", ",".join(tpus)]
    return shlex.join(words)


def format_signature(function: FileFunction) -> str:
    """Return the signature to display: `step(weights, batch)`."""
    return f"{function.name}({', '.join(function.needed)})"


def suggest_commands(source: FileSource, file: str, tpus: Sequence[str] = ()) -> list[str]:
    """Return commands for a file: its jitted functions first, and the file as a script last.

    A function that takes a pytree has no command of its own; running the script compiles it.
    """
    listed = [one for one in source.functions if one.lists_programs and one.name == "programs"]
    others = [one for one in source.functions if one not in listed and needs_only_arrays(one)]
    others = [one for one in others if one.name != "main" and (one.needed or one.jitted)]
    chosen = [*listed, *sorted(others, key=lambda one: not one.jitted)][:MOST_FUNCTIONS]
    commands = [format_command(file, one, tpus=tpus) for one in chosen]
    if source.runs and source.jits:
        commands.append(format_command(file, None, tpus=tpus))
    return commands


def suggest_pytree_commands(source: FileSource, file: str, tpus: Sequence[str] = ()) -> list[str]:
    """Return commands for functions that may take a pytree, as if each argument were one array."""
    plain = [
        one
        for one in source.functions
        if one.certain and one.needed and not {*one.by_name, *one.static} & {*one.needed}
    ]
    listed = [one for one in plain if not one.lists_programs]
    listed.sort(key=lambda one: not one.jitted)
    return [format_command(file, one, tpus=tpus) for one in listed[:MOST_FUNCTIONS]]


def advise_programs_function(file: str, function: FileFunction) -> str:
    """Return advice to write a `programs` function where `--arg` cannot supply the arguments."""
    return (
        f"write a function `programs(devices)` into `{file}` that yields "
        f'`("{function.name}", {function.name}, (its arguments))`, then type '
        f"`{shlex.join(['tpustarter', 'rehearse', file])}`"
    )
