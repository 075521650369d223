"""A Python with a stub of JAX, which reports a TPU VM's devices without a TPU.

The stub responds as JAX would on a laid-out machine; it computes nothing.
"""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

JAX = '''"""Stands in for JAX: devices of the platform that JAX_PLATFORMS names."""
import os
from types import SimpleNamespace

__version__ = "{version}"
config = SimpleNamespace(values={{}})


def local_devices():
    platform = os.environ["JAX_PLATFORMS"].split(",")[0]
    if platform == "cpu":
        count, kind = int(os.environ["JAX_NUM_CPU_DEVICES"]), "cpu"
    else:
        count, kind = {count}, "{kind}"
    platform = "gpu" if platform == "cuda" else platform
    return [SimpleNamespace(platform=platform, device_kind=kind, id=i) for i in range(count)]


devices = local_devices
'''

TORCH = """import types

class _State:
    def numpy(self):
        return self
    def tobytes(self):
        return b"state"

get_default_dtype = lambda: "torch.float32"
get_default_device = lambda: "cpu"
get_float32_matmul_precision = lambda: "highest"
are_deterministic_algorithms_enabled = lambda: False
is_grad_enabled = lambda: True
get_rng_state = _State
"""

TORCH_XLA = {
    "__init__.py": """import os
from types import SimpleNamespace
{refusal}
_XLAC = SimpleNamespace(
    _get_use_eager_mode=lambda: False,
    _xla_runtime_is_initialized=lambda: True,
)
device = lambda: "xla:0"
""",
    "runtime.py": """import os
is_spmd = lambda: False
device_type = lambda: os.environ["PJRT_DEVICE"]
addressable_runtime_device_count = lambda: (
    int(os.environ["CPU_NUM_DEVICES"]) if device_type() == "CPU" else {count})
""",
    "core/__init__.py": "",
    "backends.py": 'get_mat_mul_precision = lambda: "default"\n',
    "core/xla_model.py": """from torch_xla import runtime
xla_device_kind = lambda device: "cpu" if runtime.device_type() == "CPU" else "{kind}"
""",
}
"""The stub of PyTorch/XLA, with devices of the platform that PJRT_DEVICE names."""

TENSORFLOW = {
    "__init__.py": """from types import SimpleNamespace

__version__ = "{version}"
_cpus = [SimpleNamespace(device_type="CPU")]


def _split(cpu, configurations):
    _cpus[:] = [cpu] * len(configurations)


def _devices(kind):
    tpus = [SimpleNamespace(device_type="TPU")] * {count} if {can_use_a_tpu} else []
    return {"TPU": tpus, "CPU": _cpus}.get(kind, [])


config = SimpleNamespace(
    experimental=SimpleNamespace(tensor_float_32_execution_enabled=lambda: True),
    functions_run_eagerly=lambda: False,
    get_soft_device_placement=lambda: True,
    optimizer=SimpleNamespace(get_jit=lambda: ""),
    set_visible_devices=lambda devices, kind: None,
    list_physical_devices=_devices,
    list_logical_devices=_devices,
    LogicalDeviceConfiguration=lambda: None,
    set_logical_device_configuration=_split,
)
""",
    "python/framework/kernels.py": """from types import SimpleNamespace
get_registered_kernels_for_op = lambda name: SimpleNamespace(kernel=[name] * {can_use_a_tpu})
""",
}
"""The stub of TensorFlow, with TPU devices if its build is tensorflow-tpu, else the CPU's."""

REFUSAL = 'raise ImportError("_XLAC.so: undefined symbol: _ZNK3c1010TensorImpl")'


def make_python(
    folder: Path,
    *,
    jax: str | None = None,
    libtpu: str | None = None,
    kind: str = "cpu",
    count: int = 1,
    gpu: bool = False,
    torch: str | None = None,
    torch_xla: str | None = None,
    tensorflow: str | None = None,
    build: str = "tensorflow",
) -> Path:
    """Create a virtual environment without pip and return its Python.

    Args:
        folder: The folder of the environment.
        jax: Version of the JAX stub; None for none.
        libtpu: Version of libtpu in its metadata; None for none.
        kind: `device_kind` of the stub's accelerator devices.
        count: Number of these devices.
        gpu: True to list JAX's NVIDIA plugin as installed.
        torch: Version of torch in its metadata; the version of `torch_xla` by default.
        torch_xla: Version of the PyTorch/XLA stub, which refuses a torch of another release.
        tensorflow: Version of the TensorFlow stub, whose metadata also lists a Keras.
        build: The name of TensorFlow's distribution, such as `tensorflow-tpu`.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / version / "site-packages"
    if jax:
        (packages / "jax.py").write_text(JAX.format(version=jax, count=count, kind=kind))
        pin = "" if not libtpu else f"Requires-Dist: libtpu=={libtpu}; extra == 'tpu'\n"
        _claim(packages, "jax", jax, pin)
        _claim(packages, "jaxlib", jax)
    if libtpu:
        _claim(packages, "libtpu", libtpu)
    if gpu:
        _claim(packages, "jax_cuda12_plugin", jax or "0")
    if torch_xla:
        torch = torch or torch_xla
        (packages / "torch.py").write_text(TORCH)
        _claim(packages, "torch", torch)
        _claim(packages, "torch_xla", torch_xla)
        refusal = "" if torch == torch_xla else REFUSAL
        for name, text in TORCH_XLA.items():
            file = packages / "torch_xla" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            told = text.replace("{refusal}", refusal).replace("{count}", str(count))
            file.write_text(told.replace("{kind}", kind))
    if tensorflow:
        _claim(packages, build.replace("-", "_"), tensorflow)
        _claim(packages, "keras", "3.15")
        on_tpu = build == "tensorflow-tpu" and kind != "cpu"
        for name, text in TENSORFLOW.items():
            file = packages / "tensorflow" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            told = text.replace("{version}", tensorflow).replace("{count}", str(count))
            file.write_text(told.replace("{can_use_a_tpu}", str(on_tpu)))
    return folder / "bin" / "python"


def _claim(packages: Path, name: str, version: str, more: str = "") -> None:
    folder = packages / f"{name}-{version}.dist-info"
    folder.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}"
    (folder / "METADATA").write_text(text)


def has_system_python() -> bool:
    """Return whether a `python3` is on the PATH of a laid-out machine."""
    return any(os.access(f"{folder}/python3", os.X_OK) for folder in ("/usr/bin", "/bin"))
