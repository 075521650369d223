"""Checks of the TPU VMs' network: its existence, its exposure, and ssh access.

Rules are judged one by one, regardless of priority: a rule of higher priority may block what
another allows, and so may an organisation policy.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer, ProjectQuestion
from tpustarter.text import phrases

NETWORK = "default"
"""The network that gcloud and `tpustarter tpu create` use by default."""
IAP = "35.235.240.0/20"
"""Address range from which Identity-Aware Proxy connects.

Source: https://docs.cloud.google.com/iap/docs/using-tcp-forwarding (read 2026-11).
"""
WORLD = {"0.0.0.0/0", "::/0"}
USUAL = {"tcp:22", "tcp:3389", "icmp"}
"""Ports that Google opens in every `default` network: ssh, remote desktop and ping.

Source: https://docs.cloud.google.com/firewall/docs/firewalls (read 2026-11).
"""
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")

Opening = Literal["all", "some", "usual"]


class ComputeNetwork(msgspec.Struct):
    """A Compute Engine network, as returned by networks.get."""

    name: str = ""
    subnetworks: list[str] = []


class AllowedTraffic(msgspec.Struct):
    """A protocol that a rule allows, with its ports; all ports if none are listed."""

    protocol: str = msgspec.field(default="", name="IPProtocol")
    ports: list[str] = []

    @property
    def names(self) -> list[str]:
        """Return `tcp:22` for each port, or the protocol alone."""
        protocol = self.protocol.lower()
        protocol = {"6": "tcp", "17": "udp", "1": "icmp"}.get(protocol, protocol)
        return [f"{protocol}:{port}" for port in self.ports] or [protocol]


class FirewallRule(msgspec.Struct, rename="camel"):
    """A row of firewalls.list."""

    name: str = ""
    network: str = ""
    direction: str = "INGRESS"
    disabled: bool = False
    source_ranges: list[str] = []
    allowed: list[AllowedTraffic] = []

    @property
    def lets_in(self) -> list[AllowedTraffic]:
        """Return the inbound traffic that the rule allows."""
        return self.allowed if self.direction == "INGRESS" else []


def examine_network(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the network `default` exists and has a subnet in the zone's region."""
    try:
        path = f"compute/v1/projects/{subject.id}/global/networks/{NETWORK}"
        answer = google.get(rest_client.COMPUTE, path, ComputeNetwork)
    except UnansweredError as error:
        if error.reason == "missing" and f"networks/{NETWORK}" in error.text:
            found = (
                "there is no network `default`; make it, or name another one when you create a TPU"
            )
            fix = subject.gcloud("compute", "networks", "create", NETWORK, "--subnet-mode=auto")
            return ProjectAnswer("fail", found, fix)
        raise
    if answer.name != NETWORK:
        raise UnansweredError("garbled", "a network of another name", service=rest_client.COMPUTE)
    region = subject.region
    if region and not any(f"/regions/{region}/" in address for address in answer.subnetworks):
        found = f"the network `default` has no subnet in {region}"
        fix = subject.gcloud(
            "compute",
            "networks",
            "subnets",
            "create",
            NETWORK,
            f"--network={NETWORK}",
            f"--region={region}",
            "--range=10.128.0.0/20",
        )
        return ProjectAnswer("warn", found, fix)
    where = f", with a subnet in {region}" if region else ""
    return ProjectAnswer("ok", f"the network `default` exists{where}")


