"""The text of a TPU executable gives its arrays, their padding, its collectives and its dots."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tpustarter
from tests.support.places import TESTS
from tests.support.real_compiler import python_with_libtpu
from tpustarter.probe.rehearse import hlo, hlo_text
from tpustarter.rehearsal.compile.compiler import QUIET

SAMPLES = TESTS / "samples" / "hlo"

TABLE_UNIT = {"v2-8": 1024, "v5e-8": 512, "v6e-8": 32, "tpu7x-8": 32}
"""A tuple is a table in HBM with 4 bytes for each of its arrays, in whole units of so many bytes.
Source: `memory_analysis()` of libtpu 0.0.50.1 (measured 2026-11)."""

SIZES = {
    "f32[1000,7]{0,1:T(8,128)}": (28000, 32768),
    "f32[1000,7]{1,0:T(8,128)}": (28000, 512000),
    "f32[]{:T(128)}": (4, 512),
    "f32[]": (4, 4),
    "f64[1000]{0}": (8000, 8000),
    "c64[130]{0:T(256)}": (1040, 2048),
    "pred[1001,7]{0,1:T(8,128)(4,1)}": (7007, 8192),
    "bf16[13]{0:T(512)(128)(2,1)}": (26, 1024),
    "bf16[3,5,7]{2,0,1:T(4,128)(2,1)}": (210, 5120),
    "s4[1001,7]{0,1:T(8,128)(8,1)E(4)}": (3504, 4096),
    "s4[1001,7]{0,1:T(8,128)(4,1)}": (3504, 8192),
    "f8e4m3b11fnuz[100,7]{0,1:T(8,128)(4,1)}": (700, 1024),
    "f4e2m1fn[100,7]{0,1:T(8,128)(8,1)E(4)}": (350, 512),
    "f32[0,128]{1,0}": (0, 0),
    "f32[<=8,128]{1,0:T(8,128)S(1)}": (4096, 4096),
}
"""Arguments and results of programs compiled for TPUs, and the bytes the compiler gave them."""

UNKNOWN = [
    "",
    "f32",
    "token[]",
    "(f32[2]{0})",
    "f32[?]{0}",
    "f32[2,3]{0}",
    "f32[2,3]{0,0}",
    "f32[2]{0:T(0)}",
    "f32[2]{0:T(*,128)}",
    "f32[2]{0:T(128)L(2)}",
    "f32[2]{0:E(4)}",
    "f32[2]{0",
    f"f32[{'9' * 99}]",
    f"f32[{','.join('2' * 99)}]",
]

COMPILE = """
import importlib, json, sys
import jax, jax.numpy as jnp, numpy
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from tpustarter.machine import tpus
from tpustarter.probe.rehearse import hlo
jax.config.update("jax_enable_x64", True)
kind = tpus.find_topology(sys.argv[1])
devices = topologies.get_topology_desc(
    platform="tpu", topology_name=kind.topology_name, **kind.arguments).devices
one = SingleDeviceSharding(devices[0])
mesh = Mesh(numpy.array(devices), ("d",))
def array(type_, *shape):
    return jax.ShapeDtypeStruct(shape, type_, sharding=one)
def split(type_, shape, *axes):
    return jax.ShapeDtypeStruct(
        shape, type_, sharding=NamedSharding(mesh, PartitionSpec(*axes)))
def flip(*arrays):
    return tuple(jnp.flip(one) for one in arrays)
