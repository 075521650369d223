"""TPUs that the Cloud TPU API cannot make: the Compute Engine commands, for the user to run.

Nothing here is sent, and the ledger has no entry of what these commands make. Therefore each list
of commands ends with those that remove everything again.
Sources: https://docs.cloud.google.com/tpu/docs/tpus-in-compute-engine
https://docs.cloud.google.com/compute/docs/tpus/create-tpu-vm-instance
https://docs.cloud.google.com/compute/docs/tpus/create-tpu-mig-multi-host-slice
https://docs.cloud.google.com/tpu/docs/spot-compute
https://docs.cloud.google.com/tpu/docs/request-using-flex-start (read 2026-11).
"""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.cloud.api import gcloud_commands
from tpustarter.cloud.api.project_and_zone import PLACEHOLDER, Project
from tpustarter.cloud.create.tpu_request import DataDisk, TpuRequest
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine.tpus import TpuType
from tpustarter.text import phrases

DOCS = "https://docs.cloud.google.com/tpu/docs/tpus-in-compute-engine"
FLEX_START_DOCS = "https://docs.cloud.google.com/tpu/docs/request-using-flex-start"
BOOT_DISK_GB = 200
"""Size of the boot disk: Compute Engine's default of 10 GB has no room for a framework."""
BOOT_DISK_TYPE = {"tpu7x": "hyperdisk-balanced", "v6e": "hyperdisk-balanced"}
"""Disk types by generation, where Compute Engine's default is not supported.

Source: https://docs.cloud.google.com/tpu/docs/setup-persistent-disk (read 2026-11).
"""
CHIPS_PER_HOST = 4
"""Chips of each machine in a slice of several."""
FLEX_START_LONGEST_S = 7 * 86400
FLEX_START_SHORTEST_S = 600
WAIT_SHORTEST_S, WAIT_LONGEST_S = 90, 7200
"""Seconds that Compute Engine waits for the capacity of one flex-start machine.

Source: https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms (read 2026-11).
"""
FLEX_START_ZONES: dict[str, tuple[str, ...]] = {
    "v5e": ("us-west4-a", "us-central1-a"),
    "v6e": ("asia-northeast1-b", "us-east5-a"),
}
"""Zones in which the Cloud TPU API has flex-start, by generation, as the page lists them."""

FIXED_BOOT_DISK = (
    "The Cloud TPU API gives each TPU VM a boot disk of 100 GiB, and its size cannot be chosen. "
    "For more room, attach a data disk with `--data-disk`."
)
"""Source: https://docs.cloud.google.com/tpu/docs/setup-persistent-disk (read 2026-11)."""
NOT_FOLLOWED = (
    "tpustarter does not run these commands and does not follow what they make: it is billed until "
    "you delete it, and neither `tpustarter tpu list` nor `gcloud compute tpus` shows it."
)
NOT_IN_LEDGER = (
    "tpustarter does not run this command, so it does not remember what it makes: it is billed "
    "until you delete it. It is a request of the Cloud TPU API, which `tpustarter tpu list` asks."
)
NEWER_GCLOUD = (
    "gcloud 528 does not know all of these options. If yours refuses one, `gcloud components "
    "update` gets a newer one."
)
"""Of 528.0.0: `FLEX_START` of instances, and `--target-size-policy-mode` outside alpha."""


@dataclass(frozen=True)
class ComputeEngineStep:
    """One command with a sentence on its effect."""

    command: tuple[str, ...]
    sentence: str


def is_needed(tpu: TpuType) -> bool:
    """Return whether the Cloud TPU API cannot make a TPU, as from TPU7x on."""
    return tpu.generation.cloud_tpu_api is False


def creation_steps(
    request: TpuRequest, project: Project, *, run_s: int = 0
) -> tuple[ComputeEngineStep, ...]:
    """Return the commands that make a TPU with Compute Engine, in order.

    Args:
        request: The TPU; its runtime version is not used, the image is the generation's.
        project: The project that gets it.
        run_s: For flex-start, seconds after which Google deletes it; 0 for the request's tier.

    Raises:
        Problem: Compute Engine does not offer it, or nothing documents how it is made.
    """
    machine = _machine_type(request.type)
    how = _provisioning(request, run_s)
    if request.type.hosts == 1:
        of_chips = phrases.format_count(request.type.chips, "chip")
        return tuple(
            ComputeEngineStep(
                (
                    "gcloud",
                    "compute",
                    "instances",
                    "create",
                    name,
                    f"--zone={request.zone}",
                    *_project(project),
                    *_machine(request, machine),
                    *how,
                ),
                f"This makes `{name}`, one TPU VM with {of_chips}.",
            )
            for name in request.node_names
        )
    return _of_several_hosts(request, project, machine, how)


