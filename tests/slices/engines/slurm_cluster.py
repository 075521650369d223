"""A Slurm cluster on this machine: a controller, and daemons that take themselves for two hosts."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import HANG_S, until

TOOLS = {
    name: shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    for name in ("munged", "slurmctld", "slurmd", "srun", "sinfo", "squeue", "unshare")
}
_MISSING = " ".join(name for name, path in TOOLS.items() if path is None)
SLURM = [
    pytest.mark.root,
    pytest.mark.skipif(
        bool(_MISSING) or os.geteuid() != 0,
        reason=f"A Slurm cluster of one's own needs root and {_MISSING or 'its programs'}.",
    ),
]
CONF = """
ClusterName=trial
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
KillWait=5
NodeName=s0 NodeHostname={name} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=s1 NodeHostname={name} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Run a cluster of two hosts, and give the variables that lead to it."""
    name = socket.gethostname().partition(".")[0]
    configuration = folder / "slurm.conf"
    configuration.write_text(CONF.format(name=name, folder=folder, ports=_free_ports(3)))
    key = folder / "key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    for host in ("s0", "s1"):
        (folder / host).mkdir()
    files = {
        f"--{word}-file": str(folder / f"munged.{word}") for word in ("pid", "log", "seed")
    } | {"--socket": str(folder / "munge.sock"), "--key-file": str(key)}
    munge = [f"{option}={value}" for option, value in files.items()]
    env = {**os.environ, "SLURM_CONF": str(configuration)}
    daemons = [
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D", "-c"],
        *(["slurmd", "-D", "-c", "-N", host] for host in ("s0", "s1")),
    ]
    names = folder / "hosts"
    names.write_text(f"127.0.0.1 localhost {name} s0 s1\n")  # JAX takes a name for an address
    known = ("unshare", "--mount", "sh", "-c", f'mount --bind {names} /etc/hosts; exec "$0" "$@"')
    with contextlib.ExitStack() as stack:
        for name, *words in daemons:
            daemon = subprocess.Popen(
                [*known, str(TOOLS[name]), *words],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(_end, daemon)
            if name == "munged":
                until((folder / "munge.sock").exists, "munged")
        until(lambda: ask(env, "sinfo", "-h", "-t", "idle", "-o", "%D") == "2", "two idle hosts")
        yield env


def ask(env: dict[str, str], name: str, *words: str) -> str:
    """Return the answer of a program of Slurm."""
    done = subprocess.run(
        [str(TOOLS[name]), *words], env=env, capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout.strip()


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(HANG_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