f32, bf16 = jnp.float32, jnp.bfloat16
programs = {
    "odd shapes": (flip, array(f32, 1000, 7), array(f32, 7, 3001)),
    "one array": (lambda x: x + 1, array(f32, 1000, 7)),
    "bfloat16": (flip, array(bf16, 1001, 7), array(bf16, 13), array(bf16, 3, 5, 7)),
    "int8": (flip, array(jnp.int8, 1001, 7), array(jnp.uint8, 33, 300)),
    "int4": (flip, array(jnp.int4, 1001, 7), array(jnp.uint4, 33, 300), array(jnp.int4, 9)),
    "float8": (flip, array(jnp.float8_e4m3fn, 100, 7), array(jnp.float8_e5m2, 9)),
    "bool": (lambda x, y: (~x, y.any(0)), array(bool, 1001, 7), array(bool, 33, 300)),
    "complex": (flip, array(jnp.complex64, 1001, 7), array(jnp.complex64, 130)),
    "complex128": (flip, array(jnp.complex128, 101, 7)),
    "float64": (flip, array(jnp.float64, 1001, 7), array(jnp.float64), array(jnp.int64, 13)),
    "no dimension": (lambda x, y: (x + 1, ~y), array(bf16), array(bool)),
    "no element": (lambda x, y: (x * 2, y + 1, x.sum()), array(f32, 0, 128), array(bf16, 5, 0, 3)),
    "five dimensions": (flip, array(f32, 2, 3, 5, 7, 11), array(bf16, 2, 3, 5, 7, 11)),
    "sharded": (flip, split(f32, (72, 31), "d"), split(bf16, (31, 72), None, "d")),
    "summed": (lambda x: x.sum(), split(f32, (512, 128), "d")),
    "donated": (lambda x, y: (x + 1, y.sum(0)), array(f32, 1000, 7), array(f32, 70, 31)),
    "results of all kinds": (lambda x: (x, x + 1, x.sum(), x.astype(bf16)), array(f32, 100, 100)),
    "many arguments": (lambda xs: xs[0] + 1, [array(f32, 4)] * 2100),
}
for title, (program, *arguments) in programs.items():
    donated = (0,) if title == "donated" else ()
    jitted = jax.jit(program, donate_argnums=donated, keep_unused=True)
    compiled = jitted.lower(*arguments).compile()
    memory, text = compiled.memory_analysis(), compiled.as_text()
    read = hlo.parse_program(text)
    layout = text.partition("entry_computation_layout={")[2]
    print(json.dumps({
        "title": title,
        "complete": read.complete,
        "arguments": [value.laid_out_bytes for value in read.arguments],
        "outputs": [value.laid_out_bytes for value in read.outputs],
        "tuple of arguments": layout.startswith("(("),
        "tuple of outputs": ")->(" in text.partition(chr(10))[0],
        "argument_size": memory.argument_size_in_bytes,
        "output_size": memory.output_size_in_bytes,
    }))
"""


def sample(name: str) -> str:
    """Return one of the texts that a compiler wrote, cut to what these tests need."""
    return (SAMPLES / f"{name}.txt").read_text()


@pytest.mark.parametrize("text", SIZES)
def test_array_takes_bytes_of_compiler(text: str) -> None:
    """Padding, packed types and layouts without tiles give the compiler's own figures."""
    assert SIZES[text] == hlo_text.count_shape_bytes(text)


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_layout_not_known_here_has_no_size(text: str) -> None:
    """A shape that is no array, or has a layout not known here, gives None instead of a guess."""
    assert hlo_text.count_shape_bytes(text) is None


LAYOUTS = st.tuples(
    st.permutations(range(3)),
    st.sampled_from(["", ":T(8,128)", ":T(8,128)(2,1)", ":T(1024)(128)(4,1)", ":T(2,3,5,7)S(1)"]),
)


@settings(deadline=None)
@given(
    kind=st.sampled_from(["f32", "bf16", "s4", "pred", "c128"]),
    dims=st.lists(st.integers(0, 5000), min_size=3, max_size=3),
    grown=st.integers(0, 2),
    layout=LAYOUTS,
)
def test_padding_never_shrinks(
    kind: str, dims: list[int], grown: int, layout: tuple[list[int], str]
) -> None:
    """An array takes no less than its elements, and no less when a dimension grows."""
    written = f"{{{','.join(map(str, layout[0]))}{layout[1]}}}"
    longer = [dim + (axis == grown) for axis, dim in enumerate(dims)]
    asked, laid_out = hlo_text.count_shape_bytes(
        f"{kind}[{','.join(map(str, dims))}]{written}"
    ) or (
        0,
        -1,
    )
    _, more = hlo_text.count_shape_bytes(f"{kind}[{','.join(map(str, longer))}]{written}") or (
        0,
        -1,
    )

    assert asked <= laid_out <= more


def test_arguments_and_outputs_have_names_places_and_sizes() -> None:
    """A result points to the instruction whose memory it lies in, and to a line of the source."""
    program = hlo.parse_program(sample("matmul"))

    assert program.name == "jit_f"
    assert program.arguments == (
        hlo.HloBuffer("x.1", "argument", "f32[1000,7]", "{0,1:T(8,128)}", 28000, 32768, "x", ""),
        hlo.HloBuffer("w.1", "argument", "f32[7,3001]", "{1,0:T(8,128)}", 84028, 98304, "w", ""),
    )
    assert [
        ("fusion{0}", 12288, "jit(f)/dot_general", "train.py:3"),
        ("copy", 16384, "", ""),
    ] == [(out.name, out.laid_out_bytes, out.op, out.source) for out in program.outputs]


