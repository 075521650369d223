"""The table of TPUs: what people type is understood, every figure has a public source."""

import ast
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter.machine import generations, tpus
from tpustarter.rehearsal.compile.compiler import QUIET

ROOT = Path(tpus.__file__).parents[2]
SOURCED = ("hbm_gib", "hbm_gb_per_s", "ici_gb_per_s")
SOURCED += ("bf16_tflops", "int8_tops", "fp8_tflops", "int4_tops")
PUBLISHED = Path(__file__).with_name("published_slices.txt")

# what is typed: canonical name, chips, TensorCores, JAX devices, TPU VMs
TYPED = {
    "v2-8": ("v2-8", 4, 8, 8, 1),
    "v2-32": ("v2-32", 16, 32, 32, 4),
    "v3-8": ("v3-8", 4, 8, 8, 1),
    "v3-128": ("v3-128", 64, 128, 128, 16),
    "v4-8": ("v4-8", 4, 8, 4, 1),
    "v4-32": ("v4-32", 16, 32, 16, 4),
    "v5e-1": ("v5e-1", 1, 1, 1, 1),
    "v5e-4": ("v5e-4", 4, 4, 4, 1),
    "v5e-8": ("v5e-8", 8, 8, 8, 1),
    "v5e-16": ("v5e-16", 16, 16, 16, 4),
    "v5litepod-8": ("v5e-8", 8, 8, 8, 1),
    "V5LitePod-256": ("v5e-256", 256, 256, 256, 64),
    "v5lite-4": ("v5e-4", 4, 4, 4, 1),
    "tpu-v5-lite-podslice-4": ("v5e-4", 4, 4, 4, 1),
    "v5p-8": ("v5p-8", 4, 8, 4, 1),
    "v5p-128": ("v5p-128", 64, 128, 64, 16),
    "V6E-8": ("v6e-8", 8, 8, 8, 1),
    "v6e-256": ("v6e-256", 256, 256, 256, 64),
    "trillium-1": ("v6e-1", 1, 1, 1, 1),
    "tpu7x-2": ("tpu7x-2", 1, 2, 2, 1),
    "tpu7x-8": ("tpu7x-8", 4, 8, 8, 1),
    "TPU7X-128": ("tpu7x-128", 64, 128, 128, 16),
    "v7x-8": ("tpu7x-8", 4, 8, 8, 1),
    "Ironwood-8": ("tpu7x-8", 4, 8, 8, 1),
    " v6e-4\n": ("v6e-4", 4, 4, 4, 1),
    "ct4p-hightpu-4t": ("v4-8", 4, 8, 4, 1),
    "ct5lp-hightpu-8t": ("v5e-8", 8, 8, 8, 1),
    "ct5p-hightpu-4t": ("v5p-8", 4, 8, 4, 1),
    "ct6e-standard-4t": ("v6e-4", 4, 4, 4, 1),
    "ct6e-standard-8t-tpu": ("v6e-8", 8, 8, 8, 1),
    "tpu7x-standard-1t": ("tpu7x-2", 1, 2, 2, 1),
    "projects/1/machineTypes/tpu7x-standard-4t": ("tpu7x-8", 4, 8, 8, 1),
}

