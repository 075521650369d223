"""Compiled loops that measure speed do all of their work in each round.

The real TPU compiler is asked, for each generation: what is in the body of the loop, and is it what
the check counts? That the question can be answered with no is shown on this machine's own compiler.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tpustarter
from tests.compile import loop_bodies
from tests.support.real_compiler import FULL_EFFORT, LESS_EFFORT, python_with_libtpu
from tpustarter import checks
from tpustarter.rehearsal.compile.compiler import QUIET

FOLDER = Path(next(iter(checks.__path__)))
FULL = [
    path.stem
    for path in sorted((FOLDER / "jax").glob("[!_]*.py"))
    if 'LEVEL = "full"' in path.read_text()
]
GENERATIONS = ("v2-8", "v3-8", "v4-8", "v5e-8", "v5p-8", "v6e-8", "tpu7x-8")

COMPILE = """
import importlib, json, sys
import jax
import tpustarter
from jax.experimental import topologies
from tpustarter.machine import tpus
tpustarter.__path__.append(sys.argv[1])
kind = tpus.find_topology(sys.argv[2])
devices = list(topologies.get_topology_desc(
    platform="tpu", topology_name=kind.topology_name, **kind.arguments).devices)
for check in sys.argv[4:]:
    level = sys.argv[3] if check == "matmul_rate" else "UNKNOWN"
    jax.config.update("jax_optimization_level", level)
    module = importlib.import_module(f"tpustarter.checks.jax.{check}")
    for title, function, arguments in module.programs(devices):
        first = arguments[0]
        if len(arguments) < 2 or (first.shape, first.dtype) != ((len(devices),), "int32"):
            jax.jit(function).lower(*arguments).compile()
            continue  # no loop: nothing says how often
        compiled = jax.jit(function, donate_argnums=1).lower(*arguments).compile()
        x = arguments[1]
        print(json.dumps({
            "check": check, "tpu": sys.argv[2], "title": title, "devices": len(devices),
            "text": compiled.as_text(),
            "shape": x.sharding.shard_shape(x.shape), "bytes": x.size * x.dtype.itemsize,
        }))
"""

ARRAYS = {"copy": (2, 2), "scale": (1, 1), "add": (2, 1), "triad": (2, 1)}
"""How many arrays each operation of `hbm_rate` reads and writes in a round."""

OPERATIONS = {
    "psum": "all-reduce",
    "psum_small": "all-reduce",
    "all_gather": "all-gather",
    "psum_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "ppermute": "collective-permute",
    "within": "all-reduce",
    "within_small": "all-reduce",
    "link": "collective-permute",
    "link_small": "collective-permute",
}


WHOLE_SUM = ("v2-8", "v3-8")
"""There the compiler makes a `psum_scatter` of a `psum`: the loop takes as long as that."""


def products(report: dict[str, Any], work: loop_bodies.Round) -> None:
    """Demand two products of the whole matrices."""
    rows, columns = report["shape"]

    assert 2 * 2 * rows * columns * columns == work.operations


def traffic(report: dict[str, Any], work: loop_bodies.Round) -> None:
    """Assert that STREAM's arrays are read from and written to HBM, and nothing else is."""
    size = 4 * math.prod(report["shape"])
    read, written = ARRAYS[report["title"]]

    assert (read * size, written * size) == (work.read, work.written)
    assert ((), ()) == (work.kept, work.unknown)


def exchange(report: dict[str, Any], work: loop_bodies.Round) -> None:
    """Demand that one collective moves the whole array."""
    title = report["title"]
    size = report["bytes"] if title == "all_gather" else report["bytes"] // report["devices"]
    summed = title == "psum_scatter" and report["tpu"] in WHOLE_SUM

    assert ((OPERATIONS["psum" if summed else title], size),) == work.exchanges


LOOPS: dict[str, tuple[int, Callable[..., None]]] = {
    "collective_rate": (6, exchange),
    "hbm_rate": (4, traffic),
    "matmul_rate": (3, products),
    "slice_rate": (4, exchange),
}
"""How many loops a check has at least on every TPU, and what each round of them is to do."""


@pytest.mark.timeout(2700)  # at most a minute on a quiet core
@pytest.mark.parametrize("tpu", GENERATIONS)
def test_every_loop_round_does_its_whole_work(tpu: str, tmp_path: Path) -> None:
    """Compilers move nothing out of a loop, and merge, delete or add nothing, on any generation.

    The other programs of these checks compile too: a rehearsal leaves `matmul_rate` to this test.
    Its products are the same at both levels of effort, unlike what a loop reads.
    """
    python = python_with_libtpu()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **QUIET}
    environment["PYTHONPATH"] = str(Path(tpustarter.__file__).parents[1])
    level = FULL_EFFORT if tpu == "v5e-8" else LESS_EFFORT
    run = subprocess.run(
        [python, "-c", COMPILE, str(FOLDER.parent), tpu, level, *LOOPS],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=2400,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-2000:]
    reports = [json.loads(line) for line in run.stdout.splitlines()]
    counts = {name: sum(report["check"] == name for report in reports) for name in LOOPS}
    assert set(LOOPS) == {report["check"] for report in reports}
    assert [] == [name for name, (least, _) in LOOPS.items() if counts[name] < least]
    for report in reports:
        work = loop_bodies.read(report["text"])
        print(f"{tpu:8} {report['check']}: {report['title']:36} {work and work[:4]}")
        assert work is not None
        LOOPS[report["check"]][1](report, work)


# that it can fail: broken loops, compiled for the CPU