def test_array_in_smaller_memory_is_no_temporary() -> None:
    """Every array of this program between its arguments and outputs lies in VMEM."""
    assert () == hlo.parse_program(sample("matmul")).values


def test_loop_state_is_counted_where_allocated() -> None:
    """The body updates its 512 MiB in place, so the array before the loop is the temporary."""
    program = hlo.parse_program(sample("loop"), largest=1)

    assert program.loops == 1
    assert [(2**29, "broadcast_in_dim.3", "train.py:22")] == [
        (value.laid_out_bytes, value.name, value.source) for value in program.values
    ]


def test_arguments_in_tuple_are_separated() -> None:
    """A program with thousands of arguments takes one tuple of them."""
    program = hlo.parse_program(
        "HloModule m, entry_computation_layout={((f32[2]{0:T(128)}, /*index=1*/f32[3]{0:T(128)}))"
        "->f32[2]{0:T(128)}}\n\nENTRY %main (t: (f32[2], f32[3])) -> f32[2] {\n"
        "  %t = (f32[2]{0:T(128)}, f32[3]{0:T(128)}) parameter(0)\n"
        "  ROOT %a = f32[2]{0:T(128)} get-tuple-element(%t), index=0\n}\n"
    )

    assert ["t{0}", "t{1}"] == [value.name for value in program.arguments]
    assert ["t{0}"] == [value.name for value in program.outputs]


def test_a_collective_in_several_parts_counts_once() -> None:
    """Start, step and end of a gather are one; a sum of which a part is kept is a scatter."""
    found = hlo.parse_program(sample("collectives")).collectives

    assert [
        ("all-gather", 1, 2**27, "train.py:11"),
        ("reduce-scatter", 1, 2**24, "train.py:10"),
        ("collective-permute", 1, 2293760, ""),
    ] == [(one.op, one.count, one.bytes, one.source) for one in found]


def test_gathers_that_share_a_channel_count_each() -> None:
    """All collectives of a `shard_map` have one channel, and their steps have a chain."""
    found = hlo.parse_program(sample("shard_map")).collectives

    assert 4 == sum(one.count for one in found)


@pytest.mark.parametrize(
    "aliased",
    [
        "output_to_operand_aliasing={{0}: (1, {})}, calls=%f",
        'backend_config={"aliasing_operands":{"lists":[{"indices":["1","2"]}]}}',
    ],
)
def test_result_aliasing_operand_takes_no_memory(aliased: str) -> None:
    """Both ways to write it: as an attribute, and in the compiler's own settings."""
    program = hlo.parse_program(
        "ENTRY %e (a: f32[8], b: f32[8]) -> f32[] {\n"
        "  %a = f32[8]{0:T(128)} parameter(0)\n  %b = f32[8]{0:T(128)} parameter(1)\n"
        f"  %two = (f32[8]{{0:T(128)}}, f32[9]{{0:T(128)}}) fusion(%a, %b), {aliased}\n"
        "  ROOT %sum = f32[]{:T(128)} reduce(%two)\n}"
    )

    assert ["two{1}"] == [value.name for value in program.values]


def test_memory_passed_on_is_not_counted_again() -> None:
    """Of the eleven results of a fusion that carries on a gather, one is its own."""
    values = hlo.parse_program(sample("collectives")).values

    assert [
        ("fusion.108{0}", 2**28),
        ("async-collective-start{1}", 2**27),
        ("collective-permute-done", 2293760),
    ] == [(value.name, value.laid_out_bytes) for value in values]


