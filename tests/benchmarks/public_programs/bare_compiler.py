"""The programs of a file compiled by calls of JAX alone, with the memory of each as JSON.

    python bare_compiler.py FILE:FUNCTION NAME ARGUMENTS

NAME and ARGUMENTS (JSON) are those of `jax.experimental.topologies.get_topology_desc`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies


@contextlib.contextmanager
def name_device(device: Any) -> Generator[None]:
    """Name the TPU for kernels that ask for it, inside the mesh that is in force."""
    sharding: Any = jax.sharding
    abstract = sharding.AbstractDevice(device.device_kind, device.num_cores, "tpu")
    mesh = sharding.get_abstract_mesh()
    mesh = (
        sharding.AbstractMesh((), (), abstract_device=abstract)
        if mesh.empty
        else mesh.update(abstract_device=abstract)
    )
    with sharding.use_abstract_mesh(mesh):
        yield


def compile_program(function: Any, arguments: Any, device: Any) -> dict[str, Any]:
    """Return the bytes of each kind on one device, or the error of the compiler."""
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    needed = ""
    try:
        try:
            lowered = jitted.lower(*arguments)
        except ValueError as error:
            if "Unsupported TPU device kind" not in str(error):
                raise
            needed = "the kind of TPU, from an abstract device"
            with name_device(device):
                lowered = jitted.lower(*arguments)
        began = time.monotonic()
        compiled = lowered.compile()
    except Exception as error:  # noqa: BLE001  the public program's own, which is compared
        return {"error": f"{type(error).__name__}: {error}", "needed": needed}
    stats = compiled.memory_analysis()
    total = stats.total_allocation_bytes
    return {
        "needed": needed,
        "seconds": time.monotonic() - began,
        "memory": {
            "arguments": stats.argument_size_in_bytes,
            "outputs": stats.output_size_in_bytes,
            "aliased": stats.alias_size_in_bytes,
            "temporaries": total - stats.indefinite_allocations
            if total
            else stats.temp_size_in_bytes,
            "code": stats.generated_code_size_in_bytes,
        },
    }


def main() -> None:
    """Print a line of JSON for each program."""
    file, _, entry = sys.argv[1].rpartition(":")
    path, name, given = Path(file), sys.argv[2], json.loads(sys.argv[3])
    given = {key: tuple(one) if isinstance(one, list) else one for key, one in given.items()}
    topology = topologies.get_topology_desc(platform="tpu", topology_name=name, **given)
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)
    devices = list(topology.devices)
    for title, function, arguments in getattr(module, entry)(devices):
        found = compile_program(function, arguments, devices[0])
        print(json.dumps({"program": title, **found}), flush=True)


if __name__ == "__main__":
    main()