# what is typed: words the refusal must have
REFUSED = {
    "v5-8": ("found `v5-8`", "expected a name such as", "`v5e-8`", "`v5p-8`"),
    "v6-8": ("found `v6-8`", "did you mean `v6e-8`?"),
    "v5litpod-8": ("found `v5litpod-8`", "did you mean `v5litepod-8`?"),
    "ct6e-standard-2t": ("found `ct6e-standard-2t`", "`ct6e-standard-4t`"),
    "v5e": ("found `v5e`", "did you mean `v5e-8`?"),
    "v5e8": ("found `v5e8`", "did you mean `v5e-8`?"),
    "v5e-3": ("found `v5e-3`", "expected 1, 4, 8,", "chips", "did you mean `v5e-4`?"),
    "v5e-0": ("found `v5e-0`", "did you mean `v5e-1`?"),
    "v6e-512": ("found `v6e-512`", "did you mean `v6e-256`?"),
    "v4-7": ("found `v4-7`", "8 cores", "multiple of 8 up to 8192", "did you mean `v4-8`?"),
    "v2-16": ("found `v2-16`", "expected 8, 32, 128, 256, 512 cores"),
    "v3-2056": ("found `v3-2056`", "did you mean `v3-2048`?"),
    "tpu7x-4": ("found `tpu7x-4`", "2, 8 cores", "did you mean `tpu7x-2`?"),
    "v5e-0000000008": ("found `v5e-0000000008`", "did you mean `v5e-8`?"),
    "v5e-²": ("found `v5e-²`", "did you mean `v5e-8`?"),
    "tpu8i-8": ("no types of TPU 8i are published", "found `tpu8i-8`"),
    "TPU 8t": ("found `TPU 8t`", "expected a name such as"),
    "gpu": ("found `gpu`", "expected a name such as"),
    "": ("found ``", "expected a name such as"),
    "-8": ("found `-8`", "expected a name such as"),
    "\x1b[31m": (r"found `\x1b[31m`", "expected a name such as"),
}

REHEARSE = r"""
import json, re, sys
import jax, jax.numpy as jnp
from jax.experimental import topologies

measured = {}
for name, topology_name, arguments in json.load(sys.stdin):
    bounds = arguments.get("chips_per_host_bounds")
    if bounds:
        arguments["chips_per_host_bounds"] = tuple(bounds)
    description = topologies.get_topology_desc(
        platform="tpu", topology_name=topology_name, **arguments
    )
    device = description.devices[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    too_large = jax.ShapeDtypeStruct((1 << 40,), jnp.int8, sharding=sharding)
    limit = None
    try:
        jax.jit(lambda x: x + 1).lower(too_large).compile()
    except Exception as error:
        found = re.search(r"\(?([0-9.]+)G\)? (?:of )?hbm|available HBM \(([0-9.]+)G\)", str(error))
        limit = found and float(found[1] or found[2])
    processes = len({device.process_index for device in description.devices})
    measured[name] = [len(description.devices), processes, limit, device.device_kind]
print(json.dumps(measured))
"""


def figures(row: generations.Generation) -> list[generations.SourcedFigure]:
    """Return the sourced figures of a row."""
    return [figure for name in SOURCED if (figure := getattr(row, name))]


def rows() -> list[pytest.param]:
    """Return the rows of the table as test cases."""
    return [pytest.param(row, id=row.name) for row in generations.GENERATIONS]


@pytest.mark.parametrize("typed", TYPED)
def test_common_spellings_are_understood(typed: str) -> None:
    """Chips, cores, devices and hosts follow from a name in any of its spellings."""
    tpu = tpus.parse_type(typed)

    assert TYPED[typed] == (tpu.name, tpu.chips, tpu.cores, tpu.devices, tpu.hosts)


@pytest.mark.parametrize("typed", REFUSED)
def test_refusal_has_found_expected_and_nearest(typed: str) -> None:
    """A name that isn't a TPU is refused with found, expected and the nearest names."""
    with pytest.raises(LookupError) as refusal:
        tpus.parse_type(typed)

    assert not [words for words in REFUSED[typed] if words not in str(refusal.value)]


FAMILIES = st.sampled_from(
    sorted({name for row in generations.GENERATIONS for name in row.aliases})
)


@given(st.text() | st.builds("{}-{}".format, FAMILIES, st.integers() | st.text(max_size=4)))
def test_parsing_raises_nothing_but_lookup_error(text: str) -> None:
    """Whatever is typed is a TPU whose name means itself, or a LookupError of one line."""
    try:
        tpu = tpus.parse_type(text)
    except LookupError as error:
        message = str(error)

        assert message.isprintable()
        assert len(message) < 300
    else:
        assert tpu == tpus.parse_type(tpu.name) == tpus.parse_type(tpu.accelerator_type)


