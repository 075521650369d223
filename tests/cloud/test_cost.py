"""Tests of costs: hours times chips times a sourced price, or unknown."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.cloud.billing import cost, prices
from tpustarter.cloud.billing.cost import CostEstimate
from tpustarter.cloud.trc.grant import Grant, GrantAllowance
from tpustarter.core.problem import Problem
from tpustarter.machine.tpus import parse_type

NOW = datetime(2026, 11, 22, 8, 0, tzinfo=timezone.utc)
V6E = 2.7
"""USD a chip and hour in us-east1, read 2026-11-22."""


def node(name: str = "bert", hours: float | None = 10.0, **others: Any) -> TpuNode:
    """Return a node of 8 chips, made so many hours ago."""
    created = None if hours is None else NOW - timedelta(hours=hours)
    fields = {"type": "v6e-8", "state": "READY", "created": created, **others}
    return TpuNode("p", fields.pop("zone", "us-east1-d"), name, **fields)


def only(*resources: Any, grant: Grant | None = None) -> CostEstimate:
    """Return the only estimate of these resources."""
    (one,) = cost.estimate_costs(resources, NOW, grant)
    return one


def test_node_on_demand_costs_hours_chips_and_price() -> None:
    """An on-demand node's cost shows its hours, chips, price and the price's source."""
    one = only(node())

    assert ("priced", 10.0, 8) == (one.kind, one.hours, one.chips)
    assert pytest.approx(10 * 8 * V6E) == one.usd
    assert pytest.approx(8 * V6E) == one.usd_per_hour
    assert "at most 216.00 USD for chips: 10.00 hours x 8 chips x 2.7 USD" == one.words
    assert one.price
    assert one.price.source.startswith("https://")


@pytest.mark.parametrize(
    ("resource", "kind", "word"),
    [
        (
            node(tier="spot", type="tpu7x-8", zone="us-central1-c"),
            "look-up",
            "https://cloud.google.com/tpu/pricing",
        ),
        (node(tier="reserved"), "unknown", "contract"),
        (node(hours=None), "unknown", "when it was created"),
        (node(hours=-2), "unknown", "clock"),
        (node(state="STOPPED"), "unknown", "since when"),
        (node(state="PREEMPTED", tier="spot"), "unknown", "since when"),
        (node(type="v99-8"), "unknown", "is not a type"),
        (node(type="tpu7x-8", zone="us-central1-c"), "unknown", "the table has none"),
        (node(zone="moon-west1-a"), "unknown", "moon-west1"),
        (QueuedResource("p", "us-east1-d", "q", "ACTIVE", "v6e-8", created=NOW), "unknown", "node"),
        (
            QueuedResource("p", "us-east1-d", "q", "SUSPENDED", "v6e-8", created=NOW),
            "unknown",
            "SUSPENDED",
        ),
        (
            QueuedResource("p", "us-east1-d", "q", "WAITING_FOR_RESOURCES", "v6e-8"),
            "none",
            "nothing for chips",
        ),
    ],
)
def test_unknown_cost_has_its_reason(resource: Any, kind: str, word: str) -> None:
    """An unknown cost has its reason: a missing price, or a stopped TPU's unknown hours."""
    one = only(resource)

    assert kind == one.kind
    assert word in one.words
    assert one.usd is None or kind == "none"
    assert kind != "unknown" or one.words.startswith("price unknown: ")


def test_spot_costs_at_most_price_on_demand() -> None:
    """Spot costs at most the on-demand price, with a link to today's price."""
    one = only(node(tier="spot"))

    assert ("priced", only(node()).usd) == (one.kind, one.usd)
    assert "https://cloud.google.com/tpu/pricing" in one.words
    assert one.words.startswith(only(node()).words)


def test_request_and_its_nodes_are_billed_once() -> None:
    """The nodes stand for it, with a time of creation that has no queue in it."""
    request = QueuedResource(
        "p",
        "us-east1-d",
        "m",
        "ACTIVE",
        "v6e-8",
        nodes=("m-0", "m-1"),
        created=NOW - timedelta(hours=50),
    )
    nodes = [node("m-0", queued_resource="m"), node("m-1", queued_resource="m")]

    assert ["m-0", "m-1"] == [
        one.resource.name for one in cost.estimate_costs([request, *nodes], NOW)
    ]


