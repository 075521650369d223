"""A grant covers what it names, in chips, until it ends; the rest is refused with a reason."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter import state
from tpustarter.cloud import grants
from tpustarter.cloud.grants import Allowance, Grant, Judgement
from tpustarter.cloud.request import Request, parse_type
from tpustarter.cloud.resources import Node, QueuedResource
from tpustarter.problem import Problem

NOW = datetime(2026, 11, 22, 8, 0, tzinfo=timezone.utc)
GRANT = Grant(
    (
        Allowance("v6e", 64, "spot", "us-east1-d"),
        Allowance("v4", 32, "on-demand", "us-central2-b"),
        Allowance("v4", 32, "spot", "us-central2-b"),
        Allowance("v6e", 8, "spot", "europe-west4-a"),
        Allowance("v2", 20, "on-demand", "us-central1-f", "v2-8"),
        Allowance("v5e", 64, "spot", "us-central1-a"),
    ),
    date(2026, 11, 3),
    30,
)


def wanted(type_name: str = "v6e-8", zone: str = "us-east1-d", **others: Any) -> Request:
    """Return a request for a spot TPU, or another one."""
    fields = {"tier": "spot", **others}
    return Request("bert", parse_type(type_name), zone, "v2-alpha-tpuv6e", **fields)


def judge(request: Request, in_use: list[Any] | None = None, **others: Any) -> Judgement:
    """Judge a request by the grant above."""
    return grants.judge(request, others.get("grant", GRANT), in_use, others.get("now", NOW))


def queued(name: str, chips: int, state_name: str = "ACTIVE", **others: Any) -> QueuedResource:
    """Return a queued resource of v6e in us-east1-d."""
    fields = {"type": f"v6e-{chips}", "tier": "spot", "nodes": (name,), **others}
    return QueuedResource("p", "us-east1-d", name, state_name, **fields)


@pytest.mark.parametrize(
    ("request_", "reason", "word"),
    [
        (wanted(), "covered", "covers"),
        (wanted("v6e-64"), "covered", "covers"),
        (wanted(zone="us-east1-c"), "zone", "us-east1-d and europe-west4-a"),
        (wanted("v5p-8", "us-east5-a"), "zone", "nor v5p anywhere"),
        (wanted("v6e-8", "us-central2-b"), "generation", "v4 and not v6e"),
        (wanted(tier="on-demand"), "tier", "spot, and this is on demand"),
        (wanted("v4-64", "us-central2-b", tier="on-demand"), "covered", ""),
        (wanted("v4-128", "us-central2-b", tier="on-demand"), "chips", "64 chips are asked for"),
        (wanted("v6e-8", "europe-west4-a", slices=2), "chips", "16 chips"),
        (wanted("v2-8", "us-central1-f", tier="on-demand"), "covered", ""),
        (wanted("v2-32", "us-central1-f", tier="on-demand"), "size", "v2-8"),
    ],
)
def test_a_request_is_covered_or_the_reason_is_given(
    request_: Request, reason: str, word: str
) -> None:
    """A type that counts cores is counted in chips: v4-64 has 32."""
    judgement = judge(request_, [])

    assert reason == judgement.reason
    assert word in judgement.why


@pytest.mark.parametrize(
    ("day", "reason"),
    [(2, "begins-later"), (3, "covered"), (30, "covered")],
)
def test_it_holds_from_its_first_day(day: int, reason: str) -> None:
    """Thirty days from 3 November last until 2 December."""
    now = datetime(2026, 11, day, 12, tzinfo=timezone.utc)

    assert reason == judge(wanted(), [], now=now).reason


def test_it_ends_and_reminds_before() -> None:
    """The day after its last is billed; a week before, a note says so."""
    last = datetime(2026, 12, 2, 23, 59, tzinfo=timezone.utc)
    after = datetime(2026, 12, 3, tzinfo=timezone.utc)

    assert judge(wanted(), [], now=last).covered
    assert any("ends on 2026-12-03" in note for note in judge(wanted(), [], now=last).notes)
    assert "ended" == judge(wanted(), [], now=after).reason


def test_chips_in_use_are_counted_once_and_leave_fewer() -> None:
    """A request and its node are the same chips; what is deleted or elsewhere does not count."""
    node = Node("p", "us-east1-d", "a", "v6e-32", "READY", tier="spot",
                queued_resource="projects/p/locations/us-east1-d/queuedResources/a")  # fmt: skip
    other = Node("p", "us-east1-d", "b", "v6e-16", "READY", tier="spot")
    elsewhere = Node("p", "europe-west4-a", "c", "v6e-8", "READY", tier="spot")
    paid = Node("p", "us-east1-d", "d", "v6e-8", "READY", tier="on-demand")
    in_use = [queued("a", 32), node, other, elsewhere, paid]

    assert 48 == grants.chips_in_use(in_use, GRANT.allowances[:1])
    assert judge(wanted("v6e-16"), in_use).covered
    judgement = judge(wanted("v6e-32"), in_use)
    assert ("chips", 16) == (judgement.reason, judgement.left)
    assert "16 of 64 are left" in judgement.why


def test_each_slice_of_a_multislice_counts() -> None:
    """Its type is that of one slice."""
    in_use = [queued("m", 16, nodes=("m-0", "m-1", "m-2"))]

    assert 48 == grants.chips_in_use(in_use, GRANT.allowances)


def test_what_holds_quota_counts_and_what_is_of_an_unknown_type_makes_it_unknown() -> None:
    """A suspended request still holds its chips."""
    assert 8 == grants.chips_in_use([queued("s", 8, "SUSPENDED")], GRANT.allowances)
    strange = queued("x", 8, type="v99-8")

    assert grants.chips_in_use([strange], GRANT.allowances) is None
    assert judge(wanted(), [strange]).left is None


def test_where_nobody_could_look_it_says_so() -> None:
    """It compares with the whole grant then."""
    judgement = judge(wanted(), None)

    assert judgement.covered
    assert "not known" in judgement.notes[0]
    assert "chips" == judge(wanted("v6e-128"), None).reason


def test_a_small_v5e_has_a_note_about_its_other_quota() -> None:
    """Only slices of several hosts count as training."""
    assert any("serving" in note for note in judge(wanted("v5e-8", "us-central1-a"), []).notes)
    assert () == judge(wanted("v5e-16", "us-central1-a"), []).notes


def test_zones_stand_in_the_order_of_the_grant_and_have_enough() -> None:
    """A zone with 8 chips is no place for 16."""
    assert ("us-east1-d", "europe-west4-a") == grants.zones(GRANT, parse_type("v6e-8"), "spot")
    assert ("us-east1-d",) == grants.zones(GRANT, parse_type("v6e-8"), "spot", slices=2)
    assert () == grants.zones(GRANT, parse_type("v6e-8"), "on-demand")


def test_require_names_the_option_and_the_zones_of_the_grant() -> None:
    """The error can be followed."""
    with pytest.raises(Problem, match="would bill it") as error:
        grants.require(wanted(zone="us-east1-c"), GRANT, [], NOW)

    assert "take us-east1-d or europe-west4-a" in (error.value.hint or "")
    assert "--outside-grant" in (error.value.hint or "")
    assert grants.require(wanted(), GRANT, [], NOW).covered


def test_a_grant_is_kept_and_forgotten() -> None:
    """Nothing else is in the file."""
    grants.save(GRANT)

    assert grants.load() == GRANT
    assert {"allowances", "start", "days"} == set(state.load(grants.STATE))
    assert (True, False) == (grants.forget(), grants.forget())
    assert grants.load() is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["allowances", "start", "days", "generation", "chips", "tier",
                                 "zone", "device"]), inner, max_size=8)
        ),
        max_leaves=20,
    )
)  # fmt: skip
def test_a_file_that_somebody_changed_is_no_grant(value: Any) -> None:
    """Whatever stands in it, reading it ends with a sound grant or with none."""
    saved = value if isinstance(value, dict) else {"allowances": value, "start": None, "days": None}
    grant = grants._read(saved)

    assert grant is None or grant.allowances


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v6e:64:spot:us-east1-d", Allowance("v6e", 64, "spot", "us-east1-d")),
        ("v5litepod:16:spot:us-west4-a", Allowance("v5e", 16, "spot", "us-west4-a")),
        ("v2-8:100:spot:us-central1-f", Allowance("v2", 400, "spot", "us-central1-f", "v2-8")),
        ("v4:32:on-demand:us-central2-b", Allowance("v4", 32, "on-demand", "us-central2-b")),
    ],
)
def test_a_line_can_be_typed(text: str, expected: Allowance) -> None:
    """A type counts its devices, as older e-mails do."""
    assert expected == grants.parse_allowance(text)


@given(st.text(max_size=60) | st.lists(st.text(max_size=9), min_size=4, max_size=4).map(":".join))
def test_what_is_typed_is_a_line_or_refused_with_a_problem(text: str) -> None:
    """Whatever it is."""
    try:
        line = grants.parse_allowance(text)
    except Problem:
        return

    assert 0 < line.chips
