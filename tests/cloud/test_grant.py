"""A grant covers what it names, in chips, until it ends; the rest is refused with a reason."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.cloud.create.tpu_request import TpuRequest, parse_type
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant, GrantAllowance, GrantJudgement
from tpustarter.core import state
from tpustarter.core.problem import Problem

NOW = datetime(2026, 11, 22, 8, 0, tzinfo=timezone.utc)
GRANT = Grant(
    (
        GrantAllowance("v6e", 64, "spot", "us-east1-d"),
        GrantAllowance("v4", 32, "on-demand", "us-central2-b"),
        GrantAllowance("v4", 32, "spot", "us-central2-b"),
        GrantAllowance("v6e", 8, "spot", "europe-west4-a"),
        GrantAllowance("v2", 20, "on-demand", "us-central1-f", "v2-8"),
        GrantAllowance("v5e", 64, "spot", "us-central1-a"),
    ),
    date(2026, 11, 3),
    30,
)


def wanted(type_name: str = "v6e-8", zone: str = "us-east1-d", **others: Any) -> TpuRequest:
    """Return a request for a spot TPU, or another one."""
    fields = {"tier": "spot", **others}
    return TpuRequest("bert", parse_type(type_name), zone, "v2-alpha-tpuv6e", **fields)


def judge(request: TpuRequest, in_use: list[Any] | None = None, **others: Any) -> GrantJudgement:
    """Judge a request by the grant above."""
    return trc_grant.judge_request(
        request, others.get("grant", GRANT), in_use, others.get("now", NOW)
    )


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
def test_request_is_covered_or_has_reason(request_: TpuRequest, reason: str, word: str) -> None:
    """A type that counts cores is counted in chips: v4-64 has 32."""
    judgement = judge(request_, [])

    assert reason == judgement.reason
    assert word in judgement.why


@pytest.mark.parametrize(
    ("day", "reason"),
    [(2, "begins-later"), (3, "covered"), (30, "covered")],
)
def test_grant_holds_from_its_first_day(day: int, reason: str) -> None:
    """Thirty days from 3 November last until 2 December."""
    now = datetime(2026, 11, day, 12, tzinfo=timezone.utc)

    assert reason == judge(wanted(), [], now=now).reason


def test_grant_reminds_before_its_end() -> None:
    """The day after its last is billed; a week before, a note says so."""
    last = datetime(2026, 12, 2, 23, 59, tzinfo=timezone.utc)
    after = datetime(2026, 12, 3, tzinfo=timezone.utc)

    assert judge(wanted(), [], now=last).is_free
    assert any("ends on 2026-12-03" in note for note in judge(wanted(), [], now=last).notes)
    assert "ended" == judge(wanted(), [], now=after).reason


def test_chips_in_use_are_counted_once() -> None:
    """A request and its node are the same chips; what is deleted or elsewhere does not count."""
    node = TpuNode(
        "p",
        "us-east1-d",
        "a",
        "v6e-32",
        "READY",
        tier="spot",
        queued_resource="projects/p/locations/us-east1-d/queuedResources/a",
    )
    other = TpuNode("p", "us-east1-d", "b", "v6e-16", "READY", tier="spot")
    elsewhere = TpuNode("p", "europe-west4-a", "c", "v6e-8", "READY", tier="spot")
    paid = TpuNode("p", "us-east1-d", "d", "v6e-8", "READY", tier="on-demand")
    in_use = [queued("a", 32), node, other, elsewhere, paid]

    assert 48 == trc_grant.count_chips_in_use(in_use, GRANT.allowances[:1])
    assert judge(wanted("v6e-16"), in_use).is_free
    judgement = judge(wanted("v6e-32"), in_use)
    assert ("chips", 16) == (judgement.reason, judgement.left)
    assert "16 of 64 are left" in judgement.why


def test_each_slice_of_a_multislice_counts() -> None:
    """Its type is that of one slice."""
    in_use = [queued("m", 16, nodes=("m-0", "m-1", "m-2"))]

    assert 48 == trc_grant.count_chips_in_use(in_use, GRANT.allowances)


def test_held_quota_counts_and_unknown_type_is_unknown() -> None:
    """A suspended request still holds its chips."""
    assert 8 == trc_grant.count_chips_in_use([queued("s", 8, "SUSPENDED")], GRANT.allowances)
    strange = queued("x", 8, type="v99-8")

    assert trc_grant.count_chips_in_use([strange], GRANT.allowances) is None
    assert judge(wanted(), [strange]).left is None


def test_unknown_use_is_noted_against_whole_grant() -> None:
    """If the chips in use are unknown, a request is compared with the whole grant."""
    judgement = judge(wanted(), None)

    assert judgement.is_free
    assert "not known" in judgement.notes[0]
    assert "chips" == judge(wanted("v6e-128"), None).reason


def test_small_v5e_has_note_about_its_quota() -> None:
    """Only slices of several hosts count as training."""
    assert any("serving" in note for note in judge(wanted("v5e-8", "us-central1-a"), []).notes)
    assert () == judge(wanted("v5e-16", "us-central1-a"), []).notes


def test_zones_keep_grant_order_and_have_enough_chips() -> None:
    """A zone with 8 chips is no place for 16."""
    assert ("us-east1-d", "europe-west4-a") == trc_grant.list_grant_zones(
        GRANT, parse_type("v6e-8"), "spot"
    )
    assert ("us-east1-d",) == trc_grant.list_grant_zones(
        GRANT, parse_type("v6e-8"), "spot", slices=2
    )
    assert () == trc_grant.list_grant_zones(GRANT, parse_type("v6e-8"), "on-demand")


def test_require_names_option_and_zones_of_grant() -> None:
    """The error names the option and the grant's zones, so it can be followed."""
    with pytest.raises(Problem, match="would bill it") as error:
        trc_grant.require_coverage(wanted(zone="us-east1-c"), GRANT, [], NOW)

    assert "take us-east1-d or europe-west4-a" in (error.value.hint or "")
    assert "--outside-grant" in (error.value.hint or "")
    assert trc_grant.require_coverage(wanted(), GRANT, [], NOW).is_free