def test_the_accelerator_type_is_googles_name() -> None:
    """The accelerator type is Google's name, which differs from the typed one for v5e only."""
    expected = {"v5e-8": "v5litepod-8", "v6e-8": "v6e-8", "tpu7x-8": "tpu7x-8"}

    assert expected == {name: tpus.parse_type(name).accelerator_type for name in expected}


@pytest.mark.parametrize("row", rows())
def test_generation_is_found_by_each_of_its_names(row: generations.Generation) -> None:
    """Name, title, aliases and device kinds lead to the same row."""
    names = [row.name, row.title.partition(" (")[0], row.name.upper(), *row.aliases]

    assert [row] * len(names) == [tpus.find_generation(name) for name in names]
    assert [row] * len(row.device_kinds) == [
        tpus.find_generation_by_device_kind(k) for k in row.device_kinds
    ]


def test_an_unknown_generation_lists_the_valid_ones() -> None:
    """`v5` is two generations, so both are offered and every valid name is listed."""
    with pytest.raises(LookupError) as refusal:
        tpus.find_generation("v5")

    expected = ["found `v5`", "`v5e`", "`v5p`", *(row.name for row in generations.GENERATIONS)]

    assert not [words for words in expected if words not in str(refusal.value)]


def test_other_device_has_no_generation() -> None:
    """Kinds of other devices, and of chips that are not in the table, are unknown."""
    kinds = ("cpu", "NVIDIA H200", "TPU v4 lite", "TPU", "")

    assert [None] * len(kinds) == [tpus.find_generation_by_device_kind(kind) for kind in kinds]


def test_pci_ids_are_unique_and_lead_to_row() -> None:
    """No two rows claim a PCI id, and each id leads back to its row."""
    claimed = [(pci, row.name) for row in generations.GENERATIONS for pci in row.pci]
    found = [tpus.find_generation_by_pci(pci.device, pci.subsystem or 0x1234) for pci, _ in claimed]

    assert len(claimed) == len({(pci.device, pci.subsystem) for pci, _ in claimed})
    assert [name for _, name in claimed] == [row and row.name for row in found]


def test_the_subsystem_tells_v2_from_v3() -> None:
    """Device 0x0027 alone is not enough, and ids nobody documents are no TPU."""
    expected = {0x004E: "v2", 0x004F: "v3", None: None, 0x0000: None}
    found = {subsystem: tpus.find_generation_by_pci(0x0027, subsystem) for subsystem in expected}

    assert expected == {subsystem: row and row.name for subsystem, row in found.items()}
    assert not any(tpus.find_generation_by_pci(device, None) for device in (0x0056, 0x0042, 0))


def test_a_tpu7x_chip_has_two_pci_functions() -> None:
    """Each chiplet of a TPU7x is a function of one PCI device; older chips have one function."""
    expected = dict.fromkeys(("v2", "v3", "v4", "v5e", "v5p", "v6e"), 1)
    expected |= {"tpu7x": 2, "tpu8i": None, "tpu8t": None}

    assert expected == {row.name: row.pci[0].functions_per_chip for row in generations.GENERATIONS}


@pytest.mark.parametrize("row", rows())
def test_every_source_is_a_public_page(row: generations.Generation) -> None:
    """The row, its figures and its PCI ids name an https page, never a path on some machine."""
    sources = [row.source, *(pci.source for pci in row.pci), *generations.FIELD_SOURCES.values()]
    for figure in figures(row):
        sources += [figure.source, *(source for _, source in figure.others)]
    hosts = ("https://docs.cloud.google.com/", "https://cloud.google.com/", "https://github.com/")

    assert not [source for source in sources if not source.startswith(hosts)]


def test_field_sources_name_fields() -> None:
    """A field that is renamed takes its source along."""
    names = {field.name for field in dataclasses.fields(generations.Generation)}

    assert not set(generations.FIELD_SOURCES) - names


@pytest.mark.parametrize("row", rows())
def test_the_lowest_figure_is_the_one_judged_by(row: generations.Generation) -> None:
    """Each figure keeps the values of all its sources and is judged by the lowest."""
    for figure in figures(row):
        values = [figure.value, *(value for value, _ in figure.others)]

        assert (min(values), len(values)) == (figure.lowest_value, len(set(values)))


