"""Ordinary operations never fall back to the host."""

import torch
import torch.nn.functional as F
import torch_xla

from tpustarter.checks.torch_xla import _counters
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 1.5
LESSON = "pytorch/why-is-it-slow"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/learn/troubleshoot.html"
AFTER = ["torch_xla.devices_visible"]
REPLACE = "replace it with operations that XLA supports, or move it out of the training step"
REPORT = "`torch_xla.debug.metrics.executed_fallback_ops()` at the end of your program lists them"


def bodies(x, image, index):
    """Return common operations of models by name, for inputs such as `x: float32[4, 8, 16]`."""
    rows = x[0]
    kernel = torch.ones(4, 3, 3, 3, device=x.device)
    table = torch.ones(10, 16, device=x.device)
    ones = torch.ones(16, device=x.device)
    return {
        "matmul": lambda: x @ x.transpose(1, 2),
        "softmax": lambda: torch.softmax(x, -1),
        "layer_norm": lambda: F.layer_norm(x, (16,), ones, ones),
        "batch_norm": lambda: F.batch_norm(image, None, None, training=True),
        "embedding": lambda: F.embedding(index, table),
        "conv2d": lambda: F.conv2d(image, kernel, padding=1),
        "max_pool2d": lambda: F.max_pool2d(image, 2),
        "gelu": lambda: F.gelu(x),
        "relu": lambda: torch.relu(x),
        "attention": lambda: F.scaled_dot_product_attention(x, x, x),
        "cross_entropy": lambda: F.cross_entropy(rows, index),
        "topk": lambda: torch.topk(x, 3)[0],
        "sort": lambda: torch.sort(x)[0],
        "cumsum": lambda: torch.cumsum(x, -1),
        "where": lambda: torch.where(x > 0, x, 0),
        "gradient": lambda: torch.autograd.grad(F.gelu(x @ x.transpose(1, 2)).sum(), x)[0],
    }


def programs(devices):
    """Yield each of these operations as a program."""
    x = torch.empty((4, 8, 16), requires_grad=True)
    arguments = (x, torch.empty((2, 3, 8, 8)), torch.empty(8, dtype=torch.int64))
    for name in bodies(*arguments):
        yield name, lambda *tensors, name=name: bodies(*tensors)[name](), arguments


def run():
    """Count fallbacks of each operation, then of one that must appear in the counters."""
    device = torch_xla.device()
    x = (torch.arange(512.0).reshape(4, 8, 16) / 512).to(device).requires_grad_()
    image = (torch.arange(384.0).reshape(2, 3, 8, 8) / 384).to(device)
    index = torch.arange(8).to(device)
    lost, results = {}, []
    for name, body in bodies(x, image, index).items():
        result, counts = _counters.counted(body)  # a fallback runs, and is counted, at once
        lost[f"operation:{name}"] = _counters.fallbacks(counts)
        results.append(result)
    lost["operation:all in one step"] = _counters.fallbacks(_counters.counted(torch_xla.sync)[1])
    yield from tally("XLA-FALLBACK-NONE", "operations that stay on the device", lost, REPLACE)

    _, counts = _counters.counted(lambda: torch.nonzero(index > 5).cpu())
    text = _counters.fallbacks(counts)
    name = "what `torch.nonzero` is counted as"
    yield compare("XLA-FALLBACK-SEEN", name, text, "aten::nonzero", hint=REPORT)
    transfers = counts[_counters.FETCHED]
    name = "transfers to the host for one `torch.nonzero`"
    yield Finding("XLA-FALLBACK-COST", name, "info", transfers, hint=REPLACE)
