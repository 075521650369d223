"""Parse the request for a TPU from the instance or the template that it created.

Only what this program made is parsed, because other programs choose images and boot disks that a
request does not have.
"""

from __future__ import annotations

import msgspec

from tpustarter.cloud.api import compute_requests
from tpustarter.cloud.api.compute_resources import (
    InstanceDisk,
    InstanceMetadata,
    Scheduling,
    find_tier,
    tpu_type_of_machine,
)
from tpustarter.cloud.api.message_conversion import last_part
from tpustarter.cloud.create.tpu_request import DataDisk, TpuRequest
from tpustarter.machine import tpus

ADDED_KEYS = ("created-by", "instance-template", "ssh-keys")
"""Metadata that Google and gcloud add to an instance."""


class _Disk(InstanceDisk):
    mode: str = ""


class _Network(msgspec.Struct, rename="camel"):
    network: str = ""
    subnetwork: str = ""
    access_configs: list[object] = []


class _Account(msgspec.Struct):
    email: str = ""


class _Tags(msgspec.Struct):
    items: list[str] = []


class _Duration(msgspec.Struct):
    seconds: str = "0"


class _Scheduling(Scheduling, rename="camel"):
    max_run_duration: _Duration = msgspec.field(default_factory=_Duration)


class _Affinity(msgspec.Struct):
    values: list[str] = []


class MachineProperties(msgspec.Struct, rename="camel"):
    """An instance, or the properties of a template."""

    machine_type: str = ""
    labels: dict[str, str] = {}
    disks: list[_Disk] = []
    network_interfaces: list[_Network] = []
    service_accounts: list[_Account] = []
    tags: _Tags = msgspec.field(default_factory=_Tags)
    metadata: InstanceMetadata = msgspec.field(default_factory=InstanceMetadata)
    scheduling: _Scheduling = msgspec.field(default_factory=_Scheduling)
    reservation_affinity: _Affinity = msgspec.field(default_factory=_Affinity)


class TemplateMachine(msgspec.Struct):
    """An instance template."""

    properties: MachineProperties = msgspec.field(default_factory=MachineProperties)


def rebuild_request_from_machine(
    machine: MachineProperties, name: str, zone: str, project: str, hosts: int
) -> TpuRequest | None:
    """Return the request for a TPU of so many such machines; None if another program made them."""
    if not compute_requests.MADE_BY.items() <= machine.labels.items():
        return None
    try:
        tpu = tpus.parse_type(tpu_type_of_machine(machine.machine_type, hosts))
    except LookupError:
        return None
    added = (*compute_requests.MADE_BY, compute_requests.ZONE_LABEL)
    network = machine.network_interfaces[0] if machine.network_interfaces else _Network()
    account = machine.service_accounts[0].email if machine.service_accounts else ""
    values = machine.reservation_affinity.values
    return TpuRequest(
        name,
        tpu,
        zone,
        "",
        tier=find_tier(machine.scheduling),
        labels={key: value for key, value in machine.labels.items() if key not in added},
        metadata={
            row.key: row.value for row in machine.metadata.items if row.key not in ADDED_KEYS
        },
        data_disks=tuple(
            DataDisk(
                f"projects/{project}/zones/{zone}/disks/{last_part(disk.source)}",
                read_only=disk.mode == "READ_ONLY",
            )
            for disk in machine.disks
            if not disk.boot
        ),
        network=last_part(network.network) or "default",
        subnetwork=last_part(network.subnetwork),
        internal_addresses=not network.access_configs,
        service_account="" if account == "default" else account,
        tags=tuple(machine.tags.items),
        reservation=values[0] if values else "",
        api="compute",
        run_s=int(machine.scheduling.max_run_duration.seconds),
    )
