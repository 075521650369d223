"""Parse Compute Engine's TPUs from its JSON into queued resources and nodes.

An instance with a TPU is both a request and its node. A managed instance group with a workload
policy is a request whose machines form one multi-worker node; without such a policy, each machine
is a node of its own. A template or policy of this program that has no group is an incomplete
request: nothing is billed, but its name is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

import msgspec

from tpustarter.cloud.api import compute_requests, resource_states
from tpustarter.cloud.api.compute_requests import PolicyNote
from tpustarter.cloud.api.message_conversion import clean_text, last_part
from tpustarter.cloud.api.resources import QueuedResource, Tier, TpuNode
from tpustarter.machine import tpus

INCOMPLETE = "INCOMPLETE"
"""State of a request that has only a template or workload policy left."""
RESOURCE_EXHAUSTED = 8
"""gRPC code that the Cloud TPU API returns for a lack of capacity or quota."""
YOUNG_S = 600.0
"""Age in seconds up to which a group without machines may still be creating them."""
_TPU_MACHINE = re.compile(r"ct\d\w*-|tpu\d")
"""Prefix of the machine types that have a TPU.

Source: https://docs.cloud.google.com/compute/docs/tpus/tpu-machines (read 2026-11)."""
_TIERS: dict[str, Tier] = {
    "SPOT": "spot",
    "FLEX_START": "flex-start",
    "RESERVATION_BOUND": "reserved",
}


class AccessConfig(msgspec.Struct):
    """An external address of an instance."""

    address: str = msgspec.field(default="", name="natIP")


class NetworkInterface(msgspec.Struct):
    """A network interface of an instance."""

    address: str = msgspec.field(default="", name="networkIP")
    access: list[AccessConfig] = msgspec.field(
        default_factory=list[AccessConfig], name="accessConfigs"
    )


class InstanceDisk(msgspec.Struct):
    """A disk of an instance."""

    boot: bool = False
    source: str = ""


class MetadataItem(msgspec.Struct):
    """A key and value in an instance's metadata."""

    key: str = ""
    value: str = ""


class InstanceMetadata(msgspec.Struct):
    """An instance's metadata."""

    items: list[MetadataItem] = []


class Scheduling(msgspec.Struct, rename="camel"):
    """An instance's provisioning model."""

    provisioning_model: str = ""
    preemptible: bool = False


class Instance(msgspec.Struct, rename="camel"):
    """A Compute Engine instance, as returned by instances.get."""

    name: str = ""
    zone: str = ""
    status: str = ""
    machine_type: str = ""
    creation_timestamp: str = ""
    scheduling: Scheduling = msgspec.field(default_factory=Scheduling)
    network_interfaces: list[NetworkInterface] = []
    disks: list[InstanceDisk] = []
    metadata: InstanceMetadata = msgspec.field(default_factory=InstanceMetadata)

    @property
    def is_tpu(self) -> bool:
        """True if its machine type has a TPU."""
        return _is_tpu_machine(self.machine_type)

    @property
    def group(self) -> str:
        """Return the name of the group that created it, or "" if none did."""
        made_by = (row.value for row in self.metadata.items if row.key == "created-by")
        return next((last_part(text) for text in made_by if "/instanceGroupManagers/" in text), "")


class GroupStatus(msgspec.Struct, rename="camel"):
    """A managed instance group's status."""

    is_stable: bool = False


class GroupPolicies(msgspec.Struct, rename="camel"):
    """A managed instance group's resource policies."""

    workload_policy: str = ""


class InstanceGroup(msgspec.Struct, rename="camel"):
    """A managed instance group, as returned by instanceGroupManagers.get."""

    name: str = ""
    zone: str = ""
    """Empty for a regional group, which forms no slice."""
    creation_timestamp: str = ""
    target_size: int = 0
    instance_template: str = ""
    status: GroupStatus = msgspec.field(default_factory=GroupStatus)
    resource_policies: GroupPolicies = msgspec.field(default_factory=GroupPolicies)


class TemplateProperties(msgspec.Struct, rename="camel"):
    """The properties of the instances that a template creates."""

    machine_type: str = ""
    labels: dict[str, str] = {}
    scheduling: Scheduling = msgspec.field(default_factory=Scheduling)


class InstanceTemplate(msgspec.Struct, rename="camel"):
    """An instance template, as returned by instanceTemplates.get."""

    name: str = ""
    creation_timestamp: str = ""
    properties: TemplateProperties = msgspec.field(default_factory=TemplateProperties)

    @property
    def our_zone(self) -> str:
        """Return the zone for which this program created it, or "" if another program did."""
        labels = self.properties.labels
        ours = compute_requests.MADE_BY.items() <= labels.items()
        return labels.get(compute_requests.ZONE_LABEL, "") if ours else ""


