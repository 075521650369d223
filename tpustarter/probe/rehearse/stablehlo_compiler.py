"""Compilation of StableHLO artifacts for devices that are not there.

The one place that needs private parts of JAX, because reading an artifact and the compile options
have no public API. Tried with jax 0.12.0.1 and libtpu 0.0.50.1, on artifacts of jax 0.6.2, 0.10.2
and 0.12.0.1, and of torch_xla 2.9.0.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from tpustarter.probe.rehearse.jax_types import Device, Executable
from tpustarter.probe.rehearse.rehearsal_messages import AliasedArtifactFields

Module = Any
"""An MLIR module, operation or attribute; JAX does not publish their types."""
PORTABLE = b"StableHLO_v"
"""Part of a portable artifact's first bytes."""

_DONATED = ("jax.buffer_donor", "tf.aliasing_output")
"""Attributes of an argument whose memory a result may reuse."""
_NAMED = re.compile(r'loc\("((?:[^"\\]|\\.)+)"(?:\(.*)?\)', re.DOTALL)
"""The location of an argument, if it is the argument's name and not a line of a file."""
_TILES = re.compile(r"\bdevices=\[(\d{1,9}(?:,\d{1,9}){0,31})\]")
"""The tiles along each axis in a GSPMD sharding, whose product is the number of devices."""


def read_argument_names(artifact: bytes) -> list[str]:
    """Return an artifact's argument names, or an empty list if they cannot be read."""
    # The names are only for display.
    with contextlib.suppress(Exception), _read_module(artifact) as module:
        return list_argument_names(module)
    return []


def count_devices(artifact: bytes) -> int:
    """Return the number of devices that an artifact is for: its replicas times its partitions."""
    with _read_module(artifact) as module:
        return math.prod(_count_parts(module))


def format_text(artifact: bytes) -> str:
    """Return an artifact's program as StableHLO text."""
    with _read_module(artifact) as module:
        return str(module)


@contextlib.contextmanager
def _read_module(artifact: bytes) -> Generator[Module]:
    # Reads a portable artifact, or StableHLO as MLIR bytecode or text.
    mlir = importlib.import_module("jax._src.interpreters.mlir")
    dialect = importlib.import_module("jax._src.lib.mlir.dialects").hlo
    with mlir.make_ir_context() as context:
        if PORTABLE in artifact[:64]:
            yield dialect.deserialize_portable_artifact(context, artifact)
        else:
            ir = importlib.import_module("jax._src.lib.mlir").ir
            yield ir.Module.parse(artifact, context=context)


def list_argument_names(module: Module) -> list[str]:
    """Return a program's argument names, such as `params['w']`; "" for one without a name."""
    places = (str(argument.location) for argument in _main(module).arguments)
    return [named[1] if (named := _NAMED.fullmatch(place)) else "" for place in places]


def compile_for_devices(
    devices: Sequence[Device], artifact: bytes, lowered: AliasedArtifactFields
) -> Executable:
    """Compile an artifact for exactly these devices of a topology.

    Args:
        devices: Devices of a compile-only topology.
        artifact: A portable artifact, which `jax.export` calls `mlir_module_serialized`, or MLIR.
        lowered: `shardy`, True for Shardy's shardings, as in JAX 0.7 and later, and False for
            GSPMD's; `free_arguments` and `free_outputs`, True for each whose sharding the compiler
            may choose; these three are None to read them from the module. `aliases`, pairs of an
            argument and the output that reuses its memory, if the artifact has no such pairs.
            `donated`, indices of arguments to donate besides those of the artifact.
    """
    compiler = importlib.import_module("jax._src.compiler")
    client = importlib.import_module("jax._src.lib").xla_client
    numpy = importlib.import_module("numpy")
    with _read_module(artifact) as module:
        replicas = _count_parts(module)[0]
        partitions = len(devices) // replicas
        ids = [device.id for device in devices]
        rows = [ids[first : first + partitions] for first in range(0, len(ids), partitions)]
        options = compiler.get_compile_options(
            num_replicas=replicas,
            num_partitions=partitions,
            device_assignment=numpy.array(rows),
        )
        if aliases := lowered.get("aliases"):
            _alias(module, aliases)
        if donated := lowered.get("donated"):
            _donate(module, donated)
        shardings = [_list_shardings(module, name) for name in ("arg_attrs", "res_attrs")]
        build = options.executable_build_options
        build.use_spmd_partitioning = True
        shardy = lowered["shardy"]
        build.use_shardy_partitioner = _has_shardy(shardings) if shardy is None else shardy
        free = lowered["free_arguments"], lowered["free_outputs"]
        if None in free:
            free = [[not one for one in part] for part in shardings]
        build.allow_spmd_sharding_propagation_to_parameters = free[0]
        build.allow_spmd_sharding_propagation_to_output = free[1]
        return devices[0].client.compile(module, client.DeviceList(tuple(devices)), options)


