"""Lower PyTorch modules with torch_xla, into the StableHLO that it would trace on a TPU.

torch_xla traces the program as always, with lazy tensors, so forward pass, backward pass and
optimizer are those of the user's own loop. Weights and inputs are placeholders without memory or
values. torch_xla ends its process if it needs a value, so `_guard` detects that first and raises.
Tried with torch_xla 2.9.0 on a CPU device; it chooses a few kernels by device, such as those of
scatter.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

from tpustarter.probe.events import EndEventFields
from tpustarter.probe.rehearse import lowering_errors, torch_module
from tpustarter.probe.rehearse.rehearsal_messages import (
    CheckField,
    Emit,
    LowerCommand,
    LoweredFields,
    ProgramEventFields,
    make_program_event,
)
from tpustarter.probe.rehearse.torch_module import (
    MadeModule,
    Optimizer,
    Tensor,
    Tensors,
    TorchModule,
)

_T = TypeVar("_T")
_KERNELS = (
    "XLA",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)
"""Dispatch keys of kernels that torch_xla can trace; an operation without one runs on the host."""
SPMD = (
    "it turns SPMD on, and this is its program for one device, without shardings: write the "
    "sharded one with `torch_xla.core.xla_model.get_stablehlo_bytecode` and rehearse that file"
)


class TorchOperation(Protocol):
    """A PyTorch operation, as `__torch_dispatch__` receives it before it runs."""

    @property
    def tags(self) -> Iterable[object]:
        """Its PyTorch tags, such as `dynamic_output_shape`."""
        ...

    def name(self) -> str:
        """Return its name, such as `aten::index.Tensor`."""
        ...

    def __call__(self, *arguments: object, **named: object) -> object:
        """Dispatch the operation."""
        ...


class NeedsValuesError(RuntimeError):
    """Raised if a program needs tensor values while it is traced."""


class NoKernelError(NotImplementedError):
    """Raised for an operation that torch_xla does not lower."""


@dataclass
class TracedOutputs:
    """The tensors that a traced program returns, and those that they replace."""

    outputs: Tensors
    replaced: dict[int, int] = field(default_factory=dict[int, int])
    """Index in `outputs`, keyed by the id of the tensor that it replaces."""


Program = tuple[str | None, str, Callable[[], TracedOutputs]]
"""The check that a program belongs to, its name, and the function that traces it."""


def lower_programs(
    command: LowerCommand, emit: Emit, load: Callable[[], Callable[..., object]]
) -> EndEventFields:
    """Lower a file's module, or the programs of checks, once for all TPUs.

    Emits `ready`, then `lowering` and `exported` for each program, as `user_file` does.

    Args:
        command: The command; its `checks`, if any, are lowered instead of the file.
        emit: Called with each event.
        load: Returns the user's function.
    """
    importlib.import_module("torch_xla")
    path = Path(command["file"])
    emit({"event": "ready"})
    try:
        for number, (check, name, tracing) in enumerate(_programs(command, load)):
            of_check: CheckField = {} if check is None else {"check": check}
            emit({"event": "lowering", "program": name, **of_check})
            fields = _lowered(tracing, Path(command["folder"]) / f"torch-{number}.mlirbc", path)
            head: ProgramEventFields = {
                "event": "exported",
                "program": name,
                "tpus": list(command["tpus"]),
                **of_check,
            }
            emit(make_program_event(head, fields))
    except Exception as error:  # noqa: BLE001  the user's code may raise anything
        lowering_errors.print_user_traceback(error, path)
        return lowering_errors.make_end_fields(error, path)
    return {"outcome": "done"}


def _programs(
    command: LowerCommand, load: Callable[[], Callable[..., object]]
) -> Iterator[Program]:
    torch_xla = importlib.import_module("torch_xla")
    for check in command["checks"]:
        module = importlib.import_module(f"tpustarter.checks.{check}")
        for name, function, arguments in module.programs(torch_xla.devices()):
            yield check, name, partial(_call, function, arguments)
    if not command["checks"]:
        made = _placed(torch_module.call_module_function(load(), command["name"]))
        yield None, "forward", partial(_forward, made)
        if made.trainable_parameters:
            yield None, "train_step", partial(_train_step, made)


def _lowered(tracing: Callable[[], TracedOutputs], file: Path, own: Path) -> LoweredFields:
    try:
        with _guard()():
            traced = tracing()
        return _write(traced, file)
    except Exception as error:  # noqa: BLE001  an error affects only this program
        lowering_errors.print_user_traceback(error, own)
        refused = isinstance(error, NoKernelError)
        text = lowering_errors.describe_error_with_line(error, own)
        for name in (NeedsValuesError.__name__, NoKernelError.__name__):
            text = text.replace(f"{name}: ", "")
        return {
            "error": text,
            "place": lowering_errors.find_user_line(error, own),
            "refused": refused,
            "notes": [torch_module.describe_versions("torch_xla")],
        }


def _write(traced: TracedOutputs, file: Path) -> LoweredFields:
    xla_model = importlib.import_module("torch_xla.core.xla_model")
    if not traced.outputs:
        raise TypeError("it returns no tensor of the XLA device, so there is nothing to compile")
    arguments: list[int] = _library()._get_tensors_xla_device_data_node(traced.outputs)[0]  # noqa: SLF001
    file.write_bytes(xla_model.get_stablehlo_bytecode(traced.outputs))
    aliases = [
        [position, traced.replaced[number]]
        for position, number in enumerate(arguments)
        if number in traced.replaced
    ]
    return {
        "artifact": str(file),
        "lowered": {
            "devices": 1,
            "shardy": True,
            "free_arguments": [True] * len(arguments),
            "free_outputs": [True] * len(traced.outputs),
            "aliases": aliases,
        },
        "notes": [torch_module.describe_versions("torch_xla"), *_describe_spmd()],
    }


def _describe_spmd() -> list[str]:
    runtime = importlib.import_module("torch_xla.runtime")
    return [SPMD] if runtime.is_spmd() else []


def _placeholder(tensor: Tensor) -> Tensor:
    # A placeholder has a shape and a type, but no memory.
    torch = importlib.import_module("torch")
    builder = importlib.import_module("torch_xla.core.xla_builder")
    placeholder = builder.create_placeholder_tensor(tensor.shape, tensor.dtype)
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(placeholder, requires_grad=tensor.requires_grad)
    return placeholder.requires_grad_(tensor.requires_grad)


def _on_device(values: _T) -> _T:
    torch = importlib.import_module("torch")
    pytree = importlib.import_module("torch.utils._pytree")
    return pytree.tree_map_only(torch.Tensor, _placeholder, values)


def _placed(made: MadeModule) -> MadeModule:
    # A tensor that a module has twice, such as tied weights, stays shared.
    placed: dict[int, Tensor] = {}
    originals: Tensors = []  # kept alive, so that no id is reused in this loop
    for part in made.module.modules():
        own = {"recurse": False, "remove_duplicate": False}
        for name, tensor in [*part.named_parameters(**own), *part.named_buffers(**own)]:
            if id(tensor) not in placed:
                originals.append(tensor)
                placed[id(tensor)] = _placeholder(tensor)
            setattr(part, name, placed[id(tensor)])
    return MadeModule(
        made.module, _on_device(made.arguments), _on_device(made.named), made.optimizer
    )


def _call(function: Callable[..., object], arguments: Iterable[object]) -> TracedOutputs:
    return TracedOutputs(
        _of_device(torch_module.list_tensors(function(*_on_device(tuple(arguments)))))
    )


def _forward(made: MadeModule) -> TracedOutputs:
    torch = importlib.import_module("torch")
    with torch_module.set_training_mode(made.module, training=False), torch.no_grad():
        output = made.module(*made.arguments, **made.named)
    return TracedOutputs(_of_device(torch_module.list_tensors(output)))


def _train_step(made: MadeModule) -> TracedOutputs:
    # A tensor that is updated in place keeps its memory, so it becomes an aliased output.
    with torch_module.set_training_mode(made.module, training=True):
        optimizer = _started(made)
        states = _states(made.module, optimizer)
        before = [_id(tensor) for tensor in states]
        loss = torch_module.make_scalar_loss(made.module(*made.arguments, **made.named))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    outputs: Tensors = [loss]
    replaced: dict[int, int] = {}
    for number, tensor in zip(before, states, strict=True):
        if _id(tensor) != number:
            replaced[number] = len(outputs)
            outputs.append(tensor)
    return TracedOutputs(_of_device(outputs), replaced)


def _started(made: MadeModule) -> Optimizer:
    # An optimizer creates its state in the first step, and the traced step starts from that.
    optimizer = made.optimizer(made.trainable_parameters)
    for parameter in made.trainable_parameters:
        parameter.grad = _placeholder(parameter).detach()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    for parameter in made.trainable_parameters:
        parameter.data = _placeholder(parameter).detach()
    for state in optimizer.state.values():
        for name, value in state.items():
            for tensor in _of_device([value]):
                state[name] = _placeholder(tensor)
    return optimizer


def _states(module: TorchModule, optimizer: Optimizer) -> Tensors:
    of_optimizer = [value for state in optimizer.state.values() for value in state.values()]
    tensors = [*module.parameters(), *module.buffers(), *_of_device(of_optimizer)]
    return list({id(tensor): tensor for tensor in tensors}.values())


def _of_device(values: Iterable[object]) -> Tensors:
    tensors = (value for value in values if torch_module.is_tensor(value))
    return [tensor for tensor in tensors if tensor.device.type == "xla"]


def _id(tensor: Tensor) -> int:
    return _library()._xla_get_tensor_id(tensor)  # noqa: SLF001


def _library() -> ModuleType:
    # There is no public API for a program's tensors and arguments.
    return importlib.import_module("torch_xla")._XLAC  # noqa: SLF001


def _guard() -> type[AbstractContextManager[object]]:
    # torch_xla would end the process, so such an operation is refused first.
    torch = importlib.import_module("torch")
    dispatch = importlib.import_module("torch.utils._python_dispatch")
    pytree = importlib.import_module("torch.utils._pytree")
    asking = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}

    class Guard(dispatch.TorchDispatchMode):  # pyright: ignore[reportUntypedBaseClass]
        def __torch_dispatch__(
            self,
            operation: TorchOperation,
            _types: object,
            arguments: tuple[object, ...] = (),
            named: Mapping[str, object] | None = None,
        ) -> object:
            named = named or {}
            if _of_device(pytree.tree_leaves((arguments, named))):
                _refuse(operation, arguments, named, asking)
            return operation(*arguments, **named)

    return Guard


def _refuse(
    operation: TorchOperation,
    arguments: Sequence[Any],  # of any PyTorch operation
    named: Mapping[str, object],
    asking: set[object],
) -> None:
    torch = importlib.import_module("torch")
    name = operation.name()
    to_host = "device" in named and str(named["device"]) == "cpu"
    asks = bool(asking & set(operation.tags))
    if name == "aten::index.Tensor":  # a mask determines the shape, indices do not
        asks = any(index is not None and index.dtype == torch.bool for index in arguments[1])
    if asks or to_host:
        raise NeedsValuesError(
            f"`{name}` needs the values of a tensor: here torch_xla would end the program, run it "
            "and wait (`.item()`, `.cpu()`, `if tensor:`, a shape that depends on values)"
        )
    # PyTorch has no public API to look up an operation's kernels.
    has_kernel: Callable[[str, str], bool] = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001
    if not any(has_kernel(name, key) for key in _KERNELS):
        raise NoKernelError(
            f"torch_xla has no kernel for `{name}`, and would compute it on the host"
        )
