"""Devices and configuration of each framework in this process.

Only this module distinguishes frameworks. None is imported before a check or lesson needs it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol

from tpustarter.machine import frameworks
from tpustarter.probe import program_store
from tpustarter.probe.events import AvailableDevices
from tpustarter.probe.target import target

_cache: program_store.CompilationCache | None = None
_programs: program_store.RunPrograms | None = None
"""The programs of a lesson, which imports JAX when it likes."""


class _LogicalDevice(Protocol):
    """A TensorFlow device."""

    device_type: str


class FrameworkAdapter(NamedTuple):
    """The functions that read the state of one framework."""

    configuration: Callable[[], Mapping[str, object]]
    """Settings that a check must leave unchanged; imports the framework."""
    devices: Callable[[], tuple[str, str, int] | None]
    """Platform, kind and number of this process's devices; None if there are none."""
    is_initialised: Callable[[], bool]
    """True if its devices have been started; starts nothing. The framework must be imported."""


def _jax_devices() -> tuple[str, str, int]:
    jax = importlib.import_module("jax")
    devices = jax.local_devices()
    return devices[0].platform, devices[0].device_kind, len(devices)


def _jax_is_initialised() -> bool:
    # JAX has no public way to query this without starting the devices.
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bool(getattr(bridge, "_backends", None))


def _torch_configuration() -> dict[str, object]:
    torch = importlib.import_module("torch")
    with warnings.catch_warnings():  # torch warns about the only function that reports this in 2.9
        warnings.simplefilter("ignore")
        precision = torch.get_float32_matmul_precision()
    return {
        "torch default dtype": str(torch.get_default_dtype()),
        "torch default device": str(torch.get_default_device()),
        "torch float32 matmul precision": precision,
        "torch deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "torch gradients": torch.is_grad_enabled(),
        "torch random state": _digest(torch.get_rng_state().numpy().tobytes()),
    }


def _digest(data: bytes) -> str:
    import hashlib  # slow to import, and only one framework needs it

    return hashlib.sha256(data).hexdigest()[:8]


def _torch_xla_configuration() -> dict[str, object]:
    torch_xla = importlib.import_module("torch_xla")
    runtime = importlib.import_module("torch_xla.runtime")
    backends = importlib.import_module("torch_xla.backends")
    eager = torch_xla._XLAC._get_use_eager_mode()  # noqa: SLF001  no public getter in 2.9
    return {
        **_torch_configuration(),
        "torch_xla matmul precision": backends.get_mat_mul_precision(),
        "torch_xla eager mode": eager,
        "torch_xla SPMD": runtime.is_spmd(),
    }


def _torch_xla_devices() -> tuple[str, str, int]:
    torch_xla = importlib.import_module("torch_xla")
    model = importlib.import_module("torch_xla.core.xla_model")
    runtime = importlib.import_module("torch_xla.runtime")
    # With SPMD, `torch_xla.devices()` has only one, virtual device.
    count = runtime.addressable_runtime_device_count()
    platform = str(runtime.device_type()).lower()
    try:
        kind = model.xla_device_kind(str(torch_xla.device()))
    except RuntimeError:  # the virtual device has no kind in 2.9, and nothing reports the others'
        kind = target().generation or platform
    return platform, kind, count


def _torch_xla_is_initialised() -> bool:
    # It is missing while torch_xla is being imported.
    extension: ModuleType | None = getattr(sys.modules["torch_xla"], "_XLAC", None)
    return bool(extension and extension._xla_runtime_is_initialized())  # noqa: SLF001


def _torch_tpu_configuration() -> dict[str, object]:
    configuration = _torch_configuration()  # `import torch` loads the backend
    importlib.import_module("torch_tpu")
    return configuration


def _torch_tpu_devices() -> tuple[str, str, int] | None:
    torch = importlib.import_module("torch")
    accelerator = torch.accelerator
    if not accelerator.is_available() or accelerator.current_accelerator().type != "tpu":
        return None
    return "tpu", str(torch.tpu.get_device_name(0)), accelerator.device_count()


