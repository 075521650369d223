"""A small user program that prints, as JSON, the effects of PyTorch/XLA's debug variables.

The rule to know: it runs in its own process, because the variables must be set before torch_xla is
imported, and imports nothing from this project.
"""

import json

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch_xla.debug import metrics


def executions():
    """Return the number of programs that the device has executed so far."""
    xm.wait_device_ops()
    return (metrics.metric_data("ExecuteTime") or [0])[0]


def hlo_type(tensor):
    """Return the type of a pending tensor in its graph, such as `f32`."""
    text = torch_xla._XLAC._get_xla_tensors_hlo([tensor])  # noqa: SLF001  as its guide does
    return text.partition("->(")[2].partition("[")[0]


def main():
    """Compute a little of everything that a variable may change."""
    facts, device = {}, torch_xla.device()
    x, whole = torch.ones(2, 3).to(device), torch.ones(4, dtype=torch.int64).to(device)
    y, sums = x * 3 + 1, whole + whole
    facts["float"] = f"{hlo_type(y)} in the HLO, {str(y.dtype).removeprefix('torch.')} in dtype"
    facts["long"] = (
        f"{hlo_type(sums)} in the HLO, {str(sums.dtype).removeprefix('torch.')} in dtype"
    )
    graph = torch_xla._XLAC._get_xla_tensors_text([y])  # noqa: SLF001  as its guide does
    facts["lines in the graph"] = "location=" in graph
    hlo = torch_xla._XLAC._get_xla_tensors_hlo([y])  # noqa: SLF001  as its guide does
    facts["lines in the HLO"] = "source_line=" in hlo
    facts["third"] = torch.full((1,), 1 / 3).to(device).cpu().item()
    facts["large"] = torch.full((1,), 2**40 + 7).to(device).cpu().item()

    del y, sums
    torch_xla.sync()
    before = executions()
    pending = (x + 1) * 2 - x
    facts["executions before the sync"] = executions() - before
    torch_xla.sync()
    facts["executions by the sync"] = executions() - before
    del pending
    before = executions()
    ((x + 1) * 3 - x).cpu()
    facts["executions by reading"] = executions() - before

    large = torch.ones(600, 600).to(device)
    before = executions()
    for _ in range(12):
        large = torch.tanh(large @ large)
    torch_xla.sync()
    now = (metrics.metric_data("ExecuteTime") or [0])[0]
    facts["the sync waits"] = now > before
    executions()
    print(json.dumps(facts))  # noqa: T201  what it is for


if __name__ == "__main__":
    main()
