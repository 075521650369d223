"""The return value of a user's `make()`: a PyTorch module, its inputs and an optimizer.

`make()` returns `module, inputs` or `module, inputs, optimizer`. `inputs` is a tensor, a tuple, or
a dict of keyword arguments. The optimizer is a function of parameters, such as `lambda parameters:
torch.optim.SGD(parameters, lr=0.1)`; the default is AdamW.

A module makes two programs. `forward` is the module in evaluation mode, without gradients.
`train_step` is the module in training mode, its loss, the gradients of all parameters that require
them, and one step of the optimizer other than its first. The loss is the output's `loss`, else the
output itself if that is a scalar, else the sum of the means of its tensors. Only the shapes and
types of weights and inputs are read, so they may be on the device `meta`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol, TypeGuard

from tpustarter.machine import frameworks
from tpustarter.probe.rehearse.lowering_errors import UnmetRequestError

LEARNING_RATE = 1e-3


class TensorDevice(Protocol):
    """A tensor's device."""

    type: str
    """`xla`, `cpu` or `meta`."""


class Tensor(Protocol):
    """A PyTorch tensor or parameter, as far as a rehearsal uses it."""

    shape: Sequence[int]
    dtype: object
    device: TensorDevice
    requires_grad: bool
    grad: object
    data: object

    def dim(self) -> int:
        """Return the number of axes."""
        ...

    def clone(self) -> Tensor:
        """Return a copy."""
        ...

    def detach(self) -> Tensor:
        """Return the tensor detached from its graph."""
        ...

    def is_floating_point(self) -> bool:
        """Return whether the elements are floats."""
        ...

    def float(self) -> Tensor:
        """Return the tensor in float32."""
        ...

    def mean(self) -> Tensor:
        """Return the mean of the elements."""
        ...

    def backward(self) -> None:
        """Compute the gradients of the parameters that it depends on."""
        ...


Tensors = list[Tensor]


class TorchModule(Protocol):
    """A PyTorch module, as far as a rehearsal uses it."""

    training: bool

    def __call__(self, *arguments: object, **named: object) -> object:
        """Compute the output."""
        ...

    def modules(self) -> Iterable[TorchModule]:
        """Return the module and its submodules."""
        ...

    def parameters(self) -> Iterable[Tensor]:
        """Return the parameters, including those of submodules."""
        ...

    def buffers(self) -> Iterable[Tensor]:
        """Return the buffers, including those of submodules."""
        ...

    def named_parameters(
        self, *, recurse: bool, remove_duplicate: bool
    ) -> Iterable[tuple[str, Tensor]]:
        """Return the parameters with their names."""
        ...

    def named_buffers(
        self, *, recurse: bool, remove_duplicate: bool
    ) -> Iterable[tuple[str, Tensor]]:
        """Return the buffers with their names."""
        ...

    def train(self, mode: bool) -> object:  # noqa: FBT001  PyTorch's own
        """Set training or evaluation mode."""
        ...


class Optimizer(Protocol):
    """A PyTorch optimizer, as far as a rehearsal uses it."""

    state: dict[Tensor, dict[str, object]]

    def step(self) -> object:
        """Update the parameters."""
        ...

    def zero_grad(self, *, set_to_none: bool) -> None:
        """Reset the gradients."""
        ...


@dataclass(frozen=True)
class MadeModule:
    """A module to rehearse, with example arguments, as returned by the user's function."""

    module: TorchModule
    arguments: tuple[object, ...]
    named: dict[str, object]
    optimizer: Callable[[Tensors], Optimizer]

    @property
    def trainable_parameters(self) -> Tensors:
        """The module's parameters that require a gradient."""
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]


def choose_lowerer(asked: str) -> str:
    """Return the library that lowers a module in this Python: `torch_xla` or `torchax`.

    torch_xla's wheel contains a folder `torchax`, which does not count, so the package metadata
    decides. If both are installed, torch_xla is chosen.

    Args:
        asked: One of `frameworks.LOWERERS`, or `torch` for the one that is installed.

    Raises:
        UnmetRequestError: The library is not installed, or torchax is installed next to torch_xla.
    """
    installed = [name for name in frameworks.LOWERERS if _version(name)]
    if asked == "torch" and installed:
        return installed[0]
    if asked in installed:
        if asked == "torchax" and "torch_xla" in installed:
            raise UnmetRequestError(
                "torch_xla and torchax are both installed here, and the wheel of torch_xla brings "
                "a folder `torchax` that takes the place of the other one: each needs an "
                "environment of its own"
            )
        return asked
    names = "torch_xla or torchax" if asked == "torch" else asked
    more = ""
    if asked == "torchax" and installed:
        more = ": the folder `torchax` here belongs to torch_xla"
    missing = "torch_xla" if asked == "torch" else asked
    raise UnmetRequestError(f"this Python has no {names}{more}", {"missing_lowerer": missing})


