"""What a TRC grant says to the request in the form, before and after Google was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud import grants
from tpustarter.cloud.client import Client
from tpustarter.cloud.grants import Grant, Judgement
from tpustarter.cloud.request import Request
from tpustarter.cloud.resources import Node, QueuedResource


@dataclass(frozen=True)
class Judged:
    """Requests, each with what the grant says; nothing where there is no grant."""

    requests: tuple[Request, ...]
    judgements: tuple[Judgement, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Zones in which the grant has enough for this TPU."""

    @property
    def is_covered(self) -> bool:
        """Whether the grant covers all of them, so that their chips are free of charge."""
        return bool(self.judgements) and all(one.covered for one in self.judgements)

    @property
    def is_outside(self) -> bool:
        """Whether there is a grant that does not cover one of them."""
        return any(not one.covered for one in self.judgements)

    def notes(self) -> Iterator[str]:
        """Yield what the grant says, zone by zone."""
        for request, judgement in zip(self.requests, self.judgements, strict=False):
            if judgement.covered:
                yield f"{request.zone}: the TRC grant covers its chips."
                yield from judgement.notes
            else:
                yield f"{request.zone}: the TRC grant does not cover it, because {judgement.why}."
        if self.is_outside and self.elsewhere:
            yield f"It would cover this TPU in {' or '.join(self.elsewhere)}."


def judge(
    requests: Sequence[Request],
    grant: Grant | None,
    in_use: Sequence[QueuedResource | Node] | None,
    now: datetime,
) -> Judged:
    """Return what a grant says to requests.

    Args:
        requests: The same TPU in each zone.
        grant: What is granted; null for nothing.
        in_use: What exists in the project; null where nobody has looked.
        now: The time.
    """
    if grant is None or not requests:
        return Judged((*requests,))
    judgements = tuple(grants.judge(one, grant, in_use, now) for one in requests)
    one = requests[0]
    enough = grants.zones(grant, one.type, one.tier, one.slices)
    typed = {request.zone for request in requests}
    return Judged((*requests,), judgements, tuple(zone for zone in enough if zone not in typed))


def in_use(client: Client) -> list[QueuedResource | Node] | None:
    """Return what exists in a project; null where Google could not reach every zone."""
    queued, nodes = client.queued_resources(), client.nodes()
    is_whole = not (queued.unreachable or nodes.unreachable)
    return [*queued.items, *nodes.items] if is_whole else None
