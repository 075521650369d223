"""Operations run immediately on the device, and are exact."""

import numpy as np
import torch

from tpustarter.probe.finding import compare

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 240
ESTIMATE_S = 0.5
LESSON = "pytorch/to-torchtpu"
SOURCE = "https://docs.pytorch.org/docs/stable/notes/extending.html"
AFTER = ["torch_tpu.accelerator_visible"]

ROWS = 16
AGAIN = "run this check again; do not trust a device that fails twice"


def product(x, y):
    """Return `x @ y` for `x, y: float32[16, 16]` of small whole numbers, exact in bfloat16."""
    return x @ y


def column_sums(x):
    """Return the sums of the columns of `x: float32[16, 16]`."""
    return x.sum(dim=0)


def add_in_place(x):
    """Add 1 to the rows 2 to 4 of `x: float32[16, 16]`, through a view of it."""
    x[2:5].add_(1)
    return x


def gradient(x):
    """Return the gradient of `sum(x * x)`, which is `2 x`."""
    x = x.detach().clone().requires_grad_()
    (x * x).sum().backward()
    return x.grad


def run(device="tpu"):
    """Compare four operations with NumPy's whole numbers, and check each result's device."""
    draw = np.random.default_rng(0)
    x, y = draw.integers(-8, 9, (2, ROWS, ROWS)).astype(np.float32)
    x_device, y_device = (torch.from_numpy(array).to(device, copy=True) for array in (x, y))
    changed = x.copy()
    changed[2:5] += 1
    rows = (
        ("PRODUCT", "matmul", product(x_device, y_device), x @ y),
        ("SUMS", "sums of columns", column_sums(x_device), x.sum(axis=0)),
        ("GRADIENT", "gradient of a sum of squares", gradient(x_device), 2 * x),
        ("VIEW", "change through a view", add_in_place(x_device), changed),
    )
    for code, name, result, expected in rows:
        wrong = int((result.cpu().numpy() != expected).sum())
        yield compare(
            code=f"TTPU-EAGER-{code}",
            name=f"{name}: wrong elements of {expected.size}",
            found=wrong,
            expected=0,
            hint=AGAIN,
        )
        yield compare(
            code="TTPU-EAGER-DEVICE",
            name=f"{name}: device of the result",
            found=result.device.type,
            expected=torch.device(device).type,
            entity=name,
            hint="report to google-pytorch/torch_tpu that this operation left the device",
        )
