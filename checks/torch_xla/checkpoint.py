"""A checkpoint restores model and optimizer bit for bit."""

import torch_xla

from tpustarter.checks.torch_xla import _files, _training
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 2.5
LESSON = "pytorch/save-and-load"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/learn/pytorch-on-xla-devices.html"
AFTER = ["torch_xla.devices_visible"]
SAVE = "save `model.state_dict()` and `optimizer.state_dict()` with `xm.save`, after a sync"
MOVE = "move tensors with `.cpu()` first, so that the file loads on a machine without torch_xla"


def saved_and_loaded(save, state):
    """Return the tensors loaded from a file that `save` wrote, and the type of their device."""
    return _files.saved_and_loaded(save, state)


def state_of(model, optimizer):
    """Return the state that a checkpoint holds."""
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def restored(state, device):
    """Return a new model and a new optimizer with the state of a checkpoint."""
    model, optimizer = _training.fresh(device)
    _training.step(model, optimizer, *(part.to(device) for part in _training.batch(8)))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return model, optimizer


def changed(model, other, x):
    """Return the parameters or outputs of two models that differ in any bit, as text."""
    pairs = zip(model.named_parameters(), other.parameters(), strict=True)
    names = [name for (name, one), two in pairs if not one.cpu().equal(two.cpu())]
    return ", ".join(names + ["the outputs"] * (not model(x).cpu().equal(other(x).cpu())))


def run():
    """Save after two steps in each way, and compare the restored run, also after another step."""
    device = torch_xla.device()
    x, y = (part.to(device) for part in _training.batch())
    model, optimizer = _training.fresh(device)
    for _ in range(2):
        _training.step(model, optimizer, x, y)
    torch_xla.sync()
    state = _files.cpu(state_of(model, optimizer))
    _training.step(model, optimizer, x, y)  # what the restored runs do next
    torch_xla.sync()

    lost, continued, places = {}, {}, {}
    for way, save in _files.WAYS.items():
        source, source_optimizer = restored(state, device)
        torch_xla.sync()
        loaded, places[way] = saved_and_loaded(save, state_of(source, source_optimizer))
        other, other_optimizer = restored(loaded, device)
        lost[f"way:{way}"] = changed(source, other, x)
        _training.step(other, other_optimizer, x, y)
        continued[f"way:{way}"] = changed(model, other, x)
    yield from tally("XLA-CHECKPOINT-SAME", "ways to save that keep every bit", lost, SAVE)
    name = "ways after which training continues identically"
    yield from tally("XLA-CHECKPOINT-NEXT", name, continued, SAVE)
    text = ", ".join(f"{way}: {place}" for way, place in places.items())
    yield Finding("XLA-CHECKPOINT-PLACE", "where a file loads to", "info", text, hint=MOVE)
