"""Operations that give a view of a tensor, and operations that give memory of its own.

Source: https://docs.pytorch.org/docs/stable/tensor_view.html
"""

import torch

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
"""Views of `x: float32[4, 4]`, as torch's own list of view operations names them."""

COPIES = {
    "x.clone()": lambda x: x.clone(),
    "x.t().reshape(-1)": lambda x: x.clone().t().reshape(-1),
    "x[[0, 1]]": lambda x: x[torch.tensor([0, 1], device=x.device)],
    "x + 0": lambda x: x + 0,
    "x.cpu()": lambda x: x.cpu(),
}
"""What gives memory of its own."""
