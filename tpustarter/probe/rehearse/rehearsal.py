"""Compile programs for a TPU that is not there, and report the compiler's answer for each.

Runs in a Python with JAX and libtpu. Its parent process sets the variables that keep libtpu off the
chips (`rehearsal.compile.compiler.QUIET`), because libtpu reads them when it is loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from tpustarter.probe.events import EndEventFields
from tpustarter.probe.finding import describe_error, error_message, shorten_for_json
from tpustarter.probe.rehearse import donation, hlo, lowering_errors
from tpustarter.probe.rehearse.jax_types import (
    Device,
    Executable,
    JaxFunction,
    ListedProgram,
    MemoryStats,
)
from tpustarter.probe.rehearse.jitted_functions import is_jitted
from tpustarter.probe.rehearse.rehearsal_messages import (
    AliasedArtifactFields,
    CompileCommand,
    Emit,
    TopologyFields,
    WorkFields,
)

FORMAT = 8
"""Version of stored answers; increase it when a stored answer would differ from a fresh one."""
EFFORT = ("jax_optimization_level", "jax_memory_fitting_level")
"""JAX's settings that change what its compiler makes; older versions have none."""
LARGEST = 8
"""Most arrays in memory that are listed, largest first."""
LONGEST_FOLDER = 60
"""Longest folder name in characters of four bytes each; a file system allows 255 bytes."""

ENDS_EARLY = "the compiler's text of the program ends early"
MISSING = f"{ENDS_EARLY}: arrays, collectives, loops and kernels may be missing here"

_TORCH = "/torch/_ops.py:"

GIB = 2.0**30
_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_FIGURE = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)([KMGT]?)"
_NEEDED = re.compile(rf"\({_FIGURE}\) exceeds available HBM|Used {_FIGURE} of [^\n]* hbm")

_topologies: dict[str, list[Device] | str] = {}
"""Devices of each topology requested so far, or how it differs from the expected TPU."""


def load_topology(topology: TopologyFields) -> None:
    """Load the compiler and describe a TPU; an error is reported with the first program."""
    with contextlib.suppress(Exception):
        _topology_devices(topology, ask=True)


def compile_programs(command: CompileCommand, emit: Emit) -> EndEventFields:
    """Compile the programs of one source for one TPU, emitting a `rehearsed` event for each."""
    # A compiler set to continue when memory runs out does not report the limit.
    devices = _topology_devices(command["topology"], ask="only" not in command)
    if isinstance(devices, str):
        return {"outcome": "mismatch", "detail": devices}
    try:
        programs = list(_programs(command, devices))
    except Exception as error:  # noqa: BLE001  any exception of a check is its outcome
        return {"outcome": "exception", "detail": shorten_for_json(describe_error(error))}
    for number, (name, lower) in enumerate(programs):
        if name in command["done"] or name not in command.get("only", [name]):
            continue
        share = number / len(programs)
        emit({"event": "compiling", "id": command["id"], "program": name, "share": share})
        result = _rehearse(name, lower, command)
        emit({"event": "rehearsed", "id": command["id"], "result": result})
    return {"outcome": "done"}


def _topology_devices(expected: TopologyFields, *, ask: bool) -> list[Device] | str:
    name = expected["name"]
    if name not in _topologies:
        topologies = importlib.import_module("jax.experimental.topologies")
        raw = expected["arguments"]
        # JSON has turned tuples into lists.
        arguments = {key: _as_tuple(value) for key, value in raw.items()}
        try:
            topology = topologies.get_topology_desc(
                platform="tpu", topology_name=expected["topology_name"], **arguments
            )
        except Exception as error:  # noqa: BLE001  the compiler does not know this TPU
            return shorten_for_json(
                f"the compiler refused {expected['topology_name']}: {format_compiler_error(error)}"
            )
        devices: list[Device] = list(topology.devices)
        _topologies[name] = (_difference(devices, expected) if ask else None) or devices
    return _topologies[name]


