"""The verdicts of a TRC grant on the requests of the form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant, GrantJudgement
from tpustarter.text import phrases


@dataclass(frozen=True)
class GrantVerdicts:
    """Requests with the grant's verdict on each; no verdicts without a grant."""

    requests: tuple[TpuRequest, ...]
    judgements: tuple[GrantJudgement, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Other zones in which the grant has enough chips for this TPU."""

    @property
    def is_covered(self) -> bool:
        """True if the grant covers all requests, whose chips are then free of charge."""
        return bool(self.judgements) and all(one.is_free for one in self.judgements)

    @property
    def is_outside(self) -> bool:
        """True if there is a grant, and it does not cover one of the requests."""
        return any(not one.is_free for one in self.judgements)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each zone with the grant's verdict."""
        for request, judgement in zip(self.requests, self.judgements, strict=False):
            if judgement.is_free:
                yield f"{request.zone}: {judgement.why}."
                yield from judgement.notes
            else:
                yield f"{request.zone}: the TRC grant does not cover it, because {judgement.why}."
        if self.is_outside and self.elsewhere:
            yield f"It would cover this TPU in {phrases.join_words(self.elsewhere, 'or')}."


def judge_requests(
    requests: Sequence[TpuRequest],
    grant: Grant | None,
    in_use: Sequence[QueuedResource | TpuNode] | None,
    now: datetime,
) -> GrantVerdicts:
    """Return the grant's verdicts on requests.

    Args:
        requests: The same TPU in each zone.
        grant: The grant; None if there is none.
        in_use: The TPUs and requests of the project; None if they are not known.
        now: The current time.
    """
    if grant is None or not requests:
        return GrantVerdicts((*requests,))
    judgements = tuple(trc_grant.judge_request(one, grant, in_use, now) for one in requests)
    one = requests[0]
    enough = trc_grant.list_grant_zones(grant, one.type, one.tier, one.slices)
    typed = {request.zone for request in requests}
    return GrantVerdicts(
        (*requests,), judgements, tuple(zone for zone in enough if zone not in typed)
    )
