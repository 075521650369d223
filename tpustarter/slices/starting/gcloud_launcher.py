"""One `gcloud compute tpus tpu-vm ssh --worker=N` per host of a TPU.

gcloud can run one command on all workers (`--worker=all`), but then the hosts share one stdin and
one stdout: no line shows which worker it came from, no host can be sent the probe or a lifeline,
`--output-directory` writes nothing (528.0.0 omits its path), and the key has to be in an ssh-agent.
For a single worker, gcloud gives ssh its own stdin and stdout, ends it on SIGTERM, and exits with
its exit code. If ssh exits with 255, gcloud retries up to ten times, 5 s apart. That helps while a
key is still on its way to the host, but not after a run has lost its connection.

The hosts find each other through the TPU's metadata.

Options of the request: `tpu`, `zone`, `project`, `user`; `internal-ip` and `iap` with any value.
Source: googlecloudsdk/command_lib/compute/tpus/tpu_vm/ssh.py of gcloud 528.0.0 (read 2026-11).
"""

from __future__ import annotations

import shlex

import msgspec

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.slices.starting.host_shell_command import make_ssh_probe_command
from tpustarter.slices.starting.launch_request import HostCommand, LaunchRequest
from tpustarter.slices.starting.ssh_launcher import OPTIONS

KEY = "~/.ssh/google_compute_engine"
"""Private key that gcloud creates if it is missing; two runs at once would mix up their keys."""


def build_commands(request: LaunchRequest) -> tuple[HostCommand, ...]:
    """Return one command per worker; nothing is run."""
    if not request.count:
        raise Problem("the number of the TPU's hosts is not known", code=ExitCode.USAGE)
    name = request.options["tpu"]
    if user := request.options.get("user"):
        name = f"{user}@{name}"
    options = " ".join([*shlex.split(request.options.get("ssh", "")), *OPTIONS])
    line = make_ssh_probe_command(request, ())
    has_key = locations.expand_path(KEY).exists()
    return tuple(
        HostCommand(
            words=(
                *_tpu_vm(request, "ssh", name),
                f"--worker={number}",
                *(("--internal-ip",) if request.options.get("internal-ip") else ()),
                *(("--tunnel-through-iap",) if request.options.get("iap") else ()),
                "--quiet",
                f"--ssh-flag={options}",
                f"--command={line}",
            ),
            host=number,
            name=f"worker {number}",
            archive=request.archive,
            marks=True,
            reconnects=True,
            leads=number == 0 and not has_key,
        )
        for number in range(request.count)
    )


def format_count_command(request: LaunchRequest) -> tuple[str, ...]:
    """Return the command whose stdout `count_tpu_hosts` reads."""
    words = _tpu_vm(request, "describe", request.options["tpu"])
    return (*words, "--quiet", "--format=json(networkEndpoints,networkConfigs)")


class _Node(msgspec.Struct, rename="camel"):
    network_endpoints: list[object]
    network_configs: list[object] | None = None


def count_tpu_hosts(document: bytes) -> int | None:
    """Return a TPU's number of hosts, each with one endpoint per network; None if unknown."""
    try:
        node = msgspec.json.decode(document, type=_Node)
    except ValueError:
        return None
    return len(node.network_endpoints) // (len(node.network_configs or ()) or 1) or None


def _tpu_vm(request: LaunchRequest, verb: str, name: str) -> tuple[str, ...]:
    zone, project = (request.options.get(key) for key in ("zone", "project"))
    return (
        *(("gcloud", "alpha") if request.options.get("iap") else ("gcloud",)),
        *("compute", "tpus", "tpu-vm", verb, name),
        *((f"--zone={zone}",) if zone else ()),
        *((f"--project={project}",) if project else ()),
    )
