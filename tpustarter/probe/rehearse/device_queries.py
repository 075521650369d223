"""Answer a program's device queries as a TPU would, while it is lowered for that TPU.

A program may branch on `jax.default_backend()`, on the platform or kind of `jax.devices()[0]`, or,
in a Pallas kernel, on `pltpu.get_tpu_info()`. It is lowered on a CPU, so the true answers would
select code that a TPU never runs. JAX 0.10 and later have an abstract device for the Pallas query.
The others read attributes of real devices, which are patched. The answer depends on the caller,
because JAX itself needs the true one to compile.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Protocol, TypeVar

from tpustarter.probe.rehearse import jitted_functions
from tpustarter.probe.rehearse.jax_types import ArrayLike, Device, NamedSharding
from tpustarter.probe.rehearse.rehearsal_messages import MOST_NAMED, LoweringTargetFields

_ANSWERED = (
    "jax.experimental.mosaic",
    "jax.experimental.pallas",
    "jax._src.pallas",
    "jax._src.tpu_info",
)
"""JAX modules that query the device only on behalf of a program's kernels."""
_T = TypeVar("_T")
_TRUTH = ("jax", "jaxlib", "tpustarter")
_MAIN_MEMORY = (None, "device", "unpinned_host")
"""Memory kinds that are not part of an array's type."""
MOST_PLACES = 100


class _AnyAttributes(Protocol):
    def __getattr__(self, name: str, /) -> object: ...


@dataclass(frozen=True)
class TpuDevice:
    """A TPU device's kind and number of cores."""

    kind: str
    """JAX's `device_kind`, such as `TPU v5 lite`."""
    cores: int


@dataclass
class DeviceQueries:
    """A program's queries about its device; if `device` is None, it got true answers."""

    device: TpuDevice | None = None
    platform: bool = False
    """True if the program queried the backend, or a property of a real device."""
    kind: bool = False
    """True if it queried a property that differs between TPUs."""
    places: list[str] = field(default_factory=list[str])
    """`file:line` of each query that got a true answer."""

    def merge(self, other: DeviceQueries) -> DeviceQueries:
        """Return this program's queries combined with another's, keeping its own `places`."""
        return DeviceQueries(
            self.device, self.platform or other.platform, self.kind or other.kind, self.places
        )


def caches_traces_by_device(jax: ModuleType) -> bool:
    """Return whether JAX's tracing cache distinguishes abstract devices.

    If it does not, a program that also runs in this process must get true answers. Otherwise JAX
    would run what it traced for a TPU.
    """
    return hasattr(jax.sharding, "AbstractDevice") and hasattr(jax.sharding, "use_abstract_mesh")


def describe_queries(queries: DeviceQueries) -> list[str]:
    """Return notes on a program's device queries; empty if there were none."""
    if not (queries.platform or queries.kind):
        return []
    if queries.device is None:
        places = ", ".join(queries.places[:MOST_NAMED])
        text = f"it asks where it runs ({places}), and was answered `cpu`"
        return [f"{text}: where it branches on that, this is the code for a CPU"]
    if queries.kind:
        return ["it asks for the kind of device: each kind of TPU has its own program here"]
    return ["it asks where it runs, and was answered `tpu`"]


