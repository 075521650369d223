"""A TRC e-mail is understood however it was pasted, and no text breaks the reader."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.processes import in_bounded_time
from tpustarter.cloud.trc import grant_mail as trc_mail
from tpustarter.cloud.trc.grant import GrantAllowance
from tpustarter.core.problem import Problem

SIX = """64 spot Cloud TPU v5e chips in zone europe-west4-b
64 spot Cloud TPU v6e chips in zone us-east1-d
64 spot Cloud TPU v5e chips in zone us-central1-a
32 spot Cloud TPU v4 chips in zone us-central2-b
32 on-demand Cloud TPU v4 chips in zone us-central2-b
64 spot Cloud TPU v6e chips in zone europe-west4-a
"""
"""Lines that several participants published in 2026."""
OLD = """5 on-demand Cloud TPU v2-8 device(s) in zone us-central1-f
100 preemptible Cloud TPU v2-8 device(s) in zone us-central1-f
5 on-demand Cloud TPU v3-8 device(s) in zone europe-west4-a
"""
ALLOWED = "v6e:64:spot:us-east1-d"
ONE = GrantAllowance("v6e", 64, "spot", "us-east1-d")


def rows(text: str) -> tuple[GrantAllowance, ...]:
    """Return the lines of a grant that a text has."""
    return trc_mail.parse_grant_mail(text).grant.allowances


def test_lines_of_2026_mail_are_read_in_order() -> None:
    """Spot and on demand in one zone are two lines."""
    expected = (
        GrantAllowance("v5e", 64, "spot", "europe-west4-b"),
        GrantAllowance("v6e", 64, "spot", "us-east1-d"),
        GrantAllowance("v5e", 64, "spot", "us-central1-a"),
        GrantAllowance("v4", 32, "spot", "us-central2-b"),
        GrantAllowance("v4", 32, "on-demand", "us-central2-b"),
        GrantAllowance("v6e", 64, "spot", "europe-west4-a"),
    )

    assert expected == rows(SIX)


def test_devices_of_older_mails_become_chips() -> None:
    """A v2-8 device has 8 cores on 4 chips, and what was called preemptible is spot."""
    expected = (
        GrantAllowance("v2", 20, "on-demand", "us-central1-f", "v2-8"),
        GrantAllowance("v2", 400, "spot", "us-central1-f", "v2-8"),
        GrantAllowance("v3", 20, "on-demand", "europe-west4-a", "v3-8"),
    )

    assert expected == rows(OLD)


@pytest.mark.parametrize(
    "text",
    [
        "> > 64 spot Cloud TPU v6e chips in zone us-east1-d",
        "> 64 spot Cloud TPU\n> v6e chips in\n> zone us-east1-d",
        "64\u00a0spot Cloud\u00a0TPU v6e chips in zone us-east1-d.",
        "* *64 spot Cloud TPU v6e chips in zone us-east1-d*\r\n\r\n",
        "64 Spot Cloud TPU V6e Chips in Zone US-EAST1-D",
        "64 preemptible Cloud TPU v6e chip(s) in zone us-east1-d",
        SIX.splitlines()[1] + "\n> " + SIX.splitlines()[1],
    ],
)
def test_line_survives_quoting_and_wrapping(text: str) -> None:
    """A line is read despite quoting, wrapping and bold text."""
    assert (ONE,) == rows(text)


@pytest.mark.parametrize("text", [SIX.splitlines()[1], f"> **{SIX.splitlines()[1]}**", ALLOWED])
def test_line_is_typed_in_either_form(text: str) -> None:
    """A line can be typed as in the e-mail or as for `--allow`."""
    assert trc_mail.parse_line(text) == ONE


def test_unread_line_is_noted_and_others_stay() -> None:
    """So a generation or a form that this program does not know loses only its own line."""
    for line in (
        "8 spot Cloud TPU v99 chips in zone us-east5-a",
        "64 v6e chips in the zone us-east1-d",
    ):
        reading = trc_mail.parse_grant_mail(SIX + line)

        assert 6 == len(reading.grant.allowances)
        assert 1 == len(reading.notes)


def test_smaller_of_two_contradicting_lines_counts() -> None:
    """An older grant may be quoted below a newer one, and too much is billed."""
    reading = trc_mail.parse_grant_mail(
        SIX.splitlines()[1] + "\n16 spot Cloud TPU v6e chips in zone us-east1-d"
    )

    assert (16, 1) == (reading.grant.allowances[0].chips, len(reading.grant.allowances))
    assert "16 chips" in reading.notes[0]


def test_days_come_from_text() -> None:
    """Several different numbers of days count as unknown."""
    free = "now has access to the following quota free of charge for 30 days:\n"

    assert 30 == trc_mail.parse_grant_mail(free + SIX).grant.days
    assert trc_mail.parse_grant_mail(SIX + "for 30 days or for 90 days").grant.days is None


@pytest.mark.parametrize("text", ["", "hello", "64 spot chips", "Cloud TPU in zone us-east1-d"])
def test_text_without_grant_shows_example_line(text: str) -> None:
    """The error has an example, and the option that needs no e-mail."""
    with pytest.raises(Problem, match="64 spot Cloud TPU v6e chips in zone us-east1-d") as error:
        trc_mail.parse_grant_mail(text)

    assert "--allow" in (error.value.hint or "")


_PIECES = st.sampled_from(
    [
        "64",
        "999999999999",
        "0",
        "spot",
        "on-demand",
        "Cloud TPU",
        "TPU",
        "v6e",
        "v2-8",
        "v9-99999",
        "chips",
        "device(s)",
        "in zone",
        "us-east1-d",
        "-",
        " ",
        "\n",
        "\r\n> ",
        "\u00a0",
        "*",
        "for 30 days",
        "\ud800",
        "\x00",
        SIX,
        OLD,
    ]
)


@given(st.one_of(st.text(max_size=400), st.lists(_PIECES, max_size=60).map(" ".join)))
@settings(max_examples=300)
def test_no_text_raises_anything_but_a_problem(text: str) -> None:
    """Any text gives a valid grant or a problem, and a grant's own lines give it again."""
    try:
        grant = trc_mail.parse_grant_mail(text).grant
    except Problem:
        return
    again = "\n".join(
        f"{row.chips} {row.tier} Cloud TPU {row.generation} chips in zone {row.zone}"
        for row in grant.allowances
        if not row.device
    )

    assert grant.allowances
    assert all(0 < row.chips <= 1_000_000 for row in grant.allowances)
    assert not again or [row for row in grant.allowances if not row.device] == [*rows(again)]


@pytest.mark.parametrize(
    "text", ["64 " * 60_000, "64 spot Cloud TPU " * 11_000, "9" * 200_000, "for 1 days " * 18_000]
)
def test_hostile_texts_take_no_time(text: str) -> None:
    """Every pattern is bounded: twice the text takes about twice as long."""
    with in_bounded_time(), pytest.raises(Problem):
        trc_mail.parse_grant_mail(text)


def test_many_lines_are_cut() -> None:
    """Many lines are truncated, so they don't fill the state folder."""
    many = "".join(f"{n} spot Cloud TPU v6e chips in zone us-east{n}-d\n" for n in range(1, 3000))

    assert 200 == len(rows(many))
