"""The report of one host with 8 devices, and that of two hosts with 4 each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.slice_hosts import started

IDS = (
    "host.*",
    "jax.all_gather",
    "jax.all_reduce",
    "jax.all_to_all",
    "jax.coordinates",
    "jax.device_identity",
    "jax.devices_visible",
    "jax.meshes",
    "jax.permute",
    "jax.random_keys",
    "jax.reduce_scatter",
    "jax.same_everywhere",
    "jax.slice_*",
)
"""Checks of every kind: of a host, of the devices of each host, and of all devices."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the results of one host and of two, by check."""
    found: list[dict[str, Any]] = []
    for hosts in (1, 2):
        folder = tmp_path_factory.mktemp(f"hosts-{hosts}")
        with started(folder, [{}] * hosts, *IDS, devices=8 // hosts) as running:
            found.append({one["id"]: one for one in running.report()["results"]})
    return found


def test_both_have_the_same_checks(reports: list[dict[str, Any]]) -> None:
    """Both runs have the same checks, in the same order, with the same claims."""
    one, two = ([(row["id"], row["title"]) for row in report.values()] for report in reports)

    assert one == two


def test_checks_of_a_slice_need_two_hosts(reports: list[dict[str, Any]]) -> None:
    """Checks of a slice are skipped on one host; no other verdict differs."""
    one, two = ({name: row["status"] for name, row in report.items()} for report in reports)
    differ = {name: (status, two[name]) for name, status in one.items() if status != two[name]}

    assert differ.keys() == {name for name in one if "slice_" in name} - {"jax.slice_dcn"}
    assert {("skip", "pass")} == {*differ.values()}


def test_findings_are_the_same_row_by_row(reports: list[dict[str, Any]]) -> None:
    """Each host has the same findings and verdicts as a run on one host."""
    one, two = reports
    for name, row in one.items():
        if "slice_" not in name:
            expected = {(found["code"], found["verdict"]) for found in row["findings"]}
            hosts = ("host:0", "host:1") if expected else ()  # a check may be not applicable
            assert dict.fromkeys(hosts, expected) == by_host(two[name]), name


def by_host(row: dict[str, Any]) -> dict[str, set[tuple[str, str]]]:
    """Return the code and verdict of each finding of a check, by host."""
    found: dict[str, set[tuple[str, str]]] = {}
    for one in row["findings"]:
        host = one["entity"].partition(" ")[0]
        found.setdefault(host, set()).add((one["code"], one["verdict"]))
    return found


def test_both_ran_on_eight_devices(reports: list[dict[str, Any]]) -> None:
    """The devices of all hosts count."""
    for report in reports:
        assert 8 == report["jax.all_reduce"]["ran_on"]["count"]