class PatchedDeviceQueries:
    """A context in which JAX answers device queries as on a TPU; `queries` collects them."""

    def __init__(self, jax: ModuleType) -> None:
        self._jax = jax
        self.queries = DeviceQueries()
        self.devices_per_slice: int | None = None
        """Devices that share a `slice_index`; None on one slice, whose devices have none."""
        self._patches = contextlib.ExitStack()

    def __enter__(self) -> PatchedDeviceQueries:  # noqa: PYI034  Python 3.10 has no Self
        jax = self._jax
        self._set(jax, "default_backend", self._default_backend(jax.default_backend))
        for name in ("devices", "device_count", "local_devices", "local_device_count"):
            self._set(jax, name, self._accepting_tpu(getattr(jax, name)))
        device: Device = jax.devices()[0]
        fields: tuple[tuple[str, Callable[[TpuDevice], str | int]], ...] = (
            ("platform", lambda _: "tpu"),
            ("device_kind", lambda device: device.kind),
            ("num_cores", lambda device: device.cores),
        )
        for name, answer in fields:
            self._set_property(type(device), name, answer)
        self._set_property(type(device.client), "platform", fields[0][1])
        with contextlib.suppress(TypeError, AttributeError):
            self._set(type(device), "slice_index", property(self._find_slice))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    @contextlib.contextmanager
    def answer_for(self, device: TpuDevice | None) -> Generator[DeviceQueries]:
        """Answer queries as on a TPU within the block, or truthfully if `device` is None."""
        outer, self.queries = self.queries, DeviceQueries(device)
        try:
            yield self.queries
        finally:
            self.queries = outer

    @contextlib.contextmanager
    def use_abstract_device(self) -> Generator[None]:
        """Make JAX's abstract device a TPU within the block, in the current mesh."""
        device, sharding = self.queries.device, self._jax.sharding
        if device is None or not caches_traces_by_device(self._jax):
            yield
            return
        abstract = _abstract_device(sharding, self.queries, device)
        mesh = sharding.get_abstract_mesh()
        if mesh.empty:
            mesh = sharding.AbstractMesh((), (), abstract_device=abstract)
        else:
            mesh = mesh.update(abstract_device=abstract)
        with sharding.use_abstract_mesh(mesh), self._in_meshes(abstract):
            yield

    @contextlib.contextmanager
    def _in_meshes(self, abstract: object) -> Generator[None]:
        # JAX compares a real mesh's abstract device with that of the current mesh.
        kind = self._jax.sharding.Mesh
        original: Any = kind.__dict__["abstract_mesh"]  # a descriptor of a type private to JAX

        def abstract_mesh(mesh: object) -> object:
            own = original.__get__(mesh, kind)
            return own if own.empty else own.update(abstract_device=abstract)

        kind.abstract_mesh = property(abstract_mesh)
        try:
            yield
        finally:
            kind.abstract_mesh = original

    def convert_to_tpu(self, arguments: _T) -> _T:
        """Return a pytree whose arrays on the current mesh are replaced by types on the TPU.

        With explicit axes, the mesh is part of an array's type, and JAX compares it with the
        current mesh.
        """
        sharding = self._jax.sharding
        if not caches_traces_by_device(self._jax) or (mesh := sharding.get_abstract_mesh()).empty:
            return arguments

        def one(value: object) -> object:
            if not jitted_functions.is_array(value):
                return value
            own = _named_sharding(value, sharding)
            if own is None or own.memory_kind not in _MAIN_MEMORY:
                return value
            if mesh != getattr(own.mesh, "abstract_mesh", own.mesh).update(
                abstract_device=mesh.abstract_device
            ):
                return value  # on another mesh
            on_tpu = sharding.NamedSharding(mesh, own.spec)
            return self._jax.ShapeDtypeStruct(
                value.shape,
                value.dtype,
                sharding=on_tpu,
                weak_type=getattr(value, "weak_type", False),
            )

        return self._jax.tree_util.tree_map(one, arguments)

    def _find_slice(self, device: Device) -> int:
        # JAX itself reads it too, to build a mesh over several slices.
        if self.devices_per_slice is None:
            raise AttributeError("slice_index")
        return device.id // self.devices_per_slice

    def _set(self, owner: type | ModuleType, name: str, value: object) -> None:
        own = vars(owner)
        if name in own:
            self._patches.callback(setattr, owner, name, own[name])
        else:
            self._patches.callback(delattr, owner, name)
        setattr(owner, name, value)

    def _set_property(
        self, owner: type, name: str, answer: Callable[[TpuDevice], str | int]
    ) -> None:
        original = vars(owner).get(name)

        def read(device: _AnyAttributes) -> object:
            if self._answers(name, _asker()) and self.queries.device:
                return answer(self.queries.device)
            if original is None:
                return device.__getattr__(name)
            return original.__get__(device, owner)

        # Some classes reject the attribute. Their queries are missed, as are those of other
        # libraries.
        with contextlib.suppress(TypeError, AttributeError):
            self._set(owner, name, property(read))

    def _default_backend(self, original: Callable[[], str]) -> Callable[[], str]:
        def default_backend() -> str:
            asks = self._answers("platform", _asker())
            return "tpu" if asks and self.queries.device else original()

        return default_backend

    def _accepting_tpu(self, original: Callable[..., object]) -> Callable[..., object]:
        # `jax.devices("tpu")` returns the CPU devices that stand in for the TPU's.
        def call(*arguments: object, **named: object) -> object:
            if self.queries.device and "tpu" in (*arguments, *named.values()):
                arguments = tuple("cpu" if word == "tpu" else word for word in arguments)
                named = {key: "cpu" if word == "tpu" else word for key, word in named.items()}
            return original(*arguments, **named)

        return call

    def _answers(self, name: str, frame: FrameType) -> bool:
        # False if the query is JAX's own.
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _TRUTH and not module.startswith(_ANSWERED):
            return False
        self.queries.platform = True
        self.queries.kind |= name != "platform"
        if self.queries.device is None and len(self.queries.places) < MOST_PLACES:
            place = _place(frame)
            if place not in self.queries.places:
                self.queries.places.append(place)
        return True


def _asker() -> FrameType:
    frame = inspect.currentframe()
    if frame is None or frame.f_back is None or frame.f_back.f_back is None:
        raise RuntimeError("this Python keeps no frames")
    return frame.f_back.f_back


def _place(frame: FrameType) -> str:
    # The query may come through one of JAX's modules.
    while frame.f_back and str(frame.f_globals.get("__name__", "")).startswith(_ANSWERED):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def parse_device(fields: LoweringTargetFields) -> TpuDevice:
    """Return a TPU's device from a command's fields."""
    return TpuDevice(fields["kind"], fields["cores"])


def _named_sharding(value: ArrayLike, sharding: ModuleType) -> NamedSharding | None:
    own: NamedSharding | None = getattr(value, "sharding", None)
    return own if isinstance(own, sharding.NamedSharding) else None


def _abstract_device(sharding: ModuleType, queries: DeviceQueries, device: TpuDevice) -> object:
    base: Any = sharding.AbstractDevice  # pyright rejects a base class of unknown type

    class RecordedDevice(base):
        """An abstract device that records queries of its kind and cores, except JAX's own."""

        def __getattribute__(self, name: str) -> object:
            if name in ("device_kind", "num_cores"):
                module = str(_asker().f_globals.get("__name__", ""))
                queries.kind |= module.startswith(_ANSWERED) or not module.startswith("jax")
            value: object = base.__getattribute__(self, name)
            return value

    return RecordedDevice(device.kind, device.cores, "tpu")
