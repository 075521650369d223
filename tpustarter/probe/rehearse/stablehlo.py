"""Compilation of a StableHLO artifact for devices that are not there.

The one place that needs private parts of JAX: reading an artifact and the compile options have no
public name. Tried with jax 0.12.0.1 and libtpu 0.0.50.1; the artifacts came from jax 0.6.2, 0.10.2
and 0.12.0.1, and from torch_xla 2.9.0.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

_NAMED = re.compile(r'loc\("((?:[^"\\]|\\.)+)"(?:\(.*)?\)', re.DOTALL)
"""The location of an argument, where that is its name and no line of a file."""


def read_argument_names(artifact: bytes) -> list[str]:
    """Return the program's names of its arguments, or an empty list if they cannot be read."""
    with contextlib.suppress(Exception):  # the names are only for display
        mlir = importlib.import_module("jax._src.interpreters.mlir")
        dialect = importlib.import_module("jax._src.lib.mlir.dialects").hlo
        with mlir.make_ir_context() as context:
            return list_argument_names(dialect.deserialize_portable_artifact(context, artifact))
    return []


def list_argument_names(module: Any) -> list[str]:
    """Return the names that a program gives its arguments, such as `params['w']`, if any."""
    places = (str(argument.location) for argument in _main(module).arguments)
    return [named[1] if (named := _NAMED.fullmatch(place)) else "" for place in places]


def compile_for_devices(devices: list[Any], artifact: bytes, lowered: Mapping[str, Any]) -> Any:
    """Return the executable of a portable artifact for exactly these devices of a topology.

    Args:
        devices: Devices of a compile-only topology.
        artifact: The bytes that `jax.export` calls `mlir_module_serialized`.
        lowered: `shardy`, whether its shardings are Shardy's, as in every JAX since 0.7, or
            GSPMD's; `free_arguments` and `free_outputs`, whether the compiler may choose the
            sharding of each, or None where that is unknown; `aliases`, pairs of an argument and
            the output that takes its memory, where the artifact has no such pairs.
    """
    compiler = importlib.import_module("jax._src.compiler")
    mlir = importlib.import_module("jax._src.interpreters.mlir")
    client = importlib.import_module("jax._src.lib").xla_client
    dialect = importlib.import_module("jax._src.lib.mlir.dialects").hlo
    numpy = importlib.import_module("numpy")
    ids = [[device.id for device in devices]]
    options = compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices), device_assignment=numpy.array(ids)
    )
    build = options.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = lowered["shardy"]
    with mlir.make_ir_context() as context:
        module = dialect.deserialize_portable_artifact(context, artifact)
        if aliases := lowered.get("aliases"):
            _alias(module, aliases)
        free = lowered["free_arguments"], lowered["free_outputs"]
        if None in free:
            free = _all_free(module, len(devices))
        build.allow_spmd_sharding_propagation_to_parameters = free[0]
        build.allow_spmd_sharding_propagation_to_output = free[1]
        return devices[0].client.compile(module, client.DeviceList(tuple(devices)), options)


def _main(module: Any) -> Any:
    return next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")


def _all_free(module: Any, devices: int) -> tuple[list[bool], list[bool]]:
    # An artifact for another number of devices is refused; else the compiler may choose all
    # shardings.
    attributes: dict[str, Any] = module.operation.attributes
    for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
        if name in attributes and attributes[name].value not in (1, devices):
            wanted = attributes[name].value
            raise NotImplementedError(f"the program is for {wanted} devices, expected {devices}")
    kind: Any = _main(module).type
    return [True] * len(kind.inputs), [True] * len(kind.results)


def _alias(module: Any, aliases: Sequence[Sequence[int]]) -> None:
    # XLA reads from attributes of the arguments which output takes their memory.
    ir = importlib.import_module("jax._src.lib.mlir").ir
    main = _main(module)
    output_of: dict[int, int] = {argument: output for argument, output in aliases}  # noqa: C416  pairs are lists
    kind = ir.IntegerType.get_signless(32)
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [
            ir.DictAttr.get({"tf.aliasing_output": ir.IntegerAttr.get(kind, output_of[number])})
            if number in output_of
            else ir.DictAttr.get({})
            for number in range(len(main.arguments))
        ]
    )