def creation_notes(request: TpuRequest, *, run_s: int = 0) -> tuple[str, ...]:
    """Return the sentences to read before these commands are run."""
    why = (
        f"The Cloud TPU API does not serve {request.type.generation.title}, so Compute Engine "
        "makes it."
    )
    first = (why,) if is_needed(request.type) else ()
    newer = (NEWER_GCLOUD,) if run_s or request.type.hosts > 1 else ()
    disk = (
        f"Its boot disk can be chosen, and has {BOOT_DISK_GB} GB here; the default has 10 GB, and "
        "no room for a framework."
    )
    if not first:
        return (FIXED_BOOT_DISK, *newer, NOT_IN_LEDGER)
    return (*first, disk, *newer, NOT_FOLLOWED)


def _of_several_hosts(
    request: TpuRequest, project: Project, machine: str, how: tuple[str, ...]
) -> tuple[ComputeEngineStep, ...]:
    region = request.zone.rpartition("-")[0]
    name, shape = request.name, find_topology(request.type)
    policy = ComputeEngineStep(
        (
            *["gcloud", "compute", "resource-policies", "create", "workload-policy"],
            name,
            "--type=HIGH_THROUGHPUT",
            f"--accelerator-topology={shape}",
            f"--region={region}",
            *_project(project),
        ),
        f"The workload policy says that the machines form one slice with the topology {shape}.",
    )
    template = ComputeEngineStep(
        (
            *["gcloud", "compute", "instance-templates", "create"],
            name,
            *_project(project),
            *_machine(request, machine, in_template=True),
            *how,
        ),
        f"The template says what each machine is: {machine}, with {CHIPS_PER_HOST} chips.",
    )
    groups = [
        ComputeEngineStep(
            (
                *["gcloud", "compute", "instance-groups", "managed", "create"],
                group,
                f"--zone={request.zone}",
                *_project(project),
                f"--template={name}",
                f"--size={request.type.hosts}",
                "--target-size-policy-mode=bulk",
                "--default-action-on-vm-failure=do-nothing",
                f"--workload-policy=projects/{project.name}/regions/{region}/resourcePolicies/{name}",
            ),
            f"The group `{group}` makes the {request.type.hosts} machines of a slice, all of "
            "them or none.",
        )
        for group in request.node_names
    ]
    return (policy, template, *groups)


def removal_steps(request: TpuRequest, project: Project) -> tuple[ComputeEngineStep, ...]:
    """Return the commands that delete everything that `creation_steps` creates."""
    compute, quiet = ("gcloud", "compute"), "--quiet"
    place = (f"--zone={request.zone}", *_project(project), quiet)
    if request.type.hosts == 1:
        return (
            ComputeEngineStep(
                (*compute, "instances", "delete", *request.node_names, *place),
                "This deletes it with its boot disk, and ends the bill.",
            ),
        )
    region = request.zone.rpartition("-")[0]
    groups = (*compute, "instance-groups", "managed", "delete", *request.node_names, *place)
    template = (*compute, "instance-templates", "delete", request.name, *_project(project), quiet)
    policy = (
        *compute,
        "resource-policies",
        "delete",
        request.name,
        f"--region={region}",
        *_project(project),
        quiet,
    )
    return (
        ComputeEngineStep(groups, "This deletes the machines of every slice, and ends the bill."),
        ComputeEngineStep(
            template, "The template costs nothing, but its name stays taken until it is deleted."
        ),
        ComputeEngineStep(policy, "So does the name of the workload policy."),
    )


def flex_start_steps(
    request: TpuRequest, project: Project, run_s: int
) -> tuple[ComputeEngineStep, ...]:
    """Return the commands for flex-start, which Google's Python client lacks.

    Args:
        request: The TPU, on demand.
        project: The project that gets it.
        run_s: Seconds after which Google deletes it.

    Raises:
        Problem: nothing documents flex-start for this TPU and zone, or for so long.
    """
    _check_run(run_s)
    if is_needed(request.type):
        return creation_steps(request, project, run_s=run_s)
    name = request.type.generation.name
    zones = FLEX_START_ZONES.get(name, ())
    if request.zone not in zones:
        known = (
            f"for {name} it names {phrases.join_words(zones)}" if zones else f"it names no {name}"
        )
        raise Problem(
            f"Google's page on flex-start does not name {request.zone} for {name}: {known}",
            hint=f"read {FLEX_START_DOCS}",
            code=ExitCode.USAGE,
        )
    command = gcloud_commands.build_create_command(request, project)
    command = tuple(
        word for word in command if word not in _TIERS and not word.startswith(_VALID_UNTIL)
    )
    wait_s = request.valid_until_s or run_s
    ask = (
        *command[:1],
        "alpha",
        *command[1:],
        "--provisioning-model=flex-start",
        f"--max-run-duration={run_s}s",
        f"{_VALID_UNTIL}={wait_s}s",
    )
    waits, runs = phrases.format_duration(wait_s), phrases.format_duration(run_s)
    return (
        ComputeEngineStep(
            ask,
            f"This waits {waits} at most for a TPU, and Google deletes it after "
            f"{runs}. "
            "gcloud has flex-start in `alpha` only.",
        ),
    )


