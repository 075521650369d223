"""A seed gives the same random numbers again."""

import math

import torch

from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 240
ESTIMATE_S = 0.5
LESSON = "pytorch/to-torchtpu"
SOURCE = "https://docs.pytorch.org/docs/stable/notes/randomness.html"
AFTER = ["torch_tpu.accelerator_visible"]

COUNT = 2**16
SIGMAS = 6


def draw(seed, device):
    """Return 65536 uniform random numbers of a seed, drawn on a device."""
    torch.manual_seed(seed)
    return torch.rand(COUNT, device=device).cpu()


def kept_states(device):
    """Return a context in which seeds may change; it restores the states of all generators."""
    kind = torch.device(device).type
    return torch.random.fork_rng(devices=[] if kind == "cpu" else [0], device_type=kind)


def run(device="tpu"):
    """Draw twice with one seed and once with another; then look at range, mean and variance."""
    with kept_states(device):
        first, again, other = draw(1, device), draw(1, device), draw(2, device)
    equal = bool((first == again).all())
    yield compare("TTPU-SEEDS-SAME", "one seed draws the same numbers again", equal,
                  expected=True, hint="set the seed immediately before you draw")  # fmt: skip
    shared = int((first == other).sum())
    yield compare(
        code="TTPU-SEEDS-OTHER",
        name="another seed draws other numbers",
        found=shared < COUNT // 100,
        expected=True,
        hint=f"{shared} of {COUNT} are equal; report it to google-pytorch/torch_tpu",
    )
    inside = bool(((first >= 0) & (first < 1)).all())
    yield compare("TTPU-SEEDS-RANGE", "all lie in [0, 1)", inside, expected=True,
                  hint="report it to google-pytorch/torch_tpu")  # fmt: skip
    values = first.double()
    deviations = {
        "mean": (values.mean().item() - 1 / 2) / math.sqrt(1 / 12 / COUNT),
        "variance": (values.var().item() - 1 / 12) / math.sqrt(1 / 180 / COUNT),
    }
    for name, deviation in deviations.items():
        good = abs(deviation) < SIGMAS
        yield Finding(
            code=f"TTPU-SEEDS-{name.upper()}",
            name=f"{name} of {COUNT} numbers, off by",
            verdict="ok" if good else "fail",
            found=round(deviation, 2),
            expected=f"-{SIGMAS} to {SIGMAS}",
            unit="standard errors",
            hint=None if good else "run this check again; do not trust a device that fails twice",
        )
