"""The results of many hosts become one, and its findings name their hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tpustarter.checking.output import results_text
from tpustarter.checking.output.results_text import merge_same_findings
from tpustarter.checking.results.results import FindingFields, Result, Run, Status, UsedDevices
from tpustarter.slices.slice_results import add_host_to_finding, merge_host_results

PASSED = Result("jax.x", "It holds", "pass", ran_on=UsedDevices("cpu", "cpu", 4, virtual=True))


def finding(found: int, entity: str | None = None) -> FindingFields:
    """Return a finding of a host."""
    return {
        "code": "X-Y",
        "name": "rows",
        "verdict": "ok",
        "found": found,
        "expected": 4,
        "unit": None,
        "entity": entity,
        "hint": None,
        "lesson": None,
    }


@pytest.mark.parametrize(
    ("others", "status"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "skip"], "pass"),
        (["warn", "pass"], "warn"),
        (["error", "warn"], "error"),
        (["fail", "error"], "fail"),
    ],
)
def test_worst_host_decides(others: list[Status], status: Status) -> None:
    """A claim holds on a slice where it holds on each host."""
    results = {number: replace(PASSED, status=one) for number, one in enumerate(others)}

    assert merge_host_results({2: PASSED, **results}).status == status


def test_devices_of_all_hosts_are_counted() -> None:
    """The claim was shown on all of them."""
    assert merge_host_results({0: PASSED, 1: PASSED}).ran_on == UsedDevices(
        "cpu", "cpu", 8, virtual=True
    )


def test_earliest_error_is_the_cause() -> None:
    """A host that waited for the failed one fails after it."""
    waited = replace(PASSED, status="error", detail="time-out", seconds=30.0)
    failed = replace(PASSED, status="error", detail="no input left", seconds=0.1)

    assert merge_host_results({0: waited, 1: failed}).detail == "host 1: no input left"


def test_detail_of_all_hosts_names_none() -> None:
    """A detail that is the same on all hosts is given once and names none."""
    skipped = replace(PASSED, status="skip", detail="no TPU on this machine")

    assert merge_host_results({0: skipped, 1: skipped}).detail == "no TPU on this machine"


@pytest.mark.parametrize(
    ("entity", "host", "named"),
    [
        (None, 3, "host:3"),
        ("device:5", 3, "host:3 device:5"),
        ("host:1", 3, "host:1"),
        ("device:5", None, "device:5"),
    ],
)
def test_finding_names_its_host(entity: str | None, host: int | None, named: str) -> None:
    """A finding names its host, unless it already names another one."""
    assert add_host_to_finding(finding(4, entity), host)["entity"] == named


def test_same_findings_of_hosts_are_shown_once() -> None:
    """Equal findings of hosts are shown once in text; the document has one for each host."""
    findings = [
        finding(4, "host:0 device:5"),
        finding(4, "host:1 device:5"),
        finding(3, "host:2 device:5"),
        finding(4),
        finding(4),
    ]

    shown = merge_same_findings(findings)

    assert [one["entity"] for one in shown] == [
        "hosts 0 and 1 device:5",
        "host:2 device:5",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("platform", "hosts", "shown"), [("tpu", 2, 1), ("tpu", 1, 0), ("cpu", 2, 0)]
)
def test_report_of_slice_says_never_tried(platform: str, hosts: int, shown: int) -> None:
    """The report of a slice says that it was never tried on several hosts with TPUs."""
    run = Run("1", "2026-11-29", "quick", results=[PASSED])
    run.target = {"platform": platform, "devices": 8, "where": "TPU v5e"}
    run.hosts = [{"host": number} for number in range(hosts)]

    assert (
        results_text.render_results(run).replace("\n", " ").count(results_text.NEVER_TRIED) == shown
    )
