"""Operations that autocast runs in bfloat16, in float32 and in the widest type of their inputs.

The rule to know: an operation that is on none of these lists runs in the type of its inputs, so
what follows a product is bfloat16 too.
Source: https://docs.pytorch.org/xla/master/perf/amp.html, "Supported Operators"
"""

import re

import torch
from torch.nn import functional


def numbers(device, *shape):
    """Return evenly spaced numbers between 0.1 and 0.9, without torch's random generator."""
    count = torch.Size(shape).numel()
    return torch.linspace(0.1, 0.9, count).reshape(shape).to(device)


def halves(device):
    """Return the results of documented operations on float32 inputs; bfloat16 is expected."""
    x, image = numbers(device, 4, 4), numbers(device, 1, 2, 8, 8)
    return {
        "matmul": x @ x,
        "mm": torch.mm(x, x),
        "bmm": torch.bmm(x[None], x[None]),
        "addmm": torch.addmm(x, x, x),
        "linear": functional.linear(x, x),
        "conv2d": functional.conv2d(image, numbers(device, 3, 2, 3, 3)),
        "relu": torch.relu(x),
        "max_pool2d": functional.max_pool2d(image, 2),
    }


def floats(device):
    """Return the results of documented operations on bfloat16 inputs; float32 is expected."""
    x, labels = numbers(device, 4, 4).to(torch.bfloat16), torch.arange(4).to(device)
    return {
        "log_softmax": functional.log_softmax(x, -1),
        "nll_loss": functional.nll_loss(functional.log_softmax(x, -1), labels),
        "mse_loss": functional.mse_loss(x, x * 2),
        "binary_cross_entropy_with_logits": functional.binary_cross_entropy_with_logits(x, x),
        "prod": torch.prod(x),
        "trace": torch.trace(x),
    }


def widest(device):
    """Return the results of documented operations on a bfloat16 and a float32 input."""
    x = numbers(device, 4, 4)
    half = x.to(torch.bfloat16)
    return {"cat": torch.cat([half, x]), "stack": torch.stack([half, x])}


def layer(device):
    """Return a linear layer whose weights are not random."""
    made = torch.nn.utils.skip_init(torch.nn.Linear, 4, 3)
    with torch.no_grad():
        made.weight.copy_(numbers("cpu", 3, 4))
        made.bias.zero_()
    return made.to(device)


def step(device, autocast):
    """Return the dtypes of a layer's weights and gradients after a step forward and back."""
    made, x = layer(device), torch.ones(2, 4, device=device)
    with autocast():
        loss = made(x).float().square().mean()
    loss.backward()
    return {"weights": made.weight.dtype, "gradients": made.weight.grad.dtype}


def other(tensor, expected):
    """Return the dtype of a tensor if it is not the expected one, else an empty text."""
    found = str(tensor.dtype)
    return "" if found == expected else found.removeprefix("torch.")


def dot_types(lines):
    """Return the types that the products of a graph multiply, such as `bf16, bf16`."""
    found = {", ".join(re.findall(r"(\w+)\[", line.split(" dot(")[1])[:2]) for line in lines}
    return "; ".join(sorted(found))