def _as_tuple(value: str | int | Sequence[int]) -> str | int | tuple[int, ...]:
    return value if isinstance(value, str | int) else tuple(value)


def _difference(devices: list[Device], expected: TopologyFields) -> str | None:
    actual = {
        "devices": len(devices),
        "processes": len({device.process_index for device in devices}),
        "slices": len({getattr(device, "slice_index", 0) for device in devices}),
        "hbm_gib_per_device": _hbm_gib(devices[0]),
    }
    wrong = [
        f"{key} {value}, expected {expected[key]}"
        for key, value in actual.items()
        if value != expected[key]
    ]
    return f"the compiler describes another TPU: {'; '.join(wrong)}" if wrong else None


def _add_one(x: int) -> int:
    return x + 1


def _hbm_gib(device: Device) -> float | None:
    # The refusal of a 1 TiB program names the memory that one program may use.
    jax = importlib.import_module("jax")
    sharding = jax.sharding.SingleDeviceSharding(device)
    too_large = jax.ShapeDtypeStruct((1 << 40,), "int8", sharding=sharding)
    try:
        jax.jit(_add_one).lower(too_large).compile()
    except Exception as error:  # noqa: BLE001  it is expected to fail
        limit = _memory(str(error)).get("hbm_limit_bytes")
        return round(limit / GIB, 2) if limit else None
    return None


Lower = Callable[[], "_Lowered"]


@dataclass(frozen=True)
class _Donating:
    """An artifact whose argument names `jax.jit` accepts for donation."""

    devices: list[Device]
    text: bytes
    lowered: AliasedArtifactFields

    def try_all(self, names: Sequence[str]) -> donation.DonationFields | None:
        """Compile with every argument donated that matches a result; return the memory needed.

        None if no argument matches, or if the program is refused for another reason.
        """
        from tpustarter.probe.rehearse import stablehlo_compiler

        undonated, results = stablehlo_compiler.list_undonated_types(self.text)
        numbers = [*undonated]
        matching = donation.list_donatable([*undonated.values()], results)
        donated = [numbers[one] for one in matching]
        if not donated:
            return None
        lowered: AliasedArtifactFields = {**self.lowered, "donated": donated}
        try:
            executable = stablehlo_compiler.compile_for_devices(self.devices, self.text, lowered)
            _, needed = _read_memory(executable)
        except RuntimeError as error:
            needed = _memory(str(error)).get("hbm_bytes", 0)
        fields = donation.make_donation_fields(donated, names, needed) if needed else None
        return donation.add_positions(fields, self.lowered.get("pmapped", ()))


class _Lowered:
    """A program lowered for one TPU: its text, and a function that compiles it."""

    def __init__(
        self,
        text: str | bytes,
        compile_it: Callable[[], Executable],
        devices: int,
        names: Callable[[], list[str]],
        show: Callable[[], str],
        *,
        work: WorkFields | None,
        donating: _Donating | None = None,
    ) -> None:
        self.text = text
        self.compile = compile_it
        self.devices = devices
        """Number of devices that the program uses."""
        self.names = names
        """A function that returns the program's argument names."""
        self.show = show
        """A function that returns the program as StableHLO text."""
        self.donating = donating
        """The artifact to compile with more arguments donated; None if they have no names."""
        self.work: WorkFields = {**work} if work else {}
        """The work counted in the program's trace; empty if there is none."""
        self.written_shares = self.work.pop("written_shares", {})
        """The share of each result that is written, by its index."""


