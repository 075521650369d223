"""Steps of one shape compile once."""

import time

import torch
import torch_xla

from tpustarter.checks.torch_xla import _counters
from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 1.4
LESSON = "pytorch/lazy-tensors"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/perf/recompilation.html"
AFTER = ["torch_xla.devices_visible"]
PAD = "pad each batch to one of a few lengths, and set `drop_last=True` in the DataLoader"
EXPLAIN = Hint.see(
    "PT_XLA_DEBUG_LEVEL=2 python your_program.py", "shows the cause of each compilation"
)

WIDTH = 24
LONGEST = 32


def lengths():
    """Return the length of the batch in each of six steps of a training loop."""
    return [LONGEST] * 6


def step(x, weights):
    """Return the loss of one step for `x: float32[n, 24]` and `weights: float32[24, 24]`."""
    return torch.tanh(x @ weights).square().mean()


def padded(x):
    """Return `x: float32[n, w]` with rows of zeros up to the longest batch."""
    return torch.nn.functional.pad(x, (0, 0, 0, LONGEST - x.shape[0]))


def train(batches, weights):
    """Run one step for each batch, and return how many graphs each step compiled."""
    compiled = []
    for batch in batches:
        x = batch.to(weights.device)
        _counters.finish()
        _, counts = _counters.counted(lambda: (step(x, weights), torch_xla.sync()))  # noqa: B023
        compiled.append(counts[_counters.COMPILED])
    return compiled


def programs(devices):
    """Yield the step for the longest batch."""
    yield "step", step, (torch.empty((LONGEST, WIDTH)), torch.empty((WIDTH, WIDTH)))


def run():
    """Count compilations with one shape, then with a shape that changes, then with padding."""
    weights = torch.full((WIDTH, WIDTH), 0.5).to(torch_xla.device())
    first, *others = train([torch.ones(length, WIDTH) for length in lengths()], weights)
    yield Finding("XLA-COMPILE-FIRST", "graphs compiled by the first step", "info", first)
    name = "graphs compiled by the next five steps"
    yield compare("XLA-COMPILE-SAME", name, sum(others), 0, hint=EXPLAIN)

    ragged = [torch.ones(length, WIDTH) for length in range(LONGEST - 5, LONGEST)]
    compiled = sum(train([padded(batch) for batch in ragged], weights))
    name = "graphs compiled for five lengths, padded to one"
    yield compare("XLA-COMPILE-PADDED", name, compiled, 0, hint=EXPLAIN)
    started = time.perf_counter()
    compiled = sum(train(ragged, weights))
    text = f"{compiled} in {time.perf_counter() - started:.2f} s"
    name = "graphs compiled for five lengths, not padded"
    yield Finding("XLA-COMPILE-RAGGED", name, "info", text, hint=PAD)
