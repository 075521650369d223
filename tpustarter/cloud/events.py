"""What happens while a TPU is asked for, followed or deleted: both front ends show these events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.ledger import Entry
from tpustarter.cloud.resources import Node, QueuedResource


@dataclass(frozen=True)
class Asked:
    """A request was sent, and Google took it."""

    entry: Entry
    command: tuple[str, ...]
    """The gcloud command that does the same."""


@dataclass(frozen=True)
class Resumed:
    """An earlier request of ours has the same name, and this one goes on with it."""

    entry: Entry


@dataclass(frozen=True)
class StateSeen:
    """A queued resource is in a state that it was not in before."""

    entry: Entry
    resource: QueuedResource
    at: datetime


@dataclass(frozen=True)
class NodeSeen:
    """A node is in a state that it was not in before."""

    node: Node
    at: datetime


@dataclass(frozen=True)
class Refused:
    """Google refused a request, or it failed later; `goes_on`: whether another zone is tried."""

    entry: Entry
    problem: CloudProblem
    goes_on: bool


@dataclass(frozen=True)
class Pausing:
    """Nothing is sent for a while."""

    seconds: float
    why: str


@dataclass(frozen=True)
class Cancelling:
    """A request is taken back, with the reason."""

    entry: Entry
    why: str


@dataclass(frozen=True)
class Gone:
    """Google no longer lists something, so nothing of it is billed."""

    entry: Entry


@dataclass(frozen=True)
class Kept:
    """Something may still exist, and stays in the ledger."""

    entry: Entry
    why: str


@dataclass(frozen=True)
class Ready:
    """There is a TPU."""

    entry: Entry
    resource: QueuedResource


Event = (
    Asked | Resumed | StateSeen | NodeSeen | Refused | Pausing | Cancelling | Gone | Kept | Ready
)