def describe_versions(name: str) -> str:
    """Return a note on the library that lowers a program, with versions."""
    return f"lowered with {name} {_version(name)} (torch {_version('torch')}), for one device"


def call_module_function(function: Callable[..., object], name: str) -> MadeModule:
    """Call the user's function, and return the module, its inputs and the optimizer.

    Raises:
        TypeError: It returned something other than a module with its inputs.
    """
    if required := _required(function):
        raise TypeError(
            f"`{name}` takes {', '.join(required)}, expected a function of no arguments"
        )
    value = function()
    expected = f"expected `{name}` to return a module and its inputs"
    if not _is_sequence(value) or not 2 <= len(value) <= 3:
        raise TypeError(f"{expected}, found {_kind(value)}")
    module, inputs, *rest = value
    if not _is_module(module):
        raise TypeError(f"{expected}, found {_kind(module)} where the module is expected")
    arguments: tuple[object, ...] = ()
    named: dict[str, object] = {}
    if _is_mapping(inputs):
        named = dict(inputs)
    elif _is_sequence(inputs):
        arguments = tuple(inputs)
    elif is_tensor(inputs):
        arguments = (inputs,)
    else:
        raise TypeError(f"{expected}: a tensor, a tuple or a dict, found {_kind(inputs)}")
    optimizer = rest[0] if rest else None
    if optimizer is not None and not _makes_optimizer(optimizer):
        raise TypeError(
            f"expected a function of parameters as the optimizer, found {_kind(optimizer)}"
        )
    return MadeModule(module, arguments, named, optimizer or _adamw)


def make_scalar_loss(output: object) -> Tensor:
    """Return an output's scalar loss: its `loss`, itself, or the sum of its tensors' means."""
    loss: Any = output.get("loss") if _is_mapping(output) else getattr(output, "loss", None)
    if loss is None:
        tensors = [tensor for tensor in list_tensors(output) if tensor.is_floating_point()]
        if not tensors:
            raise TypeError("the output has no tensor of floats, so there is no loss to train with")
        if len(tensors) == 1 and tensors[0].dim() == 0:
            return tensors[0]
        torch = importlib.import_module("torch")
        loss = torch.stack([tensor.float().mean() for tensor in tensors]).sum()
    return loss


def list_tensors(output: object) -> Tensors:
    """Return all tensors in an output, however deeply nested."""
    if is_tensor(output):
        return [output]
    if _is_mapping(output):
        output = [*output.values()]
    if _is_sequence(output):
        return [tensor for item in output for tensor in list_tensors(item)]
    pytree = importlib.import_module("torch.utils._pytree")
    leaves: list[object] = pytree.tree_leaves(output)
    return [leaf for leaf in leaves if is_tensor(leaf)]


@contextmanager
def set_training_mode(module: TorchModule, *, training: bool) -> Generator[None]:
    """Set training or evaluation mode within the block."""
    before = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        yield
    finally:
        for part, was_training in before:
            part.training = was_training


def _adamw(parameters: Tensors) -> Optimizer:
    torch = importlib.import_module("torch")
    return torch.optim.AdamW(parameters, lr=LEARNING_RATE)


def _required(function: Callable[..., object]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        f"`{parameter.name}`"
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in optional
    ]


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """Return whether a value is a PyTorch tensor."""
    return isinstance(value, importlib.import_module("torch").Tensor)


def _is_module(value: object) -> TypeGuard[TorchModule]:
    return isinstance(value, importlib.import_module("torch").nn.Module)


def _makes_optimizer(value: object) -> TypeGuard[Callable[[Tensors], Optimizer]]:
    return callable(value)


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, tuple | list)


def _kind(value: object) -> str:
    if _is_sequence(value):
        return f"a {type(value).__name__} of {', '.join(type(item).__name__ for item in value[:4])}"
    return "None" if value is None else f"a {type(value).__name__}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
