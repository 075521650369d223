"""Verify the dimension that `--fit` names, before anything is started."""

from __future__ import annotations

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.programs import file_functions
from tpustarter.rehearsal.programs.file_functions import DEVICES_PARAMETER, FileFunction
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.programs.user_program import UserFunction
from tpustarter.text.terminal import cut_text, escape_text

_WAYS = (
    "name it in a shape, as in `--arg 'f32[{name},1024]'`, or make it a parameter of "
    "`programs(devices, {name})`"
)


def require_searchable_dimension(request: RehearsalRequest, code: UserFunction | None) -> None:
    """Verify that the dimension of a request can be searched.

    Raises:
        Problem: The dimension is missing, or cannot be searched.
    """
    name = request.fit
    if not name:
        _verify_sized(code)
        return
    if not name.isidentifier() or name == DEVICES_PARAMETER:
        shown = escape_text(cut_text(name, 40))
        raise _problem(
            f"`--fit` has `{shown}`, expected the name of a dimension", _WAYS.format(name="batch")
        )
    if code is None or code.torch:
        raise _problem("`--fit` needs a function of JAX in a `FILE.py`", _WAYS.format(name=name))
    if request.measured_s is not None:
        raise _problem("a measured time is that of one size, and `--fit` compiles many", None)
    if code.arguments:
        shapes = [one[1] for one in code.arguments if not isinstance(one, str)]
        if not any(name in shape for shape in shapes):
            raise _problem(f"no `--arg` has the dimension `{name}`", _WAYS.format(name=name))
        return
    function = _read_function(code)
    if function and function.lists_programs and name not in function.takes:
        shown = f"{function.name}({', '.join(function.takes)})"
        others = [one for one in function.takes if one != DEVICES_PARAMETER]
        meant = f"`--fit {others[0]}` searches the largest `{others[0]}`; else " if others else ""
        raise _problem(
            f"`{shown}` in `{code.file.name}` has no parameter `{name}`",
            f"{meant}write `def {function.name}(devices, {name}):`, and use `{name}` in the shapes "
            "of the arguments",
        )


def find_default(code: UserFunction) -> int:
    """Return the default that the user's function has for its dimension, or 0 if none."""
    function = None if code.arguments else _read_function(code)
    default = dict(function.defaults).get(code.dimension, 0) if function else 0
    return max(default, 0)


def _verify_sized(code: UserFunction | None) -> None:
    function = _read_function(code) if code and not (code.arguments or code.torch) else None
    if code and function and function.lists_programs and function.needed != (DEVICES_PARAMETER,):
        name = function.needed[1]
        raise _problem(
            f"`{function.name}({', '.join(function.takes)})` in `{code.file.name}` needs `{name}`",
            f"`--fit {name}` searches the largest one that fits; else give `{name}` a default",
        )


def _read_function(code: UserFunction) -> FileFunction | None:
    source = file_functions.read_source(code.file)
    function = source.find_function(code.function) if source else None
    return function if function and function.certain else None


def _problem(what: str, hint: str | None) -> Problem:
    return Problem(what, hint=hint, code=ExitCode.USAGE)
