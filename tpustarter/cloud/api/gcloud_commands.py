"""The gcloud command equivalent to each action, so that nobody depends on this program.

Every command is a tuple of arguments. A test runs the real gcloud against a server on loopback, and
compares the requests of both.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping

from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.text.terminal import escape_text

_TPUS = ("gcloud", "compute", "tpus")
_CREATE = (*_TPUS, "queued-resources", "create")


def build_create_command(request: TpuRequest, project: Project) -> tuple[str, ...]:
    """Return the command that requests this queued resource."""
    command = [*_CREATE, request.name, *_place(request.zone, project)]
    command += [f"--accelerator-type={request.type.accelerator_type}"]
    command += [f"--runtime-version={request.version}"]
    if request.slices == 1:
        command += [f"--node-id={request.name}"]
    else:
        command += [f"--node-count={request.slices}", f"--node-prefix={request.name}"]
    command += _tier(request)
    if request.labels:
        command += [f"--labels={_pairs(request.labels)}"]
    if request.metadata:
        command += [f"--metadata={_pairs(request.metadata)}"]
    for disk in request.data_disks:
        mode = "read-only" if disk.read_only else "read-write"
        command += [f"--data-disk=source={disk.source},mode={mode}"]
    command += _network(request)
    if request.valid_until_s:
        command += [f"--valid-until-duration={request.valid_until_s}s"]
    return (*command, "--async")


def _tier(request: TpuRequest) -> list[str]:
    if request.tier == "spot":
        return ["--spot"]
    return ["--reserved"] if request.tier == "reserved" else []


def _network(request: TpuRequest) -> list[str]:
    options = [] if request.network == "default" else [f"--network={request.network}"]
    if request.subnetwork:
        options += [f"--subnetwork={request.subnetwork}"]
    if request.internal_addresses:
        options += ["--internal-ips"]
    if request.service_account:
        options += [f"--service-account={request.service_account}"]
    return options + ([f"--tags={','.join(request.tags)}"] if request.tags else [])


def build_delete_command(zone: str, name: str, project: Project, *, force: bool) -> tuple[str, ...]:
    """Return the command that deletes a queued resource; `force` includes its nodes."""
    forced = ("--force",) if force else ()
    command = (*_TPUS, "queued-resources", "delete", name, *_place(zone, project))
    return (*command, *forced, "--quiet", "--async")


def build_node_command(verb: str, zone: str, name: str, project: Project) -> tuple[str, ...]:
    """Return the command that deletes, stops or starts one node."""
    quiet = ("--quiet",) if verb == "delete" else ()
    return (*_TPUS, "tpu-vm", verb, name, *_place(zone, project), *quiet, "--async")


def build_describe_command(kind: str, zone: str, name: str, project: Project) -> tuple[str, ...]:
    """Return the command that shows one resource; `kind` is `queued-resources` or `tpu-vm`."""
    return (*_TPUS, kind, "describe", name, *_place(zone, project))


def build_list_command(kind: str, zone: str, project: Project) -> tuple[str, ...]:
    """Return the command that lists `queued-resources` or `tpu-vm` in a zone; `-` means all."""
    return (*_TPUS, kind, "list", *_place(zone, project))


def build_offer_command(kind: str, zone: str, project: Project) -> tuple[str, ...]:
    """Return the command that lists `locations`, `accelerator-types` or `tpu-vm versions`.

    The types are those of TPU VMs: `gcloud compute tpus accelerator-types` asks the older API.
    """
    if kind == "locations":
        return (*_TPUS, "locations", "list", *_project(project))
    group = kind if kind.startswith("tpu-vm ") else f"tpu-vm {kind}"
    return (*_TPUS, *group.split(), "list", *_place(zone, project))


def _place(zone: str, project: Project) -> tuple[str, ...]:
    return (f"--zone={zone}", *_project(project))


def _project(project: Project) -> tuple[str, ...]:
    """Return the option that names the project, unless gcloud already uses the same one."""
    return () if project.gcloud_knows else (f"--project={project.name}",)


def _pairs(values: Mapping[str, str]) -> str:
    """Return `k=v,k=v`; with another separator where a value has a comma, as gcloud documents.

    Source: `gcloud topic escaping` (read 2026-11).
    """
    pairs = [f"{key}={value}" for key, value in values.items()]
    if not any("," in pair for pair in pairs):
        return ",".join(pairs)
    marks = itertools.chain(":;|~#%@", (f":{number}:" for number in itertools.count()))
    separator = next(mark for mark in marks if not any(mark in pair for pair in pairs))
    return f"^{separator}^" + separator.join(pairs)


def quote_for_shell(text: str) -> str:
    r"""Quote a word for bash and zsh.

    The line feeds of a start-up script are spelt out, as in `$'one\ntwo'`, so that the command
    stays in its lines wherever it is shown.
    """
    if text.isprintable():
        return shlex.quote(text)
    spelt = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{escape_text(spelt)}'"
