"""JAX functions made of a PyTorch module with torchax, for `user_file` to lower as any others.

A training step is `jax.grad` of the module's loss, and a step of the user's torch optimizer, which
torchax traces as well. Numbers of the optimizer's state, such as its count of steps, stay numbers.
Tried with torchax 0.0.13, torch 2.9.0 and jax 0.10.2.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from tpustarter.probe.rehearse import torch_module
from tpustarter.probe.rehearse.torch_module import MadeModule

Program = tuple[str, Any, tuple[Any, ...]]


def list_programs(function: Callable[..., Any], name: str) -> Iterator[Program]:
    """Yield name, function and arguments of the programs of a module."""
    module = _Module(torch_module.call_make(function, name))
    yield module.forward()
    if module.weights:
        yield module.train_step()


class _Module:
    """A module as functions of its weights."""

    def __init__(self, made: MadeModule) -> None:
        interop = importlib.import_module("torchax.interop")
        self._made = made
        self._jax = importlib.import_module("jax")
        self._env = importlib.import_module("torchax").default_env()
        self._module: Any = interop.JittableModule(made.module)
        self.weights: dict[str, Any] = self._abstract(self._module.params)
        self._buffers = self._abstract(self._module.buffers)
        self._inputs = self._abstract((made.arguments, made.named))

    def forward(self) -> Program:
        def forward(weights: Any, buffers: Any, inputs: Any) -> Any:
            with torch_module.set_training_mode(self._made.module, training=False):
                return self._called(torch_module.list_tensors, weights, buffers, inputs)[0]

        return "forward", self._jax.jit(forward), (self.weights, self._buffers, self._inputs)

    def train_step(self) -> Program:
        # The step donates the weights, buffers and state that it replaces.
        jax = self._jax
        fixed: dict[str, dict[str, Any]] = {}

        def start(weights: Any) -> Any:
            updated, state, numbers = self._optimized(weights, weights, {}, {})
            fixed.update(numbers)
            return updated, state

        def loss(weights: Any, buffers: Any, key: Any, inputs: Any) -> Any:
            with self._env.override_property(prng=key):
                return self._called(torch_module.find_loss, weights, buffers, inputs)

        def train_step(weights: Any, buffers: Any, state: Any, key: Any, inputs: Any) -> Any:
            with torch_module.set_training_mode(self._made.module, training=True):
                gradient = jax.value_and_grad(loss, has_aux=True)
                (value, buffers), gradients = gradient(weights, buffers, key, inputs)
            return value, *self._optimized(weights, gradients, state, fixed)[:2], buffers

        _, state = jax.eval_shape(start, self.weights)
        key = jax.eval_shape(lambda: jax.random.key(0))
        arguments = (self.weights, self._buffers, state, key, self._inputs)
        return "train_step", jax.jit(train_step, donate_argnums=(0, 1, 2)), arguments

    def _called(self, read: Callable[[Any], Any], weights: Any, buffers: Any, inputs: Any) -> Any:
        env = self._env
        weights, buffers, (arguments, named) = env.j2t_iso((weights, buffers, inputs))

        def body(module: Any, *arguments: Any, **named: Any) -> Any:
            return read(module(*arguments, **named))

        with env:
            output = self._module.functional_call(body, weights, buffers, *arguments, **named)
        return env.t2j_iso(output), env.t2j_iso(buffers)

    def _optimized(
        self, weights: Any, gradients: Any, state: Any, fixed: dict[str, dict[str, Any]]
    ) -> tuple[Any, Any, dict[str, dict[str, Any]]]:
        env = self._env
        weights, gradients, state = env.j2t_iso((weights, gradients, state))
        with env:
            optimizer = self._made.optimizer(list(weights.values()))
            for name, weight in weights.items():
                weight.grad = gradients[name]
                if name in state:
                    numbers = {key: value.clone() for key, value in fixed[name].items()}
                    optimizer.state[weight].update(state[name] | numbers)
            optimizer.step()
        arrays: dict[str, dict[str, Any]] = {}
        numbers: dict[str, dict[str, Any]] = {}
        for name, weight in weights.items():
            tensors = {
                key: value
                for key, value in optimizer.state[weight].items()
                if hasattr(value, "shape")
            }
            arrays[name] = {key: value for key, value in tensors.items() if value.dim()}
            numbers[name] = {key: value for key, value in tensors.items() if not value.dim()}
        return env.t2j_iso(weights), env.t2j_iso(arrays), numbers

    def _abstract(self, values: Any) -> Any:
        torch = importlib.import_module("torch")
        pytree = importlib.import_module("torch.utils._pytree")
        mappings = importlib.import_module("torchax.ops.mappings")

        def abstract(tensor: Any) -> Any:
            kind = self._jax.dtypes.canonicalize_dtype(mappings.t2j_dtype(tensor.dtype))
            return self._jax.ShapeDtypeStruct(tuple(tensor.shape), kind)

        return pytree.tree_map_only(torch.Tensor, abstract, values)
