"""Two things can be wrong. Which of them would you notice only when the job is
slow?

Compare `len(devices)` with `count`, and `devices[0].platform` with
`platform`. One of them being wrong is enough to raise the error.

The condition is
`len(devices) != count or devices[0].platform != platform`.

Learned: A program that checks the platform and the number of its devices,
and names what it found, fails in its first second instead of running slowly.
"""

from dataclasses import dataclass

import jax


def require(devices, platform, count):
    """Return if the devices are as expected, raise RuntimeError if not."""
    found = f"found {len(devices)} devices of {devices[0].platform}"
    if len(devices) != count or devices[0].platform != platform:
        raise RuntimeError(f"{found}, expected {count} of {platform}")
