"""Coordinates and memory that devices report, compared with their generation's."""

import collections
import math

from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.machine import tpus
from tpustarter.probe.finding import Finding, Hint, compare

LEAST, MOST = 0.9, 1.05
"""Bounds on `bytes_limit` as a fraction of the documented memory; the runtime reserves some.

The TPU compiler leaves programs 0.935 (v2) to 1.008 (v5p) of it (`tpus.TOPOLOGIES`); people show
0.961 for a v4 (the issue above) and 0.976 for a v6e (https://github.com/vllm-project/vllm/pull/16211).
"""

FLAGS = Hint.see("env | grep -E 'LIBTPU_INIT_ARGS|XLA_|TPU_'", "shows what may limit it")

LINKS = Hint.see(
    "tpustarter check host.chips host.one_host -v", "shows chips and slice without JAX"
)


def places(devices):
    """Yield findings on the devices' coordinates: unique, and the chips fill the box they span.

    Several slices may be joined: coordinates count within the slice of the first device.
    """
    own = slice_of(devices[0])
    devices = [device for device in devices if slice_of(device) == own]
    kind = devices[0].device_kind
    if not all(hasattr(device, "core_on_chip") for device in devices):
        yield Finding("JAX-PLACE-BOX", f"coordinates of {kind}", "info", "none on this device")
        return
    seats = {label(device): (*device.coords, device.core_on_chip) for device in devices}
    times, chips = collections.Counter(seats.values()), {seat[:3] for seat in seats.values()}
    lost = {name: shared(times[seat], seat) for name, seat in seats.items()}
    yield from tally("JAX-PLACE-OWN", "devices with unique coordinates", lost, LINKS)
    sides = [max(axis) - min(axis) + 1 for axis in zip(*chips, strict=True)]
    name = f"chips in the {text(sides)} grid they span"
    yield compare("JAX-PLACE-BOX", name, len(chips), math.prod(sides), hint=LINKS)
    yield from shape(
        tpus.find_generation_by_device_kind(kind), len(devices) / len(chips), len(chips), sides
    )


def slice_of(device):
    """Return the slice that a device belongs to, where several are joined."""
    return getattr(device, "slice_index", None)


def shared(times, seat):
    """Return the number of devices that report the same place, or an empty text for one."""
    return "" if times == 1 else f"{times} devices at x, y, z, core {seat}"


def text(sides):
    """Return the sides of a box as text, such as `2x4`."""
    return "x".join(map(str, sides))


def shape(generation, per_chip, chips, sides):
    """Yield devices per chip and the shape of a slice, compared with the generation's."""
    if generation is None or generation.devices_per_chip is None:
        yield Finding("JAX-PLACE-CORES", "devices on a chip", "info", f"{per_chip:g}, no reference")
        return
    name, expected = f"devices on a {generation.title} chip", generation.devices_per_chip
    yield compare("JAX-PLACE-CORES", name, per_chip, expected, hint=LINKS)
    usual = (*(tpus.find_topology_sides(generation, chips) or ()), 1)[:3]
    verdict = "ok" if sorted(usual) == sorted(sides) else "info"
    yield Finding(
        "JAX-PLACE-SHAPE",
        f"shape of {chips} chips",
        verdict,
        text(sides),
        text(usual) if usual[1:] else None,
    )


def memory(devices):
    """Yield the memory that the devices report, which is judged if it is documented."""
    limits = {
        label(device): (device.memory_stats() or {}).get("bytes_limit", 0) for device in devices
    }
    generation, name = (
        tpus.find_generation_by_device_kind(devices[0].device_kind),
        f"memory of {devices[0].device_kind}",
    )
    if not all(limits.values()):
        yield Finding("JAX-MEMORY-LIMIT", name, "info", "unknown: no reference for this device")
        return
    sizes = {device: limit / 2**30 for device, limit in limits.items()}
    common = collections.Counter(sizes.values()).most_common(1)[0][0]
    name = "memory of most devices"
    if generation is None or generation.hbm_gib is None or generation.devices_per_chip is None:
        yield Finding("JAX-MEMORY-LIMIT", name, "info", round(common, 2), unit="GiB")
        lost = {device: unequal(size, common, common) for device, size in sizes.items()}
        yield from tally("JAX-MEMORY-ALIKE", "devices with the same memory", lost, FLAGS)
        return
    figures = [generation.hbm_gib.value, *(figure for figure, _ in generation.hbm_gib.others)]
    low, high = (
        min(figures) / generation.devices_per_chip,
        max(figures) / generation.devices_per_chip,
    )
    expected = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    yield Finding("JAX-MEMORY-LIMIT", name, "info", round(common, 2), expected, unit="GiB")
    lost = {device: unequal(size, LEAST * low, MOST * high) for device, size in sizes.items()}
    yield from tally(
        "JAX-MEMORY-SIZE", f"devices with the memory of a {generation.title}", lost, FLAGS
    )


def unequal(size, least, most):
    """Return a size in GiB that is not within bounds, or an empty text."""
    return "" if least <= size <= most else f"{size:.2f} GiB"
