"""`torch.compile` matches eager execution."""

import numpy as np
import torch
import torch._dynamo.utils

from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 300
ESTIMATE_S = 5
LESSON = "pytorch/to-torchtpu"
SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
AFTER = ["torch_tpu.accelerator_visible"]

WIDTH = 32
REPEATS = 4


def layer(x, weight):
    """Return `relu(x @ weight) - 1` for `x: float32[n, 32]`, `weight: float32[32, 32]`."""
    return torch.relu(x @ weight) - 1


def rows():
    """Return the numbers of rows of the calls: the same each time, as in a training loop."""
    return [8] * REPEATS


def compiled(function, device):
    """Compile a function: on a TPU for the TPU, elsewhere without generating any code."""
    if torch.device(device).type == "tpu":
        return torch.compile(function)
    return torch.compile(function, backend="aot_eager", dynamic=False)


def graphs():
    """Return the number of graphs that `torch.compile` has compiled in this process."""
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]  # noqa: SLF001  there is no public count


def run(device="tpu"):
    """Compare both ways on whole numbers, and count how often the compiler ran."""
    draw = np.random.default_rng(0)
    weight = torch.from_numpy(draw.integers(-4, 5, (WIDTH, WIDTH)).astype(np.float32)).to(device)
    function = compiled(layer, device)
    wrong, counts = 0, []
    for count in (*rows(), 16):
        x = torch.from_numpy(draw.integers(-4, 5, (count, WIDTH)).astype(np.float32)).to(device)
        before = graphs()
        result = function(x, weight)
        counts.append(graphs() - before)
        wrong += int((result != layer(x, weight)).sum().cpu())
    yield compare(
        code="TTPU-COMPILE-EQUAL",
        name="elements that differ from eager execution",
        found=wrong,
        expected=0,
        hint="report it to google-pytorch/torch_tpu, because whole numbers are exact in both",
    )
    yield compare("TTPU-COMPILE-FIRST", "graphs compiled by the first call", counts[0], 1,
                  hint="`TORCH_LOGS=graph_breaks` shows where the function was split")  # fmt: skip
    yield compare(
        code="TTPU-COMPILE-AGAIN",
        name=f"graphs compiled by {REPEATS - 1} more calls of one shape",
        found=sum(counts[1:-1]),
        expected=0,
        hint="`TORCH_LOGS=recompiles` shows what changed from call to call",
    )
    yield Finding("TTPU-COMPILE-SHAPE", "graphs compiled for another shape", "info", counts[-1])
