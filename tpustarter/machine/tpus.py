"""Names of TPUs: as people type them, with their chips, and with their topology for rehearsal.

The values of TOPOLOGIES were measured with the TPU compiler (jax 0.12.0.1, libtpu 0.0.50.1) on a
machine without a TPU. Standard library only: this module travels inside the probe.
"""

from dataclasses import dataclass
from typing import NoReturn

from tpustarter.machine.generations import GENERATIONS, Generation


@dataclass(frozen=True)
class TpuType:
    """A TPU of one size: `v5e-8`, however it was typed."""

    name: str
    generation: Generation
    chips: int
    cores: int
    devices: int | None
    hosts: int
    """Number of TPU VMs."""

    @property
    def accelerator_type(self) -> str:
        """The type's name in Google's commands and metadata, such as `v5litepod-8`."""
        return f"{self.generation.aliases[0]}-{self.name.rpartition('-')[2]}"


@dataclass(frozen=True)
class Topology:
    """Arguments for the TPU compiler, and the TPU that they describe."""

    name: str
    topology_name: str
    arguments: dict[str, str | tuple[int, ...]]
    """Further arguments of `jax.experimental.topologies.get_topology_desc`."""
    devices: int
    processes: int
    hbm_gib_per_device: float
    """HBM in GiB that the compiler lets a program use on one device."""


_MEGACORE: dict[str, str | tuple[int, ...]] = {"chip_config_name": "megacore"}
_ONE_CHIP: dict[str, str | tuple[int, ...]] = {"chips_per_host_bounds": (1, 1, 1)}
_EIGHT_CHIPS: dict[str, str | tuple[int, ...]] = {"chips_per_host_bounds": (2, 4, 1)}

TOPOLOGIES: tuple[Topology, ...] = (
    Topology("v2-8", "v2:2x2", {}, 8, 1, 7.48),
    Topology("v3-8", "v3:2x2", {}, 8, 1, 15.48),
    Topology("v4-8", "v4:2x2x1", _MEGACORE, 4, 1, 30.75),
    Topology("v4-32", "v4:2x2x4", _MEGACORE, 16, 4, 30.75),
    Topology("v5e-1", "v5e:1x1", _ONE_CHIP, 1, 1, 15.75),
    Topology("v5e-4", "v5e:2x2", {}, 4, 1, 15.75),
    Topology("v5e-8", "v5e:2x4", _EIGHT_CHIPS, 8, 1, 15.75),
    Topology("v5e-16", "v5e:4x4", {}, 16, 4, 15.75),
    Topology("v5p-8", "v5p:2x2x1", {}, 4, 1, 95.73),
    Topology("v5p-128", "v5p:4x4x4", {}, 64, 16, 95.73),
    Topology("v6e-1", "v6e:1x1", _ONE_CHIP, 1, 1, 31.24),
    Topology("v6e-4", "v6e:2x2", {}, 4, 1, 31.24),
    Topology("v6e-8", "v6e:2x4", _EIGHT_CHIPS, 8, 1, 31.24),
    Topology("v6e-256", "v6e:16x16", {}, 256, 64, 31.24),
    Topology("tpu7x-2", "tpu7x:1x1x1", _ONE_CHIP, 2, 1, 94.74),
    Topology("tpu7x-8", "tpu7x:2x2x1", {}, 8, 1, 94.74),
)

MOST_TYPED = 60
"""Characters of a name that an error repeats; a longer one is not repeated."""


def _key(name: str) -> str:
    # `TPU v5 lite` becomes `v5lite`.
    return "".join(filter(str.isalnum, name.casefold())).removeprefix("tpu")


_BY_KEY = {_key(name): row for row in GENERATIONS for name in (row.name, *row.aliases)}
_MACHINES = {name: (row, chips) for row in GENERATIONS for name, chips in row.machine_types}


def _refuse(what: str, text: str, expected: str, matches: list[str]) -> NoReturn:
    text = text if text.isprintable() else ascii(text)[1:-1]
    found = f"`{text}`" if len(text) <= MOST_TYPED else f"{len(text)} characters"
    hint = (
        f"; did you mean {' or '.join(f'`{n}`' for n in dict.fromkeys(matches))}?"
        if matches
        else ""
    )
    raise LookupError(f"{what}: found {found}, expected {expected}{hint}")


