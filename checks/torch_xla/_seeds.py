"""Undocumented effects on random numbers: other devices, `sync()`, and the CPU's generator.

The rule to know: an XLA device has one number as its state. Each draw changes it in the graph, and
each `torch_xla.sync()` changes it again, whether anything was drawn or not (measured with 2.9.0).
"""

import contextlib

import torch
import torch_xla
import torch_xla.core.xla_model as xm

from tpustarter.probe.finding import Finding

COUNT = 1000

EACH = "call `torch_xla.manual_seed(seed + device.index, device)` for each device if dropout"
EACH += " must differ between them"
BOTH = (
    "call `torch_xla.manual_seed(seed)` beside `torch.manual_seed(seed)`; each seeds its own side"
)
SYNC = "call `torch_xla.sync()` at the same points in both runs, as it advances the generator"
HOST = "draw on the CPU and `.to('xla')` where numbers must be the same as without XLA"


def state(device):
    """Return the state of a device's generator."""
    return xm.get_rng_state(str(device))


@contextlib.contextmanager
def kept(devices):
    """Restore the generators of every device and of torch itself afterwards."""
    before, host = [state(device) for device in devices], torch.get_rng_state()
    try:
        yield
    finally:
        for device, number in zip(devices, before, strict=True):
            xm.set_rng_state(number, str(device))
        torch.set_rng_state(host)


def surroundings(seed, drawn, draw):
    """Yield the effects of one seed on other devices, after a sync, and on the CPU."""
    device, first = next(iter(drawn.items()))
    same = sum(torch.equal(first, numbers) for numbers in drawn.values())
    hint = EACH if same > 1 else None
    yield Finding(
        "XLA-SEEDS-DEVICES", "devices with equal numbers after one seed", "info", same, hint=hint
    )

    torch_xla.manual_seed(seed, device)
    torch_xla.sync()
    moved = not torch.equal(first, draw(device))
    name, found = "`torch_xla.sync()` after seeding", "moves on" if moved else "changes nothing"
    yield Finding("XLA-SEEDS-SYNC", name, "info", found, hint=SYNC if moved else None)

    before = state(device)
    torch.manual_seed(seed)
    alone = state(device) == before
    found, hint = ("the CPU only", BOTH) if alone else ("XLA devices too", None)
    yield Finding("XLA-SEEDS-TORCH", "`torch.manual_seed` seeds", "info", found, hint=hint)
    found = "the same numbers" if torch.equal(first, torch.rand(COUNT)) else "other numbers"
    yield Finding("XLA-SEEDS-CPU", "the same seed on the CPU gives", "info", found, hint=HOST)
