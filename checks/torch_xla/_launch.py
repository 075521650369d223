"""Runs a function on every device through `torch_xla.launch`, and brings the results back.

On a TPU each rank is a process with a chip of its own. On the CPU all ranks are threads of one
process, and there is one more rule to know: a collective waits for all of them inside one compiled
program, so they must not compile it at once, or each waits in a program of its own until XLA aborts
the process. Rank 0 compiles first, and the others take its program from the cache. That works only
for a graph that is the same for all ranks: the rank goes in as data, and `xm.all_gather`, which
writes the rank into the graph, is out. Ranks beyond `XLA_THREAD_POOL_SIZE` would never start.
Measured with torch_xla 2.9.0.
"""

import tempfile
import threading
from pathlib import Path

import numpy as np
import torch_xla
import torch_xla.runtime as xr

_first_has_compiled = threading.Event()


def sync_in_turn():
    """Execute this rank's pending operations; on the CPU, rank 0 compiles first."""
    threads = xr.device_type() == "CPU" and xr.world_size() > 1
    if threads and xr.global_ordinal():
        _first_has_compiled.wait()
    torch_xla.sync()
    if threads:
        _first_has_compiled.set()


def on_every_device(body, *arguments):
    """Run `body(rank, *arguments)` on every rank, and return the NumPy arrays of each by name.

    `body` is a function that a new process can import by its name. Its results come back in files,
    because `torch_xla.launch` returns none.
    """
    with tempfile.TemporaryDirectory(prefix="tpustarter-launch-") as folder:
        torch_xla.launch(one_rank, args=(folder, body, arguments))
        return {
            int(path.stem): dict(np.load(path, allow_pickle=False))
            for path in sorted(Path(folder).glob("*.npz"), key=lambda path: int(path.stem))
        }


def one_rank(rank, folder, body, arguments):
    """Run `body` as one rank, and write its results to a file that is named after the rank."""
    results = body(rank, *arguments)
    world = np.array(xr.world_size())
    np.savez(Path(folder) / f"{rank}.npz", world=world, **results)
