"""Names of TPUs: types as people type them, and topologies for rehearsal.

`tests/benchmarks/slices.py` queries the compiler about each slice. This module travels with the
probe, so it uses only the standard library.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from tpustarter.machine.generations import GENERATIONS, Generation


@dataclass(frozen=True)
class TpuType:
    """A TPU of one size: `v5e-8`, regardless of how it was typed."""

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


Arguments = dict[str, str | int | tuple[int, ...]]


@dataclass(frozen=True)
class Topology:
    """Arguments for the TPU compiler, and the TPU that they describe."""

    name: str
    """The type, such as `v5p-64`; the topology if it is not the type's usual one; or `2xv5e-8`."""
    topology_name: str
    arguments: Arguments
    """Additional arguments of `jax.experimental.topologies.get_topology_desc`."""
    devices: int
    """Number of devices in all slices, followed by their number of processes."""
    processes: int
    hbm_gib_per_device: float
    """HBM in GiB that the compiler lets a program use on each device."""
    slices: int = 1

    @property
    def type(self) -> TpuType:
        """The type of one slice."""
        family, _, sides = self.topology_name.partition(":")
        return _slice(_BY_KEY[_key(family)], math.prod(map(int, sides.split("x"))))

    @property
    def hbm_bytes(self) -> int:
        """HBM that a program may use on each device, in bytes."""
        return int(self.hbm_gib_per_device * 2**30)


class _Described(NamedTuple):
    """The compiler's description of a generation."""

    dimensions: int
    """Number of dimensions in which its chips are connected."""
    hbm_gib: float
    """HBM in GiB that a program may use on each device."""
    arguments: Arguments
    large: tuple[int, float] | None = None
    """The number of chips from which a program may use less, and that amount in GiB."""


_MEGACORE: Arguments = {"chip_config_name": "megacore"}  # otherwise each chip has two devices
_ONE_CHIP: Arguments = {"chips_per_host_bounds": (1, 1, 1)}
_EIGHT_CHIPS: Arguments = {"chips_per_host_bounds": (2, 4, 1)}  # otherwise it has two hosts

# Measured with JAX 0.12.0.1, libtpu 0.0.50.1 and 0.0.52, on a machine without a TPU.
_DESCRIBED: dict[str, _Described] = {
    "v2": _Described(2, 7.48, {}),
    "v3": _Described(2, 15.48, {}),
    "v4": _Described(3, 30.75, _MEGACORE),
    "v5e": _Described(2, 15.75, {}),
    "v5p": _Described(3, 95.73, {}, (4160, 95.72)),
    "v6e": _Described(2, 31.24, {}),
    "tpu7x": _Described(3, 94.74, {}, (3136, 94.73)),
}

_SMALL = {1: (1, 1, 1), 4: (2, 2, 1), 8: (2, 2, 2), 16: (2, 2, 4), 32: (2, 4, 4)}
"""Slices smaller than a cube of 4 chips per side, for chips connected in three dimensions."""
_CUBE = 4
_LONGEST = 256
"""Maximum number of chips along one side of a slice; Google's list goes up to 244."""
MOST_SLICES = 256

MOST_TYPED = 60
"""Maximum characters of a name that an error repeats; a longer one is left out."""


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
    """Return the generation meant by `v5e`, `v5litepod` or `Trillium`.

    Raises:
        LookupError: No generation has this name; the message suggests near ones.
    """
    row = _BY_KEY.get(_key(name))
    if row is None:
        names = [row.name for row in GENERATIONS]
        matches = [_BY_KEY[key].name for key in _nearest(_key(name), list(_BY_KEY))]
        _refuse("unknown TPU generation", name, f"one of {', '.join(names)}", matches)
    return row


def find_generation_by_pci(device: int, subsystem: int | None) -> Generation | None:
    """Return the generation with these PCI ids, or None; v2 and v3 differ only in the subsystem."""
    for row in GENERATIONS:
        if any(p.device == device and p.subsystem in (None, subsystem) for p in row.pci):
            return row
    return None


