"""Compute Engine request bodies that create a TPU, as JSON, filled in as gcloud does.

A single-host TPU is an instance. A multi-host slice consists of a workload policy, an instance
template and a managed instance group, all with the same name. The instance, the template and the
policy are marked as created by this program.
Sources: https://docs.cloud.google.com/compute/docs/tpus/create-tpu-vm-instance
https://docs.cloud.google.com/compute/docs/tpus/create-tpu-mig-multi-host-slice
https://docs.cloud.google.com/tpu/docs/spot-compute (read 2026-11).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tpustarter.cloud.api import api_choice
from tpustarter.cloud.create.tpu_request import TpuRequest, find_region
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus

Body = dict[str, object]

BOOT_DISK_GB = 200
"""Boot disk size: Compute Engine's default of 10 GB is too small for a framework."""
IMAGE_PROJECT = "ubuntu-os-accelerator-images"
CHIPS_PER_HOST = 4
"""Chips per host in a multi-host slice."""
MADE_BY = {"made-by": "tpustarter"}
"""Label on each instance and template that this program creates."""
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
WAIT_SHORTEST_S, WAIT_LONGEST_S = 90, 7200
"""Limits in seconds of the time that Compute Engine waits for a flex-start machine's capacity.

Source: https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms (read 2026-11)."""
NEWER_GCLOUD = (
    "gcloud 528 does not know all options of the commands below. tpustarter does not need them, "
    "and `gcloud components update` gets a newer one."
)
"""Concerns gcloud 528.0.0: `FLEX_START` of instances, and `--target-size-policy-mode` outside
alpha."""
ZONE_LABEL = "tpu-zone"
"""Label that records the group's zone on its template, because templates have no zone."""


class PolicyNote(msgspec.Struct, rename="kebab"):
    """A workload policy's description, as JSON, because policies have no labels."""

    made_by: str = ""
    zone: str = ""


def find_machine_type(request: TpuRequest) -> str:
    """Return each host's machine type; raises Problem if none is published."""
    tpu = request.type
    chips = tpu.chips if tpu.hosts == 1 else CHIPS_PER_HOST
    names = [name for name, number in tpu.generation.machine_types if number == chips]
    if names and tpu.generation.compute_engine and tpu.generation.image_family:
        return names[0]
    raise Problem(
        f"nothing is published about making {tpu.name} with Compute Engine",
        hint="read https://docs.cloud.google.com/tpu/docs/tpus-in-compute-engine",
        code=ExitCode.USAGE,
    )


def find_topology(request: TpuRequest) -> str:
    """Return a slice's topology, such as `4x4x4`; raises Problem if it is unknown."""
    try:
        return tpus.find_topology(request.type.name).topology_name.partition(":")[2]
    except LookupError as error:
        raise Problem(str(error.args[0]), code=ExitCode.USAGE) from error


def require_supported_request(request: TpuRequest) -> None:
    """Raise Problem if Compute Engine cannot carry out a request."""
    machine = find_machine_type(request)
    if request.type.hosts > 1:
        find_topology(request)
    if request.slices > 1:
        raise Problem(
            f"found `--slices {request.slices}`, expected 1 with Compute Engine, where each slice "
            "is a group of its own, and no request makes all of them or none",
            hint=_suggest_slices(request),
            code=ExitCode.USAGE,
        )
    if request.tier == "reserved" and not request.reservation:
        raise Problem(
            f"a reservation of {machine} is taken by its name, and none is given",
            hint="add `--reservation NAME`; `gcloud compute reservations list` shows them",
            code=ExitCode.USAGE,
        )


def _suggest_slices(request: TpuRequest) -> str:
    """Return the way to get several slices.

    Google describes a managed instance group as one slice, and several slices as one job with GKE
    and queued resources; no page on groups that was found names Multislice.
    Source: https://docs.cloud.google.com/compute/docs/tpus/create-tpu-mig-multi-host-slice and
    https://cloud.google.com/tpu/docs/tpu-gke-multislice (read 2026-11).
    """
    if "cloud-tpu" in api_choice.list_creating_apis(request.type, request.zone):
        return (
            f"`tpustarter tpu create {request.name} --type {request.type.name} "
            f"--zone {request.zone} --slices {request.slices} --api cloud-tpu` asks for them as one"
        )
    command = f"tpustarter tpu create {{}} --type {request.type.name} --zone {request.zone}"
    first, last = (command.format(f"{request.name}-{n}") for n in (0, request.slices - 1))
    between = " to " if request.slices > 2 else " and "
    return (
        f"GKE makes them as one job: `tpustarter learn setup/gke`. Or ask for each one, `{first} "
        f"--api compute`{between}`{last} --api compute`, and set the `MEGASCALE_` variables on "
        "every host yourself: `tpustarter learn slices/multislice`"
    )


def list_notes(request: TpuRequest) -> tuple[str, ...]:
    """Return the notes to show before a request is sent."""
    disk = (
        f"Its boot disk has {BOOT_DISK_GB} GB, because the default of 10 GB has no room for a "
        "framework."
    )
    if request.tier == "flex-start" or request.type.hosts > 1:
        return (disk, NEWER_GCLOUD)
    return (disk,)


def list_labels(request: TpuRequest) -> dict[str, str]:
    """Return the instances' labels: the user's, and the one that marks this program's."""
    return {**request.labels, **MADE_BY}


def choose_wait_s(request: TpuRequest) -> int:
    """Return how many seconds a flex-start instance waits for capacity."""
    return min(max(request.valid_until_s or WAIT_LONGEST_S, WAIT_SHORTEST_S), WAIT_LONGEST_S)