class ResourcePolicy(msgspec.Struct, rename="camel"):
    """A resource policy, as returned by resourcePolicies.get."""

    name: str = ""
    description: str = ""
    creation_timestamp: str = ""

    @property
    def our_zone(self) -> str:
        """Return the zone for which this program created it, or "" if another program did."""
        try:
            note = msgspec.json.decode(self.description, type=PolicyNote)
        except msgspec.MsgspecError:
            return ""
        return note.zone if note.made_by == compute_requests.MADE_BY["made-by"] else ""


@dataclass
class ComputeResources:
    """A project's Compute Engine resources, some of which together make up a TPU."""

    instances: list[Instance] = field(default_factory=list[Instance])
    groups: list[InstanceGroup] = field(default_factory=list[InstanceGroup])
    templates: list[InstanceTemplate] = field(default_factory=list[InstanceTemplate])
    policies: list[ResourcePolicy] = field(default_factory=list[ResourcePolicy])
    group_errors: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Each group's last error by zone and name, where it was fetched."""

    def list_tpus(self, project: str, now: datetime) -> tuple[list[QueuedResource], list[TpuNode]]:
        """Return the requests and nodes that these resources make up."""
        machines: dict[tuple[str, str], list[Instance]] = {}
        single: list[Instance] = []
        by_group = {(last_part(row.zone), row.name): row for row in self.groups if row.zone}
        for instance in sorted(self.instances, key=lambda row: row.name):
            key = (last_part(instance.zone), instance.group)
            if not instance.is_tpu:
                continue
            (machines.setdefault(key, []) if key in by_group else single).append(instance)
        requests = [_request_of_instance(row, project) for row in single]
        nodes = [_node_of_instance(row, project) for row in single]
        templates = {row.name: row for row in self.templates}
        policies = {(row.our_zone, row.name): row for row in self.policies}
        for key, group in by_group.items():
            template = templates.get(last_part(group.instance_template))
            mine = machines.get(key, [])
            if not mine and not (template and _is_tpu_machine(template.properties.machine_type)):
                continue
            request, its_nodes = _convert_group(group, template, mine, project, now)
            ours = [row.our_zone for row in (template, policies.get(key)) if row]
            request = replace(request, has_parts=key[0] in ours)
            if error := self.group_errors.get(key):
                request = _with_error(request, error, is_empty=not mine)
            requests.append(request)
            nodes += its_nodes
        return [*requests, *self._incomplete(project, {*by_group})], nodes

    def _incomplete(self, project: str, groups: set[tuple[str, str]]) -> list[QueuedResource]:
        """Return this program's templates and policies without a group, as incomplete requests."""
        found: dict[tuple[str, str], QueuedResource] = {}
        for template in self.templates:
            if (key := (template.our_zone, template.name)) not in groups and template.our_zone:
                machine = tpu_type_of_machine(template.properties.machine_type)
                tier = find_tier(template.properties.scheduling)
                found[key] = QueuedResource(
                    project,
                    *key,
                    INCOMPLETE,
                    machine,
                    tier,
                    parse_timestamp(template.creation_timestamp),
                    api="compute",
                )
        for policy in self.policies:
            if (key := (policy.our_zone, policy.name)) not in groups and policy.our_zone:
                made = parse_timestamp(policy.creation_timestamp)
                found.setdefault(
                    key, QueuedResource(project, *key, INCOMPLETE, created=made, api="compute")
                )
        return [*found.values()]