def _nearest(typed: str, names: list[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(typed[:40], names, n=2, cutoff=0.8)


def find_generation(name: str) -> Generation:
    """Return the generation meant by `v5e`, `v5litepod` or `Trillium`; raises LookupError."""
    row = _BY_KEY.get(_key(name))
    if row is None:
        names = [row.name for row in GENERATIONS]
        matches = [_BY_KEY[key].name for key in _nearest(_key(name), list(_BY_KEY))]
        _refuse("unknown TPU generation", name, f"one of {', '.join(names)}", matches)
    return row


def find_by_pci(device: int, subsystem: int | None) -> Generation | None:
    """Return the generation with these PCI ids; v2 and v3 differ in the subsystem only."""
    for row in GENERATIONS:
        if any(p.device == device and p.subsystem in (None, subsystem) for p in row.pci):
            return row
    return None


def find_by_device_kind(kind: str) -> Generation | None:
    """Return the generation that JAX calls by this device kind, such as `TPU v5 lite`, or None."""
    return next((row for row in GENERATIONS if kind in row.device_kinds), None)


def _slice(row: Generation, chips: int) -> TpuType:
    cores, per_chip = chips * row.cores_per_chip, row.devices_per_chip
    devices = None if per_chip is None else chips * per_chip
    hosts = 1 if chips in row.chips_per_host else chips // 4
    name = f"{row.name}-{cores if row.counts == 'cores' else chips}"
    return TpuType(name, row, chips, cores, devices, hosts)


def _chips(row: Generation, number: int, typed: str) -> int:
    per_chip = row.cores_per_chip if row.counts == "cores" else 1
    most = row.chips_per_pod or 0
    sizes = row.slice_chips or (*row.chips_per_host, *range(8, most + 1, 4))
    chips, remainder = divmod(number, per_chip)
    if remainder or chips not in sizes:
        closest = _slice(row, min(sizes, key=lambda size: abs(size * per_chip - number))).name
        listed = ", ".join(str(size * per_chip) for size in row.slice_chips or row.chips_per_host)
        multiples = (
            "" if row.slice_chips else f", or a multiple of {4 * per_chip} up to {most * per_chip}"
        )
        _refuse("no such TPU type", typed, f"{listed} {row.counts}{multiples}", [closest])
    return chips


def parse_type(text: str) -> TpuType:
    """Return the TPU meant by `V5litepod-8` or `ct6e-standard-4t`; raises LookupError."""
    typed = text.strip().casefold()
    # The metadata server gives a machine type as `projects/1/machineTypes/ct6e-standard-4t`.
    machine = _MACHINES.get(typed.rpartition("/")[2].removesuffix("-tpu"))
    if machine:
        return _slice(*machine)
    family, _, number = typed.rpartition("-")
    example = "a name such as `v5e-8`, `v4-8` or `tpu7x-8`"
    row = _BY_KEY.get(_key(family)) if family[-1:].isalnum() else None  # `v6e--8` is none
    if row is not None and row.counts is None:
        _refuse(f"no types of {row.title} are published", text, example, [])
    # `int` refuses numbers of some thousand digits.
    if row is not None and number.isascii() and number.isdigit() and len(number) < 10:
        return _slice(row, _chips(row, int(number), text))
    one_host = {r.name: _slice(r, max(r.chips_per_host)).name for r in GENERATIONS if r.counts}
    intended = row or _BY_KEY.get(_key(typed))
    names = [*one_host.values(), *_MACHINES, "v5litepod-8"]
    same = [one.name for one in TOPOLOGIES if _key(one.name) == _key(typed)]  # `v5e8` is `v5e-8`
    if intended and intended.counts:
        matches = [one_host[intended.name]]
    else:
        matches = same or _nearest(typed, names)
    _refuse("unknown TPU type", text, example, matches)


def list_type_names() -> list[str]:
    """Return the documented types, the smallest of each generation first.

    Of a generation whose slices have any multiple of 4 chips, only those of one host are listed.
    """
    sizes = {row: row.slice_chips or row.chips_per_host for row in GENERATIONS if row.counts}
    first = [_slice(row, min(chips)).name for row, chips in sizes.items()]
    return list(
        dict.fromkeys(
            [
                *first,
                *(_slice(row, size).name for row, chips in sizes.items() for size in chips),
            ]
        )
    )


def find_topology(text: str) -> Topology:
    """Return the topology for rehearsing the TPU meant by a type name; raises LookupError."""
    tpu = parse_type(text)
    for row in TOPOLOGIES:
        if row.name == tpu.name:
            return row
    names = [row.name for row in TOPOLOGIES if row.name.startswith(f"{tpu.generation.name}-")]
    _refuse("no measured topology", text, f"one of {', '.join(names)}", _nearest(tpu.name, names))
