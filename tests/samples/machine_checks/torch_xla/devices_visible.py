"""The stub of PyTorch/XLA shows the devices it should."""

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "jax/is-it-really-the-tpu"
SOURCE = "https://docs.pytorch.org/xla/"
AFTER = ["host.frameworks", "host.device_nodes", "host.holder"]

from tpustarter.probe.finding import compare
from tpustarter.probe.target import target


def run():
    import torch_xla.runtime as xr

    yield compare("SAMPLE-PLATFORM", "platform", xr.device_type().lower(), target().platform)
    if target().devices is not None:
        count = xr.addressable_runtime_device_count()
        yield compare("SAMPLE-COUNT", "devices", count, target().devices)