def _programs(command: CompileCommand, devices: list[Device]) -> Iterable[tuple[str, Lower]]:
    if "artifact" in command and "lowered" in command and "program" in command:
        from tpustarter.probe.rehearse import stablehlo_compiler

        text = Path(command["artifact"]).read_bytes()
        lowered = command["lowered"]
        count = int(lowered["devices"] or stablehlo_compiler.count_devices(text))
        if count > len(devices):
            raise ValueError(f"it needs {count} devices, and this TPU has {len(devices)}")

        def compile_it() -> Executable:
            return stablehlo_compiler.compile_for_devices(devices[:count], text, lowered)

        decided = text + json.dumps(lowered.get("aliases", "")).encode()
        names = partial(stablehlo_compiler.read_argument_names, text)
        show = partial(stablehlo_compiler.format_text, text)
        work = command.get("work")
        donating = _Donating(devices[:count], text, lowered) if lowered.get("named") else None
        yield (
            command["program"],
            lambda: _Lowered(decided, compile_it, count, names, show, work=work, donating=donating),
        )
    elif "check" in command:
        module = importlib.import_module("tpustarter.checks." + command["check"])
        programs: Iterable[ListedProgram] = module.programs(devices)
        for name, function, arguments in programs:
            yield name, lambda f=function, a=arguments: _lower(f, a)


def _lower(function: Callable[..., object], arguments: Sequence[object]) -> _Lowered:
    from tpustarter.probe.rehearse.work.program_work import count_work

    jax = importlib.import_module("jax")
    jitted: JaxFunction = function if is_jitted(function) else jax.jit(function)
    traced = jitted.trace(*arguments) if hasattr(jitted, "trace") else None
    lowered = traced.lower() if traced else jitted.lower(*arguments)

    def compile_it() -> Executable:
        return lowered.compile().runtime_executable()

    def names() -> list[str]:
        from tpustarter.probe.rehearse import stablehlo_compiler

        with contextlib.suppress(Exception):  # the names are only for display
            return stablehlo_compiler.list_argument_names(lowered.compiler_ir("stablehlo"))
        return []

    used: set[Device] = set()
    leaves = jax.tree_util.tree_leaves(arguments)
    for leaf in leaves:
        used |= set(leaf.sharding.device_set)
    work = count_work(traced, leaves, len(used)) if traced else None
    show = lowered.as_text
    return _Lowered(show(), compile_it, len(used), names, show, work=work)


def _rehearse(name: str, lower: Lower, command: CompileCommand) -> dict[str, object]:
    topology = command["topology"]
    result: dict[str, object] = {
        "program": name,
        "check": command.get("check"),
        "tpu": command["tpu"],
        "topology": topology["topology_name"],
        "status": "error",
        "reason": None,
        "detail": "",
        "seconds": 0.0,
        "cached": False,
        "key": None,
        "hbm_limit_bytes": topology["hbm_bytes"],
    }
    began = time.monotonic()
    try:
        with lowering_errors.disable_traceback_filtering(importlib.import_module("jax")):
            lowered = lower()
    except Exception as error:  # noqa: BLE001  any error of tracing is reported to the user
        if lowering_errors.is_refusal(error):
            return result | _refusal(error)
        return result | {"reason": format_compiler_error(error), "detail": error_message(error)}
    parts = {number: share for number, share in lowered.written_shares.items() if share < 1}
    shares = json.dumps(parts, sort_keys=True) if parts else ""
    program = f"{command.get('check')} {name}{shares}"
    result["key"] = key = _key(lowered.text, topology, program)
    result["devices"] = lowered.devices
    result |= {"work": lowered.work} if lowered.work else {}
    folder = command.get("save")
    save = Path(folder) / format_folder_name(name) if folder else None
    if save:
        _write(save / "before.mlir", lowered.show())
    stored = None if save else _stored(command.get("cache"), key)
    if stored:
        return result | stored | {"cached": True, "seconds": time.monotonic() - began}
    began = time.monotonic()
    try:
        executable = lowered.compile()
    except RuntimeError as error:  # the compiler's refusals and NotImplementedError
        refused = _refusal(error) | {"seconds": time.monotonic() - began}
        helps = _name_arguments(lowered, command) if "hbm_bytes" in refused else {}
        return result | refused | helps
    seconds = time.monotonic() - began
    if save:
        _write(save / "after.hlo", executable.hlo_modules()[0].to_string())
    facts = _facts(executable, lowered)
    return result | {"status": "compiles", "seconds": seconds, **facts}


