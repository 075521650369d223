"""The run as JUnit XML: every status has its place, and the counts add up."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.support.runs import (
    HOST,
    result,
    run_of,
)
from tpustarter.checking import junit
from tpustarter.checking.results import STATUSES


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_place_in_junit(status: str) -> None:
    """No status vanishes from the XML, and the suite says where claims were verified."""
    root = ET.fromstring(ET.tostring(junit.suite(run_of(HOST, result("pass"), result(status)))))
    children = {
        "pass": "system-out", "warn": "system-out", "fail": "failure", "error": "error",
        "skip": "skipped", "notrun": "error",
    }  # fmt: skip
    last = root.findall("testcase")[-1]

    assert "virtual-cpu" in root.attrib["name"]
    assert [children[status]] == [child.tag for child in last]


def test_counts_in_junit_add_up() -> None:
    """Tests are the sum of those that passed, failed, broke and were skipped."""
    root = junit.suite(run_of(*(result(status) for status in STATUSES)))

    assert ("6", "1", "2", "1") == tuple(
        root.attrib[name] for name in ("tests", "failures", "errors", "skipped")
    )
