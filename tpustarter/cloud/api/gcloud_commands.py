"""The gcloud command equivalent to each action, so that nobody has to depend on this program.

Every command is a tuple of arguments. A test runs the real gcloud against a server on loopback, and
compares its requests with this program's.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping

from tpustarter.cloud.api import compute_requests
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import Api
from tpustarter.cloud.create.tpu_request import TpuRequest, find_region
from tpustarter.text.terminal import escape_text

_COMPUTE = ("gcloud", "compute")
_TPUS = (*_COMPUTE, "tpus")
_CREATE = (*_TPUS, "queued-resources", "create")
_GROUPS = (*_COMPUTE, "instance-groups", "managed")
_COMPUTE_LISTS = (
    ("instances", "list"),
    ("instance-groups", "managed", "list"),
    ("instance-templates", "list"),
    ("resource-policies", "list"),
)


def build_create_commands(request: TpuRequest, project: Project) -> list[tuple[str, ...]]:
    """Return the commands that create a TPU. A slice in Compute Engine needs several, in order."""
    if request.api == "cloud-tpu":
        return [build_create_command(request, project)]
    if request.type.hosts == 1:
        place = _place(request.zone, project)
        return [
            (*_COMPUTE, "instances", "create", request.name, *place, *_machine(request), "--async")
        ]
    return _slice_commands(request, project)


def _slice_commands(request: TpuRequest, project: Project) -> list[tuple[str, ...]]:
    name, region = request.name, find_region(request.zone)
    policy = f"projects/{project.name}/regions/{region}/resourcePolicies/{name}"
    return [
        (
            *(*_COMPUTE, "resource-policies", "create", "workload-policy", name),
            *(f"--region={region}", *_project(project)),
            "--type=HIGH_THROUGHPUT",
            f"--accelerator-topology={compute_requests.find_topology(request)}",
            f"--description={compute_requests.encode_policy_note(request.zone)}",
        ),
        (
            *(*_COMPUTE, "instance-templates", "create", name),
            *(*_project(project), *_machine(request)),
        ),
        (
            *(*_GROUPS, "create", name, *_place(request.zone, project)),
            f"--template={name}",
            f"--size={request.type.hosts}",
            "--target-size-policy-mode=bulk",
            "--default-action-on-vm-failure=do-nothing",
            f"--workload-policy={policy}",
        ),
    ]


def _machine(request: TpuRequest) -> list[str]:
    """Return the options that instances and instance templates share."""
    is_template = request.type.hosts > 1
    labels = compute_requests.list_labels(request)
    if is_template:
        labels |= {compute_requests.ZONE_LABEL: request.zone}
    options = [
        f"--machine-type={compute_requests.find_machine_type(request)}",
        f"--image-family={request.type.generation.image_family}",
        f"--image-project={compute_requests.IMAGE_PROJECT}",
        "--maintenance-policy=TERMINATE",
        f"--boot-disk-size={compute_requests.BOOT_DISK_GB}GB",
        "--scopes=cloud-platform",
        f"--labels={_pairs(labels)}",
    ]
    if kind := compute_requests.find_boot_disk_type(request):
        options.append(f"--boot-disk-type={kind}")
    if request.network != "default":
        options.append(f"--network={request.network}")
    if request.subnetwork:
        options.append(f"--subnet={request.subnetwork}")
        if is_template:
            options.append(f"--region={find_region(request.zone)}")
    if request.internal_addresses:
        options.append("--no-address")
    if request.service_account:
        options.append(f"--service-account={request.service_account}")
    if request.tags:
        options.append(f"--tags={','.join(request.tags)}")
    if request.metadata:
        options.append(f"--metadata={_pairs(request.metadata)}")
    for disk in request.data_disks:
        mode = "ro" if disk.read_only else "rw"
        options.append(f"--disk=name={disk.source.rpartition('/')[2]},mode={mode}")
    return [*options, *_provisioning(request)]


def _provisioning(request: TpuRequest) -> list[str]:
    gone = "--instance-termination-action=DELETE"
    if request.tier == "spot":
        return ["--provisioning-model=SPOT", gone]
    if request.tier == "reserved":
        return [
            "--provisioning-model=RESERVATION_BOUND",
            "--reservation-affinity=specific",
            f"--reservation={compute_requests.get_reservation_name(request)}",
            gone,
        ]
    if request.tier == "flex-start":
        wait = f"--request-valid-for-duration={compute_requests.choose_wait_s(request)}s"
        return [
            "--provisioning-model=FLEX_START",
            f"--max-run-duration={request.run_s}s",
            gone,
            "--reservation-affinity=none",
            *([wait] if request.type.hosts == 1 else []),
        ]
    return []


def build_instance_command(verb: str, zone: str, name: str, project: Project) -> tuple[str, ...]:
    """Return the command that deletes, stops, starts or describes one instance."""
    more = {"delete": ("--quiet",), "stop": ("--async",), "start": ("--async",)}.get(verb, ())
    return (*_COMPUTE, "instances", verb, name, *_place(zone, project), *more)


def build_group_delete_commands(zone: str, name: str, project: Project) -> list[tuple[str, ...]]:
    """Return the commands that delete a slice's group, template and policy."""
    region = find_region(zone)
    return [
        (*_GROUPS, "delete", name, *_place(zone, project), "--quiet"),
        (*_COMPUTE, "instance-templates", "delete", name, *_project(project), "--quiet"),
        (
            *(*_COMPUTE, "resource-policies", "delete", name, f"--region={region}"),
            *(*_project(project), "--quiet"),
        ),
    ]


