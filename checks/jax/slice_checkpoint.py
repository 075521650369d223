"""A checkpoint of all hosts is read by all."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _hosts, _slices
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding, NoAnswer

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2, "packages": ["orbax.checkpoint"]}
TIMEOUT_S = 240
ESTIMATE_S = 3
LESSON = "slices/flags-files-failures"
SOURCE = "https://orbax.readthedocs.io/en/latest/guides/checkpoint/orbax_checkpoint_101.html"
AFTER = ["jax.slice_program"]


def step(x):
    """Return the result of a program for `x: int32[d, d]`, on the devices."""
    return 3 * x + 1


def programs(devices):
    """Yield the program that makes the array to save: `x: int32[d, d]`, sharded by rows."""
    mesh = Mesh(np.array(devices), ("d",))
    yield "step", step, (_collectives.argument(mesh, P("d"), len(devices), len(devices)),)


@contextlib.contextmanager
def folder():
    """Make a folder on the first host, and give its path and which hosts see it."""
    made = tempfile.mkdtemp(prefix="slice-checkpoint-") if jax.process_index() == 0 else ""
    path = _hosts.exchange("folder", made)[0]
    try:
        seen = _hosts.exchange("seen", str(path is not None and Path(path).is_dir()))
        yield Path(path or ""), [answer == "True" for answer in seen]
    finally:
        _hosts.exchange("done", "")  # nobody reads it any more
        if made:
            shutil.rmtree(made, ignore_errors=True)


def saved_and_restored(path, array):
    """Return an array that all hosts saved, restored by all of them with another sharding."""
    import orbax.checkpoint as ocp  # takes seconds, and is not everywhere

    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path / "state", {"x": array})
        checkpointer.wait_until_finished()
        x = _collectives.argument(array.sharding.mesh, P(None, "d"), *array.shape)
        return checkpointer.restore(path / "state", {"x": x})["x"]


def run():
    """Save an array sharded by rows, restore it by columns, and compare what each device read."""
    count = len(devices := jax.devices())
    numbers = np.arange(count**2, dtype=np.int32).reshape(count, count)
    with folder() as (path, seen):
        code, name = "SLICE-CHECKPOINT-FOLDER", "hosts that see the folder of the first"
        yield Finding(code, name, "info", f"{sum(seen)} of {len(seen)}")
        if not all(seen):
            raise NoAnswer("no host sees what others write; set TMPDIR to a folder of all hosts")
        array = _slices.execute(programs(devices), numbers)
        restored = saved_and_restored(path, array)
    expected, text = 3 * numbers + 1, "other numbers than were written"
    lost = {
        label(shard.device): text * (not np.array_equal(shard.data, expected[shard.index]))
        for shard in restored.addressable_shards
    }
    yield from tally("SLICE-CHECKPOINT-READ", "devices that read what all hosts wrote", lost)
