"""An upper bound on the cost of existing TPUs' chips so far, and the charges it leaves out.

It is the hours since creation times the chips times a dated on-demand price, which bounds the spot
price as well. If one of the three is unknown, the cost is unknown too; no figure is a guess.
Sources: https://docs.cloud.google.com/compute/docs/instances/create-use-spot "at a discount of up
to 91% off of the on-demand price" https://docs.cloud.google.com/tpu/docs/spot-compute "at
significantly discounted rates" (read 2026-11). Spot prices themselves are in Google's billing
catalogue, which needs an API key: https://docs.cloud.google.com/billing/v1/how-tos/catalog-api.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import Literal

from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.billing import chips, other_charges, prices
from tpustarter.cloud.billing.chips import Resource
from tpustarter.cloud.billing.prices import Price
from tpustarter.cloud.create.tpu_request import find_region
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant
from tpustarter.text import phrases

SCHEMA = "tpustarter.cost/1"
Kind = Literal["priced", "covered", "look-up", "none", "unknown"]

WITHOUT_CHIPS = ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES", "FAILED")
"""States of a request that has no chips and never had any."""

LEFT_OUT: tuple[str, ...] = (
    "The figures are for chips alone, from the creation of a node until now.",
    "How long a TPU was stopped is not known, so its chips can have cost less.",
    "Disks, external addresses, traffic and buckets are billed as well, and are left out.",
    "What exists no longer is left out, and so are contracts, credits and taxes.",
)
"""Parts of the bill that the figures do not include, as sentences."""


@dataclass(frozen=True)
class CostEstimate:
    """A resource's cost so far, or the reason why it is unknown."""

    resource: Resource
    kind: Kind
    words: str
    """The result as a sentence."""
    hours: float | None = None
    chips: int | None = None
    usd: float | None = None
    """The upper bound so far; None if unknown."""
    price: Price | None = None

    @property
    def usd_per_hour(self) -> float | None:
        """Return the on-demand cost of each further hour, or None if it is unknown."""
        if self.kind in ("covered", "none"):
            return 0.0
        if self.kind != "priced" or self.price is None or self.chips is None:
            return None
        return self.chips * self.price.usd_per_chip_hour

    def fields(self) -> dict[str, object]:
        """Return the estimate as a JSON object."""
        price = self.price
        return {
            "name": self.resource.name,
            "zone": self.resource.zone,
            "type": chips.short_type_name(self.resource.type),
            "tier": self.resource.tier,
            "state": self.resource.state,
            "kind": self.kind,
            "words": self.words,
            "chips": self.chips,
            "hours": None if self.hours is None else round(self.hours, 2),
            "usd_at_most": None if self.usd is None else round(self.usd, 2),
            "usd_per_hour": None if self.usd_per_hour is None else round(self.usd_per_hour, 4),
            "price": price
            and {
                "usd_per_chip_hour": price.usd_per_chip_hour,
                "source": price.source,
                "read": price.read.isoformat(),
            },
        }


def estimate_costs(
    resources: Sequence[Resource], now: datetime, grant: Grant | None = None
) -> list[CostEstimate]:
    """Return the cost so far of all that may be billed; requests with a node are left out.

    Args:
        resources: The listed nodes and queued resources.
        now: The current time.
        grant: A TRC grant, whose chips are free of charge.
    """
    rows = chips.select_billed_resources(resources)
    within = _within(rows, grant) if grant else frozenset[int]()
    end = _midnight(grant.end) if grant else None
    return [_estimate(row, now, end, granted=id(row) in within) for row in rows]


def _within(rows: Sequence[Resource], grant: Grant) -> frozenset[int]:
    """Return the ids of rows that the grant covers: oldest first, until its chips are used up."""
    start, end = _midnight(grant.start), _midnight(grant.end)
    left = {row.key: row.chips for row in grant.allowances}
    within: set[int] = set()
    # A grant raises the Cloud TPU API's quota only.
    dated = [(row.created, row) for row in rows if row.created and row.api == "cloud-tpu"]
    for created, resource in sorted(dated, key=lambda pair: pair[0]):
        number = chips.count_resource_chips(resource) or 0
        if (start and created < start) or (end and created >= end):
            continue
        for allowance in grant.allowances:
            fits = trc_grant.is_resource_covered(Grant((allowance,)), resource)
            if fits and left[allowance.key] >= number:
                left[allowance.key] -= number
                within.add(id(resource))
                break
    return frozenset(within)


