"""64-bit types reach the device as 64-bit types."""

import os

import torch
import torch_xla

from tpustarter.checks.torch_xla import _graph
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Finding, Hint
from tpustarter.probe.target import target

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "pytorch/precision"
SOURCE = "https://github.com/pytorch/xla/blob/master/torch_xla/csrc/dtype.cpp"
AFTER = ["torch_xla.devices_visible"]

TYPES = {"int64": "s64", "float64": "f64", "uint64": "u64", "complex128": "c128"}
"""Types of PyTorch, and what XLA calls them."""

VARIABLES = ("XLA_USE_32BIT_LONG", "XLA_USE_BF16", "XLA_DOWNCAST_BF16")
UNSET = Hint.run("unset {}", ", because it narrows tensors without changing `tensor.dtype`")
WIDE = "use `x.to(torch.float32)` or `x.to(torch.int32)`, because a TPU emulates 64 bits"
AGAIN = Hint.see("tpustarter check torch_xla.narrowing --isolate -v", "tests it by itself again")
FITS = "`x.clamp(-2**31, 2**31 - 128)` before `.to(torch.int32)` gives the same result everywhere"

INTEGERS = (2**62, -(2**63), 2**53 + 1, 2**40 + 7, -1)
FLOATS = (1 / 3, 1 + 2**-52, 1e300, -1e-300)


def to_xla(tensor, device):
    """Return a CPU tensor on an XLA device."""
    return tensor.to(device)


def run():
    """Look at the types in the graph, then at numbers that 32 bits cannot hold."""
    device = torch_xla.devices()[0]
    names = [name for name in VARIABLES if os.environ.get(name, "0") != "0"]
    hint, verdict = (UNSET.format(" ".join(names)), "warn") if names else (None, "ok")
    found = ", ".join(names) or "none"
    yield Finding("XLA-NARROWING-SET", "variables that narrow", verdict, found, hint=hint)
    lost = {} if names else {f"dtype:{name}": narrowed(name, device) for name in TYPES}
    yield from tally("XLA-NARROWING-HLO", "dtypes as wide in the HLO as in torch", lost, AGAIN)
    yield exact("INT64", torch.tensor(INTEGERS), 1, device)
    yield exact("FLOAT64", torch.tensor(FLOATS, dtype=torch.float64), 3, device)
    yield from limits(device)


def narrowed(name, device):
    """Return a 64-bit tensor's device types if they differ from its name, else an empty string."""
    kind = getattr(torch, name)
    tensor = to_xla(torch.ones(3, dtype=kind), device)
    torch_xla.sync()
    actual = [str(tensor.dtype), *_graph.input_types(tensor.clone())]
    return "" if actual == [str(kind), TYPES[name]] else ", ".join(actual)


def exact(name, numbers, factor, device):
    """Return a finding on the 64-bit products that are the same on the device as on the CPU."""
    actual, expected = (to_xla(numbers, device) * factor).cpu(), numbers * factor
    count, title = int((actual == expected).sum()), f"{name.lower()} products as on the CPU"
    code, verdict, hint = f"XLA-NARROWING-{name}", "ok", None
    if count < len(numbers):  # no document says how exactly a TPU holds 64 bits
        verdict, hint = ("warn", WIDE) if target().platform == "tpu" else ("fail", AGAIN)
    return Finding(code, title, verdict, count, len(numbers), hint=hint)


def limits(device):
    """Yield the results past the end of int32, which no document specifies."""
    last = to_xla(torch.tensor([2**31 - 1], dtype=torch.int32), device) + 1
    yield Finding("XLA-NARROWING-END", "int32 2**31 - 1 plus 1", "info", int(last.cpu()))
    large = torch.tensor([3e9])
    actual, host = int(to_xla(large, device).to(torch.int32).cpu()), int(large.to(torch.int32))
    found, hint = f"{actual} on XLA, {host} on the CPU", FITS if actual != host else None
    yield Finding("XLA-NARROWING-FLOAT", "float32 3e9 as int32", "info", found, hint=hint)
