"""Saves the state of a training run to a file and loads it again, in the usual ways."""

import tempfile
from pathlib import Path

import torch
import torch_xla.core.xla_model as xm
from torch.utils import _pytree as tree

SUFFIX = "state.pt"


def cpu(state):
    """Return a state whose tensors are on the host."""
    return tree.tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), state)


def by_xm_save(state, path):
    """Save with torch_xla's own function, which moves every tensor to the host."""
    xm.save(state, path)


def by_torch_save(state, path):
    """Save with PyTorch's function, after moving every tensor to the host."""
    torch.save(cpu(state), path)


def by_torch_save_as_it_is(state, path):
    """Save with PyTorch's function, leaving tensors on their XLA device, to which they return."""
    torch.save(state, path)


WAYS = {
    "xm.save": by_xm_save,
    "torch.save after .cpu()": by_torch_save,
    "torch.save": by_torch_save_as_it_is,
}


def saved_and_loaded(save, state):
    """Return a state as it comes back from a file, and the device of its first tensor."""
    with tempfile.TemporaryDirectory(prefix="tpustarter-checkpoint-") as folder:
        path = Path(folder) / SUFFIX
        save(state, path)
        loaded = torch.load(path, weights_only=True)
    first = next(leaf for leaf in tree.tree_leaves(loaded) if isinstance(leaf, torch.Tensor))
    return loaded, first.device.type