def find_generation_by_device_kind(kind: str) -> Generation | None:
    """Return the generation with a device kind of JAX, such as `TPU v5 lite`, or None."""
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
    """Return the TPU meant by `V5litepod-8` or `ct6e-standard-4t`.

    Raises:
        LookupError: There is no such type; the message suggests near ones.
    """
    typed = text.strip().casefold()
    # The metadata server gives a machine type as `projects/1/machineTypes/ct6e-standard-4t`.
    machine = _MACHINES.get(typed.rpartition("/")[2].removesuffix("-tpu"))
    if machine:
        return _slice(*machine)
    family, _, number = typed.rpartition("-")
    example = "a name such as `v5e-8`, `v4-8` or `tpu7x-8`"
    row = _BY_KEY.get(_key(family)) if family[-1:].isalnum() else None  # rejects `v6e--8`
    if row is not None and row.counts is None:
        _refuse(f"no types of {row.title} are published", text, example, [])
    # `int` refuses numbers with thousands of digits.
    if row is not None and number.isascii() and number.isdigit() and len(number) < 10:
        return _slice(row, _chips(row, int(number), text))
    one_host = {r.name: _slice(r, max(r.chips_per_host)).name for r in GENERATIONS if r.counts}
    intended = row or _BY_KEY.get(_key(typed))
    names = [*one_host.values(), *_MACHINES, "v5litepod-8"]
    same = [
        name
        for row in GENERATIONS
        for name in list_rehearsable_types(row)
        if _key(name) == _key(typed)
    ]
    if intended and intended.counts:
        matches = [one_host[intended.name]]
    else:
        matches = same or _nearest(typed, names)
    _refuse("unknown TPU type", text, example, matches)


def list_type_names() -> list[str]:
    """Return the documented types, with the smallest of each generation first.

    If a generation has slices of any multiple of 4 chips, only its types with one host are listed.
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


def list_slices(row: Generation) -> Iterator[TpuType]:
    """Yield a generation's slices; if any size is possible, only powers of two."""
    most = row.chips_per_pod or 1
    sizes = row.slice_chips or (*row.chips_per_host, *(2**n for n in range(3, most.bit_length())))
    return (_slice(row, chips) for chips in sorted({*sizes}))


def find_hbm_bytes(row: Generation) -> int | None:
    """Return the bytes that the compiler lets a program use on each device, or None if unknown."""
    known = _DESCRIBED.get(row.name)
    return None if known is None else int(known.hbm_gib * 2**30)


