"""Stopping and starting a single TPU VM; stopping pauses the billing of its chips.

A request that Google would refuse is rejected before anything is sent. A failed operation, usually
for lack of capacity, leaves the node's state unchanged, so the operation is polled too.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Literal

from tpustarter.cloud.api.api_client import ApiClient, ProjectClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.create.events import Event, NodeStateChanged, SendingPaused
from tpustarter.cloud.create.follow_request import LAG_S, LOOK_S, PASSING, SILENCE_S
from tpustarter.cloud.delete import ownership
from tpustarter.core.problem import ExitCode, Problem

Verb = Literal["stop", "start"]

_BEFORE = {"stop": "READY", "start": "STOPPED"}
_AFTER = {"stop": "STOPPED", "start": "READY"}


def require_can_stop_or_start(verb: str, node: TpuNode) -> None:
    """Raise Problem for a request that Google would refuse or that would change nothing."""
    if verb == "stop" and node.workers > 1:
        raise Problem(
            f"`{node.name}` is a slice of {node.workers} hosts, which cannot be stopped",
            hint=f"`tpustarter tpu delete {node.name}` gives it back",
            code=ExitCode.USAGE,
        )
    if node.state != _BEFORE[verb]:
        raise Problem(
            f"`{node.name}` is {node.state}, expected {_BEFORE[verb]}",
            hint=f"`tpustarter tpu show {node.name}` says what you can do with it",
            code=ExitCode.USAGE,
        )


def send_stop_or_start(client: ApiClient, verb: Verb, node: TpuNode) -> str:
    """Send the request, and return its operation's name; raises Problem for another TPU VM."""
    ownership.require_same_resource(node, client.node(node.zone, node.name))
    send = client.stop_node if verb == "stop" else client.start_node
    return send(node.zone, node.name)


def stop_or_start(
    project: ProjectClient, verb: Verb, node: TpuNode, clock: Clock
) -> Generator[Event, None, TpuNode]:
    """Stop or start a TPU VM; yields each state that Google reports, and returns the last node.

    Raises:
        Problem: Google refused, failed to do it or does not respond, or the TPU VM is gone.
    """
    client = project.of(node.api)
    operation = send_stop_or_start(client, verb, node)
    began = answered = clock.now()
    last = ""
    while True:
        try:
            ending = client.operation(operation)
            seen = client.node(node.zone, node.name)
        except CloudProblem as problem:
            silent_s = (clock.now() - answered).total_seconds()
            if problem.kind not in PASSING or silent_s > SILENCE_S:
                raise
            yield SendingPaused(LOOK_S, problem.summary)
        else:
            answered = clock.now()
            if ending.problem:
                raise ending.problem
            if seen is None:
                raise Problem(f"`{node.name}` is gone: somebody deleted it", code=ExitCode.BUSY)
            if seen.state != last:
                last = seen.state
                yield NodeStateChanged(seen, answered)
            is_late = (answered - began).total_seconds() > LAG_S
            if ending.done and (last == _AFTER[verb] or is_late):
                return seen
        clock.sleep(LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311  no secret
