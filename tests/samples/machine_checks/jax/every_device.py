"""Every device of the stub answers."""

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"devices": 2}
TIMEOUT_S = 60
LESSON = "jax/every-device"
SOURCE = "https://docs.jax.dev/en/latest/"
AFTER = ["jax.devices_visible"]

from tpustarter.probe.finding import Finding


def run():
    import jax

    yield Finding("SAMPLE-DEVICES", "devices", "ok", len(jax.local_devices()))