def make_instance_body(request: TpuRequest, project: str) -> Body:
    """Return the instance for a single-host TPU."""
    place = f"projects/{project}/zones/{request.zone}"
    body = _machine(request, project, "instance")
    body |= {"name": request.name}
    body["machineType"] = f"{place}/machineTypes/{find_machine_type(request)}"
    if request.tier == "flex-start":
        body["params"] = {"requestValidForDuration": {"seconds": str(choose_wait_s(request))}}
    return body


def make_instance_template_body(request: TpuRequest, project: str) -> Body:
    """Return a slice's instance template."""
    properties = _machine(request, project, "template")
    properties["machineType"] = find_machine_type(request)
    properties["labels"] = {**list_labels(request), ZONE_LABEL: request.zone}
    return {"name": request.name, "properties": properties}


def make_resource_policy_body(request: TpuRequest) -> Body:
    """Return a slice's workload policy, which sets the topology its machines form."""
    return {
        "name": request.name,
        "description": encode_policy_note(request.zone),
        "region": find_region(request.zone),
        "workloadPolicy": {
            "type": "HIGH_THROUGHPUT",
            "acceleratorTopology": find_topology(request),
        },
    }


def encode_policy_note(zone: str) -> str:
    """Return the description that marks a workload policy as this program's."""
    return msgspec.json.encode(PolicyNote(made_by=MADE_BY["made-by"], zone=zone)).decode()


def make_instance_group_body(request: TpuRequest, project: str) -> Body:
    """Return a slice's managed instance group, which creates all of its machines or none."""
    region = find_region(request.zone)
    return {
        "name": request.name,
        "zone": request.zone,
        "instanceTemplate": f"projects/{project}/global/instanceTemplates/{request.name}",
        "targetSize": request.type.hosts,
        "targetSizePolicy": {"mode": "BULK"},
        "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},
        "resourcePolicies": {
            "workloadPolicy": f"projects/{project}/regions/{region}/resourcePolicies/{request.name}"
        },
    }


def _machine(request: TpuRequest, project: str, kind: Literal["instance", "template"]) -> Body:
    """Return the properties that instances and templates share."""
    metadata = [{"key": key, "value": value} for key, value in sorted(request.metadata.items())]
    account = request.service_account or "default"
    body: Body = {
        "disks": [_boot_disk(request, project, kind), *_data_disks(request, project, kind)],
        "labels": list_labels(request),
        "networkInterfaces": [_network(request, project)],
        "scheduling": _scheduling(request),
        "serviceAccounts": [{"email": account, "scopes": [SCOPE]}],
    }
    if metadata:
        body["metadata"] = {"items": metadata}
    if request.tags:
        body["tags"] = {"items": list(request.tags)}
    if request.tier == "reserved":
        body["reservationAffinity"] = {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [get_reservation_name(request)],
        }
    if request.tier == "flex-start":
        body["reservationAffinity"] = {"consumeReservationType": "NO_RESERVATION"}
    return body


def get_reservation_name(request: TpuRequest) -> str:
    """Return the reservation's name without its path."""
    return request.reservation.rpartition("/")[2]


def _boot_disk(request: TpuRequest, project: str, kind: str) -> Body:
    family = request.type.generation.image_family
    images = "global/images/family" if kind == "template" else "zones/-/imageFamilyViews"
    parameters: Body = {
        "diskSizeGb": str(BOOT_DISK_GB),
        "sourceImage": f"projects/{IMAGE_PROJECT}/{images}/{family}",
    }
    if name := find_boot_disk_type(request):
        place = f"projects/{project}/zones/{request.zone}/diskTypes/"
        parameters["diskType"] = name if kind == "template" else f"{place}{name}"
    return {
        "autoDelete": True,
        "boot": True,
        "initializeParams": parameters,
        "mode": "READ_WRITE",
        "type": "PERSISTENT",
    }


def find_boot_disk_type(request: TpuRequest) -> str:
    """Return the boot disk type, or "" for Compute Engine's default."""
    row = api_choice.read_generation_apis().get(request.type.generation.name)
    return row.boot_disk_type if row else ""


def _data_disks(request: TpuRequest, project: str, kind: str) -> list[Body]:
    rows: list[Body] = []
    for disk in request.data_disks:
        name = disk.source.rpartition("/")[2]
        full = f"projects/{project}/zones/{request.zone}/disks/{name}"
        rows.append(
            {
                "autoDelete": False,
                "boot": False,
                "mode": "READ_ONLY" if disk.read_only else "READ_WRITE",
                "source": name if kind == "template" else full,
                "type": "PERSISTENT",
            }
        )
    return rows


def _network(request: TpuRequest, project: str) -> Body:
    body: Body = {}
    if request.network != "default" or not request.subnetwork:
        body["network"] = f"projects/{project}/global/networks/{request.network}"
    if request.subnetwork:
        region = find_region(request.zone)
        body["subnetwork"] = f"projects/{project}/regions/{region}/subnetworks/{request.subnetwork}"
    if not request.internal_addresses:
        body["accessConfigs"] = [{"name": "external-nat", "type": "ONE_TO_ONE_NAT"}]
    return body


def _scheduling(request: TpuRequest) -> Body:
    body: Body = {"automaticRestart": True, "onHostMaintenance": "TERMINATE"}
    if request.tier == "spot":
        body |= {"automaticRestart": False, "preemptible": True, "provisioningModel": "SPOT"}
    if request.tier == "reserved":
        body |= {"provisioningModel": "RESERVATION_BOUND"}
    if request.tier == "flex-start":
        body |= {
            "provisioningModel": "FLEX_START",
            "maxRunDuration": {"seconds": str(request.run_s)},
        }
    if request.tier != "on-demand":
        body["instanceTerminationAction"] = "DELETE"
    return body