def build_list_commands(zone: str, project: Project) -> list[tuple[str, ...]]:
    """Return the commands that list a zone's TPUs in the Cloud TPU and Compute Engine APIs.

    A zone of `-` means all zones. The Compute Engine commands always list the instances, groups,
    templates and policies of all zones.
    """
    return [
        build_list_command("queued-resources", zone, project),
        build_list_command("tpu-vm", zone, project),
        *((*_COMPUTE, *words, *_project(project)) for words in _COMPUTE_LISTS),
    ]


def build_describe_commands(zone: str, name: str, project: Project) -> list[tuple[str, ...]]:
    """Return the commands that show the TPU with this name, whichever API created it."""
    return [
        build_describe_command("queued-resources", zone, name, project),
        build_describe_command("tpu-vm", zone, name, project),
        *build_follow_commands("compute", zone, name, project),
    ]


def build_follow_commands(
    api: Api, zone: str, name: str, project: Project
) -> tuple[tuple[str, ...], ...]:
    """Return the commands that show a request's progress in one API."""
    if api == "cloud-tpu":
        return (build_describe_command("queued-resources", zone, name, project),)
    return (
        build_instance_command("describe", zone, name, project),
        (*_GROUPS, "describe", name, *_place(zone, project)),
    )


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


def build_node_command(
    verb: str, zone: str, name: str, project: Project, api: Api = "cloud-tpu"
) -> tuple[str, ...]:
    """Return the command that deletes, stops or starts one node."""
    if api == "compute":
        return build_instance_command(verb, zone, name, project)
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

    It lists TPU VM types, because `gcloud compute tpus accelerator-types` queries the older API.
    """
    if kind == "locations":
        return (*_TPUS, "locations", "list", *_project(project))
    group = kind if kind.startswith("tpu-vm ") else f"tpu-vm {kind}"
    return (*_TPUS, *group.split(), "list", *_place(zone, project))


def _place(zone: str, project: Project) -> tuple[str, ...]:
    return (f"--zone={zone}", *_project(project))


def _project(project: Project) -> tuple[str, ...]:
    """Return the `--project` option, or nothing if gcloud already uses this project."""
    return () if project.gcloud_knows else (f"--project={project.name}",)


def _pairs(values: Mapping[str, str]) -> str:
    """Return `k=v,k=v`, with another separator if a value contains a comma, as gcloud documents.

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

    A start-up script's line feeds are escaped, as in `$'one\ntwo'`, so that the word has no line
    breaks.
    """
    if text.isprintable():
        return shlex.quote(text)
    spelt = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{escape_text(spelt)}'"