def _midnight(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), timezone.utc) if day else None


def _estimate(row: Resource, now: datetime, end: datetime | None, *, granted: bool) -> CostEstimate:
    """Return one row's estimate; `end` is the end of the grant that may cover it."""
    number = chips.count_resource_chips(row)
    hours = None if row.created is None else (now - row.created) / timedelta(hours=1)
    if isinstance(row, QueuedResource) and row.state in WITHOUT_CHIPS:
        words = f"nothing for chips: the request is {row.state}"
        return CostEstimate(row, "none", words, chips=number, usd=0.0)
    has_ended = end is not None and now >= end
    if granted and not has_ended:
        words = "0 USD for chips: the TRC grant covers it"
        return CostEstimate(row, "covered", words, hours, number, 0.0)
    reason = _why_unknown(row, hours, number)
    if reason or hours is None or number is None:
        return CostEstimate(row, "unknown", _unknown(reason or ""), hours, number)
    if granted and end:
        since = (now - end) / timedelta(hours=1)
        return _priced(row, since, number, " since the TRC grant ended")
    return _priced(row, hours, number, "")


def _priced(row: Resource, hours: float, number: int, since: str) -> CostEstimate:
    """Return a row's on-demand estimate; `since` describes when the hours began."""
    table, tpu = prices.read_prices(), chips.find_resource_type(row)
    price = table.find(tpu, row.zone) if tpu else None
    if price is None and row.tier == "spot":
        words = f"spot prices change often, so look it up: {table.page}"
        return CostEstimate(row, "look-up", words, hours, number)
    if price is None:
        name = chips.short_type_name(row.type)
        reason = f"the table has none for {name} in {find_region(row.zone)}; see {table.page}"
        return CostEstimate(row, "unknown", _unknown(reason), hours, number)
    usd = hours * number * price.usd_per_chip_hour
    of_chips = phrases.format_count(number, "chip")
    words = (
        f"at most {usd:,.2f} USD for chips{since}: {hours:,.2f} hours x {of_chips} x "
        f"{price.usd_per_chip_hour:g} USD"
    )
    if row.tier == "spot":
        words += f" on demand; spot costs less, and its price changes often: {table.page}"
    return CostEstimate(row, "priced", words, hours, number, usd, price)


def _unknown(why: str) -> str:
    return f"price unknown: {why}"


def _why_unknown(row: Resource, hours: float | None, number: int | None) -> str | None:
    if number is None:
        return f"`{row.type}` is not a type that tpustarter knows"
    if hours is None:
        return "Google does not say when it was created"
    if hours < 0:
        return "it was created later than this machine's clock says, so the clock may be off"
    if isinstance(row, QueuedResource):
        return f"the request is {row.state or 'in no known state'}, and no node of it was listed"
    if not resource_states.find_state_meaning(row).billed:
        return f"it is {row.state}, and since when is not known"
    if row.tier == "reserved":
        return "a reservation has a contract of its own"
    return None


def make_json_document(
    estimates: Sequence[CostEstimate], unreachable: Sequence[str]
) -> dict[str, object]:
    """Return the JSON document: the sum of the known costs, and the resources without one."""
    known = [one.usd for one in estimates if one.usd is not None]
    return {
        "schema": SCHEMA,
        "tpus": [one.fields() for one in estimates],
        "usd_at_most_known": round(sum(known), 2),
        "not_known": [one.resource.name for one in estimates if one.kind in ("look-up", "unknown")],
        "unreachable": list(unreachable),
        "left_out": [*LEFT_OUT],
        "beside_chips": [
            {"what": row.what, "source": row.source} for row in other_charges.BESIDE_CHIPS
        ],
        "exit_code": 0,
    }
