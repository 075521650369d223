"""Example arguments for a function, guessed from their names and from the user's file.

An array gets an example shape. An argument that is usually a pytree is created by the file's own
initialiser if it has one, such as `init(key)` for `params`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tpustarter.probe.rehearse.program_arguments import parse_python_argument
from tpustarter.rehearsal.programs.file_functions import FileFunction, FileSource

_OF_MODEL = ("params", "model", "variables", "state", "train_state")
_OF_OPTIMIZER = ("opt_state", "optimizer_state")
TREES = frozenset(
    {
        *_OF_MODEL,
        *_OF_OPTIMIZER,
        "optimizer",
        "config",
        "cfg",
        "cache",
        "carry",
        "graphdef",
        "tree",
        "pytree",
        "self",
        "mesh",
    }
)
"""Names of arguments that are usually a pytree or an object, not an array."""
_KEYS = ("key", "rng", "prng", "rng_key", "prng_key")
_SCALARS = (
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
)
_COUNTS = ("n", "i", "count", "step", "seed", "length", "epoch")
_SWITCHES = ("deterministic", "train", "training", "is_training", "causal")
_EXAMPLES = {
    "s32[8,1024]": ("tokens", "token", "ids", "input_ids", "token_ids", "segment_ids"),
    "s32[1024]": ("labels", "indices", "index", "positions", "lengths"),
    "f32[]": _SCALARS,
    "s32[]": _COUNTS,
    "u32[2]": _KEYS,
    "True": _SWITCHES,
    "f32[1024]": ("bias", "b", "vector", "mean", "std"),
    "f32[32,224,224,3]": ("image", "images", "pixels", "img"),
}
_EXAMPLE_OF = {name: example for example, names in _EXAMPLES.items() for name in names}
_NUMBERS = {**dict.fromkeys(_SCALARS, "0.1"), **dict.fromkeys(_COUNTS, "1")}
"""Numbers for the arguments of an initialiser, which may need their values."""
_PREFIXES = ("init_", "make_", "create_", "initialize_", "initialise_", "build_", "random_", "get_")
_GENERAL = ("init", "initialize", "initialise", "init_params", "init_model", "init_network")
"""Initialisers that return the model's parameters, whatever the argument is called."""
STATIC = "1"
"""Placeholder for the value of a static argument."""
ARRAY = "f32[1024,1024]"
"""A square shape, because any two such arrays can be multiplied."""


@dataclass(frozen=True)
class ExampleArgument:
    """An example for one argument, as it is typed after `--arg`."""

    name: str
    """The parameter."""
    text: str
    made_by: str = ""
    """The call of the file's own function that creates it; empty for an array or a value."""
    missing: str = ""
    """The function that the user still has to write for it; empty if there is none."""


def example_argument(argument: str, usual: str = ARRAY) -> str:
    """Return an example for an argument of this name; `usual` for most names."""
    return _EXAMPLE_OF.get(argument.casefold(), usual)


def can_be_array(argument: str) -> bool:
    """Return whether an argument of this name may be a single array."""
    return argument.casefold() not in TREES


def list_missing_arguments(function: FileFunction, given: Sequence[str]) -> tuple[str, ...]:
    """Return the required arguments that were not given."""
    written = [parse_python_argument(one) for one in given]
    if any(one and one.spread for one in written):
        return ()
    named = {one.by_name for one in written if one and one.by_name}
    count = len(given) - len(named)
    by_position = [name for name in function.needed if name not in function.by_name]
    left = (*by_position[count:], *function.by_name)
    return tuple(name for name in left if name not in named)


def make_examples(
    function: FileFunction, source: FileSource | None, given: Sequence[str] = ()
) -> list[ExampleArgument]:
    """Return an example for each required argument that was not given."""
    usual = next((one for one in reversed(given) if "," in one and "(" not in one), ARRAY)
    found: list[ExampleArgument] = []
    for name in list_missing_arguments(function, given):
        example = _make_example(name, source, usual, is_static=name in function.static)
        by_name = name in function.by_name
        text = f"{name}={example.text}" if by_name else example.text
        found.append(ExampleArgument(name, text, example.made_by, example.missing))
    return found


def _make_example(
    name: str, source: FileSource | None, usual: str, *, is_static: bool
) -> ExampleArgument:
    value = _find_value(name, source) if source else ""
    if is_static:
        return ExampleArgument(name, value or STATIC)
    if name.casefold() in _EXAMPLE_OF:
        return ExampleArgument(name, _EXAMPLE_OF[name.casefold()])
    if call := _guess_call(name, source, frozenset()) if source else "":
        return ExampleArgument(name, call, made_by=call)
    if can_be_array(name):
        return ExampleArgument(name, example_argument(name, usual))
    if value:
        return ExampleArgument(name, value)
    return ExampleArgument(name, f"make_{name}()", missing=f"make_{name}")


def _find_value(name: str, source: FileSource) -> str:
    wanted = name.casefold()
    found = (one for one in sorted(source.values) if one.casefold() == wanted)
    functions = {one.name for one in source.functions}
    return next((one for one in found if one not in functions), "")


def _guess_call(name: str, source: FileSource, before: frozenset[str]) -> str:
    """Return a call of the file's functions that creates such an argument, or "" for none."""
    argument = name.casefold()
    for function in _initialisers(argument, source):
        if function.name not in before:
            call = _call(function, source, before | {function.name})
            if call:
                return call
    if argument in _OF_OPTIMIZER and source.optimizers:
        params = _guess_call(_OF_MODEL[0], source, before)
        return f"{source.optimizers[0]}.init({params})" if params else ""
    return ""


def _initialisers(argument: str, source: FileSource) -> Iterator[FileFunction]:
    names = [f"{prefix}{argument}" for prefix in _PREFIXES]
    names += [f"{argument}_init", *(_GENERAL if argument in _OF_MODEL else ())]
    if argument in _OF_OPTIMIZER:
        names += ["init_optimizer", "init_opt"]
    for name in names:
        if (function := source.find_function(name)) and function.certain:
            yield function


def _call(function: FileFunction, source: FileSource, before: frozenset[str]) -> str:
    arguments: list[str] = []
    for name in function.needed:
        text = _initialiser_argument(name, source, before)
        if not text:
            return ""
        arguments.append(f"{name}={text}" if name in function.by_name else text)
    return f"{function.name}({','.join(arguments)})"  # one word in a shell, without blanks


def _initialiser_argument(name: str, source: FileSource, before: frozenset[str]) -> str:
    lower = name.casefold()
    if lower in _KEYS:
        return _EXAMPLE_OF[lower]
    return _find_value(name, source) or _guess_call(name, source, before) or _NUMBERS.get(lower, "")
