"""Between our plain data and the messages of Google's client."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from tpustarter.cloud.request import Request
from tpustarter.cloud.resources import Node, QueuedResource, Symptom, Tier


def queued_resource_of(request: Request, project: str) -> Any:
    """Return the message that asks for a queued resource, as gcloud would fill it in."""
    from google.cloud import tpu_v2

    parent = f"projects/{project}/locations/{request.zone}"
    spec = tpu_v2.QueuedResource.Tpu.NodeSpec(parent=parent, node=_node_of(request))
    if request.slices == 1:
        spec.node_id = request.name
    else:
        spec.multislice_params = tpu_v2.QueuedResource.Tpu.NodeSpec.MultisliceParams(
            node_count=request.slices, node_id_prefix=request.name
        )
    message = tpu_v2.QueuedResource(tpu=tpu_v2.QueuedResource.Tpu(node_spec=[spec]))
    if request.tier == "spot":
        message.spot = tpu_v2.QueuedResource.Spot()
    if request.tier == "reserved":
        message.reservation_name = request.reservation or f"{parent}/reservations/-"
    if request.valid_until_s:
        message.queueing_policy = tpu_v2.QueuedResource.QueueingPolicy(
            valid_until_duration={"seconds": request.valid_until_s}
        )
    return message


def _node_of(request: Request) -> Any:
    from google.cloud import tpu_v2

    modes = tpu_v2.AttachedDisk.DiskMode
    return tpu_v2.Node(
        accelerator_type=request.type.accelerator_type,
        runtime_version=request.version,
        network_config=tpu_v2.NetworkConfig(
            network=request.network,
            subnetwork=request.subnetwork,
            enable_external_ips=not request.internal_addresses,
        ),
        service_account=tpu_v2.ServiceAccount(email=request.service_account),
        labels=dict(request.labels),
        metadata=dict(request.metadata),
        tags=list(request.tags),
        data_disks=[
            tpu_v2.AttachedDisk(
                source_disk=disk.source,
                mode=modes.READ_ONLY if disk.read_only else modes.READ_WRITE,
            )
            for disk in request.data_disks
        ],
    )


def node(message: Any) -> Node:
    """Return a node of Google's as plain data."""
    project, zone, name = _parts(message.name)
    scheduling = message.scheduling_config
    spot = scheduling.spot or scheduling.preemptible
    endpoints = message.network_endpoints
    return Node(
        project=project,
        zone=zone,
        name=name,
        type=message.accelerator_type or _type_of(message.accelerator_config),
        state=_enum(message.state),
        health=_enum(message.health),
        health_description=message.health_description,
        tier="spot" if spot else "reserved" if scheduling.reserved else "on-demand",
        created=_time(message.create_time),
        runtime_version=message.runtime_version,
        queued_resource=message.queued_resource.rpartition("/")[2],
        workers=len(endpoints),
        internal_addresses=tuple(row.ip_address for row in endpoints),
        external_addresses=tuple(
            address for row in endpoints if (address := row.access_config.external_ip)
        ),
        data_disks=tuple(disk.source_disk for disk in message.data_disks),
        symptoms=tuple(
            Symptom(_enum(row.symptom_type), row.worker_id, row.details, _time(row.create_time))
            for row in message.symptoms
        ),
    )


def queued_resource(message: Any) -> QueuedResource:
    """Return a queued resource of Google's as plain data."""
    project, zone, name = _parts(message.name)
    specs = list(message.tpu.node_spec)
    status = message.state.failed_data.error if "failed_data" in message.state else None
    first = specs[0].node if specs else None
    tier: Tier = "on-demand"
    if "spot" in message:
        tier = "spot"
    elif message.reservation_name:
        tier = "reserved"
    return QueuedResource(
        project=project,
        zone=zone,
        name=name,
        state=_enum(message.state.state),
        type=(first.accelerator_type or _type_of(first.accelerator_config)) if first else "",
        tier=tier,
        created=_time(message.create_time),
        nodes=tuple(name for spec in specs for name in _node_names(spec)),
        initiator=_enum(message.state.state_initiator),
        error=(status.code, status.message) if status else None,
    )


def _node_names(spec: Any) -> tuple[str, ...]:
    if spec.node_id:
        return (spec.node_id,)
    count = min(spec.multislice_params.node_count, 1000)
    return tuple(f"{spec.multislice_params.node_id_prefix}-{number}" for number in range(count))


def _type_of(configuration: Any) -> str:
    """Return the generation and topology of a node that has no accelerator type: `V6E 4x4`."""
    return f"{_enum(configuration.type_)} {configuration.topology}".strip()


def _parts(path: str) -> tuple[str, str, str]:
    """Return project, zone and name of `projects/P/locations/Z/nodes/N`."""
    parts = path.split("/")
    return (parts[1], parts[3], parts[-1]) if len(parts) >= 6 else ("", "", parts[-1])


def _enum(value: Any) -> str:
    """Return the name of an enum's value: its number for one newer than the client, or nothing."""
    name = getattr(value, "name", str(value))
    return "" if name.endswith("_UNSPECIFIED") else name


def _time(value: Any) -> datetime | None:
    """Return a time of Google's; null where the field is not set."""
    return value if isinstance(value, datetime) and value.year > 1970 else None


def type_order(name: str) -> tuple[str, int]:
    """Return what sorts `v6e-8` before `v6e-16`."""
    family, _, size = re.sub(r"\s", "", name).rpartition("-")
    return (family, int(size) if size.isdigit() and len(size) < 9 else 0)
