"""Turns a function of the user's into what the TPU compiler reads: lowered for a TPU, on CPUs.

Runs in the user's Python, with any JAX since 0.6.2, and needs no libtpu there.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tpustarter.probe.finding import clip

Emit = Callable[[Mapping[str, Any]], None]

ENTRY = "devices"
"""A function whose one parameter has this name lists programs; any other is one."""
CALLS_BACK = "it calls back into Python (`jax.debug.print` or a callback), which is not lowered"


def write(path: Path, function: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
    """Write a function lowered for a TPU to `path`; returns what compiling it needs to know.

    Args:
        path: The file to write.
        function: A function of arrays, jitted or plain.
        arguments: Arrays, or `jax.ShapeDtypeStruct`s; shardings over a mesh are kept.
        named: The same, by name.
    """
    jax: Any = importlib.import_module("jax")
    export: Any = importlib.import_module("jax.export")
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    exported = export.export(jitted, platforms=["tpu"])(*arguments, **named)
    path.write_bytes(exported.mlir_module_serialized)
    kept = exported.module_kept_var_idx
    return {
        "artifact": str(path),
        "lowered": {
            "devices": exported.nr_devices,
            "shardy": bool(getattr(jax.config, "jax_use_shardy_partitioner", True)),
            "free_arguments": [exported.in_shardings_hlo[index] is None for index in kept],
            "free_outputs": [sharding is None for sharding in exported.out_shardings_hlo],
        },
        "arguments": [short(aval) for aval in exported.in_avals],
    }


def short(value: Any) -> str:
    """Return an array's type as HLO writes it: `f32[8,128]`."""
    name = re.sub(r"^(bfloat|float|int|uint|complex)(?=\d)", _abbreviation, str(value.dtype))
    return f"{name}[{','.join(str(size) for size in value.shape)}]"


def _abbreviation(match: re.Match[str]) -> str:
    return {"bfloat": "bf", "float": "f", "int": "s", "uint": "u", "complex": "c"}[match[1]]


def trace(command: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Lower what a file of the user's names; tells one `exported` event for each program.

    `command` has `file`, `name`, `arguments` (pairs of type and shape), `folder`, and `counts`:
    the numbers of devices to list the programs of an entry point for.
    """
    jax: Any = importlib.import_module("jax")
    path = Path(command["file"])
    try:
        function = _find(_load(path), command["name"], path)
        parameters = list(inspect.signature(function).parameters)
        for count in command["counts"]:
            if parameters == [ENTRY] and not command["arguments"]:
                programs = list(function(jax.devices()[:count]))
            else:
                _refuse_narrowing(jax, [kind for kind, _ in command["arguments"]])
                specs = [jax.ShapeDtypeStruct(shape, kind) for kind, shape in command["arguments"]]
                programs = [(command["name"], function, specs)]
            _export(programs, count if parameters == [ENTRY] else None, command, emit)
            if parameters != [ENTRY]:
                break
    except Exception as error:  # noqa: BLE001  the user's code may raise anything
        traceback.print_exc()
        return {"outcome": "exception", "detail": describe(error, path)}
    return {"outcome": "done"}


def _refuse_narrowing(jax: Any, kinds: Iterable[str]) -> None:
    """Raise TypeError for a type that JAX would make half as wide without a word."""
    for kind in kinds:
        if kind.endswith(("64", "128")) and kind != "complex64" and not jax.config.jax_enable_x64:
            hint = "set JAX_ENABLE_X64=1, or ask for the narrower type"
            raise TypeError(f"{kind} is asked for, and 64-bit types are off: {hint}")


def _export(
    programs: Iterable[Any], count: int | None, command: Mapping[str, Any], emit: Emit
) -> None:
    for number, listed in enumerate(programs):
        try:
            name, function, arguments = listed
        except (TypeError, ValueError):
            kind = f"{type(listed).__name__} {listed!r}"
            raise TypeError(f"expected (name, function, arguments), found a {kind}") from None
        path = Path(command["folder"]) / f"program-{count or 1}-{number}.mlirbc"
        event: dict[str, Any] = {"event": "exported", "id": command["id"], "program": str(name)}
        try:
            if not isinstance(arguments, (tuple, list)):
                kind = type(arguments).__name__
                raise TypeError(f"the arguments are a {kind}, expected a tuple")
            event |= write(path, function, *arguments)
        except Exception as error:  # noqa: BLE001  one program that cannot be lowered costs itself
            traceback.print_exc()
            event["error"] = describe(error, Path(command["file"]))
            event["refused"] = isinstance(error, NotImplementedError)
        emit(event | {"for_devices": count})


def _load(path: Path) -> ModuleType:
    """Run a file as a module; what lies beside it can be imported, as when Python runs it."""
    from importlib import util

    sys.path.insert(0, str(path.parent))
    spec = util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _find(module: ModuleType, name: str, path: Path) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if callable(function):
        return function
    names = [key for key, value in vars(module).items() if inspect.isfunction(value)]
    listed = f"; it defines {', '.join(names[:8])}" if names else "; it defines no function"
    raise AttributeError(f"{path.name} has no function `{name}`{listed}")


def describe(error: BaseException, path: Path) -> str:
    """Return an exception as one line, with the last line of the user's file it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return clip(f"{path.name}:{error.lineno}: {type(error).__name__}: {error.msg}")
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    where = f"{path.name}:{lines[-1]}: " if lines else ""
    text = (str(error).strip().splitlines() or ["no message"])[0]
    if "different from the lowering platform" in text:
        return clip(f"{where}{CALLS_BACK}")
    return clip(f"{where}{type(error).__name__}: {text}")
