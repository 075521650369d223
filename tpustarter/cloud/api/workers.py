"""A TPU's workers: one host each, with its own address, numbered from 0 in every slice."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpustarter.cloud.api import api_choice, resource_states
from tpustarter.cloud.api.api_client import EVERY_ZONE, ProjectClient
from tpustarter.cloud.api.resources import Api, ResourceList, TpuNode, list_unreachable
from tpustarter.cloud.delete import removal
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import escape_text

EVERY_WORKER = "all"
Choice = tuple[int, ...] | None
"""Worker numbers in ascending order; None for all workers."""

_PART = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


@dataclass(frozen=True)
class Worker:
    """One host of a TPU."""

    node: TpuNode
    number: int
    """Index in its slice, as gcloud's `--worker` counts."""
    label: str
    """Prefix for its output: `w3`, or `bert-1/w3` if there are several slices."""

    @property
    def address(self) -> str:
        """Return the worker's external address, or "" if it has none."""
        if len(self.node.external_addresses) != max(1, self.node.workers):
            return ""
        return self.node.external_addresses[self.number]

    @property
    def host(self) -> str:
        """Return its instance's name, or a made-up label if the Cloud TPU API lists none."""
        if self.number < len(self.node.instances):
            return self.node.instances[self.number]
        return self.node.name if self.node.api == "compute" else f"{self.node.name}-w{self.number}"

    @property
    def needs_iap(self) -> bool:
        """True if the worker has only internal addresses, in which case a connection needs IAP."""
        return bool(self.node.internal_addresses) and not self.address


def find_nodes(client: ProjectClient, name: str, zone: str | None) -> list[TpuNode]:
    """Return the nodes with this name: one node, or all slices of a queued resource.

    Raises:
        Problem: There is none, there are several of this name, or one of its nodes is not READY.
    """
    nodes = list_nodes(client, zone).items
    matches = [node for node in nodes if node.name == name]
    matches = matches or sorted(
        (node for node in nodes if node.queued_resource == name), key=_order
    )
    places: set[tuple[str, Api]] = {(node.zone, node.api) for node in matches}
    if len(places) > 1:
        raise api_choice.make_ambiguity_problem(name, places)
    if not matches:
        raise _no_node(client, name, zone)
    for node in matches:
        require_ready_nodes(node)
    return matches


def list_nodes(client: ProjectClient, zone: str | None) -> ResourceList[TpuNode]:
    """Return the nodes in a zone or in all zones, with the project as named in the request."""
    listing = client.nodes(zone or EVERY_ZONE)
    items = tuple(replace(node, project=client.project) for node in listing.items)
    return replace(listing, items=items)


def _order(node: TpuNode) -> tuple[str, int]:
    """Return a sort key that puts `bert-2` before `bert-10`."""
    prefix, _, number = node.name.rpartition("-")
    return (prefix, int(number)) if number.isdigit() and len(number) < 9 else (node.name, -1)


def _no_node(client: ProjectClient, name: str, zone: str | None) -> Problem:
    """Return the Problem for a name without a node, whose request may still be queued."""
    queued, nodes = client.resources(zone or EVERY_ZONE)
    for resource in queued.items:
        if resource.name == name or name in resource.nodes:
            state = resource_states.find_state_meaning(resource)
            return Problem(
                f"`{resource.name}` has no TPU VM, because it is {state.name}: {state.meaning}",
                hint=f"`tpustarter tpu watch {resource.name}` follows it",
                code=ExitCode.BUSY if state.mark == "wait" else ExitCode.USAGE,
            )
    return removal.make_missing_tpu_problem(name, list_unreachable(queued, nodes))


def require_ready_nodes(node: TpuNode) -> None:
    """Raise Problem if a node is not READY."""
    if node.state == "READY":
        return
    state = resource_states.find_state_meaning(node)
    raise Problem(
        f"`{node.name}` is {state.name}, expected READY: {state.meaning}",
        hint=state.do,
        code=ExitCode.BUSY if state.mark == "wait" else ExitCode.USAGE,
    )


def choose_workers(nodes: Sequence[TpuNode], chosen: Choice = None) -> list[Worker]:
    """Return the chosen workers of READY slices; raises Problem if one does not exist."""
    workers = [
        Worker(node, number, _label(node, number, len(nodes)))
        for node in nodes
        for number in _numbers(node, chosen)
    ]
    for worker in workers:
        _refuse_strange(worker)
    return workers


def parse_worker_choice(text: str) -> Choice:
    """Parse a `--worker` value in gcloud's syntax; raises Problem if it names no worker.

    Source: https://docs.cloud.google.com/sdk/gcloud/reference/compute/tpus/tpu-vm/ssh (read
    2026-11): "a comma-separated list (e.g. '1,4,6'), range (e.g. '1-3'), or special keyword
    ``all''"; a list may contain ranges.
    """
    if text.strip().casefold() == EVERY_WORKER:
        return None
    numbers: set[int] = set()
    for part in [part for part in text.split(",") if part.strip()] or [""]:
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise Problem(
                f"`{escape_text(text)}` doesn't name a worker, expected a number from 0, a list "
                f"such as `0,2`, a range such as `1-3`, or `{EVERY_WORKER}`",
                hint="`tpustarter tpu show NAME` lists the workers",
                code=ExitCode.USAGE,
            )
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def _numbers(node: TpuNode, chosen: Choice) -> Sequence[int]:
    count = max(1, node.workers)
    if chosen is None:
        return range(count)
    if chosen[-1] >= count:
        missing = next(number for number in chosen if number >= count)
        raise Problem(
            f"`{node.name}` has no worker {missing}, expected 0 to {count - 1}",
            hint=f"add `--worker {EVERY_WORKER}` for every worker",
            code=ExitCode.USAGE,
        )
    return chosen


def _label(node: TpuNode, number: int, slices: int) -> str:
    return f"w{number}" if slices == 1 else f"{node.name}/w{number}"


def _refuse_strange(worker: Worker) -> None:
    """Raise Problem if a name or address is unsafe in commands and files."""
    from tpustarter.cloud.create.tpu_request import validate_tpu_name, validate_zone

    validate_tpu_name(worker.node.name)
    validate_tpu_name(worker.host)
    validate_zone(worker.node.zone)
    try:
        ipaddress.ip_address(worker.address or "127.0.0.1")
    except ValueError as error:
        raise Problem(f"`{escape_text(worker.address)}` is not the address of a worker") from error