def _name_arguments(lowered: _Lowered, command: CompileCommand) -> dict[str, object]:
    # For a program that does not fit: its argument names, and the effect of donating more of them.
    names = lowered.names()
    tried = None
    if lowered.donating and command.get("explain"):
        tried = lowered.donating.try_all(names)
    return {"argument_names": names, **({"donation": tried} if tried else {})}


def format_folder_name(name: str) -> str:
    """Return a program's name as a folder name; one that had to change ends in a hash."""
    folder = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:LONGEST_FOLDER]
    if folder == name and name:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{folder or 'program'}-{digest[:8]}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _key(text: str | bytes, topology: TopologyFields, program: str) -> str:
    # The key includes the program's name, because an answer refers to lines of its file.
    import jax

    from tpustarter.machine import frameworks

    versions = frameworks.read_versions()["frameworks"]
    decided = {
        "format": FORMAT,
        "program": program,
        "versions": {name: versions.get(name) for name in ("jax", "jaxlib", "libtpu")},
        "topology": dict(topology),
        "flags": {name: os.environ.get(name) for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")},
        "effort": {name: str(getattr(jax.config, name, None)) for name in EFFORT},
    }
    data = text if isinstance(text, bytes) else text.encode()
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode() + data).hexdigest()


def _stored(cache: str | None, key: str) -> dict[str, object] | None:
    # An unreadable file is ignored.
    if not cache:
        return None
    try:
        stored = json.loads((Path(cache) / f"{key}.json").read_text(encoding="utf-8"))
        return stored if stored["status"] in ("compiles", "does-not-fit", "refused") else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _refusal(error: Exception) -> dict[str, object]:
    text = str(error)
    memory = _memory(text)
    status = "does-not-fit" if memory else "refused"
    return {"status": status, "reason": format_compiler_error(error), "detail": text, **memory}


def _memory(text: str) -> dict[str, int]:
    # Empty if the refusal is not about memory.
    match = _NEEDED.search(text)
    limit = re.search(rf"available HBM \({_FIGURE}\)|Used [\d.]{{1,30}}[KMGT]? of {_FIGURE}", text)
    if "RESOURCE_EXHAUSTED" not in text or not match or not limit:
        return {}
    needed = _bytes(*(match.group(1, 2) if match[1] else match.group(3, 4)))
    available = _bytes(*(limit.group(1, 2) if limit[1] else limit.group(3, 4)))
    return {"hbm_bytes": needed, "hbm_limit_bytes": available}


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * _UNITS[unit])


def format_compiler_error(error: BaseException) -> str:
    """Return an exception's message as one line, without the runtime's error code."""
    lines = [line.strip() for line in error_message(error).splitlines() if line.strip()]
    text = lines[0] if lines else f"{type(error).__name__} without a message"
    text = re.sub(r"^[A-Z_]+: ", "", text)
    return shorten_for_json(text)