def _torch_tpu_is_initialised() -> bool:
    backend: ModuleType | None = getattr(sys.modules.get("torch"), "tpu", None)
    return bool(backend and backend.is_initialized())


def _tensorflow_configuration() -> dict[str, object]:
    tensorflow = importlib.import_module("tensorflow")
    _make_logical_devices(tensorflow)
    experimental = tensorflow.config.experimental
    return {
        "tensorflow TF32": experimental.tensor_float_32_execution_enabled(),
        "tensorflow eager functions": tensorflow.config.functions_run_eagerly(),
        "tensorflow soft placement": tensorflow.config.get_soft_device_placement(),
        "tensorflow jit": tensorflow.config.optimizer.get_jit(),
        **(_keras_configuration() if "keras" in sys.modules else {}),
    }


def _make_logical_devices(tensorflow: ModuleType) -> None:
    # No environment variable sets the number of TensorFlow's CPU devices.
    count = target().devices
    if target().platform != "cpu" or not count or _tensorflow_is_initialised():
        return
    config = tensorflow.config
    config.set_visible_devices([], "GPU")
    cpu = config.list_physical_devices("CPU")[0]
    config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * count)
    # When a strategy's iterators close, TensorFlow 2.20 wakes a thread of each and only then marks
    # it as cancelled. A thread that runs immediately goes back to sleep, each for twice as long as
    # the one before: 81 s were measured for 8 devices. Threads with this policy do not run
    # immediately.
    with contextlib.suppress(AttributeError, OSError):  # on Linux, unless it is forbidden
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _tensorflow_devices() -> tuple[str, str, int]:
    config = importlib.import_module("tensorflow").config
    # A TPU's devices exist once a check has initialised it. Without a TPU, TensorFlow computes on
    # the CPU of any machine, so its CPU devices are returned.
    found: list[_LogicalDevice] = next(
        (
            devices
            for kind in ("TPU", "GPU", "CPU")
            if (devices := config.list_logical_devices(kind))
        ),
    )
    if found[0].device_type == "CPU":  # a program may be connected to other processes' CPUs
        found = [device for device in found if "/job:" not in getattr(device, "name", "")]
    platform = found[0].device_type.lower()
    kind = target().generation if platform == "tpu" else None
    return platform, kind or platform, len(found)


def _tensorflow_is_initialised() -> bool:
    # `list_logical_devices` would start them, and there is no other public way to query this.
    module = sys.modules.get("tensorflow.python.eager.context")
    return bool(getattr(getattr(module, "_context", None), "_initialized", False))


def _keras_configuration() -> dict[str, object]:
    keras = importlib.import_module("keras")
    found: dict[str, object] = {
        "keras backend": keras.config.backend(),
        "keras float type": keras.config.floatx(),
        "keras dtype policy": keras.config.dtype_policy().name,
        "keras image format": keras.config.image_data_format(),
        "keras distribution": str(keras.distribution.distribution()),
    }
    jax = sys.modules.get("jax")
    return {**found, **jax.config.values} if jax else found


def _keras_devices() -> tuple[str, str, int] | None:
    keras = importlib.import_module("keras")
    ask = {"jax": _jax_devices, "tensorflow": _tensorflow_devices}.get(keras.config.backend())
    return ask() if ask else None


ADAPTERS = {
    "jax": FrameworkAdapter(
        lambda: importlib.import_module("jax").config.values, _jax_devices, _jax_is_initialised
    ),
    "torch_xla": FrameworkAdapter(
        _torch_xla_configuration, _torch_xla_devices, _torch_xla_is_initialised
    ),
    "torch_tpu": FrameworkAdapter(
        _torch_tpu_configuration, _torch_tpu_devices, _torch_tpu_is_initialised
    ),
    "tensorflow": FrameworkAdapter(
        _tensorflow_configuration, _tensorflow_devices, _tensorflow_is_initialised
    ),
    "keras": FrameworkAdapter(_keras_configuration, _keras_devices, _jax_is_initialised),
}
"""Adapters by the framework's import name."""


