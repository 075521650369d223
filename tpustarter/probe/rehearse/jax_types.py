"""Protocols of the JAX objects that a rehearsal reads, valid for JAX 0.6.2 to 0.12."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class ArrayLike(Protocol):
    """An array of JAX or NumPy, or the type of one."""

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
        """Its index among all devices."""
        ...

    @property
    def process_index(self) -> int:
        """The index of its host."""
        ...

    @property
    def client(self) -> DeviceClient:
        """The runtime client that it belongs to."""
        ...


class DeviceClient(Protocol):
    """The runtime client that compiles for its devices."""

    def compile(self, module: object, devices: object, options: object, /) -> Executable:
        """Compile an MLIR module."""
        ...


class MemoryStats(Protocol):
    """The compiler's figures for a program's memory, in bytes on one device."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int


class HloText(Protocol):
    """An optimised program."""

    def to_string(self) -> str:
        """Return the program as HLO text."""
        ...


class Executable(Protocol):
    """A compiled program."""

    def get_compiled_memory_stats(self) -> MemoryStats:
        """Return the memory that the program needs."""
        ...

    def hlo_modules(self) -> Sequence[HloText]:
        """Return its HLO modules, of which there is one."""
        ...

    def cost_analysis(self) -> Mapping[str, float] | None:
        """Return the compiler's cost estimates."""
        ...


class Traced(Protocol):
    """The result of `jax.jit(f).trace(...)`."""

    @property
    def jaxpr(self) -> object:
        """The program, closed over its constants."""
        ...

    @property
    def args_info(self) -> object:
        """A pytree with the donation status of each argument."""
        ...

    def lower(self) -> Lowered:
        """Lower the program for its arguments' devices."""
        ...


class Compiled(Protocol):
    """The result of `.compile()`."""

    @property
    def output_shardings(self) -> object:
        """The sharding of each result, as a pytree."""
        ...

    def runtime_executable(self) -> Executable:
        """Return the runtime's executable."""
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
        """Return the program as an MLIR module."""
        ...


class DeviceMesh(Protocol):
    """A mesh of devices, concrete or abstract."""

    def update(self, *, abstract_device: object) -> object:
        """Return an abstract mesh with another abstract device."""
        ...


class NamedSharding(Protocol):
    """A sharding over the named axes of a mesh."""

    @property
    def mesh(self) -> DeviceMesh:
        """The mesh, concrete or abstract."""
        ...

    @property
    def spec(self) -> object:
        """The mesh axes over which each axis of the array is sharded."""
        ...

    @property
    def memory_kind(self) -> str | None:
        """The kind of memory, such as `pinned_host`."""
        ...


class JaxArray(ArrayLike, Protocol):
    """A JAX array."""

    def is_deleted(self) -> bool:
        """Return whether its memory was freed or donated."""
        ...


class JaxFunction(Protocol):
    """A function made by `jax.jit`, or by a library's own `jit`."""

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call the function."""
        ...

    def trace(self, *arguments: object, **named: object) -> Traced:
        """Trace the function with arguments or their types."""
        ...

    def lower(self, *arguments: object, **named: object) -> Lowered:
        """Lower the function with arguments or their types."""
        ...


ListedProgram = tuple[str, Callable[..., object], Sequence[object]]
"""A program's name, function and arguments."""