def _facts(executable: Executable, lowered: _Lowered) -> dict[str, object]:
    # Sizes are bytes on one device.
    text = executable.hlo_modules()[0].to_string()
    read = hlo.parse_program(text, LARGEST)
    cost = _cost(executable)
    memory, needed = _read_memory(executable)
    undonated = None
    if lowered.donating and read.complete:
        header = text.partition("\n")[0]
        undonated = donation.add_positions(
            donation.find_undonated_arguments(header, read, lowered.names(), needed),
            lowered.donating.lowered.get("pmapped", ()),
        )
    seconds, why = _model_seconds(cost, read, lowered.devices)
    values = sorted(
        (*read.arguments, *read.outputs, *read.values), key=lambda value: -value.laid_out_bytes
    )
    return {
        "hbm_bytes": needed,
        "memory": memory,
        "padding": {
            "asked_bytes": sum(value.unpadded_bytes for value in (*read.arguments, *read.outputs)),
            "laid_out_bytes": sum(v.laid_out_bytes for v in (*read.arguments, *read.outputs)),
        },
        "buffers": [_buffer_fields(value) for value in values[:LARGEST]],
        "collectives": [asdict(collective) for collective in read.collectives],
        "dots": [asdict(dot) for dot in read.dots],
        "loops": read.loops,
        "kernels": list(read.kernels),
        "written_bytes": count_written_bytes(read.outputs, lowered.written_shares),
        "flops": cost.get("flops"),
        "bytes_accessed": cost.get("bytes accessed"),
        "compiler_model_seconds": seconds,
        "compiler_model_reason": why,
        **({} if read.complete else {"key": None, "notes": [MISSING]}),
        **({"donation": undonated} if undonated else {}),
    }


def _read_memory(executable: Executable) -> tuple[dict[str, int], int]:
    # The bytes of each use of memory, and their total.
    stats = executable.get_compiled_memory_stats()
    memory = {
        "arguments": stats.argument_size_in_bytes,
        "outputs": stats.output_size_in_bytes,
        "aliased": stats.alias_size_in_bytes,
        "temporaries": _temporaries(stats),
        "code": stats.generated_code_size_in_bytes,
    }
    return memory, sum(memory.values()) - 2 * memory["aliased"]


def count_written_bytes(outputs: Sequence[hlo.HloBuffer], shares: Mapping[str, float]) -> float:
    """Return the fewest bytes that one device has to write, or 0 if unknown.

    Args:
        outputs: The results of the compiled program.
        shares: The share of each traced result that is written, by its index.
    """
    # The compiler may drop a result that is an argument; then the indices do not match.
    if len(shares) != len(outputs) and any(share < 1 for share in shares.values()):
        return 0.0
    return sum(
        value.unpadded_bytes * shares.get(str(number), 1.0) for number, value in enumerate(outputs)
    )


def _temporaries(stats: MemoryStats) -> int:
    # On a TPU, `temp_size_in_bytes` can exceed what is allocated. `x - a.T @ (a @ x)` in float64
    # with 64,000 rows of 4,096 is accepted for 15.75 GiB, although this figure makes it 16.61 GiB
    # and the allocations 15.63. With 512 more rows it is refused (libtpu 0.0.50.1). An older jaxlib
    # has no other figure.
    if not (total := getattr(stats, "total_allocation_bytes", 0)):
        return stats.temp_size_in_bytes
    return total - getattr(stats, "indefinite_allocations", 0)


def _buffer_fields(value: hlo.HloBuffer) -> dict[str, object]:
    # The line that torch_xla records is only that of PyTorch's own dispatcher.
    fields = asdict(replace(value, source="") if _TORCH in value.source else value)
    return {"asked_bytes" if name == "unpadded_bytes" else name: fields[name] for name in fields}


def _cost(executable: Executable) -> dict[str, float]:
    return dict(executable.cost_analysis() or {})


def _model_seconds(
    cost: Mapping[str, float], read: hlo.HloProgram, devices: int
) -> tuple[float | None, str | None]:
    seconds = cost.get("optimal_seconds")
    reasons = (
        (not read.complete, ENDS_EARLY),
        (devices > 1, "it leaves out the links between devices"),
        (read.loops > 0, "it counts the body of a loop once"),
        (bool(read.kernels), "it does not know what a hand-written kernel costs"),
        (any(dot.precision != "default" for dot in read.dots), "it prices no higher precision"),
        (seconds is None or seconds <= 0, "the compiler gave no figure"),
    )
    for holds, why in reasons:
        if holds:
            return None, why
    return seconds, None
