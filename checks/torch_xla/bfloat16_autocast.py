"""Autocast multiplies in bfloat16 and keeps float32 weights."""

import torch
import torch_xla

from tpustarter.checks.jax import _precision as classes
from tpustarter.checks.torch_xla import _autocast, _graph
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.8
LESSON = "pytorch/precision"
SOURCE = "https://docs.pytorch.org/xla/master/perf/amp.html"
AFTER = ["torch_xla.devices_visible"]

UPDATE = "update torch_xla, or cast explicitly with `x.to(torch.bfloat16)` where it helps"
CAST = "`x.float()` before the operation keeps it in float32 in any version"
OUTSIDE = "leave `torch.autocast` before `loss.backward()`, because it is on if a product is bf16"
ERROR = Hint.see("tpustarter check torch_xla.matmul_precision", "tests products without autocast")


def autocast():
    """Return the context in which operations choose their own precision."""
    return torch.autocast("xla", dtype=torch.bfloat16)


def multiply(x, y):
    """Return `x @ y` in the type that autocast chooses."""
    with autocast():
        return x @ y


def programs(devices):
    """List the product under autocast."""
    x = torch.empty((512, 512))
    yield "product", multiply, (x, x)


def run():
    """Check the dtypes of documented operations, the graph and the error of a product."""
    device = torch_xla.devices()[0]
    with autocast():
        halves, floats = _autocast.halves(device), _autocast.floats(device)
        widest = _autocast.widest(device)
    expected = "torch.bfloat16"
    lost = {f"op:{name}": _autocast.other(result, expected) for name, result in halves.items()}
    yield from tally("XLA-AUTOCAST-BFLOAT16", "operations that run in bfloat16", lost, UPDATE)
    expected = "torch.float32"
    lost = {f"op:{name}": _autocast.other(result, expected) for name, result in floats.items()}
    yield from tally("XLA-AUTOCAST-FLOAT32", "operations that stay in float32", lost, CAST)
    lost = {f"op:{name}": _autocast.other(result, expected) for name, result in widest.items()}
    yield from tally("XLA-AUTOCAST-WIDEST", "operations in the widest type", lost, CAST)
    yield from product(device)
    for name, dtype in _autocast.step(device, autocast).items():
        code, found = f"XLA-AUTOCAST-{name.upper()}", str(dtype).removeprefix("torch.")
        yield compare(code, f"{name} of a layer", found, "float32", hint=CAST)


def product(device):
    """Yield the types of a product in the graph, inside and outside, and how exact it is."""
    pair = classes.scattered()
    x, y = (torch.from_numpy(operand).to(device) for operand in pair)
    torch_xla.sync()
    result = multiply(x, y)
    types = _autocast.dot_types(_graph.dots(result))
    yield compare("XLA-AUTOCAST-HLO", "product in the HLO", types, "bf16, bf16", hint=UPDATE)
    types = _autocast.dot_types(_graph.dots(torch.matmul(x, y)))
    yield compare("XLA-AUTOCAST-AFTER", "product after autocast", types, "f32, f32", hint=OUTSIDE)
    error = classes.relative_error(result.float().cpu().numpy(), pair)
    kind, expected = classes.classify(error), "one bfloat16 pass"
    code, name = "XLA-AUTOCAST-ARITHMETIC", "arithmetic of that product"
    yield compare(code, name, kind, expected, hint=ERROR)
    value = float(f"{error:.2g}")
    yield Finding("XLA-AUTOCAST-ERROR", "relative error of that product", "info", value)