def examine_firewall(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that no firewall rule of the project admits the whole internet.

    Rules for ssh, ping and remote desktop, which Google creates, are only noted.
    """
    rules = _rules(subject, google)
    found: dict[Opening, list[FirewallRule]] = {"all": [], "some": [], "usual": []}
    for rule in rules:
        if WORLD & {*rule.source_ranges} and (kind := classify_rule(rule)):
            found[kind].append(rule)
    if wide := found["all"] or found["some"]:
        ports = {name for rule in wide for one in rule.lets_in for name in one.names} - USUAL
        what = "every port" if found["all"] else phrases.join_words(sorted(ports), most=3)
        text = (
            f"{_let(subject, wide)} the whole internet reach {what}; delete what is not "
            "needed, or let in your own addresses alone"
        )
        rule = subject.hide(wide[0].name)
        return ProjectAnswer(
            "warn", text, subject.gcloud("compute", "firewall-rules", "delete", rule)
        )
    if usual := found["usual"]:
        text = (
            f"{_let(subject, usual)} the whole internet try ssh, ping or remote desktop, as "
            "Google sets up `default`; ssh asks for a key, and Google's proxy (IAP) can take "
            "its place"
        )
        rule = subject.hide(usual[0].name)
        fix = subject.gcloud("compute", "firewall-rules", "update", rule, f"--source-ranges={IAP}")
        return ProjectAnswer("info", text, fix)
    return ProjectAnswer("ok", f"none of {len(rules)} rules lets the whole internet in")


def examine_ssh(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that a rule of the network allows ssh."""
    rules = [rule for rule in _rules(subject, google) if rule.network.rpartition("/")[2] == NETWORK]
    open_rules = [rule for rule in rules if any(_admits_ssh(one) for one in rule.lets_in)]
    if open_rules:
        ranges = {text for rule in open_rules for text in rule.source_ranges}
        if ranges & WORLD:
            return ProjectAnswer("ok", "a rule of the network `default` lets ssh in")
        through = " through IAP" if IAP in ranges else " from some addresses"
        return ProjectAnswer("ok", f"a rule of the network `default` lets ssh in{through}")
    found = (
        "no rule of the network `default` lets ssh in; this one lets it in through IAP, which "
        "`--tunnel-through-iap` then uses"
    )
    options = (f"--network={NETWORK}", "--allow=tcp:22", f"--source-ranges={IAP}")
    fix = subject.gcloud("compute", "firewall-rules", "create", "allow-ssh-from-iap", *options)
    return ProjectAnswer("warn", found, fix)


def classify_rule(rule: FirewallRule) -> Opening | None:
    """Return how much traffic a rule allows: all, the usual or some. None if it allows none."""
    if any(_is_everything(one) for one in rule.lets_in):
        return "all"
    names = {name for one in rule.lets_in for name in one.names}
    return ("usual" if names <= USUAL else "some") if names else None


def _rules(subject: DoctorTarget, google: RestClient) -> list[FirewallRule]:
    path = f"compute/v1/projects/{subject.id}/global/firewalls"
    rules = google.pages(rest_client.COMPUTE, path, "items", FirewallRule, maxResults=500)
    return [rule for rule in rules if not rule.disabled]


def _is_everything(one: AllowedTraffic) -> bool:
    if {"all", "tcp", "udp"} & {*one.names}:
        return True
    return any(_span(name)[1] - _span(name)[0] >= 60_000 for name in one.names)


def _admits_ssh(one: AllowedTraffic) -> bool:
    spans = [_span(name) for name in one.names if name.startswith("tcp:")]
    return bool({"all", "tcp"} & {*one.names}) or any(low <= 22 <= high for low, high in spans)


def _span(name: str) -> tuple[int, int]:
    """Return the first and last port of `tcp:8000-9000`; an empty range if there are no ports."""
    match = _PORTS.fullmatch(name.partition(":")[2])
    return (int(match[1]), int(match[2] or match[1])) if match else (0, -1)


def _let(subject: DoctorTarget, rules: list[FirewallRule]) -> str:
    """Return `the rule `a` lets`, or `the rules `a`, `b`, `c` and 3 more let`."""
    names = [f"`{subject.hide(rule.name)}`" for rule in rules]
    listed = phrases.join_words(names, most=3)
    return phrases.choose_plural(len(names), f"the rule {names[0]} lets", f"the rules {listed} let")


QUESTIONS = (
    ProjectQuestion(
        "network",
        "the network `default` exists",
        "https://docs.cloud.google.com/compute/docs/reference/rest/v1/networks/get",
        examine_network,
        lambda subject: subject.gcloud("compute", "networks", "list"),
    ),
    ProjectQuestion(
        "firewall",
        "nothing is open to the whole internet",
        "https://docs.cloud.google.com/compute/docs/reference/rest/v1/firewalls/list",
        examine_firewall,
        lambda subject: subject.gcloud("compute", "firewall-rules", "list"),
        can_block=False,
    ),
    ProjectQuestion(
        "ssh",
        "a firewall rule lets ssh in",
        "https://docs.cloud.google.com/tpu/docs/configure-networking-access",
        examine_ssh,
        lambda subject: subject.gcloud("compute", "firewall-rules", "list"),
        can_block=False,
    ),
)