def test_figures_that_differ_between_sources_are_both_kept() -> None:
    """The documented and the other figure of the best-known differences are in the table."""
    expected = {
        ("v3", "bf16_tflops"): [123, 140],
        ("v3", "hbm_gb_per_s"): [900, 825],
        ("v5p", "hbm_gb_per_s"): [2765, 2460],
        ("tpu7x", "fp8_tflops"): [4614, 4600],
    }
    found = {key: getattr(tpus.find_generation(key[0]), key[1]) for key in expected}

    assert expected == {key: [f.value, *(v for v, _ in f.others)] for key, f in found.items()}
    assert [min(figures) for figures in expected.values()] == [
        f.lowest_value for f in found.values()
    ]


def test_unknown_figure_is_none() -> None:
    """Facts that no public source gives for the eighth generation aren't in the table."""
    for row in map(tpus.find_generation, ("tpu8i", "tpu8t")):
        facts = (row.counts, row.devices_per_chip, row.nodes, row.runtime_version)

        assert not any(facts)


@pytest.mark.parametrize("row", rows())
def test_rates_are_per_chip_and_in_tera(row: generations.Generation) -> None:
    """Each generation's rates are in ranges that exclude a wrong unit or factor of 1000."""
    assert row.bf16_tflops is not None
    assert row.hbm_gb_per_s is not None
    assert row.hbm_gib is not None

    assert 40 < row.bf16_tflops.lowest_value < 5000
    assert 500 < row.hbm_gb_per_s.lowest_value < 20_000
    assert 14 < row.hbm_gib.lowest_value < 300


@pytest.mark.parametrize("known", tpus.TOPOLOGIES, ids=lambda known: known.name)
def test_a_topology_has_the_shape_of_its_type(known: tpus.Topology) -> None:
    """The compiler's topology matches the table: devices, hosts, and nearly all of the HBM."""
    tpu = tpus.parse_type(known.name)
    assert tpu.generation.hbm_gib is not None
    hbm_gib = tpu.generation.hbm_gib.lowest_value * tpu.chips / known.devices

    assert (known.devices, known.processes) == (tpu.devices, tpu.hosts)
    assert known == tpus.find_topology(tpu.accelerator_type)
    assert 0.9 * hbm_gib < known.hbm_gib_per_device < 1.01 * hbm_gib


LARGEST = ("v3-2048", "v4-8192", "v5e-256", "v5p-17920", "tpu7x-18432", "2xv5e-8", "2xv5p:4x4x16")

# what is typed: name, topology, slices, devices and processes
SLICES = {
    "v5p-64": ("v5p-64", "v5p:2x4x4", 1, 32, 8),
    "v4-128": ("v4-128", "v4:4x4x4", 1, 64, 16),
    "v5p:2x2x4": ("v5p-32", "v5p:2x2x4", 1, 16, 4),
    "V5LitePod:2x4": ("v5e-8", "v5e:2x4", 1, 8, 1),
    "v5p:4x4x16": ("v5p:4x4x16", "v5p:4x4x16", 1, 256, 64),
    "2xv6e-8": ("2xv6e-8", "v6e:2x4", 2, 16, 2),
    "4xtpu7x:4x4x4": ("4xtpu7x-128", "tpu7x:4x4x4", 4, 512, 64),
    "tpu7x-18432": ("tpu7x-18432", "tpu7x:16x24x24", 1, 18432, 2304),
}


@pytest.mark.parametrize("typed", SLICES)
def test_slice_is_found_by_type_or_topology(typed: str) -> None:
    """Whatever the spelling, the name that comes out means the same slice."""
    known = tpus.find_topology(typed)
    found = (known.name, known.topology_name, known.slices, known.devices, known.processes)

    assert (SLICES[typed], known) == (found, tpus.find_topology(known.name))
    assert (known.arguments.get("num_slices", 1), known.type.hosts) == (
        known.slices,
        known.processes // known.slices,
    )


