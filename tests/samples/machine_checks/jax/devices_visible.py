"""The stub of JAX shows the devices it should."""

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "jax/is-it-really-the-tpu"
SOURCE = "https://docs.jax.dev/en/latest/"
AFTER = ["host.frameworks", "host.device_nodes", "host.holder"]

from tpustarter.probe.finding import compare
from tpustarter.probe.target import target


def add_one(x):
    return x + 1


def programs(devices):
    import jax

    here = jax.sharding.SingleDeviceSharding(devices[0])
    yield "add_one", add_one, (jax.ShapeDtypeStruct((8,), "float32", sharding=here),)


def run():
    import jax

    devices = jax.local_devices()
    yield compare("SAMPLE-PLATFORM", "platform", devices[0].platform, target().platform)
    if target().devices is not None:
        yield compare("SAMPLE-COUNT", "devices", len(devices), target().devices)
