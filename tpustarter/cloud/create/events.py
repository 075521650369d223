"""Events while a TPU is requested, followed or deleted; both front ends show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.cloud.billing.ledger import LedgerEntry


@dataclass(frozen=True)
class RequestSent:
    """A request was sent, and Google accepted it."""

    entry: LedgerEntry
    command: tuple[str, ...]
    """The equivalent gcloud command."""


@dataclass(frozen=True)
class RequestResumed:
    """An earlier request of this program with the same name is resumed."""

    entry: LedgerEntry


@dataclass(frozen=True)
class RequestStateChanged:
    """A queued resource changed its state."""

    entry: LedgerEntry
    resource: QueuedResource
    at: datetime


@dataclass(frozen=True)
class NodeStateChanged:
    """A node changed its state."""

    node: TpuNode
    at: datetime


@dataclass(frozen=True)
class RequestRefused:
    """Google refused a request, or it failed later; `goes_on` is true if another zone is tried."""

    entry: LedgerEntry
    problem: CloudProblem
    goes_on: bool


@dataclass(frozen=True)
class SendingPaused:
    """A pause of `seconds` before the next request or poll begins, for the reason in `why`."""

    seconds: float
    why: str


@dataclass(frozen=True)
class RequestWithdrawn:
    """A request is being withdrawn, for the reason in `why`."""

    entry: LedgerEntry
    why: str


@dataclass(frozen=True)
class RequestGone:
    """Google no longer lists a resource, so it is not billed."""

    entry: LedgerEntry


@dataclass(frozen=True)
class RequestMayExist:
    """A resource may still exist, so its entry stays in the ledger."""

    entry: LedgerEntry
    why: str


@dataclass(frozen=True)
class TpuReady:
    """The TPU is ready."""

    entry: LedgerEntry
    resource: QueuedResource


Event = (
    RequestSent
    | RequestResumed
    | RequestStateChanged
    | NodeStateChanged
    | RequestRefused
    | SendingPaused
    | RequestWithdrawn
    | RequestGone
    | RequestMayExist
    | TpuReady
)
