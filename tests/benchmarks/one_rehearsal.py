"""One program for one TPU, and a script with 100 compiled functions, against bare calls.

    python tests/benchmarks/one_rehearsal.py PYTHON [--repeat N] [--only program|script]

PYTHON has jax and libtpu; this script runs where tpustarter is installed. Wanted of both: at most
1.1 x the bare calls.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import usage

from tpustarter.machine import tpus
from tpustarter.rehearsal.compile.compiler import QUIET

STEP = """
import jax
import jax.numpy as jnp


def step(weights, batch):
    def loss(weights):
        for _ in range(12):
            hidden = jnp.tanh(batch @ weights)
            hidden = hidden + jax.nn.softmax(hidden @ weights.T) @ weights
        return jnp.sum(hidden)

    return weights - 1e-3 * jax.grad(loss)(weights)
"""
BARE = """
import json, sys
import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding
name, arguments = json.loads(sys.argv[1])
arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in arguments.items()}
devices = topologies.get_topology_desc(platform="tpu", topology_name=name, **arguments).devices
sys.path.insert(0, sys.argv[2])
from step import step
array = jax.ShapeDtypeStruct((2048, 2048), "float32", sharding=SingleDeviceSharding(devices[0]))
print(jax.jit(step).lower(array, array).compile().memory_analysis())
"""
SCRIPT = """
import jax
import jax.numpy as jnp
import numpy as np


def make(number):
    def layer(x):
        return jnp.tanh(x @ x.T) * number + jnp.sum(jax.nn.softmax(x))

    layer.__name__ = f"layer_{number}"
    return layer


x = np.ones((256, 256), np.float32)
for number in range(100):
    CALL
"""
RUN = "jax.jit(make(number))(x)"
COMPILE = """
    if not number:
        import json, sys
        from jax.experimental import topologies
        from jax.sharding import SingleDeviceSharding
        name, given = json.loads(sys.argv[1])
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        found = topologies.get_topology_desc(platform="tpu", topology_name=name, **given)
        sharding = SingleDeviceSharding(found.devices[0])
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)
    jax.jit(make(number))(x)
    jax.jit(make(number)).lower(shape).compile()
"""


def compare(title: str, commands: dict[str, list[str]], folder: Path, repeat: int) -> None:
    """Print the medians of each command, and their ratios to the first."""
    environment = {**os.environ, **QUIET, "TPUSTARTER_HOME": str(folder / "state")}
    found: dict[str, list[usage.Usage]] = {name: [] for name in commands}
    for _ in range(repeat):  # in turn, so that a noisy moment meets all of them
        for name, command in commands.items():
            found[name].append(usage.run(command, environment))
    usage.print_ratios(title, found)


def main() -> None:
    """Print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--tpu", default="v5e-8")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("program", "script"))
    asked = parser.parse_args()
    topology = tpus.find_topology(asked.tpu)
    given = json.dumps([topology.topology_name, dict(topology.arguments)])
    python = str(asked.python)
    options = ["--tpu", asked.tpu, "--python", python, "--compiler", python, "--fresh"]
    rehearse = [sys.executable, "-m", "tpustarter", "rehearse", *options]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "step.py").write_text(STEP)
        (folder / "script.py").write_text(SCRIPT.replace("CALL", RUN))
        (folder / "bare_script.py").write_text(SCRIPT.replace("    CALL", COMPILE.lstrip("\n")))
        if asked.only != "script":
            array = ["--arg", "f32[2048,2048]"]
            commands = {
                "bare compiler calls": [python, "-c", BARE, given, name],
                "rehearse": [*rehearse, f"{name}/step.py:step", *array, *array],
            }
            compare("one program for one TPU", commands, folder, asked.repeat)
        if asked.only != "program":
            commands = {
                "bare calls in the script": [python, f"{name}/bare_script.py", given],
                "rehearse --script": [*rehearse, "--script", f"{name}/script.py"],
            }
            compare("a script of 100 compiled functions", commands, folder, asked.repeat)


if __name__ == "__main__":
    main()
