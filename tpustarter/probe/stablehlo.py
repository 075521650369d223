"""Compiles a StableHLO artifact for devices that are not there.

The one place that needs private parts of JAX: reading an artifact and the compile options have
no public name. Tried with jax 0.12.0.1 and libtpu 0.0.50.1; the artifacts came from jax 0.6.2,
0.10.2 and 0.12.0.1.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any


def compile_for(devices: list[Any], artifact: bytes, lowered: Mapping[str, Any]) -> Any:
    """Return the executable of a portable artifact for exactly these devices of a topology.

    Args:
        devices: Devices of a compile-only topology.
        artifact: What `jax.export` calls `mlir_module_serialized`.
        lowered: `shardy`, whether its shardings are Shardy's, as in every JAX since 0.7, or
            GSPMD's; `free_arguments` and `free_outputs`, whether the compiler may choose the
            sharding of each.
    """
    compiler: Any = importlib.import_module("jax._src.compiler")
    mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
    client: Any = importlib.import_module("jax._src.lib").xla_client
    dialect: Any = importlib.import_module("jax._src.lib.mlir.dialects").hlo
    numpy: Any = importlib.import_module("numpy")
    ids = [[device.id for device in devices]]
    options = compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices), device_assignment=numpy.array(ids)
    )
    build = options.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = lowered["shardy"]
    build.allow_spmd_sharding_propagation_to_parameters = lowered["free_arguments"]
    build.allow_spmd_sharding_propagation_to_output = lowered["free_outputs"]
    with mlir.make_ir_context() as context:
        module = dialect.deserialize_portable_artifact(context, artifact)
        return devices[0].client.compile(module, client.DeviceList(tuple(devices)), options)
