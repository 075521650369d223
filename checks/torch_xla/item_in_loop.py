"""A training loop fetches its loss only when it logs."""

import torch_xla

from tpustarter.checks.torch_xla import _counters, _training
from tpustarter.checks.torch_xla._tally import AGAIN
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 1.3
LESSON = "pytorch/why-is-it-slow"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/learn/troubleshoot.html"
AFTER = ["torch_xla.devices_visible"]
KEEP = "keep the loss on the device, and call `.item()` only in the steps that you log"

STEPS = 12
LOG_EVERY = 6


def log_of(losses):
    """Return the loss as a Python number if the last step is logged."""
    return losses[-1].item() if len(losses) % LOG_EVERY == 0 else None


def log_each_step(losses):
    """Return the loss of every step as a Python number, as many programs do."""
    return losses[-1].item()


def train(log, device):
    """Train for twelve steps, pass the losses so far to `log` after each, and return the losses."""
    model, optimizer = _training.fresh(device)
    x, y = (part.to(device) for part in _training.batch())
    losses = []
    for _ in range(STEPS):
        losses.append(_training.step(model, optimizer, x, y))
        log(losses)
        torch_xla.sync()
    return losses


def run():
    """Count transfers and executions of the loop, then of one that logs each step."""
    device = torch_xla.device()
    _counters.finish()
    losses, counts = _counters.counted(lambda: train(log_of, device))
    name = f"transfers to the host in {STEPS} steps that log {STEPS // LOG_EVERY}"
    expected = STEPS // LOG_EVERY
    yield compare("XLA-ITEM-LOOP", name, counts[_counters.FETCHED], expected, hint=KEEP)
    first, last = (round(losses[step].item(), 2) for step in (0, -1))
    name, text = f"loss of the first and the last of {STEPS} steps", f"{first}, then {last}"
    verdict, hint = ("ok", None) if last < first else ("fail", AGAIN)
    yield Finding("XLA-ITEM-FALLS", name, verdict, text, hint=hint)
    executed = counts[_counters.EXECUTED]
    _, counts = _counters.counted(lambda: train(log_each_step, device))
    name = f"transfers with `.item()` in each of {STEPS} steps"
    text = f"{counts[_counters.FETCHED]} transfers, {counts[_counters.EXECUTED]} executions"
    yield Finding("XLA-ITEM-EACH", name, "info", text, hint=KEEP)
    yield Finding("XLA-ITEM-EXECUTED", "executions without it", "info", executed)