def _main(module: Module) -> Module:
    return next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")


def _count_parts(module: Module) -> tuple[int, int]:
    attributes: Mapping[str, Module] = module.operation.attributes
    names = ("mhlo.num_replicas", "mhlo.num_partitions")
    replicas, partitions = (attributes[n].value if n in attributes else None for n in names)
    return replicas or 1, partitions or _count_tiles(module)


def _count_tiles(module: Module) -> int:
    # A program exported by torch_xla has its number of devices only in its shardings.
    shardings = (str(attr.attr) for attr in _read_shardings(module, "arg_attrs") if attr)
    tiles = [match[1] for text in shardings for match in _TILES.finditer(text)]
    return max((math.prod(map(int, one.split(","))) for one in tiles), default=1)


def _read_shardings(module: Module, name: str) -> list[Module]:
    """Return the sharding attribute of each argument or result, or None."""
    main = _main(module)
    count = len(main.type.inputs if name == "arg_attrs" else main.type.results)
    if name not in main.attributes:
        return [None] * count
    return [
        next((one for one in attributes if "sharding" in str(one)), None)
        for attributes in main.attributes[name]
    ]


def _list_shardings(module: Module, name: str) -> list[str]:
    """Return the name of each argument's or result's sharding attribute; "" for none."""
    return [one.name if one else "" for one in _read_shardings(module, name)]


def _has_shardy(shardings: list[list[str]]) -> bool:
    # GSPMD uses `mhlo.sharding`; Shardy uses `sdy.sharding`, or one in `frontend_attributes`.
    names = {name for part in shardings for name in part if name}
    return names != {"mhlo.sharding"}


def list_undonated_types(artifact: bytes) -> tuple[dict[int, str], list[str]]:
    """Return the undonated arguments' types, keyed by argument index, and all results' types."""
    with _read_module(artifact) as module:
        main = _main(module)
        inputs = [str(kind) for kind in main.type.inputs]
        given = (
            main.attributes["arg_attrs"] if "arg_attrs" in main.attributes else [()] * len(inputs)
        )
        undonated = {
            number: kind
            for number, (kind, attributes) in enumerate(zip(inputs, given, strict=True))
            if not any(one.name in _DONATED for one in attributes)
        }
        return undonated, [str(kind) for kind in main.type.results]


def _donate(module: Module, numbers: Sequence[int]) -> None:
    ir = importlib.import_module("jax._src.lib.mlir").ir
    main = _main(module)
    attributes = [{one.name: one.attr for one in given} for given in _read_attributes(main)]
    for number in numbers:
        attributes[number]["jax.buffer_donor"] = ir.BoolAttr.get(True)
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(one) for one in attributes])


def _read_attributes(main: Module) -> list[list[Module]]:
    if "arg_attrs" not in main.attributes:
        return [[] for _ in main.type.inputs]
    return [list(attributes) for attributes in main.attributes["arg_attrs"]]


def _alias(module: Module, aliases: Sequence[Sequence[int]]) -> None:
    # XLA reads aliases from the attributes of the arguments.
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
