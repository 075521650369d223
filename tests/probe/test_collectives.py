"""The collectives of compiled programs: their kinds, groups, links, and how often they run."""

from __future__ import annotations

import pytest

from tests.support.places import TESTS
from tpustarter.probe.rehearse.collectives import ICI, Collective, HloInstruction, list_collectives

MIB = 2**20

SAMPLES = {
    "v5e-ring": [("collective-permute", 4 * MIB, None, "ici", 2)] * 4
    + [("collective-permute", 4 * MIB, None, "ici", 1)],
    "v5e-rows": [("all-reduce", 16 * MIB, 4, "ici", 1)],
    "v6e-columns": [("all-to-all", 16 * MIB, 4, "ici", 1)],
    "v6e-scatter": [("reduce-scatter", 4 * MIB, 8, "ici", 1)],
    "v6e-fsdp": [
        ("all-gather", 32 * MIB, 8, "ici", 6),
        ("reduce-scatter", 4 * MIB, 8, "ici", 6),
        ("all-gather", 32 * MIB, 8, "ici", 6),
    ],
    "two-slices": [
        ("reduce-scatter", 4 * MIB, 8, "ici", 1),
        ("all-reduce", 4 * MIB, 2, "dcn", 1),
        ("all-gather", 32 * MIB, 8, "ici", 1),
    ],
}
"""Programs for a v5e-8, a v6e-8 and two v5e-8, by libtpu 0.0.52: `a @ b` of bfloat16 in several
shardings, and the gradient of six layers with FSDP. Settings and source lines were left out."""

GROUPS = {
    "{{0,1},{2,3}}": 2,
    "{}": 8,
    "[2,4]<=[8]": 4,
    "[4,2]<=[2,4]T(1,0)": 2,
    "mesh['x'=2,'y'=4] {'y'}": 4,
    "mesh['x'=2,'y'=4] {'x','y'}": 8,
    "mesh['x'=8] {'x':(1)2}": 2,
    "mesh['x'=8] {'z'}": None,
    "[2,": None,
    "": None,
}

LOOP = """HloModule m, num_partitions=8

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {{
  %p = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8] get-tuple-element(%p), index=1
  %one = s32[] constant({step})
  %next = s32[] {change}(%i, %one)
  %copied = s32[] copy(%next)
  %sum = f32[8] all-reduce(%x), replica_groups={{}}, to_apply=%add
  ROOT %out = (s32[], f32[8]) tuple(%copied, %sum)
}}

%condition (p: (s32[], f32[8])) -> pred[] {{
  %p = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %end = {end}
  ROOT %test = pred[] compare({sides}), direction={direction}
}}

ENTRY %main (x: f32[8], n: s32[]) -> f32[8] {{
  %x = f32[8] parameter(0)
  %n = s32[] parameter(1)
  %begin = s32[] constant({begin})
  %start = s32[] copy(%begin)
  %in = (s32[], f32[8]) tuple(%start, %x)
  %loop = (s32[], f32[8]) while(%in), condition=%condition, body=%body
  ROOT %result = f32[8] get-tuple-element(%loop), index=1
}}
"""
UP = {
    "begin": 0,
    "end": "s32[] constant(10)",
    "step": 1,
    "change": "add",
    "sides": "%i, %end",
    "direction": "LT",
}
LOOPS: dict[str, tuple[dict[str, object], int | None]] = {
    "up": ({}, 10),
    "from three": ({"begin": 3}, 7),
    "up to and with ten": ({"direction": "LE"}, 11),
    "in threes": ({"step": 3}, 4),
    "limit on the left": ({"sides": "%end, %i", "direction": "GT"}, 10),
    "down": (
        {"begin": 9, "change": "subtract", "direction": "GE", "end": "s32[] constant(0)"},
        10,
    ),
    "never": ({"begin": 10}, 0),
    "away from its end": ({"change": "subtract"}, None),
    "until equal": ({"direction": "NE"}, None),
    "until an argument": ({"end": "s32[] get-tuple-element(%p), index=1"}, None),
}

CALLS = """%part (x: f32[4]) -> f32[4] {{
  %x = f32[4] parameter(0)
  ROOT %s = f32[4] all-reduce(%x), replica_groups={{{{0,1}}}}
}}

ENTRY %main (x: f32[4]) -> f32[4] {{
  %x = f32[4] parameter(0)
  {}
}}
"""
CALLERS = {
    "%a = f32[4] call(%x), to_apply=%part\n  ROOT %b = f32[4] call(%a), to_apply=%part": 2,
    "ROOT %a = f32[4] conditional(%x, %x), branch_computations={%part, %part}": None,
    "ROOT %a = f32[4] async-start(%x), calls=%part": 1,
}

RECEIVED = {
    ("all-gather", 4): 750,
    ("all-reduce", 4): 1500,
    ("reduce-scatter", 4): 3000,
    ("all-to-all", 4): 750,
    ("collective-permute", None): 1000,
    ("all-reduce", 1): 0,
    ("all-reduce", None): None,
    ("ragged-all-to-all", 4): None,
}
"""Bytes that a device receives, for a result of 1000 bytes in a group of this size."""


@pytest.mark.parametrize("name", SAMPLES)
def test_collectives_are_named_as_the_compiler_made_them(name: str) -> None:
    """Kind, bytes, group, link and runs in programs that were compiled for TPUs."""
    text = (TESTS / "samples" / "collectives" / f"{name}.txt").read_text()
    found = [(c.kind, c.bytes, c.group_size, c.link, c.runs) for c in list_collectives(text)]

    assert SAMPLES[name] == found


@pytest.mark.parametrize("written", GROUPS)
def test_group_size_is_read_in_each_notation(written: str) -> None:
    """Lists, iota lists, axes of a mesh and parts of one; anything else is unknown."""
    line = f"  ROOT %s = f32[4] all-reduce(%x), channel_id=1, replica_groups={written}, a=b"
    text = f"HloModule m, num_partitions=8\n\nENTRY %e () -> f32[4] {{\n{line}\n}}\n"

    assert [GROUPS[written]] == [one.group_size for one in list_collectives(text)]


@pytest.mark.parametrize("case", LOOPS)
def test_static_loop_multiplies_what_it_runs(case: str) -> None:
    """A loop counts from a constant to a constant by a constant, or its count is unknown."""
    changed, expected = LOOPS[case]

    assert [expected] == [one.runs for one in list_collectives(LOOP.format(**UP | changed))]


@pytest.mark.parametrize("caller", CALLERS)
def test_callers_of_a_computation_add_up(caller: str) -> None:
    """Two calls are two runs, and nobody knows how often a branch runs."""
    assert [CALLERS[caller]] == [one.runs for one in list_collectives(CALLS.format(caller))]


@pytest.mark.parametrize(("kind", "size"), RECEIVED)
def test_received_bytes_are_the_least_that_arrive(kind: str, size: int | None) -> None:
    """The received bytes depend on the collective and its group; unknown if they depend on data."""
    nothing = HloInstruction("", "", "", "", "")
    received = Collective(kind, 1000, size, ICI, 1, nothing).received_bytes

    assert RECEIVED[kind, size] == received
