"""Equal seeds give equal numbers on XLA devices."""

import torch
import torch_xla
import torch_xla.core.xla_model as xm

from tpustarter.checks.torch_xla import _seeds
from tpustarter.checks.torch_xla._tally import tally

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.4
LESSON = "pytorch/first-tensors"
SOURCE = "https://docs.pytorch.org/xla/master/learn/api-guide.html"
AFTER = ["torch_xla.devices_visible"]

SEED = 1701


def draw(device):
    """Return uniform numbers made by an XLA device, on the CPU."""
    return torch.rand(_seeds.COUNT, device=device).cpu()


def seeded(seed, device):
    """Return a device's first random numbers after it was seeded."""
    torch_xla.manual_seed(seed, device)
    return draw(device)


def run():
    """Draw twice after one seed, after another seed and after a state was restored."""
    devices, again, others, back = torch_xla.devices(), {}, {}, {}
    with _seeds.kept(devices):
        drawn = {device: seeded(SEED, device) for device in devices}
        for device, numbers in drawn.items():
            entity = f"device:{device.index}"
            state = _seeds.state(device)
            following = draw(device)
            xm.set_rng_state(state, str(device))
            back[entity] = different(following, draw(device))
            again[entity] = different(numbers, seeded(SEED, device))
            alike = torch.equal(numbers, following), torch.equal(numbers, seeded(SEED + 1, device))
            others[entity] = "equal numbers" if any(alike) else ""
        yield from tally("XLA-SEEDS-AGAIN", "devices that repeat their numbers", again)
        yield from tally("XLA-SEEDS-DIFFER", "devices where draws and seeds differ", others)
        yield from tally("XLA-SEEDS-STATE", "devices that continue from a saved state", back)
        yield from _seeds.surroundings(SEED, drawn, draw)


def different(expected, actual):
    """Return an empty string if two draws are the same."""
    return "" if torch.equal(expected, actual) else "other numbers"