def compiled(step: Callable[..., Any], *arguments: Any, kept: int = 0) -> loop_bodies.Round | None:
    """Return the round of a loop of `step`, of whose results one is kept."""

    def loop(times: jax.Array, *carried: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, times[0], lambda _, x: step(*x), carried)[kept]

    text = jax.jit(loop).lower(jnp.ones(1, jnp.int32), *arguments).compile().as_text()
    return loop_bodies.read(text or "")


X = jax.ShapeDtypeStruct((256, 512), jnp.float32)
W = jax.ShapeDtypeStruct((512, 512), jnp.float32)
dot = functools.partial(jnp.dot, precision="highest")


def operations(step: Callable[..., Any], *arguments: Any, kept: int = 0) -> int:
    """Return the operations of a round; none where the loop is gone."""
    work = compiled(step, *arguments, kept=kept)
    return work.operations if work else 0


def test_an_honest_loop_has_its_two_products() -> None:
    """A correct loop has two products on this compiler; the other tests compare with it."""
    honest = operations(lambda x, w: (dot(dot(x, w), w), w), X, W)

    assert 2 * 2 * 256 * 512 * 512 == honest


def test_loop_invariant_product_is_detected() -> None:
    """A loop-invariant product is hoisted out of the loop, so the loop body has none."""
    moved = operations(lambda x, y, w: (x + dot(y, w), y, w), X, X, W)

    assert moved == 0


def test_unused_product_is_detected() -> None:
    """Only one of two products is counted if the result of the other is unused."""
    unused = operations(lambda x, y, w: (dot(x, w), dot(dot(y, w), w), w), X, X, W)

    assert 2 * 256 * 512 * 512 == unused


def test_merged_product_is_detected() -> None:
    """A smaller one that gives the same is not the whole work."""
    smaller = operations(lambda x, w: (x.at[:16].set(dot(x[:16], w)), w), X, W)

    assert 2 * 16 * 512 * 512 == smaller


def text(*body: str) -> str:
    """Return a program with one loop over a large array, in the notation of a TPU's compiler."""
    big, state = "f32[64,128,1024]{2,1,0:T(8,128)}", "(f32[64,128,1024]{2,1,0:T(8,128)})"
    lines = "\n".join(f"  {line.replace('BIG', big)}" for line in body)
    return (
        f"HloModule m\n\n%body (p: {state}) -> {state} {{\n  %p = {state} parameter(0)\n"
        f"  %a = {big} get-tuple-element(%p), index=0\n{lines}\n"
        f"  ROOT %t = {state} tuple(%z)\n}}\n\n"
        f"ENTRY %main (a: {big}) -> {state} {{\n  %a = {big} parameter(0)\n"
        f"  %t = {state} tuple(%a)\n"
        f"  ROOT %w = {state} while(%t), condition=%cond, body=%body\n}}\n"
    )


SIZE = 4 * 64 * 128 * 1024


@pytest.mark.parametrize(
    ("body", "read", "written", "kept", "unknown"),
    [
        (("%z = BIG fusion(%a), kind=kLoop, calls=%f",), 1, 1, 0, ()),
        (("%y = BIG copy(%a)", "%z = BIG fusion(%y), kind=kLoop, calls=%f"), 2, 2, 0, ()),
        (("%z = BIG add(%a, %a)",), 2, 1, 0, ()),
        (("%y = BIG bitcast(%a)", "%z = BIG reverse(%y), dimensions={0}"), 1, 1, 0, ()),
        (("%s = (BIG, BIG, u32[]{:S(2)}) copy-start(%a)", "%z = BIG copy-done(%s)"), 1, 1, 0, ()),
        (("%y = f32[64,128,1024]{2,1,0:T(8,128)S(1)} copy(%a)", "%z = BIG copy(%y)"), 1, 1, 1, ()),
        (("%z = BIG custom-call(%a)",), 0, 0, 0, ("custom-call",)),
    ],
    ids=["in place", "copied on top", "read twice", "bitcast", "in parts", "kept", "unknown"],
)
def test_traffic_of_body_is_its_reads_and_writes(
    body: tuple[str, ...], read: int, written: int, kept: int, unknown: tuple[str, ...]
) -> None:
    """A copy too many, an array kept on the chip, and an operation nobody knows are all seen."""
    work = loop_bodies.read(text(*body))

    assert work is not None
    assert (read * SIZE, written * SIZE) == (work.read, work.written)
    assert (kept, unknown) == (len(work.kept), work.unknown)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("collective-permute(%p)", (("collective-permute", SIZE),)),
        ("copy(%p)", (("branches that differ", 2),)),
    ],
)
def test_links_in_branches_are_compared(second: str, expected: tuple[Any, ...]) -> None:
    """A link whose branch sends nothing is found, at any position."""
    big = "f32[64,128,1024]{2,1,0:T(8,128)}"
    branches = "".join(
        f"%{name} (p: {big}) -> {big} {{\n  %p = {big} parameter(0)\n"
        f"  ROOT %r = {big} {line}\n}}\n\n"
        for name, line in (("one", "collective-permute(%p)"), ("two", second))
    )
    body = "%z = BIG conditional(%i, %a, %a), branch_computations={%one, %two}"
    work = loop_bodies.read(text(body).replace("%body", f"{branches}%body", 1))

    assert work is not None
    assert expected == work.exchanges


def test_every_full_check_with_loops_is_examined() -> None:
    """Every check that runs a loop a stated number of times has a row in `LOOPS`."""
    devices, names = jax.local_devices(), set()
    for name in FULL:
        module = importlib.import_module(f"tpustarter.checks.jax.{name}")
        for _, _, arguments in module.programs(devices) if hasattr(module, "programs") else ():
            first = arguments[0] if len(arguments) > 1 else None
            if first is not None and first.shape == (len(devices),) and first.dtype == jnp.int32:
                names.add(name)

    assert set(LOOPS) == names