def test_a_grant_is_kept_and_forgotten() -> None:
    """A grant is stored alone in its file, and can be deleted."""
    trc_grant.save_grant(GRANT)

    assert trc_grant.load_grant() == GRANT
    assert {"allowances", "start", "days"} == set(state.load_state(trc_grant.STATE))
    assert (True, False) == (trc_grant.delete_grant(), trc_grant.delete_grant())
    assert trc_grant.load_grant() is None


def test_damaged_grant_hides_json_places() -> None:
    """The error about a damaged grant names a fix, not places in the JSON."""
    state.prepare_state_path(trc_grant.STATE).write_text("{ ")
    with pytest.raises(Problem) as error:
        trc_grant.load_grant()

    assert "column" not in error.value.full_text
    assert "--forget" in (error.value.hint or "")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["allowances", "start", "days", "generation", "chips", "tier", "zone", "device"]
                ),
                inner,
                max_size=8,
            )
        ),
        max_leaves=20,
    )
)
def test_edited_file_is_not_grant(value: Any) -> None:
    """An edited file gives a valid grant or none, whatever it contains."""
    saved = value if isinstance(value, dict) else {"allowances": value, "start": None, "days": None}
    grant = trc_grant._read(saved)

    assert grant is None or grant.allowances


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v6e:64:spot:us-east1-d", GrantAllowance("v6e", 64, "spot", "us-east1-d")),
        ("v5litepod:16:spot:us-west4-a", GrantAllowance("v5e", 16, "spot", "us-west4-a")),
        ("v2-8:100:spot:us-central1-f", GrantAllowance("v2", 400, "spot", "us-central1-f", "v2-8")),
        ("v4:32:on-demand:us-central2-b", GrantAllowance("v4", 32, "on-demand", "us-central2-b")),
    ],
)
def test_typed_line_becomes_grant(text: str, expected: GrantAllowance) -> None:
    """A type counts its devices, as older e-mails do."""
    assert expected == trc_grant.parse_allow_option(text)


@given(st.text(max_size=60) | st.lists(st.text(max_size=9), min_size=4, max_size=4).map(":".join))
def test_typed_line_is_parsed_or_problem(text: str) -> None:
    """Any typed line gives a grant or a problem."""
    try:
        line = trc_grant.parse_allow_option(text)
    except Problem:
        return

    assert 0 < line.chips
