"""One process for each device, as TorchTPU requires, because a process is bound to one device.

Only the standard spawn of torch is used, so on the CPU the same code runs with Gloo. The functions
that do the work are arguments, because a spawned process shares nothing with its parent.
"""

import os
import socket
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed
import torch.multiprocessing

BACKENDS = {"tpu": "tpu_dist", "cpu": "gloo"}
"""The process group of each kind of device; torch_tpu 0.2.0 registers `tpu_dist`."""


def on_each_rank(work, count, device, *arguments):
    """Run `work(rank, count, device, *arguments)` on each rank, and return the resulting arrays."""
    before = dict(os.environ)
    try:
        if torch.device(device).type == "tpu":
            from torch.tpu import distributed

            distributed.set_tpu_launch_env(nproc_per_node=count)
        return _spawned(work, count, device, arguments)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _spawned(work, count, device, arguments):
    with tempfile.TemporaryDirectory(prefix="tpustarter-ranks-") as folder:
        torch.multiprocessing.spawn(
            _rank, args=(count, device, _free_port(), folder, work, arguments), nprocs=count
        )
        return [dict(np.load(Path(folder, f"{rank}.npz"))) for rank in range(count)]


def _rank(rank, count, device, port, folder, work, arguments):  # noqa: PLR0917  what spawn hands over
    """Run one rank: join the others, work, and write the results to a file."""
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(count),
        LOCAL_WORLD_SIZE=str(count),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )
    kind = torch.device(device).type
    torch.distributed.init_process_group(BACKENDS[kind], rank=rank, world_size=count)
    try:
        results = work(rank, count, device, *arguments)
        np.savez(Path(folder, f"{rank}.npz"), **results)
    finally:
        torch.distributed.destroy_process_group()


def _free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
