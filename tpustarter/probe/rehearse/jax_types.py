"""The parts of JAX's objects that a rehearsal reads, as every JAX from 0.6.2 to 0.12 has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class ArrayLike(Protocol):
    """An array, or the type of one, of JAX or NumPy."""

    @property
    def shape(self) -> Sequence[int]:
        """The sizes of its axes."""
        ...

    @property
    def dtype(self) -> object:
        """The type of its elements."""
        ...


class Device(Protocol):
    """A device of this process, or of a compile-only topology."""

    @property
    def id(self) -> int:
        """Its number among all devices."""
        ...

    @property
    def process_index(self) -> int:
        """The number of its host."""
        ...

    @property
    def client(self) -> DeviceClient:
        """The part of the runtime that it belongs to."""
        ...


class DeviceClient(Protocol):
    """The part of the runtime that compiles for its devices."""

    def compile(self, module: object, devices: object, options: object, /) -> Executable:
        """Compile a module of MLIR."""
        ...


class MemoryStats(Protocol):
    """The compiler's account of the memory of a program, in bytes on one device."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int


class HloText(Protocol):
    """An optimised program."""

    def to_string(self) -> str:
        """Return it as HLO text."""
        ...


class Executable(Protocol):
    """A compiled program."""

    def get_compiled_memory_stats(self) -> MemoryStats:
        """Return the memory that it needs."""
        ...

    def hlo_modules(self) -> Sequence[HloText]:
        """Return its programs, of which there is one."""
        ...

    def cost_analysis(self) -> Mapping[str, float] | None:
        """Return the compiler's figures for its cost."""
        ...


class Traced(Protocol):
    """The result of `jax.jit(f).trace(...)`."""

    @property
    def jaxpr(self) -> object:
        """The program, closed over its constants."""
        ...

    @property
    def args_info(self) -> object:
        """A pytree that says for each argument whether it is donated."""
        ...

    def lower(self) -> Lowered:
        """Lower the program for the device of its arguments."""
        ...


class Compiled(Protocol):
    """The result of `.compile()`."""

    @property
    def output_shardings(self) -> object:
        """The sharding of each result, as a pytree."""
        ...

    def runtime_executable(self) -> Executable:
        """Return the runtime's program."""
        ...


class Lowered(Protocol):
    """The result of `.lower(...)`."""

    def compile(self) -> Compiled:
        """Compile the program."""
        ...

    def as_text(self) -> str:
        """Return the program as StableHLO text."""
        ...

    def compiler_ir(self, dialect: str) -> object:
        """Return the program as a module of MLIR."""
        ...


class DeviceMesh(Protocol):
    """A mesh of devices, or the abstract form of one."""

    def update(self, *, abstract_device: object) -> object:
        """Return an abstract mesh for another device."""
        ...


class NamedSharding(Protocol):
    """A sharding over the named axes of a mesh."""

    @property
    def mesh(self) -> DeviceMesh:
        """The mesh, which may be an abstract one."""
        ...

    @property
    def spec(self) -> object:
        """The axes of the mesh for each axis of the array."""
        ...

    @property
    def memory_kind(self) -> str | None:
        """The kind of memory, such as `pinned_host`."""
        ...


class JaxArray(ArrayLike, Protocol):
    """An array of JAX."""

    def is_deleted(self) -> bool:
        """Return whether its memory was given away."""
        ...


class JaxFunction(Protocol):
    """A function of `jax.jit`, or of a library's own `jit` that makes one."""

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call the function."""
        ...

    def trace(self, *arguments: object, **named: object) -> Traced:
        """Trace the function with arguments, or their types."""
        ...

    def lower(self, *arguments: object, **named: object) -> Lowered:
        """Lower the function with arguments, or their types."""
        ...


ListedProgram = tuple[str, Callable[..., object], Sequence[object]]
"""Name, function and arguments of a program."""