def read_configuration(framework: str) -> dict[str, object]:
    """Import a framework, and return the settings that a check must leave unchanged."""
    values: dict[str, object] = {}
    if framework in ADAPTERS:
        values.update(ADAPTERS[framework].configuration())
    elif framework != "host":
        importlib.import_module(framework)
    for name, value in os.environ.items():
        if not name.startswith(frameworks.RUNTIME_VARIABLES):
            values[f"${name}"] = hash(value)  # compared, never shown: it may be a secret
    values["working directory"] = os.getcwd()  # noqa: PTH109
    return values


def use_program_store(framework: str, root: str | None) -> program_store.CompilationCache | None:
    """Let a framework load programs from a store, or compile each of them if `root` is None.

    Returns the cache in use; None if the framework or the user's settings allow none.
    """
    global _cache  # noqa: PLW0603  JAX has one cache per process
    if framework != "jax" or (root is None and _cache is None):
        return None
    if _cache is None and root is not None:
        if not importlib.import_module("jax").config.values.get(program_store.ENABLED):
            return None
        _cache = program_store.CompilationCache(Path(root))
    if _cache is not None:
        _cache.enable(enabled=root is not None)
    return _cache


def load_lesson_programs(root: str, lesson: str) -> None:
    """Let JAX load a lesson's programs from a store, once in a process; JAX is not imported."""
    global _programs  # noqa: PLW0603  a process runs one lesson
    if _programs is None:
        _programs = program_store.RunPrograms(Path(root), lesson)
        _programs.count_loads()


def take_loaded_count() -> int:
    """Return the number of a lesson's programs loaded from the store since the last call."""
    return _programs.take_count() if _programs is not None else 0


def remove_interrupted_program() -> None:
    """Remove the program of a lesson that JAX may be writing right now, as it will not go on."""
    if _programs is not None:
        _programs.remove_newest()


def store_programs() -> None:
    """Store the programs that this process has compiled."""
    for programs in (_cache, _programs):
        if programs is not None:
            programs.store()


def prepare_devices(framework: str | None) -> None:
    """Create the devices for a lesson that its framework does not create by itself.

    Called before each block. If the framework is missing, the block's own import fails.
    """
    if framework == "tensorflow" and target().virtual:
        with contextlib.suppress(ImportError):
            _make_logical_devices(importlib.import_module("tensorflow"))


def explain_import_failure(framework: str, error: ImportError) -> str | None:
    """Return the reason why a framework could not be imported, or None if the error is clear."""
    symbol = re.search(r"undefined symbol: (\w+)", str(error))
    if framework != "torch_xla" or not symbol:
        return None
    installed = frameworks.read_versions()["frameworks"]
    torch, torch_xla = (installed.get(name, "of no known version") for name in ("torch", framework))
    return (
        f"torch {torch} and torch_xla {torch_xla} were not built for each other: torch lacks "
        f"{symbol[1]}; `tpustarter check host.frameworks` says which versions fit"
    )


def read_devices(framework: str) -> AvailableDevices | None:
    """Return the devices that a check could use, or None if there are none, as for the host."""
    found = ADAPTERS[framework].devices() if framework in ADAPTERS else None
    if found is None:
        return None
    platform, kind, count = found
    virtual = target().virtual and platform == "cpu"
    return {"platform": platform, "kind": kind, "count": count, "virtual": virtual}


def count_hosts() -> int:
    """Return the number of hosts in this run, or of processes that JAX has joined."""
    jax = sys.modules.get("jax")
    if jax and jax.distributed.is_initialized():  # process_count() would start its devices
        return jax.process_count()
    return target().hosts


def count_slices() -> int:
    """Return the number of slices of JAX's devices, or 1 if they have no slice index."""
    jax = sys.modules.get("jax")
    return len({getattr(device, "slice_index", 0) for device in jax.devices()}) if jax else 1


def read_started_devices() -> AvailableDevices | None:
    """Return the devices of the first framework that has started them in this process, or None."""
    for name, adapter in ADAPTERS.items():
        if name in sys.modules and adapter.is_initialised():
            return read_devices(name)
    return None
