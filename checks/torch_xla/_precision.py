"""Matrix products of XLA tensors at a precision, and findings about how exact they are.

The classes of error, their bounds and the operands are those of the JAX checks, in plain NumPy.
The rule to know: the setting of `torch_xla.backends` belongs to the process, and it counts when a
graph is compiled, not when an operation is written. So every product here is a graph of its own.
"""

import contextlib
import os

import torch
import torch_xla
from torch_xla import backends

from tpustarter.checks.jax import _precision as jax_precision
from tpustarter.checks.jax._precision import CLASSES, SUM_ERROR, worse
from tpustarter.probe.finding import Finding, Hint

NAMES = ("default", "high", "highest")

DOCUMENTED = {
    platform: dict(zip(NAMES, kinds, strict=True))
    for platform, kinds in jax_precision.DOCUMENTED.items()
}
"""The meaning of each precision, by platform. Source, for TPUs:
https://docs.pytorch.org/xla/master/tutorials/precision_tutorial.html"""

AGAIN = (
    "run `env -u XLA_FLAGS -u LIBTPU_INIT_ARGS tpustarter check torch_xla.matmul_precision"
    " --isolate`"
)
AGAIN += " to test without compiler flags; do not trust a device that fails twice"
WHO = Hint.see("env | grep -E 'XLA_FLAGS|LIBTPU_INIT'", "shows what requests it")
HALVES = ("XLA_USE_BF16", "XLA_DOWNCAST_BF16")
UNSET = Hint.run(
    "unset {}", ", because it stores float32 as bfloat16 without changing `tensor.dtype`"
)
TEACH = {
    "one bfloat16 pass": "`torch_xla.backends.set_mat_mul_precision('highest')`, before the first"
    " matmul, gives float32 accuracy but is slower",
    "float32": "on a TPU the default is off by about 2e-03: `tpustarter learn pytorch/precision`",
}
"""Hints on the arithmetic of code without an explicit precision."""


@contextlib.contextmanager
def setting(name):
    """Compile pending graphs, then compile graphs at a precision until the context ends."""
    torch_xla.sync()
    before = backends.get_mat_mul_precision()
    backends.set_mat_mul_precision(name)
    try:
        yield
    finally:
        torch_xla.sync()
        backends.set_mat_mul_precision(before)


def on_device(pair, device):
    """Return two NumPy matrices as XLA tensors."""
    return tuple(torch.from_numpy(operand).to(device) for operand in pair)


def judge(name, kind, documented):
    """Return a finding that fails if arithmetic is coarser than documented."""
    code, what = f"XLA-PRECISION-{name.upper()}", f"arithmetic, {name} precision"
    if kind == documented:
        return Finding(code, what, "ok", kind, documented)
    halves = [variable for variable in HALVES if os.environ.get(variable, "0") != "0"]
    if halves and kind != "wrong numbers":
        return Finding(code, what, "warn", kind, documented, hint=UNSET.format(" ".join(halves)))
    if worse(kind, documented):
        return Finding(code, what, "fail", kind, documented, hint=AGAIN)
    return Finding(code, what, "info", kind, documented, hint=WHO)


def measure(name, kind, error):
    """Return the error of a dense product, which fails if its arithmetic does not explain it."""
    code, what = f"XLA-PRECISION-{name.upper()}-ERROR", f"relative error, {name} precision"
    value, limit = float(f"{error:.2g}"), CLASSES[kind] + SUM_ERROR
    if error <= limit:
        hint = TEACH.get(kind) if name == "default" else None
        return Finding(code, what, "info", value, hint=hint)
    return Finding(code, what, "fail", value, f"at most {limit:.1e}", hint=AGAIN)