def test_boxes_are_those_of_the_published_list() -> None:
    """MaxText's 223 names have the topology and the devices of their rows."""
    rows = [line.split() for line in PUBLISHED.read_text().splitlines() if line[0] != "#"]
    found = {name: tpus.find_topology(name) for name, _, _ in rows}

    assert 223 == len(rows)
    assert rows == [
        [name, one.topology_name.partition(":")[2], str(one.devices)] for name, one in found.items()
    ]


# what is typed: the nearest that are offered
NO_SLICE = {
    "v5p-24": "`v5p-16` or `v5p-32`",
    "v5p-8576": "`v5p-8448` or `v5p-8704`",
    "v3-24": "`v3-16` or `v3-32`",
    "v5e:4x2": "`v5e:2x4`",
    "v6e:3x3": "`v6e:2x4` or `v6e:4x4`",
    "v5p:8x4x4": "`v5p:4x4x8`",
    "v5p:4x2x2": "`v5p:2x2x4`",
    "v4:2x2x3": "`v4:2x2x2` or `v4:2x2x4`",
    "v4:4x4x260": "`v4:16x16x16`",
    "v5p:1x1x1": "`v5p:2x2x1`",
    "v5p:x": "`v5p:2x2x1`",
    "v5p64": "`v5p-64`",
    "2xv6e8": "`v6e-8`",
}


@pytest.mark.parametrize("typed", NO_SLICE)
def test_no_slice_offers_the_nearest(typed: str) -> None:
    """The one below and the one above, or the same sides in their order."""
    with pytest.raises(LookupError) as refusal:
        tpus.find_topology(typed)

    assert f"did you mean {NO_SLICE[typed]}?" in str(refusal.value)


@pytest.mark.parametrize("typed", ["0xv5e-8", "257xv5e-8", "9xv5e-8x9", "tpu8i:2x2x1", "2xv5e"])
def test_what_no_compiler_knows_is_refused(typed: str) -> None:
    """Too many slices, a generation without topologies, and unknown names are refused."""
    with pytest.raises(LookupError):
        tpus.find_topology(typed)


@given(st.text() | st.builds("{}{}{}".format, FAMILIES, st.sampled_from(":-"), st.text()))
def test_topologies_raise_nothing_but_lookup_error(text: str) -> None:
    """Whatever is typed is a slice whose name means itself, or a LookupError of one line."""
    try:
        known = tpus.find_topology(text)
    except LookupError as error:
        message = str(error)

        assert message.isprintable()
    else:
        assert known == tpus.find_topology(known.name)


def test_the_table_needs_the_standard_library_only() -> None:
    """The probe carries this module into interpreters that have nothing else."""
    imported: set[str | None] = set()
    for module in (tpus, generations):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        imported |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        imported |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}

    expected = {"collections.abc", "dataclasses", "difflib", "math", "typing"}
    expected |= {"tpustarter.machine.generations"}

    assert expected == imported


def test_compiler_topologies_match_table() -> None:
    """Devices, processes, HBM and device kind are what the real TPU compiler reports."""
    if not (importlib.util.find_spec("libtpu") and importlib.util.find_spec("jax")):
        pytest.skip("The TPU compiler needs jax and libtpu, which this interpreter does not have.")
    if any(Path("/dev").glob("accel*")) or any(Path("/dev").glob("vfio/[0-9]*")):
        pytest.skip("This machine may have TPU chips in use, and rehearsing there was never tried.")
    slices = [*tpus.TOPOLOGIES, *map(tpus.find_topology, LARGEST)]
    asked = [[t.name, t.topology_name, t.arguments] for t in slices]
    run = subprocess.run(
        [sys.executable, "-c", REHEARSE],
        input=json.dumps(asked),
        env=os.environ | QUIET,
        capture_output=True,
        check=True,
        text=True,
        timeout=240,
    )
    measured = json.loads(run.stdout.splitlines()[-1])
    kinds = {name: found.pop() for name, found in measured.items()}

    expected = {t.name: [t.devices, t.processes, t.hbm_gib_per_device] for t in slices}

    assert expected == measured
    for known in slices:
        assert known.type.generation == tpus.find_generation_by_device_kind(kinds[known.name])
