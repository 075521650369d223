"""The commands to type for what the user named, or could name: functions with example shapes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tpustarter.rehearsal.source import Listed, Source

MOST_FUNCTIONS = 8
"""Functions of a file that are offered."""
TREES = frozenset({
    "params", "state", "opt_state", "optimizer_state", "optimizer", "model", "variables", "config",
    "cfg", "cache", "train_state", "carry", "graphdef", "tree", "pytree", "self", "mesh",
})  # fmt: skip
"""Names of arguments that are a pytree or an object most of the time, and no array."""
_EXAMPLES = {
    "s32[8,1024]": ("tokens", "token", "ids", "input_ids", "token_ids", "segment_ids"),
    "s32[1024]": ("labels", "indices", "index", "positions", "lengths"),
    "f32[]": ("rate", "lr", "learning_rate", "scale", "step_size", "temperature", "alpha", "beta",
              "eps", "epsilon", "t", "dt"),
    "s32[]": ("n", "i", "count", "step", "seed", "length", "epoch"),
    "u32[2]": ("key", "rng", "prng", "rng_key", "prng_key"),
    "f32[1024]": ("bias", "b", "vector", "mean", "std"),
    "f32[32,224,224,3]": ("image", "images", "pixels", "img"),
}  # fmt: skip
_EXAMPLE_OF = {name: example for example, names in _EXAMPLES.items() for name in names}
EXAMPLES = {
    "jax.matmul_precision": "a matmul at three precisions",
    "jax.all_reduce": "a sum over all devices of a TPU",
    "jax.meshes": "a matmul on several mesh shapes",
}
"""Checks whose programs compile in seconds, for who has no program yet: what they compile."""
ARRAY = "f32[1024,1024]"
"""A square, so that any two of them can be multiplied."""


def example(argument: str, usual: str = ARRAY) -> str:
    """Return a type and shape that suit an argument of this name; the usual one for most."""
    return _EXAMPLE_OF.get(argument.casefold(), usual)


def is_array(argument: str) -> bool:
    """Tell whether an argument of this name may be one array."""
    return argument.casefold() not in TREES


def takes_arrays(function: Listed) -> bool:
    """Tell whether `--arg` can give a function all that it needs."""
    names = [*function.by_name, *function.static, *(n for n in function.needed if not is_array(n))]
    return function.certain and not set(names) & set(function.needed)


def command(
    file: str, function: Listed | None, given: Sequence[str] = (), tpus: Sequence[str] = ()
) -> str:
    """Return the command that rehearses a function, with an example for what is not given."""
    words = ["tpustarter", "rehearse"]
    if function is None:
        words += ["--script", file]
    elif function.lists_programs and function.name == "programs":
        words.append(file)
    else:
        words.append(f"{file}:{function.name}")
        missing = () if function.lists_programs else function.needed[len(given) :]
        usual = next((one for one in reversed(given) if "," in one), ARRAY)
        for one in (*given, *(example(name, usual) for name in missing)):
            words += ["--arg", one]
    if tpus:
        words += ["--tpu", ",".join(tpus)]
    return shlex.join(words)


def signature(function: Listed) -> str:
    """Return `step(weights, batch)`."""
    return f"{function.name}({', '.join(function.needed)})"


def offers(source: Source, file: str, tpus: Sequence[str] = ()) -> list[str]:
    """Return commands for what a file holds: its jitted functions first, and the file as a script.

    A function that takes a pytree has no command of its own; the script has it compiled.
    """
    listed = [one for one in source.functions if one.lists_programs and one.name == "programs"]
    others = [one for one in source.functions if one not in listed and takes_arrays(one)]
    others = [one for one in others if one.name != "main" and (one.needed or one.jitted)]
    chosen = [*listed, *sorted(others, key=lambda one: not one.jitted)][:MOST_FUNCTIONS]
    commands = [command(file, one, tpus=tpus) for one in chosen]
    if source.runs and source.jits:
        commands.append(command(file, None, tpus=tpus))
    return commands


def offers_of_trees(source: Source, file: str, tpus: Sequence[str] = ()) -> list[str]:
    """Return commands for functions that may take a pytree, as if each argument were one array."""
    plain = [one for one in source.functions if one.certain and one.needed
             and not {*one.by_name, *one.static} & {*one.needed}]  # fmt: skip
    listed = [one for one in plain if not one.lists_programs]
    listed.sort(key=lambda one: not one.jitted)
    return [command(file, one, tpus=tpus) for one in listed[:MOST_FUNCTIONS]]


def programs_example(file: str, function: Listed) -> str:
    """Return the function to write where `--arg` cannot give what another one needs."""
    return (
        f"write a function `programs(devices)` into `{file}` that yields "
        f'`("{function.name}", {function.name}, (its arguments))`, then type '
        f"`{shlex.join(['tpustarter', 'rehearse', file])}`"
    )
