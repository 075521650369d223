"""A script for the Python under test that queries a framework's versions and devices in steps.

It imports nothing from this program, and may hang or crash in any step. The start and the result of
each step are written to a file, one JSON object per line, so earlier results survive. A signal
writes the stacks of all threads to another file, even while C code is running.
"""

import contextlib
import faulthandler
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping

STACK_SIGNAL = signal.SIGUSR1
MAX_ERROR = 8_000
"""Maximum length of a traceback, of which the end is kept."""
METRICS = ("ici_link_health", "tpu_throttle_score", "hbm_capacity_usage", "hbm_capacity_total")
"""Metrics of libtpu's SDK; a host alone cannot see link health and throttling."""

OPTIONAL_STEPS = ("environment of JAX", "environment of PyTorch", "libtpu.sdk")
"""Steps that may fail although nothing is wrong; PyTorch's own, for instance, looks for pip."""

Say = Callable[[Mapping[str, object]], None]
Step = Callable[[], Mapping[str, object]]


def main(arguments: list[str]) -> int:
    """Run `framework_probe.py ANSWERS STACKS DEVICES STEP...`; DEVICES is `start` or `leave`."""
    answers, stacks, devices, *names = arguments
    # Both files stay open for the life of the process, even if it hangs or crashes.
    stream = open(answers, "a", encoding="utf-8", buffering=1)  # noqa: PTH123, SIM115
    faulthandler.register(STACK_SIGNAL, file=open(stacks, "wb", buffering=0), all_threads=True)  # noqa: PTH123, SIM115

    def say(event: Mapping[str, object]) -> None:
        stream.write(json.dumps(event, default=str) + "\n")
        stream.flush()

    say({"event": "ready", "pid": os.getpid()})
    for name in names:
        step, starts_devices = STEPS[name]
        if starts_devices and devices != "start":
            say({"event": "skipped", "step": name})
        elif not _run_step(name, step, say):
            break
    sys.stdout.flush()
    os._exit(0)  # a framework could hang while closing its devices


def _run_step(name: str, step: Step, say: Say) -> bool:
    """Run a step and write its result; return whether the next step makes sense."""
    say({"event": "begin", "step": name})
    started = time.monotonic()
    try:
        facts = step()
    except BaseException as error:  # noqa: BLE001  any exception is the step's result
        import traceback

        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        if len(text) > MAX_ERROR:  # from a whole line on, because half a secret is not recognised
            text = text[-MAX_ERROR:].partition("\n")[2]
        say({"event": "failed", "step": name, "seconds": time.monotonic() - started, "error": text})
        return name.startswith("environment")
    say({"event": "end", "step": name, "seconds": time.monotonic() - started, "facts": facts})
    return True


def _import_version(name: str) -> dict[str, object]:
    module = importlib.import_module(name)
    return {"version": str(getattr(module, "__version__", "unknown"))}


def _jax_devices() -> dict[str, object]:
    jax = importlib.import_module("jax")
    devices = jax.local_devices()
    facts: dict[str, object] = {
        "platform": devices[0].platform,
        "kind": devices[0].device_kind,
        "local": len(devices),
        "total": jax.device_count(),
        "processes": jax.process_count(),
    }
    with contextlib.suppress(Exception):
        facts["platform_version"] = str(devices[0].client.platform_version)
    with contextlib.suppress(Exception):
        facts["memory_bytes"] = devices[0].memory_stats()["bytes_limit"]
    return facts


def _jax_environment() -> dict[str, object]:
    jax = importlib.import_module("jax")
    return {"environment_info": str(jax.print_environment_info(return_string=True))}


def _jax_product() -> dict[str, object]:
    numpy = importlib.import_module("jax.numpy")
    ones = numpy.ones((128, 128))
    return {"sum_of_product": float((ones @ ones).sum())}


def _torch_xla_version() -> dict[str, object]:
    """Return the version with its commits, which identify a nightly build to the maintainers."""
    facts = _import_version("torch_xla")
    with contextlib.suppress(Exception):
        built = importlib.import_module("torch_xla.version")
        facts["commits"] = {"torch": built.__torch_gitrev__, "torch_xla": built.__xla_gitrev__}
    return facts


def _tensorflow_version() -> dict[str, object]:
    """Return the version with `tf.version.GIT_VERSION`, which TensorFlow's issue form asks for."""
    facts = _import_version("tensorflow")
    tensorflow: object = sys.modules["tensorflow"]
    with contextlib.suppress(Exception):
        facts["built_from"] = str(tensorflow.version.GIT_VERSION)
    return facts


def _tensorflow_devices() -> dict[str, object]:
    """Find this VM's TPU in the way a training program begins."""
    tensorflow = importlib.import_module("tensorflow")
    resolver = tensorflow.distribute.cluster_resolver.TPUClusterResolver("local")
    tensorflow.config.experimental_connect_to_cluster(resolver)
    tensorflow.tpu.experimental.initialize_tpu_system(resolver)
    return {"platform": "tpu", "local": len(tensorflow.config.list_logical_devices("TPU"))}


def _torch_environment() -> dict[str, object]:
    collect = importlib.import_module("torch.utils.collect_env")
    return {"environment_info": str(collect.get_pretty_env_info())}


def _torch_xla_devices() -> dict[str, object]:
    runtime = importlib.import_module("torch_xla.runtime")
    return {
        "platform": str(runtime.device_type()).lower(),
        "local": runtime.addressable_runtime_device_count(),
        "total": runtime.global_runtime_device_count(),
        "processes": runtime.process_count(),
    }


def _torch_tpu_devices() -> dict[str, object]:
    torch = importlib.import_module("torch")
    accelerator = torch.accelerator
    if not accelerator.is_available():
        return {"local": 0}
    platform = accelerator.current_accelerator().type
    return {"platform": str(platform), "local": accelerator.device_count()}


def _libtpu_metrics() -> dict[str, object]:
    metrics: dict[str, object] = {}
    try:
        monitoring = importlib.import_module("libtpu.sdk").tpumonitoring  # type: ignore[attr-defined]
    except ImportError:  # an older libtpu has none
        return {"metrics": metrics}
    for name in METRICS:
        with contextlib.suppress(Exception):
            metrics[name] = [str(value)[:80] for value in monitoring.get_metric(name).data()][:64]
    return {"metrics": metrics}


STEPS: dict[str, tuple[Step, bool]] = {
    "import jax": (lambda: _import_version("jax"), False),
    "jax.devices()": (_jax_devices, True),
    "a product in JAX": (_jax_product, True),
    "environment of JAX": (_jax_environment, True),
    "libtpu.sdk": (_libtpu_metrics, True),
    "import torch": (lambda: _import_version("torch"), False),
    "environment of PyTorch": (_torch_environment, False),
    "import torch_xla": (_torch_xla_version, False),
    "devices of torch_xla": (_torch_xla_devices, True),
    "import torch_tpu": (lambda: _import_version("torch_tpu"), False),
    "devices of torch_tpu": (_torch_tpu_devices, True),
    "import tensorflow": (_tensorflow_version, False),
    "devices of tensorflow": (_tensorflow_devices, True),
}
"""The steps by name: a function, and True if it may start devices."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
