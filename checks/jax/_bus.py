"""Bus bandwidth of a collective, and facts about the links that it uses.

The rule to know: it is the data that must leave each device in one direction, divided by the
time: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md (read 2026-11). It
compares runs of one collective, and counts a byte once, however many links it crosses: right where
a switch connects all devices, not on ICI. On a ring of n chips with links both ways an all-to-all
takes a quarter of an all-gather of the same array, and as each device sends only 1/n as much, its
bus bandwidth is about 4/n of the all-gather's: https://jax-ml.github.io/scaling-book/sharding/
(read 2026-11).
"""

from tpustarter.machine import tpus
from tpustarter.probe.finding import Finding

MARIN = "https://github.com/marin-community/marin/issues/6736"
"""Measurements of `ppermute` on two generations by others (read 2026-11)."""

WHOLE = "the TPU compiler turns psum_scatter into a full psum here, and discards the rest"

HINTS = {
    ("ppermute", "v5e"): "in a slice of 2x4 the next device is 1 to 4 hops away",
    ("ppermute", "v5p"): f"others measured 86 GB/s on a v5p-8: {MARIN}",
    ("ppermute", "v6e"): f"others measured 86 GB/s on a v6e-8: {MARIN}",
    ("psum_small", "v5p"): f"others measured 5 us for a ppermute of a few KiB: {MARIN}",
    ("psum_small", "v6e"): f"others measured 6 us for a ppermute of a few KiB: {MARIN}",
    ("psum_scatter", "v2"): WHOLE,
    ("psum_scatter", "v3"): WHOLE,
}
"""Hints on figures. `WHOLE` was seen in programs that libtpu 0.0.50.1 compiles for these two."""

MEANS = (
    "bus bandwidth counts what leaves a device in one direction, so it is at most half of this"
    " figure, and less if links are idle (ppermute, slices without wraparound links) or bytes take"
    " several hops (all_to_all on a ring of n devices: about 4/n of all_gather)"
)
SHARED = "; {} devices share the links of a chip"
VIRTUAL = "virtual CPU devices share one memory, so these figures say nothing about links"


def factor(name, count):
    """Return the bytes that must leave each of `count` devices, as a fraction of the array's."""
    parts = {"psum": 2 * (count - 1) / count, "ppermute": 1}
    return parts.get(name, (count - 1) / count)


def gb_per_s(name, array, count, seconds):
    """Return the bus bandwidth of a collective whose argument on all devices is `array`."""
    size = array.size * array.dtype.itemsize / (1 if name == "all_gather" else count)
    return size * factor(name, count) / seconds / 1e9


def hint(name, device):
    """Return the hint on a collective's figure for such devices, or None."""
    generation = tpus.find_generation_by_device_kind(device.device_kind)
    return HINTS.get((name, generation.name)) if generation else None


def links(device, code="JAX-BUS-LINKS"):
    """Return the documented facts about the links of a device's chip."""
    generation = tpus.find_generation_by_device_kind(device.device_kind)
    if generation is None or generation.ici_gb_per_s is None:
        words = VIRTUAL if device.platform == "cpu" else None
        text = "no reference for this device"
        return Finding(code, "links of a chip, documented", "info", text, hint=words)
    devices = generation.devices_per_chip or 1
    words = MEANS + SHARED.format(devices) if devices > 1 else MEANS
    name = f"links of a {generation.title} chip, both directions, documented"
    return Finding(
        code, name, "info", generation.ici_gb_per_s.lowest_value, unit="GB/s", hint=words
    )