_TIERS = ("--spot", "--reserved")
_VALID_UNTIL = "--valid-until-duration"


def _check_run(run_s: int) -> None:
    if not FLEX_START_SHORTEST_S <= run_s <= FLEX_START_LONGEST_S:
        raise Problem(
            f"found {run_s} s as the time to run, expected 10 minutes to 7 days for flex-start",
            hint="give a time such as `--flex-start 4h`",
            code=ExitCode.USAGE,
        )


def find_topology(tpu: TpuType) -> str:
    """Return the topology of a slice of TPU7x, `4x4x4`; raises Problem where it is not known."""
    known = _TOPOLOGIES.get(tpu.generation.name, {})
    if tpu.chips in known:
        return known[tpu.chips]
    sizes = ", ".join(str(chips * tpu.generation.cores_per_chip) for chips in known)
    raise Problem(
        f"the topology of {tpu.name} is not known here",
        hint=f"take {tpu.generation.name} with {sizes}, or read {tpu.generation.source}",
        code=ExitCode.USAGE,
    )


_TOPOLOGIES: dict[str, dict[int, str]] = {
    "tpu7x": {
        4: "2x2x1",
        8: "2x2x2",
        16: "2x2x4",
        32: "2x4x4",
        64: "4x4x4",
        128: "4x4x8",
        192: "4x4x12",
        256: "4x8x8",
        384: "4x8x12",
        512: "8x8x8",
    },
}
"""By generation and chips. Source: https://github.com/AI-Hypercomputer/maxtext
`src/maxtext/utils/accelerator_to_spec_map.py` (read 2026-11)."""


def _machine_type(tpu: TpuType) -> str:
    chips = tpu.chips if tpu.hosts == 1 else CHIPS_PER_HOST
    names = [name for name, number in tpu.generation.machine_types if number == chips]
    if names and tpu.generation.compute_engine and tpu.generation.image_family:
        return names[0]
    raise Problem(
        f"nothing is published about making {tpu.name} with Compute Engine",
        hint=f"read {DOCS}",
        code=ExitCode.USAGE,
    )


def _machine(request: TpuRequest, machine: str, *, in_template: bool = False) -> tuple[str, ...]:
    generation = request.type.generation
    options = [
        f"--machine-type={machine}",
        f"--image-family={generation.image_family}",
        "--image-project=ubuntu-os-accelerator-images",
        "--maintenance-policy=TERMINATE",
        f"--boot-disk-size={BOOT_DISK_GB}GB",
        "--scopes=cloud-platform",
    ]
    if kind := BOOT_DISK_TYPE.get(generation.name):
        options.append(f"--boot-disk-type={kind}")
    if request.network != "default":
        options.append(f"--network={request.network}")
    if request.subnetwork:
        options.append(f"--subnet={request.subnetwork}")
        if in_template:
            options.append(f"--region={request.zone.rpartition('-')[0]}")
    if request.internal_addresses:
        options.append("--no-address")
    if request.service_account:
        options.append(f"--service-account={request.service_account}")
    if request.tags:
        options.append(f"--tags={','.join(request.tags)}")
    same_as_there = gcloud_commands.build_create_command(request, PLACEHOLDER)
    options += [word for word in same_as_there if word.startswith(("--labels=", "--metadata="))]
    return (*options, *map(_disk, request.data_disks))


def _disk(disk: DataDisk) -> str:
    return f"--disk=name={disk.source.rpartition('/')[2]},mode={'ro' if disk.read_only else 'rw'}"


def _provisioning(request: TpuRequest, run_s: int) -> tuple[str, ...]:
    gone = "--instance-termination-action=DELETE"
    if run_s:
        wait_s = min(max(request.valid_until_s or WAIT_LONGEST_S, WAIT_SHORTEST_S), WAIT_LONGEST_S)
        wait = (f"--request-valid-for-duration={wait_s}s",) if request.type.hosts == 1 else ()
        return (
            "--provisioning-model=FLEX_START",
            f"--max-run-duration={run_s}s",
            gone,
            "--reservation-affinity=none",
            *wait,
        )
    if request.tier == "spot":
        return ("--provisioning-model=SPOT", gone)
    if request.tier == "reserved":
        name = request.reservation.rpartition("/")[2] or "RESERVATION"
        return (
            "--provisioning-model=RESERVATION_BOUND",
            "--reservation-affinity=specific",
            f"--reservation={name}",
            gone,
        )
    return ()


def _project(project: Project) -> tuple[str, ...]:
    return () if project.gcloud_knows else (f"--project={project.name}",)
