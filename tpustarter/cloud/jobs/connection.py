"""The command that connects to one worker, with gcloud or with ssh alone.

Each command is a tuple of arguments. It never prompts, times out after `CONNECT_S` if the worker
doesn't answer, and detects a lost connection.

For TPU VMs, only gcloud's alpha track has `--tunnel-through-iap` (528.0.0: "flag is available in
one or more alternate release tracks"). Source: https://docs.cloud.google.com/sdk/gcloud/reference/
alpha/compute/tpus/tpu-vm/ssh (read 2026-11).
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus

CONNECT_S = 20
ALIVE_S = 30
"""Seconds of silence before ssh sends a keep-alive; it disconnects after three unanswered ones."""
KEY = "~/.ssh/google_compute_engine"
"""Private key that gcloud creates, and whose public half it adds to a TPU at first connection."""
KNOWN_HOSTS = "~/.ssh/google_compute_known_hosts"
"""gcloud's file of known host keys, separate from the user's own."""

_USER = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)


def validate_user(user: str | None) -> str | None:
    """Return a login name unchanged; raises Problem if it is invalid."""
    if user is None or _USER.fullmatch(user):
        return user
    raise Problem(
        f"`{user}` cannot be the name of a user, expected letters, digits, `_`, `.` and `-`",
        code=ExitCode.USAGE,
    )


def default_user() -> str:
    """Return gcloud's default user without OS Login; raises Problem if the user has no name."""
    try:
        return validate_user(getpass.getuser()) or ""
    except (KeyError, OSError, ImportError):
        raise Problem(
            "your user on this machine has no name to log in with",
            hint="name the user of the TPU with `--user NAME`",
        ) from None


def key_file() -> Path:
    """Return the path of the private key that gcloud uses."""
    return locations.expand_path(KEY)


def environment_variables() -> dict[str, str]:
    """Return the variables of gcloud or ssh, which then opens no dialog for a password.

    It would not show which worker it is for.
    """
    return {**os.environ, "SSH_ASKPASS_REQUIRE": "never"}


def quote_command(words: Sequence[str]) -> str:
    """Return a command as text for a shell: one word unchanged, several words quoted."""
    return words[0] if len(words) == 1 else shlex.join(words)


def gcloud_command(
    worker: Worker, project: Project, text: str, *, iap: bool = False, user: str | None = None
) -> tuple[str, ...]:
    """Return the gcloud command that runs a shell command on a worker."""
    patience = f"-oConnectTimeout={CONNECT_S} -oServerAliveInterval={ALIVE_S}"
    return (
        *_gcloud_ssh(worker, None if project.gcloud_knows else project.name, iap=iap, user=user),
        f"--ssh-flag=-oBatchMode=yes {patience}",
        f"--command={text}",
    )


def _gcloud_ssh(
    worker: Worker, project: str | None, *, iap: bool, user: str | None
) -> tuple[str, ...]:
    node, is_tpu_vm = worker.node, worker.node.api == "cloud-tpu"
    name = node.name if is_tpu_vm else worker.host
    return (
        *("gcloud", *(("alpha",) if iap and is_tpu_vm else ()), "compute"),
        *(("tpus", "tpu-vm", "ssh") if is_tpu_vm else ("ssh",)),
        f"{user}@{name}" if user else name,
        f"--zone={node.zone}",
        *((f"--project={project}",) if project else ()),
        *((f"--worker={worker.number}",) if is_tpu_vm else ()),
        *(("--tunnel-through-iap",) if iap else ()),
    )


def ssh_options(worker: Worker, *, iap: bool, user: str) -> list[tuple[str, str]]:
    """Return ssh's options for a worker, named as in `ssh_config(5)`.

    The host key's alias contains the node's creation time, because Google later assigns the same
    address to other machines.
    """
    node = worker.node
    made = f"{node.created:%Y%m%d%H%M%S}" if node.created else "0"
    place = f"{node.project}.{node.zone}".replace(":", "_")
    options = [
        ("HostName", worker.address or worker.host),
        ("User", user),
        ("IdentityFile", KEY),
        ("IdentitiesOnly", "yes"),
        ("HostKeyAlias", f"tpu.{place}.{node.name}-w{worker.number}.{made}"),
        ("UserKnownHostsFile", KNOWN_HOSTS),
        ("StrictHostKeyChecking", "accept-new"),
        ("CheckHostIP", "no"),
        ("ServerAliveInterval", str(ALIVE_S)),
    ]
    if iap:
        options.append(("ProxyCommand", shlex.join(tunnel_command(worker, user))))
    return options


def tunnel_command(worker: Worker, user: str) -> tuple[str, ...]:
    """Return the ssh ProxyCommand that reaches a worker's port 22 through IAP.

    gcloud finds the worker's machine, adds the user's key to it, and has ssh forward the port
    (`-W`). No undocumented part of gcloud is needed.
    """
    project = worker.node.project
    return (*_gcloud_ssh(worker, project, iap=True, user=user), "--", "-W", "localhost:22")


def ssh_command(
    worker: Worker, text: str, *, iap: bool = False, user: str | None = None
) -> tuple[str, ...]:
    """Return the ssh command that runs a shell command on a worker."""
    options = dict(ssh_options(worker, iap=iap, user=user or default_user()))
    host = options.pop("HostName")
    options |= {"BatchMode": "yes", "ConnectTimeout": str(CONNECT_S)}
    return ("ssh", "-T", *(f"-o{key}={value}" for key, value in options.items()), host, "--", text)


def build_login_command(tpu: TpuNode | QueuedResource, *options: str) -> str:
    """Return the command that logs in to the first worker of a TPU.

    Google chooses the names of a Compute Engine slice's instances, so for its request the command
    lists them.
    """
    is_request = isinstance(tpu, QueuedResource)
    name = (*(tpu.nodes if is_request else tpu.instances), tpu.name)[0]
    words = ("tpus", "tpu-vm", "ssh")
    if tpu.api == "compute":
        is_listed = is_request and _is_slice(tpu)
        words = ("instance-groups", "managed", "list-instances") if is_listed else ("ssh",)
    return shlex.join(("gcloud", "compute", *words, name, f"--zone={tpu.zone}", *options))


def _is_slice(resource: QueuedResource) -> bool:
    try:
        return tpus.parse_type(resource.type).hosts > 1
    except LookupError:
        return True
