"""What `make()` may return: modules that are lowered, and each mistake by its name."""

import torch
from torch import nn


class Doubles(nn.Module):
    """Has weights that are tied, a frozen one, a buffer that training changes, and dropout."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.last = nn.Linear(16, 16)
        self.last.weight = self.first.weight
        self.last.bias.requires_grad_(False)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        rows = torch.arange(3, device=x.device)
        x = self.norm(self.first(x))[rows]
        return {"logits": self.last(self.drop(x)), "name": "no tensor"}


class AsksForAValue(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class ShapeOfValues(nn.Module):
    def forward(self, x):
        return x[x > 0]


class NoKernel(nn.Module):
    def forward(self, x):
        return torch.linalg.eigvals(x)


def make():
    return Doubles(), (torch.zeros(4, 16),)


def named():
    with torch.device("meta"):
        return Doubles(), {"x": torch.zeros(4, 16)}


def sgd():
    return Doubles(), torch.zeros(4, 16), lambda parameters: torch.optim.SGD(parameters, lr=0.1)


def no_weights():
    return nn.Tanh(), torch.zeros(4, 16)


def asks_for_a_value():
    return AsksForAValue(), torch.zeros(4, 16)


def shape_of_values():
    return ShapeOfValues(), torch.zeros(4, 16)


def no_kernel():
    return NoKernel(), torch.zeros(16, 16)


def nothing():
    return None


def no_module():
    return torch.relu, torch.zeros(4, 16)


def no_inputs():
    return Doubles()


def wrong_inputs():
    return Doubles(), 4


def wrong_shape():
    return Doubles(), torch.zeros(4, 17)


def wrong_optimizer():
    return Doubles(), torch.zeros(4, 16), "adam"


def raises():
    raise FileNotFoundError("no weights here")


def takes_one(x):
    return Doubles(), x