def find_topology_sides(row: Generation, chips: int) -> tuple[int, ...] | None:
    """Return the number of chips along each side of a slice, or None if no slice has this size.

    The sides are those of the box closest to a square or cube. Sources:
    https://github.com/AI-Hypercomputer/maxtext src/maxtext/utils/accelerator_to_spec_map.py (read
    2026-11), whose names a test compares, and https://docs.cloud.google.com/tpu/docs/v3.
    """
    any_size = range(min(row.chips_per_host, default=0), (row.chips_per_pod or 0) + 1)
    if row.name not in _DESCRIBED or chips not in (row.slice_chips or any_size):
        return None
    if _is_flat(row):
        exponent = chips.bit_length() - 1
        short = 2 ** (exponent // 2)
        return (short, chips // short) if chips == 2**exponent else None
    if chips in _SMALL:
        return _SMALL[chips]
    cubes, rest = divmod(chips, _CUBE**3)
    boxes = [] if rest else _boxes(cubes)
    best = min(boxes, key=sum, default=None)
    return None if best is None else tuple(_CUBE * side for side in best)


def _boxes(cubes: int) -> list[tuple[int, int, int]]:
    return [
        (short, middle, cubes // (short * middle))
        for short in range(1, round(cubes ** (1 / 3)) + 1)
        if cubes % short == 0
        for middle in range(short, math.isqrt(cubes // short) + 1)
        if cubes % (short * middle) == 0 and _CUBE * cubes // (short * middle) <= _LONGEST
    ]


def list_rehearsable_types(row: Generation) -> list[str]:
    """Return the TPU types that a rehearsal can compile for, smallest first."""
    return [_slice(row, size).name for size in _topology_sizes(row)]


def _topology_sizes(row: Generation) -> list[int]:
    cubes = range(_CUBE**3, (row.chips_per_pod or 0) + 1, _CUBE**3)
    sizes = row.slice_chips or sorted({*_SMALL, *cubes})
    return [chips for chips in sizes if find_topology_sides(row, chips)]


def find_topology(text: str, slices: int = 1) -> Topology:
    """Return the topology for rehearsing on a named TPU.

    Args:
        text: A type (`v5p-64`), a topology (`v5p:2x4x4`), or several slices (`2xv5e-8`).
        slices: The number of such slices.

    Raises:
        LookupError: There is no such TPU; the message suggests near ones.
    """
    count, _, one = text.strip().partition("x")
    if one[:1].isalpha() and count.isascii() and count.isdigit() and len(count) <= len("256"):
        slices *= int(count)
    else:
        one = text
    if not 1 <= slices <= MOST_SLICES:
        _refuse("no such number of slices", f"{slices}", f"1 to {MOST_SLICES}", [])
    row, sides = _parse_sides(one) if ":" in one else _sides_of_type(one)
    tpu = _slice(row, math.prod(sides))
    known = _DESCRIBED[row.name]
    arguments, large = {**known.arguments}, known.large
    if tpu.hosts == 1 and tpu.chips in (1, 8):
        arguments |= _ONE_CHIP if tpu.chips == 1 else _EIGHT_CHIPS
    if slices > 1:
        arguments["num_slices"] = slices
    topology_name = f"{row.name}:{_join_sides(sides)}"
    name = tpu.name if sides == find_topology_sides(row, tpu.chips) else topology_name
    return Topology(
        name=f"{slices}x{name}" if slices > 1 else name,
        topology_name=topology_name,
        arguments=arguments,
        devices=slices * tpu.chips * (row.devices_per_chip or 1),
        processes=slices * tpu.hosts,
        hbm_gib_per_device=large[1] if large and tpu.chips >= large[0] else known.hbm_gib,
        slices=slices,
    )


def _sides_of_type(text: str) -> tuple[Generation, tuple[int, ...]]:
    tpu = parse_type(text)
    row = tpu.generation
    if sides := find_topology_sides(row, tpu.chips):
        return row, sides
    per_chip = row.cores_per_chip if row.counts == "cores" else 1
    sizes = (f"{size * per_chip}" for size in _small_sizes(row))
    more = f", or a multiple of {_CUBE**3 * per_chip} whose box is at most {_LONGEST} long"
    expected = f"{', '.join(sizes)} {row.counts}{'' if _is_flat(row) else more}"
    _refuse("no slice of this size", text, expected, _nearest_names(row, tpu.chips))


def _parse_sides(text: str) -> tuple[Generation, tuple[int, ...]]:
    family, _, typed = text.strip().partition(":")
    row = find_generation(family)
    if row.name not in _DESCRIBED:
        _refuse(f"no topologies of {row.title} are published", text, "one such as `v5e:2x4`", [])
    words = typed.casefold().split("x")
    sides = tuple(int(word) for word in words if word.isascii() and word.isdigit() and not word[4:])
    chips = math.prod(sides) if len(sides) == len(words) else 0
    if sides == find_topology_sides(row, chips) or (chips and _is_box(row, sides)):
        return row, sides
    boxes = [find_topology_sides(row, size) or () for size in _small_sizes(row)]
    expected = ", ".join(map(_join_sides, boxes))
    expected += "" if _is_flat(row) else f", or three multiples of {_CUBE} in ascending order"
    ordered = [box for box in (find_topology_sides(row, chips), tuple(sorted(sides))) if box]
    turned = [box for box in ordered if sorted(box) == sorted(sides) and box in boxes]
    turned += [box for box in ordered[-1:] if _is_box(row, box)]
    near = [f"{row.name}:{_join_sides(box)}" for box in turned[:1]]
    _refuse("no such topology", text, expected, near or _nearest_names(row, chips, sides=True))


def _is_flat(row: Generation) -> bool:
    return _DESCRIBED[row.name].dimensions == 2


def _is_box(row: Generation, sides: tuple[int, ...]) -> bool:
    """Return whether a slice of whole cubes can have these sides."""
    whole = all(side % _CUBE == 0 and 0 < side <= _LONGEST for side in sides)
    in_pod = math.prod(sides) <= (row.chips_per_pod or 0)
    return whole and in_pod and [*sides] == sorted(sides) and len(sides) == 3 and not _is_flat(row)


def _join_sides(sides: tuple[int, ...]) -> str:
    return "x".join(map(str, sides))


def _small_sizes(row: Generation) -> list[int]:
    return [size for size in _topology_sizes(row) if _is_flat(row) or size < _CUBE**3]


def _nearest_names(row: Generation, chips: int, *, sides: bool = False) -> list[str]:
    sizes = _topology_sizes(row)
    below, above = [n for n in sizes if n <= chips][-1:], [n for n in sizes if n > chips][:1]
    if not sides:
        return [_slice(row, size).name for size in below + above]
    return [
        f"{row.name}:{_join_sides(find_topology_sides(row, size) or ())}" for size in below + above
    ]


_OFFERED = """
    v2-8 v3-8 v4-8 v4-32 v5e-1 v5e-4 v5e-8 v5e-16 v5p-8 v5p-128 v6e-1 v6e-4 v6e-8 v6e-256 tpu7x-2
    tpu7x-8
"""
TOPOLOGIES = tuple(map(find_topology, _OFFERED.split()))
"""The TPUs offered if the user types none; `find_topology` accepts every slice."""