GRANT = Grant(
    (
        GrantAllowance("v6e", 16, "on-demand", "us-east1-d"),
        GrantAllowance("v6e", 8, "spot", "us-east1-d"),
    ),
    date(2026, 11, 1),
    30,
)


def test_covered_chips_cost_nothing_and_others_cost() -> None:
    """The oldest come first, until its chips are used up."""
    rows = [node("third", 1), node("first", 30), node("second", 20), node("spot", tier="spot")]
    kinds = {one.resource.name: one.kind for one in cost.estimate_costs(rows, NOW, GRANT)}
    expected = {"third": "priced", "first": "covered", "second": "covered", "spot": "covered"}

    assert expected == kinds


@pytest.mark.parametrize(
    "resource", [node(zone="europe-west4-a"), node(hours=24 * 40), node(type="v5p-8")]
)
def test_tpu_outside_grant_is_billed(resource: TpuNode) -> None:
    """Another zone, another generation, a TPU from before its first day."""
    assert only(resource, grant=GRANT).kind in ("priced", "unknown")
    assert "covered" != only(resource, grant=GRANT).kind


def test_hours_after_grant_end_are_billed() -> None:
    """Spot is priced as if it were on demand."""
    ended = Grant(GRANT.allowances, date(2026, 11, 1), 21)  # until 22 November, 0 h
    one = only(node(hours=24), grant=ended)

    assert ("priced", 8.0) == (one.kind, one.hours)
    assert "since the TRC grant ended" in one.words
    assert one.usd == only(node(hours=24, tier="spot"), grant=ended).usd
    assert 10.0 == only(node("late", 7.5 + 2.5, zone="us-east5-a"), grant=ended).hours


def test_document_sums_known_costs_and_names_unknown() -> None:
    """The document sums the known costs, names unknown ones and has sources."""
    document = cost.make_json_document(
        cost.estimate_costs([node(), node("s", tier="reserved")], NOW), ["us-west4-a"]
    )

    assert (216.0, ["s"]) == (document["usd_at_most_known"], document["not_known"])
    assert ["us-west4-a"] == document["unreachable"]
    assert all(row["source"].startswith("https://") for row in document["beside_chips"])


def test_every_price_has_source_date_and_plausible_value() -> None:
    """Each price has source, date and a plausible value, and is unique for a TPU in a region."""
    seen: set[tuple[str, str, int]] = set()
    for row in prices.read_prices().prices:
        low, high = row.chips
        for region in row.regions:
            for chips in (1, 4, 8, 16, 64, 256):
                if low <= chips <= high:
                    assert (row.generation, region, chips) not in seen
                    seen.add((row.generation, region, chips))

        assert row.source.startswith("https://")
        assert date(2026, 1, 1) < row.read
        assert 0.5 < row.usd_per_chip_hour < 20


def test_v2_slice_price_differs_from_device_price() -> None:
    """Google's catalogue has both, and none for sizes between them."""
    table = prices.read_prices()
    small = table.find(parse_type("v2-8"), "us-central1-f")
    large = table.find(parse_type("v2-32"), "us-central1-a")

    assert (1.125, 1.5) == (
        small and small.usd_per_chip_hour,
        large and large.usd_per_chip_hour,
    )


@pytest.mark.parametrize(
    "row",
    [
        "{generation: v6e, usd: -1, regions: [a], source: s}",
        "{generation: v6e, usd: 1, regions: [], source: s}",
        "{generation: v6e, usd: 1, regions: [a], source: other}",
        "{generation: v6e, usd: much, regions: [a], source: s}",
        "17",
    ],
)
def test_a_broken_row_of_the_table_is_refused(tmp_path: Path, row: str) -> None:
    """A price without its source is refused."""
    file = tmp_path / "prices.yml"
    file.write_text(
        f"page: https://x\nsources: {{s: {{url: https://x, read: 2026-11-22}}}}\nprices: [{row}]\n"
    )

    with pytest.raises(Problem, match=r"prices\.yml"):
        prices.read_prices(file)