def parse_timestamp(text: str) -> datetime | None:
    """Return a Compute Engine timestamp in UTC, or None if it cannot be parsed."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except ValueError:
        return None


def tpu_type_of_machine(machine_type: str, hosts: int = 1) -> str:
    """Return the accelerator type of a slice of `hosts` such machines, such as `v6e-16`.

    An unknown machine type is returned by name, as in `2 x NAME` for two hosts.
    """
    name = last_part(machine_type)
    try:
        tpu = tpus.parse_type(name)
        per_chip = tpu.generation.cores_per_chip if tpu.generation.counts == "cores" else 1
        whole = tpus.parse_type(f"{tpu.generation.name}-{tpu.chips * hosts * per_chip}")
    except LookupError:
        return name if hosts == 1 else f"{hosts} x {name}"
    return whole.accelerator_type


def find_tier(scheduling: Scheduling) -> Tier:
    """Return the tier of an instance with this scheduling."""
    default: Tier = "spot" if scheduling.preemptible else "on-demand"
    return _TIERS.get(scheduling.provisioning_model, default)


def _is_tpu_machine(machine_type: str) -> bool:
    return _TPU_MACHINE.match(last_part(machine_type)) is not None


def _request_of_instance(row: Instance, project: str) -> QueuedResource:
    return QueuedResource(
        project=project,
        zone=last_part(row.zone),
        name=clean_text(row.name),
        state=resource_states.find_instance_states(row.status).request,
        type=tpu_type_of_machine(row.machine_type),
        tier=find_tier(row.scheduling),
        created=parse_timestamp(row.creation_timestamp),
        nodes=(clean_text(row.name),),
        api="compute",
    )


def _node_of_instance(row: Instance, project: str, group: str = "") -> TpuNode:
    inside, outside = _addresses([row])
    return TpuNode(
        project=project,
        zone=last_part(row.zone),
        name=clean_text(row.name),
        type=tpu_type_of_machine(row.machine_type),
        state=resource_states.find_instance_states(row.status).node,
        tier=find_tier(row.scheduling),
        created=parse_timestamp(row.creation_timestamp),
        queued_resource=group or clean_text(row.name),
        workers=1,
        internal_addresses=inside,
        external_addresses=outside,
        data_disks=tuple(clean_text(disk.source) for disk in row.disks if not disk.boot),
        api="compute",
        instances=(clean_text(row.name),),
    )


def _addresses(rows: Sequence[Instance]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the internal and external address of each instance, in the instances' order."""
    cards = [card for row in rows for card in row.network_interfaces[:1]]
    outside = [one.address for card in cards for one in card.access[:1] if one.address]
    return tuple(clean_text(card.address) for card in cards), tuple(map(clean_text, outside))


def _convert_group(
    group: InstanceGroup,
    template: InstanceTemplate | None,
    machines: list[Instance],
    project: str,
    now: datetime,
) -> tuple[QueuedResource, list[TpuNode]]:
    """Return a group as a request and its nodes."""
    name, zone = clean_text(group.name), last_part(group.zone)
    is_slice = bool(group.resource_policies.workload_policy)
    hosts = max(group.target_size, len(machines))
    if machines:
        machine, scheduling = machines[0].machine_type, machines[0].scheduling
    elif template:
        machine, scheduling = template.properties.machine_type, template.properties.scheduling
    else:
        machine, scheduling = "", Scheduling()
    created = parse_timestamp(group.creation_timestamp)
    nodes = [_node_of_instance(row, project, name) for row in machines]
    if is_slice and machines:
        nodes = [_slice_node(group, machines, hosts, project)]
    resource = QueuedResource(
        project=project,
        zone=zone,
        name=name,
        state=_state_of_group(group, machines, created, now),
        type=tpu_type_of_machine(machine, max(1, hosts) if is_slice else 1),
        tier=find_tier(scheduling),
        created=created,
        nodes=(name,) if is_slice else tuple(node.name for node in nodes),
        api="compute",
    )
    return resource, nodes


def _slice_node(
    group: InstanceGroup, machines: list[Instance], hosts: int, project: str
) -> TpuNode:
    """Return a slice's machines as one node, which is READY only if all of them are."""
    inside, outside = _addresses(machines)
    states = [resource_states.find_instance_states(row.status).node for row in machines]
    others = [state for state in states if state != "READY"]
    is_whole = len(machines) >= group.target_size
    state = others[0] if others else "READY" if is_whole else "CREATING"
    first = machines[0]
    return TpuNode(
        project=project,
        zone=last_part(group.zone),
        name=clean_text(group.name),
        type=tpu_type_of_machine(first.machine_type, hosts),
        state=state,
        tier=find_tier(first.scheduling),
        created=parse_timestamp(group.creation_timestamp),
        queued_resource=clean_text(group.name),
        workers=len(machines),
        internal_addresses=inside,
        external_addresses=outside,
        api="compute",
        instances=tuple(clean_text(row.name) for row in machines),
    )


def _state_of_group(
    group: InstanceGroup, machines: list[Instance], created: datetime | None, now: datetime
) -> str:
    """Return a group's state as a request.

    A group without machines waits for capacity, with or without an error, and can be withdrawn. If
    it is stable and older than `YOUNG_S`, it never gets them back, because this program's groups do
    not repair lost machines.
    """
    states = {resource_states.find_instance_states(row.status).request for row in machines}
    if states == {"ACTIVE"} and len(machines) >= group.target_size:
        return "ACTIVE"
    if machines:
        return "PROVISIONING"
    is_young = created is not None and (now - created).total_seconds() < YOUNG_S
    return "SUSPENDED" if group.status.is_stable and not is_young else "WAITING_FOR_RESOURCES"


def _with_error(request: QueuedResource, error: str, *, is_empty: bool) -> QueuedResource:
    """Return a request with its last error; a group without machines waits, because it retries."""
    is_waiting = is_empty and request.state == "PROVISIONING"
    state = "WAITING_FOR_RESOURCES" if is_waiting else request.state
    return replace(request, state=state, error=(RESOURCE_EXHAUSTED, error))
