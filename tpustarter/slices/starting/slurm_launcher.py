"""One `srun` with a task on each host; JAX reads the tasks' numbers and their count from Slurm.

srun passes its stdin to every task, which carries the probe and the lifeline. Without `--nodes`, it
uses the nodes of the allocation that it runs in (`salloc`, `sbatch`). Options of the request:
`slurm`, extra options of srun as typed in a shell (`--partition=tpu --time=10`).

Source: https://slurm.schedmd.com/srun.html (read 2026-11).
"""

from __future__ import annotations

import re
import shlex

from tpustarter.slices.starting.host_shell_command import make_task_script
from tpustarter.slices.starting.labelled_output import LabelFormat
from tpustarter.slices.starting.launch_request import HostCommand, LaunchRequest

LABELS = LabelFormat(re.compile(rb" *(\d{1,9}): "), wrap=1024)
"""SLURM_IO_MAX_MSG_LEN: srun splits longer lines, and labels each part."""
OPTIONS = (
    "--ntasks-per-node=1",
    "--label",
    # A failed host must not end the others, even if slurm.conf says so: they have to name it.
    "--kill-on-bad-exit=0",
    "--wait=0",
)


def build_commands(request: LaunchRequest) -> tuple[HostCommand, ...]:
    """Return the command for all hosts; nothing is run."""
    count = request.count or len(request.hosts) or None
    words = [
        "srun",
        *([f"--nodes={count}", f"--ntasks={count}"] if count else []),
        *([f"--nodelist={','.join(request.hosts)}"] if request.hosts else []),
        *OPTIONS,
        *shlex.split(request.options.get("slurm", "")),
        "sh",
        "-c",
        make_task_script(request),
    ]
    return (
        HostCommand(
            words=tuple(words), name="srun", archive=request.archive, marks=True, labels=LABELS
        ),
    )
