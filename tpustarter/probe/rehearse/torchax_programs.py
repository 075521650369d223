"""Make JAX functions from a PyTorch module with torchax; `user_file` lowers them like any other.

A training step is `jax.grad` of the module's loss, and a step of the user's torch optimizer, which
torchax traces as well. Scalars in the optimizer's state, such as its step count, become constants.
Tried with torchax 0.0.13, torch 2.9.0 and jax 0.10.2.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

from tpustarter.probe.rehearse import torch_module
from tpustarter.probe.rehearse.jax_types import ListedProgram
from tpustarter.probe.rehearse.torch_module import MadeModule, Tensor

_States = dict[str, dict[str, Tensor]]
"""The state that an optimizer keeps for each weight."""


def make_torchax_programs(function: Callable[..., object], name: str) -> Iterator[ListedProgram]:
    """Yield the name, function and arguments of each program of a module."""
    module = _Module(torch_module.call_module_function(function, name))
    yield module.forward()
    if module.weights:
        yield module.train_step()


class _Module:
    """A PyTorch module as functions of its weights."""

    def __init__(self, made: MadeModule) -> None:
        interop = importlib.import_module("torchax.interop")
        self._made = made
        self._jax = importlib.import_module("jax")
        self._env = importlib.import_module("torchax").default_env()
        self._module = interop.JittableModule(made.module)
        self.weights: dict[str, object] = self._abstract(self._module.params)
        self._buffers = self._abstract(self._module.buffers)
        self._inputs = self._abstract((made.arguments, made.named))

    def forward(self) -> ListedProgram:
        def forward(weights: object, buffers: object, inputs: object) -> object:
            with torch_module.set_training_mode(self._made.module, training=False):
                return self._called(torch_module.list_tensors, weights, buffers, inputs)[0]

        return "forward", self._jax.jit(forward), (self.weights, self._buffers, self._inputs)

    def train_step(self) -> ListedProgram:
        # The step donates the weights, buffers and state that it replaces.
        jax = self._jax
        fixed: _States = {}

        def start(weights: object) -> object:
            updated, state, numbers = self._optimized(weights, weights, {}, {})
            fixed.update(numbers)
            return updated, state

        def loss(weights: object, buffers: object, key: object, inputs: object) -> object:
            with self._env.override_property(prng=key):
                return self._called(torch_module.make_scalar_loss, weights, buffers, inputs)

        def train_step(
            weights: object, buffers: object, state: object, key: object, inputs: object
        ) -> object:
            with torch_module.set_training_mode(self._made.module, training=True):
                gradient = jax.value_and_grad(loss, has_aux=True)
                (value, buffers), gradients = gradient(weights, buffers, key, inputs)
            return value, *self._optimized(weights, gradients, state, fixed)[:2], buffers

        _, state = jax.eval_shape(start, self.weights)
        key = jax.eval_shape(lambda: jax.random.key(0))
        arguments = (self.weights, self._buffers, state, key, self._inputs)
        return "train_step", jax.jit(train_step, donate_argnums=(0, 1, 2)), arguments

    def _called(
        self, read: Callable[[object], object], weights: object, buffers: object, inputs: object
    ) -> tuple[object, object]:
        env = self._env
        weights, buffers, (arguments, named) = env.j2t_iso((weights, buffers, inputs))

        def body(module: Callable[..., object], *arguments: object, **named: object) -> object:
            return read(module(*arguments, **named))

        with env:
            output = self._module.functional_call(body, weights, buffers, *arguments, **named)
        return env.t2j_iso(output), env.t2j_iso(buffers)

    def _optimized(
        self, weights: object, gradients: object, state: object, fixed: _States
    ) -> tuple[object, object, _States]:
        env = self._env
        parts: tuple[dict[str, Tensor], dict[str, Tensor], _States]
        parts = env.j2t_iso((weights, gradients, state))
        parameters, slopes, states = parts
        with env:
            optimizer = self._made.optimizer(list(parameters.values()))
            for name, parameter in parameters.items():
                parameter.grad = slopes[name]
                if name in states:
                    copies = {key: value.clone() for key, value in fixed[name].items()}
                    optimizer.state[parameter].update(states[name] | copies)
            optimizer.step()
        arrays: _States = {}
        numbers: _States = {}
        for name, parameter in parameters.items():
            tensors = {
                key: value
                for key, value in optimizer.state[parameter].items()
                if torch_module.is_tensor(value)
            }
            arrays[name] = {key: value for key, value in tensors.items() if value.dim()}
            numbers[name] = {key: value for key, value in tensors.items() if not value.dim()}
        return env.t2j_iso(parameters), env.t2j_iso(arrays), numbers

    def _abstract(self, values: object) -> dict[str, object]:
        torch = importlib.import_module("torch")
        pytree = importlib.import_module("torch.utils._pytree")
        mappings = importlib.import_module("torchax.ops.mappings")

        def abstract(tensor: Tensor) -> object:
            kind = self._jax.dtypes.canonicalize_dtype(mappings.t2j_dtype(tensor.dtype))
            return self._jax.ShapeDtypeStruct(tuple(tensor.shape), kind)

        return pytree.tree_map_only(torch.Tensor, abstract, values)
