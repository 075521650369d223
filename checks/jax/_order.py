"""The order of hosts and devices, compared with the place of each in the grid of chips."""

import os

from tpustarter.checks.jax import _hosts, _slices, _torus
from tpustarter.probe.finding import Finding, Hint, compare

AXES = "xyz"

BOUNDS = Hint.see("env | grep -E 'TPU_|CLOUD_TPU'", "shows on each host its number and its chips")
SORTED = (
    "start each process with the number of its host (TPU_WORKER_ID), and call"
    " jax.distributed.initialize() without arguments where it finds the hosts by itself"
)


def together(devices):
    """Yield findings on contiguity: the devices of each host, and the order of the hosts.

    JAX's `multihost_utils` assumes both.
    """
    numbers = [device.process_index for device in devices]
    changes = [one for one, before in zip(numbers, [None, *numbers], strict=False) if one != before]
    lost = {
        _hosts.label(host): "" if changes.count(host) == 1 else f"in {changes.count(host)} places"
        for host in sorted(set(numbers))
    }
    name = "hosts whose devices are contiguous"
    yield from _hosts.tally("SLICE-ORDER-TOGETHER", name, lost, BOUNDS)
    found, expected = brief(dict.fromkeys(changes)), brief(sorted(set(numbers)))
    yield compare("SLICE-ORDER-HOSTS", "order of hosts", found, expected, hint=SORTED)


def brief(numbers):
    """Return whole numbers as text, the first ones of many."""
    numbers = list(map(str, numbers))
    return ", ".join(numbers[:8]) + ", ..." * (len(numbers) > 8)


def blocks(devices):
    """Yield findings on boxes: the chips of each host fill one, and the boxes follow in order."""
    chips = {
        host: sorted({tuple(device.coords) for device in own})
        for host, own in _slices.hosts(devices).items()
    }
    lost = {
        _hosts.label(host): "" if _torus.is_box(own) else f"chips at {brief(own)}"
        for host, own in chips.items()
    }
    name = "hosts whose chips fill a box"
    yield from _hosts.tally("SLICE-ORDER-BOX", name, lost, BOUNDS)
    corners = [min(own)[::-1] for own in chips.values()]  # z, y, x: along x first
    verdict = "ok" if corners == sorted(corners) else "info"
    text = brief(f"({','.join(map(str, corner[::-1]))})" for corner in corners)
    name = "first chips of the hosts, along x, y and z"
    yield Finding("SLICE-ORDER-GRID", name, verdict, text)


def wraparound(devices, order):
    """Yield the axes that are rings, and the links from each device to the next."""
    lengths = _torus.sides(devices)
    joined = _torus.rings(devices[0].device_kind, lengths)
    shape = "x".join(map(str, lengths))
    name = f"axes of {shape} chips with wraparound links"
    announced = os.environ.get("TPU_TOPOLOGY_WRAP", "").lower().split(",")
    told = [word.strip() == "true" for word in announced][: len(lengths)]
    if joined is None:
        yield Finding("SLICE-ORDER-WRAP", name, "info", "unknown: no document says it")
        return
    if any(announced):
        told += [False] * (len(lengths) - len(told))
        verdict = "ok" if told == joined else "warn"
        hint = "collectives are slower than planned along an axis without them"
        found, documented = axes(told), axes(joined)
        hint = None if verdict == "ok" else hint
        yield Finding("SLICE-ORDER-WRAP", name, verdict, found, documented, hint=hint)
    else:
        yield Finding("SLICE-ORDER-WRAP", name, "info", axes(joined))
    for code, title, row in (
        ("LISTED", "jax.devices()", devices),
        ("MESH", "the mesh of jax.make_mesh", order),
    ):
        most = _torus.longest(row, lengths, joined)
        name = f"most links to the next device in {title}"
        yield Finding(f"SLICE-ORDER-HOPS-{code}", name, "info", most)


def axes(joined):
    """Return the names of those axes that are rings."""
    return ", ".join(axis for axis, ring in zip(AXES, joined, strict=False) if ring) or "none"
