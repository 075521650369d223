"""The network and its firewall rules: what the internet reaches, and whether ssh gets in."""

from __future__ import annotations

from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials

from tests.support.fake_google import PROJECT, FakeGoogle, refusal, rule, serving
from tpustarter.cloud.api import project_and_zone
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.doctor import network
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer

SUBJECT = DoctorTarget(
    project_and_zone.Project(PROJECT, "gcloud's configuration", gcloud_knows=True), "us-east1-d"
)
IAP = network.IAP


def examine(examine_network: Any, part: str, answer: Any) -> ProjectAnswer:
    """Return the findings of an examination with one answer replaced."""
    with serving(FakeGoogle().breaks(part, answer)) as address:
        return examine_network(SUBJECT, RestClient(AnonymousCredentials(), address=address))


@pytest.mark.parametrize(
    ("rules", "verdict", "found", "fix"),
    [
        ([], "ok", "none of 0 rules", None),
        ([rule("inside", "all", source="10.0.0.0/8")], "ok", "none of 1 rules", None),
        ([rule("off", "all", disabled=True)], "ok", "none of 0 rules", None),
        ([rule("out", "all", direction="EGRESS")], "ok", "none of 1 rules", None),
        ([rule("deny", denied=[{"IPProtocol": "all"}])], "ok", "none of 1 rules", None),
        ([rule("a", "tcp:22")], "info", "the rule `a` lets", f"update a --source-ranges={IAP}"),
        ([rule("a", "icmp"), rule("b", "tcp:3389")], "info", "rules `a` and `b` let", "update a"),
        (
            [rule("a", "tcp:22"), rule("b", "all")],
            "warn",
            "`b` lets the whole internet reach every",
            "gcloud compute firewall-rules delete b",
        ),
        ([rule("a", "tcp")], "warn", "every port", "delete a"),
        ([rule("a", "6")], "warn", "every port", "delete a"),
        ([rule("a", "tcp:0-65535")], "warn", "every port", "delete a"),
        ([rule("a", "all", source="::/0")], "warn", "every port", "delete a"),
        ([rule("a", "tcp:8888", "tcp:22")], "warn", "reach tcp:8888;", "delete a"),
        ([rule(f"r{n}", "tcp:22") for n in range(10_000)], "info", "`r2` and 9997 more let", "r0"),
    ],
)
def test_ports_open_to_internet_are_named(
    rules: list[dict[str, Any]], verdict: str, found: str, fix: str | None
) -> None:
    """All ports are a warning with the command that closes them, ssh alone is information."""
    seen = examine(network.examine_firewall, "firewalls", {"items": rules})

    assert verdict == seen.verdict, seen.found
    assert found in seen.found
    assert (fix or "") in (seen.fix or "")
    assert len(seen.found) < 300


@pytest.mark.parametrize(
    ("rules", "verdict", "found"),
    [
        ([], "warn", "no rule of the network `default` lets ssh in"),
        ([rule("a", "tcp:80")], "warn", "no rule"),
        ([rule("a", "tcp:22", network="x/networks/other")], "warn", "no rule"),
        ([rule("a", "tcp:22", disabled=True)], "warn", "no rule"),
        ([rule("a", "udp:22")], "warn", "no rule"),
        ([rule("a", "tcp:22")], "ok", "lets ssh in"),
        ([rule("a", "tcp:20-30", source=IAP)], "ok", "lets ssh in through IAP"),
        ([rule("a", "all", source="192.0.2.1/32")], "ok", "lets ssh in from some addresses"),
    ],
)
def test_ssh_rule_is_judged(rules: list[dict[str, Any]], verdict: str, found: str) -> None:
    """Rules of other networks, rules that are off and other ports do not count."""
    seen = examine(network.examine_ssh, "firewalls", {"items": rules})

    assert verdict == seen.verdict
    assert found in seen.found
    assert verdict == "ok" or f"--allow=tcp:22 --source-ranges={IAP}" in (seen.fix or "")


def test_missing_network_is_created_by_fix() -> None:
    """A missing network is a failure, and its fix creates one."""
    text = f"The resource 'projects/{PROJECT}/global/networks/default' was not found"
    seen = examine(network.examine_network, "networks/default", refusal(404, text))

    assert ("fail", "gcloud compute networks create default --subnet-mode=auto") == (
        seen.verdict,
        seen.fix,
    )


def test_unrelated_404_is_not_missing_network() -> None:
    """A 404 that isn't about the network doesn't count as a missing network."""
    with pytest.raises(UnansweredError):
        examine(network.examine_network, "networks/default", refusal(404, "no such project"))


def test_a_region_without_a_subnet_is_a_warning() -> None:
    """The TPU could not join the network there."""
    answer = {"name": "default", "subnetworks": ["x/regions/us-east5/subnetworks/default"]}
    seen = examine(network.examine_network, "networks/default", answer)

    assert "warn" == seen.verdict
    assert "no subnet in us-east1" in seen.found


def test_unreadable_rule_does_not_count_as_closed() -> None:
    """A rule in another form than the documented one leaves the question open."""
    broken = rule("a", "all") | {"sourceRanges": "0.0.0.0/0"}

    with pytest.raises(UnansweredError) as caught:
        examine(network.examine_firewall, "firewalls", {"items": [broken]})

    assert "garbled" == caught.value.reason
