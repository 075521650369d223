"""Conversions between plain data and the messages of Google's client library."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from tpustarter.cloud.api.resources import NodeSymptom, QueuedResource, Tier, TpuNode
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.text.terminal import escape_text

Message = Any
"""A message of Google's client or a part of one; its classes are untyped."""
MOST_SLICES = 1000
"""Limit on the slices listed by name in one request; Google allows fewer."""


def make_queued_resource_message(request: TpuRequest, project: str) -> Message:
    """Return the message that requests a queued resource, filled in as gcloud does."""
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


def parse_tpu_request(message: Message) -> TpuRequest:
    """Return a request for the same TPU as a queued resource; raises Problem for an unusable one.

    A reservation's name is kept, but a limit on the time in the queue is not.
    """
    from tpustarter.cloud.create.tpu_request import DataDisk, parse_type

    raw, resource = _raw(message), parse_queued_resource(message)
    (spec,) = raw.tpu.node_spec
    node, network = spec.node, spec.node.network_config
    read_only = node.data_disks and node.data_disks[0].DiskMode.Value("READ_ONLY")
    return TpuRequest(
        name=resource.name,
        type=parse_type(resource.type),
        zone=resource.zone,
        version=node.runtime_version,
        tier=resource.tier,
        slices=len(resource.nodes),
        labels=dict(node.labels),
        metadata=dict(node.metadata),
        data_disks=tuple(
            DataDisk(disk.source_disk, read_only=disk.mode == read_only) for disk in node.data_disks
        ),
        network=network.network or "default",
        subnetwork=network.subnetwork,
        internal_addresses=not network.enable_external_ips,
        service_account=node.service_account.email,
        tags=tuple(node.tags),
        reservation="" if raw.reservation_name.endswith("/-") else raw.reservation_name,
    )


def _node_of(request: TpuRequest) -> Message:
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


def parse_node(message: Message) -> TpuNode:
    """Return a node parsed from Google's message."""
    raw = _raw(message)
    project, zone, name = _parts(raw.name)
    scheduling = raw.scheduling_config
    spot = scheduling.spot or scheduling.preemptible
    endpoints = raw.network_endpoints
    return TpuNode(
        project=project,
        zone=zone,
        name=name,
        type=clean_text(raw.accelerator_type) or _type_of(raw.accelerator_config),
        state=_enum(raw, "state"),
        health=_enum(raw, "health"),
        health_description=clean_text(raw.health_description),
        tier="spot" if spot else "reserved" if scheduling.reserved else "on-demand",
        created=_creation_time(raw),
        runtime_version=clean_text(raw.runtime_version),
        queued_resource=last_part(raw.queued_resource),
        workers=len(endpoints),
        internal_addresses=tuple(clean_text(row.ip_address) for row in endpoints),
        external_addresses=tuple(
            clean_text(address) for row in endpoints if (address := row.access_config.external_ip)
        ),
        data_disks=tuple(clean_text(disk.source_disk) for disk in raw.data_disks),
        symptoms=tuple(
            NodeSymptom(
                _enum(row, "symptom_type"),
                clean_text(row.worker_id),
                clean_text(row.details),
                _creation_time(row),
            )
            for row in raw.symptoms
        ),
    )


def parse_queued_resource(message: Message) -> QueuedResource:
    """Return a queued resource parsed from Google's message."""
    raw = _raw(message)
    project, zone, name = _parts(raw.name)
    specs = list(raw.tpu.node_spec)
    status = raw.state.failed_data.error if raw.state.HasField("failed_data") else None
    first = specs[0].node if specs else None
    state = _enum(raw.state, "state")
    tier: Tier = "on-demand"
    if raw.HasField("spot"):
        tier = "spot"
    elif raw.reservation_name:
        tier = "reserved"
    return QueuedResource(
        project=project,
        zone=zone,
        name=name,
        state=state,
        type=(clean_text(first.accelerator_type) or _type_of(first.accelerator_config))
        if first
        else "",
        tier=tier,
        created=_creation_time(raw),
        nodes=tuple(node_name for spec in specs for node_name in _node_names(spec, name)),
        error=(status.code, clean_text(status.message)) if status else None,
        is_by_user=state in ("SUSPENDING", "SUSPENDED")
        and _enum(raw.state, "state_initiator") == "USER",
    )


def clean_text(text: str) -> str:
    """Return Google's text with control characters escaped; line breaks are kept."""
    return "\n".join(escape_text(line) for line in text.splitlines())


def _raw(message: Message) -> Message:
    """Return the message inside Google's wrapper, which warns about unknown enum values."""
    return message.__class__.pb(message)


def _node_names(spec: Message, name: str) -> tuple[str, ...]:
    """Return the nodes' names; without a prefix they begin with the queued resource's name."""
    if spec.node_id:
        return (clean_text(spec.node_id),)
    several = spec.multislice_params
    prefix = clean_text(several.node_id_prefix) or name
    return tuple(f"{prefix}-{number}" for number in range(min(several.node_count, MOST_SLICES)))


def _type_of(configuration: Message) -> str:
    """Return a node's generation and topology, such as `V6E 4x4`, if it has no accelerator type."""
    return f"{_enum(configuration, 'type_')} {clean_text(configuration.topology)}".strip()


def _parts(path: str) -> tuple[str, str, str]:
    parts = clean_text(path).split("/")
    return (parts[1], parts[3], parts[-1]) if len(parts) >= 6 else ("", "", parts[-1])


def last_part(path: str) -> str:
    """Return the last component of a Google resource path."""
    return clean_text(path).rpartition("/")[2]


def _enum(raw: Message, field: str) -> str:
    """Return an enum value's name, or its number if it is newer than the client."""
    row = raw.DESCRIPTOR.fields_by_name[field]
    number = getattr(raw, field)
    known = row.enum_type.values_by_number.get(number)
    name = known.name if known else str(number)
    return "" if name.endswith("_UNSPECIFIED") else name


def _creation_time(raw: Message) -> datetime | None:
    """Return the time at which a resource was created, or None if it is unset or out of range."""
    if not raw.HasField("create_time"):
        return None
    try:
        moment = raw.create_time.ToDatetime(tzinfo=timezone.utc)
    except (OverflowError, ValueError):
        return None
    return moment if moment.year > 1970 else None


def type_sort_key(name: str) -> tuple[str, int]:
    """Return a sort key for an accelerator type that puts `v6e-8` before `v6e-16`."""
    family, _, size = re.sub(r"\s", "", name).rpartition("-")
    return (family, int(size) if size.isdigit() and len(size) < 9 else 0)
