"""A Python with stubs of JAX and libtpu, for a compiler process without the compiler.

The stub compiles a program by calling it, so that a sample program decides the compiler's result:
it raises a refusal, hangs, or ends the process. A program that does not fit writes the sample
report to stderr when it is compiled again without a memory limit, as with libtpu. An artifact is
judged by the name of its function.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.places import TESTS
from tests.support.stubs import make_python

SAMPLES = TESTS / "samples"
CHECKS = SAMPLES / "rehearsal_checks"
REPORT = SAMPLES / "memory_report.txt"

_JAX = '''"""Stands in for JAX: to compile a function is to call it."""
import os
import sys
from pathlib import Path
from types import SimpleNamespace

NO_MEMORY = "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: ({}) exceeds available HBM ({}G)."
HLO = """HloModule jit_f, entry_computation_layout={(f32[8,8]{1,0:T(8,128)})->f32[8,8]{1,0}}

ENTRY %main.1 (x.1: f32[8,8]) -> f32[8,8] {
  %x.1 = f32[8,8]{1,0:T(8,128)} parameter(0)
  ROOT %add.1 = f32[8,8]{1,0:T(8,128)} add(%x.1, %x.1)
}
"""


def refuse_for_memory(needed, available):
    if "no_crash_on_oom" in os.environ.get("LIBTPU_INIT_ARGS", ""):
        sys.stderr.write(Path(REPORT).read_text())
    raise RuntimeError(NO_MEMORY.format(needed, available))


class ShapeDtypeStruct:
    def __init__(self, shape, dtype, sharding):
        self.shape, self.dtype, self.sharding = shape, dtype, sharding

    def __add__(self, other):
        device = next(iter(self.sharding.device_set))
        if self.shape == (1 << 40,):
            raise RuntimeError(NO_MEMORY.format("1.00T", device.hbm_gib))
        return self


sharding = SimpleNamespace(
    SingleDeviceSharding=lambda device: SimpleNamespace(device_set={device})
)
tree_util = SimpleNamespace(tree_leaves=list)
config = SimpleNamespace(
    jax_traceback_filtering="auto",
    jax_optimization_level=os.environ.get("JAX_OPTIMIZATION_LEVEL", "UNKNOWN"),
    jax_memory_fitting_level=os.environ.get("JAX_MEMORY_FITTING_LEVEL", "O2"),
    update=lambda name, value: None,
)


class Executable:
    def __init__(self, text):
        self.text = text

    def runtime_executable(self):
        return self

    def get_compiled_memory_stats(self):
        sizes = dict(argument=4096, output=4096, alias=0, temp=3072, generated_code=1024)
        stats = {f"{name}_size_in_bytes": size for name, size in sizes.items()}
        if not os.environ.get("STUB_OLD_JAXLIB"):
            stats |= dict(total_allocation_bytes=10240, indefinite_allocations=8192)
        return SimpleNamespace(**stats)

    def hlo_modules(self):
        return [SimpleNamespace(to_string=lambda: self.text)]

    def cost_analysis(self):
        return {"flops": 1024.0, "bytes accessed": 8192.0, "optimal_seconds": 1e-8}


def jit(function):
    def lower(*arguments):
        def compile_it():
            found = function(*arguments)
            return Executable(found if isinstance(found, str) else HLO)

        text = f"{function.__module__}.{function.__name__}{[one.shape for one in arguments]}"
        return SimpleNamespace(compile=compile_it, as_text=lambda: text)

    return SimpleNamespace(lower=lower)
'''

_TOPOLOGIES = '''"""Describes a TPU as the table does; `STUB_HBM_GIB` makes it another one."""
import os
from types import SimpleNamespace

import jax
from tpustarter.machine import tpus


class Device:
    def __init__(self, known, number):
        self.id = number
        self.process_index = number * known.processes // known.devices
        self.slice_index = number * known.slices // known.devices
        self.hbm_gib = float(os.environ.get("STUB_HBM_GIB") or known.hbm_gib_per_device)
        self.client = self

    def compile(self, artifact, devices, options):
        if b"too_big" in artifact:
            jax.refuse_for_memory("18.00G", self.hbm_gib)
        if b"aborts" in artifact:
            os.abort()
        return jax.Executable(jax.HLO)


def get_topology_desc(platform, topology_name, **arguments):
    if os.environ.get("STUB_REFUSES") == topology_name:
        raise RuntimeError(f"INVALID_ARGUMENT: {topology_name} is not known")
    known = tpus.find_topology(topology_name, arguments.get("num_slices", 1))
    assert dict(known.arguments) == arguments
    return SimpleNamespace(devices=[Device(known, number) for number in range(known.devices)])
'''

_PRIVATE = {
    "jax/_src/compiler.py": """
from types import SimpleNamespace


def get_compile_options(**options):
    return SimpleNamespace(executable_build_options=SimpleNamespace())
""",
    "jax/_src/interpreters/mlir.py": """
import contextlib

make_ir_context = contextlib.nullcontext
""",
    "jax/_src/lib/__init__.py": """
from types import SimpleNamespace

xla_client = SimpleNamespace(DeviceList=list)
""",
    "jax/_src/lib/mlir/__init__.py": """
from types import SimpleNamespace

ir = SimpleNamespace(
    ArrayAttr=SimpleNamespace(get=list),
    BoolAttr=SimpleNamespace(get=bool),
    DictAttr=SimpleNamespace(get=dict),
    IntegerAttr=SimpleNamespace(get=lambda kind, value: value),
    IntegerType=SimpleNamespace(get_signless=lambda bits: bits),
)
""",
    "jax/_src/lib/mlir/dialects.py": """
from types import SimpleNamespace


class Module(bytes):
    def __init__(self, artifact):
        name = SimpleNamespace(value="main")
        main = SimpleNamespace(
            attributes={"sym_name": name},
            arguments=[0],
            type=SimpleNamespace(inputs=[0], results=[0]),
        )
        self.body = SimpleNamespace(operations=[main])
        parts = {"mhlo.num_partitions": SimpleNamespace(value=8)} if b"eight" in artifact else {}
        self.operation = SimpleNamespace(attributes=parts, walk=lambda _find: None)


hlo = SimpleNamespace(deserialize_portable_artifact=lambda context, artifact: Module(artifact))
""",
    "numpy.py": "array = list\n",
}


def make_compiler(folder: Path) -> Path:
    """Create the environment and return its Python."""
    python = make_python(folder, jax="0.12.0.1", libtpu="0.0.50.1")
    packages = next(folder.glob("lib/python3*/site-packages"))
    (packages / "jax.py").unlink()
    files = {
        "jax/__init__.py": _JAX.replace("REPORT", repr(str(REPORT))),
        "jax/experimental/topologies.py": _TOPOLOGIES,
        **_PRIVATE,
    }
    for name, text in files.items():
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return python