@pytest.mark.parametrize(
    "written",
    [
        "true_computation=%a, false_computation=%b",
        "branch_computations={%a, %b}",
    ],
)
def test_the_branches_of_a_conditional_run(written: str) -> None:
    """Values within any branch of a conditional use memory."""
    branches = "".join(
        f"%{name} (p: f32[9]) -> f32[] {{\n  %p = f32[9]{{0}} parameter(0)\n"
        f"  %new.{name} = f32[9]{{0}} negate(%p)\n"
        f"  ROOT %r.{name} = f32[]{{:T(128)}} reduce(%new.{name})\n}}\n\n"
        for name in "ab"
    )
    program = hlo.parse_program(
        f"HloModule m\n\n{branches}ENTRY %e (x: f32[9]) -> f32[] {{\n"
        "  %x = f32[9]{0} parameter(0)\n"
        f"  ROOT %c = f32[] conditional(%x, %x, %x), {written}\n}}\n"
    )

    assert ["new.a", "new.b"] == sorted(value.name for value in program.values)
    assert program.complete


def test_dots_have_the_types_that_are_multiplied() -> None:
    """Products are found in fused computations, with the precision they ask for."""
    fused = (
        "%convolution.1.clone.1 = f32[1000,3001]{1,0:T(8,128)} convolution(%fusion.1, %fusion.2)"
    )
    text = sample("matmul")
    assert fused in text
    asked = text.replace(fused, fused + ", operand_precision={default,highest}")

    assert hlo.parse_program(text).dots == (hlo.DotGroup("f32", "f32", "f32", "default", 1),)
    assert hlo.parse_program(asked).dots == (hlo.DotGroup("f32", "f32", "f32", "highest", 1),)


def test_only_a_hand_written_kernel_is_one() -> None:
    """The compiler makes kernels of its own, and calls much else that no program wrote."""
    text = sample("kernel")
    lines = [line for line in text.splitlines() if "pallas_call" not in line]

    assert hlo.parse_program(text).kernels == ("tpu_custom_call",)
    assert 'custom_call_target="tpu_custom_call"' in "\n".join(lines)
    assert hlo.parse_program("\n".join(lines)).kernels == ()


def test_older_texts_name_the_source_beside_the_operation() -> None:
    """Without tables, `source_file` and `source_line` say where an operation comes from."""
    program = hlo.parse_program(
        "HloModule m, entry_computation_layout={()->f32[8]{0:T(128)}}\nENTRY %e () -> f32[8] {\n"
        "  ROOT %i = f32[8]{0:T(128)} iota(), frontend_attributes={a_metadata={}}, metadata={"
        r'op_type="iota" op_name="jit(\"f\")/iota" source_file="a.py" source_line=7}' + "\n}"
    )

    assert [(r"jit(\"f\")/iota", "a.py:7")] == [(out.op, out.source) for out in program.outputs]


def test_empty_text_is_empty_program() -> None:
    """A text without a module has no name, no arrays and no instructions."""
    assert hlo.parse_program("") == hlo.HloProgram("", (), (), (), (), (), 0, ())


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    """Any text can be parsed without an exception."""
    hlo.parse_program(text)


@settings(deadline=None)
@given(st.data())
def test_any_broken_text_can_be_read(data: st.DataObject) -> None:
    """Real texts with pieces cut out, doubled or put elsewhere do not raise."""
    text = sample(
        data.draw(st.sampled_from(["matmul", "collectives", "shard_map", "loop", "kernel"]))
    )
    for _ in range(data.draw(st.integers(1, 5))):
        start, end, to = (data.draw(st.integers(0, len(text))) for _ in range(3))
        text = text[:to] + text[start:end] + text[to:] if to % 2 else text[:start] + text[end:]
    hlo.parse_program(text)


@pytest.mark.parametrize("name", TABLE_UNIT)
def test_sizes_are_those_of_the_compiler(name: str, tmp_path: Path) -> None:
    """Arguments and outputs of 18 programs add up to what `memory_analysis()` says."""
    python = python_with_libtpu()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **QUIET}
    environment["PYTHONPATH"] = str(Path(tpustarter.__file__).parents[1])
    run = subprocess.run(
        [python, "-W", "error", "-c", COMPILE, name],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-2000:]
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(rows) == 18
    assert all(row["complete"] for row in rows)
    for row in rows:
        for kind in ("argument", "output"):
            sizes = row[f"{kind}s"]
            pointers = 4 * len(sizes) if row[f"tuple of {kind}s"] else 0
            table = -(-pointers // TABLE_UNIT[name]) * TABLE_UNIT[name]
            said = row[f"{kind}_size"]
            print(f"{name:8} {row['title']:22} {kind:9} {sum(sizes):>9} + {table:>5} = {said:>9}")

            assert sum(sizes) + table == said
