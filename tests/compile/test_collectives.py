"""The collectives that the real compiler makes of shardings, for v5e-8, v6e-8 and two slices."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import tpustarter
from tests.support.real_compiler import python_with_libtpu
from tpustarter.probe.rehearse.collectives import list_collectives
from tpustarter.rehearsal.compile.compiler import QUIET

LAYERS, SIDE = 6, 2048

PROGRAMS = """
import json, sys
import jax, numpy, jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from tpustarter.machine import tpus
layers, side = 6, 2048
kind = tpus.find_topology(sys.argv[1])
devices = topologies.get_topology_desc(
    platform="tpu", topology_name=kind.topology_name, **kind.arguments).devices
mesh = Mesh(numpy.array(devices).reshape(kind.slices, -1), ("s", "d"))
def on(*axes):
    return NamedSharding(mesh, P(*axes))
def array(shape, *axes):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=on(*axes))
def loss(weights, batch):
    def layer(x, w):
        return jnp.tanh(x @ jax.lax.with_sharding_constraint(w, on())), None
    out, _ = jax.lax.scan(jax.checkpoint(layer), batch, weights)
    return (out.astype(jnp.float32) ** 2).mean()
square = (side, side)
programs = {
    "summed": (jnp.matmul, on(), array(square, None, "d"), array(square, "d")),
    "gathered": (jnp.tanh, on(), array(square, "d")),
    "turned": (jnp.tanh, on(None, "d"), array(square, "d")),
    "fsdp": (jax.grad(loss), on(None, "d"), array((layers, *square), None, "d"),
        array((64, side), "d")),
    "between slices": (jnp.matmul, on(), array(square, None, "s"), array(square, "s")),
}
for name, (function, out, *arguments) in programs.items():
    if (name == "between slices") == (kind.slices > 1):
        compiled = jax.jit(function, out_shardings=out).lower(*arguments).compile()
        print(json.dumps([name, compiled.as_text()]))
"""
SQUARE = 2 * SIDE**2
EXPECTED = {
    "summed": {("all-reduce", SQUARE, 8, "ici", 1)},
    "gathered": {("all-gather", SQUARE, 8, "ici", 1)},
    "turned": {("all-to-all", SQUARE // 8, 8, "ici", 1)},
    "fsdp": {
        ("all-gather", SQUARE, 8, "ici", LAYERS),
        ("reduce-scatter", SQUARE // 8, 8, "ici", LAYERS),
    },
}


@pytest.mark.parametrize(
    ("tpu", "expected"),
    [
        ("v5e-8", EXPECTED),
        ("v6e-8", EXPECTED),
        ("2xv5e-8", {"between slices": {("all-reduce", SQUARE, 2, "dcn", 1)}}),
    ],
)
def test_shardings_become_their_collectives(
    tpu: str, expected: dict[str, set[tuple[str, int, int, str, int]]]
) -> None:
    """Each sharding compiles to its collectives, with their bytes, devices and runs."""
    run = subprocess.run(
        [python_with_libtpu(), "-c", PROGRAMS, tpu],
        env=os.environ | QUIET | {"PYTHONPATH": str(Path(tpustarter.__file__).parents[1])},
        capture_output=True,
        check=True,
        text=True,
        timeout=240,
    )
    texts = dict(json.loads(line) for line in run.stdout.splitlines())
    found = {
        name: {(c.kind, c.bytes, c.group_size, c.link, c.runs) for c in list_collectives(text)}
        for name, text in texts.items()
    }

    assert expected == found
