"""The devices that each host lists, compared with the other hosts' lists.

The rule to know: programs identify devices by their position in the list, so hosts with different
lists run different programs and wait for each other.
"""

import json

from tpustarter.checks.jax import _hosts, _slices
from tpustarter.probe.finding import Hint

LEFT = "end what an earlier attempt left running on every host, then start the program on all again"
LIMITS = Hint.see("env | grep -E 'TPU_|JAX_|XLA_FLAGS'", "shows on that host what limits devices")


def row(device):
    """Return a text that is unique to a device: its number, host, kind and coordinates."""
    return (
        f"{device.id} {device.process_index} {device.device_kind} {getattr(device, 'coords', '')}"
    )


def listed(devices):
    """Return this host's list of its own devices, and of all, as text."""
    rows = {"own": list(map(row, _slices.own(devices))), "all": list(map(row, devices))}
    return json.dumps(rows)


def compared(answers):
    """Yield findings on each host's list, and return whether all lists are the same."""
    found = [json.loads(text) if text else None for text in answers]
    lost = _hosts.differences([one and f"{len(one['own'])} devices" for one in found])
    yield from _hosts.tally("SLICE-DEVICES-EVEN", "hosts with as many devices", lost, LIMITS)
    if not any(lost.values()):
        sizes = [(len(one["own"]), len(one["all"])) for one in found if one]
        total = sum(own for own, _ in sizes)
        lost = {host: unlike(every, total) for host, (_, every) in zip(lost, sizes, strict=True)}
        yield from _hosts.tally("SLICE-DEVICES-ALL", "hosts that see every device", lost, LEFT)
    answers = [one and "; ".join(one["all"]) for one in found]
    lost = _hosts.differences(answers, "; ")
    yield from _hosts.tally("SLICE-DEVICES-LIST", "hosts with the same list", lost, LEFT)
    return not any(lost.values())


def unlike(count, total):
    """Return the number of devices that a host sees, if all hosts together have more or fewer."""
    return "" if count == total else f"{count} devices, and all hosts together have {total}"
