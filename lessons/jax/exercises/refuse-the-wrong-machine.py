"""Refuse the wrong machine in the first second.

`require` gets the devices of a machine, as `jax.devices()` returns them:
at least one, and all of the same platform. It must return quietly where
there are exactly `count` of them and the platform is `platform`. Otherwise
it must raise `RuntimeError`, with a message that says what was found, the
number and the platform. As it stands, it accepts every machine.
"""

from dataclasses import dataclass

import jax


def require(devices, platform, count):
    """Return if the devices are as expected, raise RuntimeError if not."""
    found = f"found {len(devices)} devices of {devices[0].platform}"
    if not devices:  # your code here
        raise RuntimeError(f"{found}, expected {count} of {platform}")


# Judged below: leave this part as it is.


@dataclass(frozen=True)
class Device:
    """Stand for a device of a machine that is not here."""

    platform: str


def machine(platform, count):
    """Return the devices of a machine that is not here."""
    return [Device(platform)] * count


def reason(devices, platform, count):
    """Return the message of the error, or None where none was raised."""
    try:
        require(devices, platform, count)
    except RuntimeError as error:
        return str(error)
    return None


here = jax.devices()
fitting = {
    "this machine": (here, here[0].platform, len(here)),
    "8 TPU devices": (machine("tpu", 8), "tpu", 8),
    "1 GPU": (machine("gpu", 1), "gpu", 1),
}
for name, arguments in fitting.items():
    found = reason(*arguments)
    assert found is None, f"{name}: raised {found!r}, expected no error"

wrong = {
    "a laptop's CPU": machine("cpu", 1),
    "8 virtual CPU devices": machine("cpu", 8),
    "4 of 8 TPU devices": machine("tpu", 4),
    "16 TPU devices": machine("tpu", 16),
    "8 GPUs": machine("gpu", 8),
}
for name, devices in wrong.items():
    found = reason(devices, "tpu", 8)
    case = f"{name}, where 8 of tpu were required"
    assert found is not None, f"{case}: no error, expected RuntimeError"
    words = (str(len(devices)), devices[0].platform)
    missing = ", ".join(word for word in words if word not in found)
    message = f"{case}: the message {found!r} lacks {missing}"
    assert not missing, f"{message}, expected it to say what was found"
print(f"{len(fitting)} machines accepted, {len(wrong)} refused by name")
