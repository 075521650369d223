"""Operations that return a view of a tensor, operations that return a copy, and surprises.

Source of the views: https://docs.pytorch.org/docs/stable/tensor_view.html
Source of the surprises: https://docs.pytorch.org/xla/master/learn/troubleshoot.html, "XLA Tensor
Quirks"
"""

import copy

import torch

from tpustarter.probe.finding import Finding

VIEWS = {
    "x[1]": lambda x: x[1],
    "x[:, 1]": lambda x: x[:, 1],
    "x[::2]": lambda x: x[::2],
    "x.t()": lambda x: x.t(),
    "x.view(-1)": lambda x: x.view(-1),
    "x.diagonal()": lambda x: x.diagonal(),
    "x.chunk(2)[1]": lambda x: x.chunk(2)[1],
    "x.unsqueeze(0)": lambda x: x.unsqueeze(0),
    "x.detach()": lambda x: x.detach(),
}
"""Views of `x: float32[4, 4]`."""

COPIES = {
    "x.clone()": lambda x: x.clone(),
    "x.clone().t().reshape(-1)": lambda x: x.clone().t().reshape(-1),
    "x[[0, 1]]": lambda x: x[torch.tensor([0, 1], device=x.device)],
    "x + 0": lambda x: x + 0,
    "x.cpu()": lambda x: x.cpu(),
}
"""Operations that return new memory."""

TIE = "after `model.to('xla')`, tie weights with `model.head.weight = model.embedding.weight`"
SHALLOW = "use a view such as `x[:]` where both names must refer to the same memory"
MOVE = "call `x.to(y.device)`, because mixing devices raises RuntimeError or ends the process"


def tied(device):
    """Return two layers that shared their weight before they were moved to a device."""
    layers = torch.nn.ModuleList(torch.nn.utils.skip_init(torch.nn.Linear, 2, 2) for _ in range(2))
    layers[1].weight = layers[0].weight
    return layers.to(device)


def quirks(device):
    """Yield the differences from CPU or GPU tensors, with a warning if they break training."""
    first, second = tied(device)
    apart = first.weight is not second.weight
    name, found = "weights tied before `.to('xla')`", "two tensors" if apart else "one tensor"
    verdict, hint = ("warn", TIE) if apart else ("ok", None)
    yield Finding("XLA-COPIES-TIED", name, verdict, found, hint=hint)

    original = torch.zeros(2, device=device)
    copy.copy(original).add_(1)
    deep = not bool(original.any())
    name, found = "`copy.copy` of a tensor", "a copy" if deep else "the same numbers"
    yield Finding("XLA-COPIES-SHALLOW", name, "info", found, hint=SHALLOW if deep else None)

    where = f"computed on {(torch.ones(2, device=device) + torch.ones(2)).device}"
    yield Finding("XLA-COPIES-MIXED", "XLA tensor plus CPU tensor", "info", where, hint=MOVE)
