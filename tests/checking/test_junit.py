"""The run as JUnit XML: every status has its place, and the counts add up."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.runs import (
    HOST,
    result,
    run_of,
)
from tpustarter.checking.output import junit
from tpustarter.checking.results.results import STATUSES
from tpustarter.core import locations


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", []),
        ("print('train')\n", ["print('train')\n"]),
        ("<testsuite tests='1'/>", ["<testsuite tests='1'/>"]),
        (None, []),
    ],
)
def test_foreign_junit_file_is_kept(text: str | None, kept: list[str], tmp_path: Path) -> None:
    """A file that is not from an earlier run is kept; None means an earlier report."""
    path = tmp_path / "train.py"
    if text is None:
        junit.write_report(run_of(HOST, result("pass")), path)
    else:
        path.write_text(text)
    junit.write_placeholder(path)

    assert ET.parse(path).findall("testcase/error")
    assert kept == [one.read_text() for one in tmp_path.iterdir() if one != path]
    assert len(kept) == len(locations.pop_move_notices())


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_junit_element(status: str) -> None:
    """No status vanishes from the XML, and the suite says where claims were verified."""
    root = ET.fromstring(
        ET.tostring(junit.make_suite(run_of(HOST, result("pass"), result(status))))
    )
    children = {
        "pass": "system-out",
        "warn": "system-out",
        "fail": "failure",
        "error": "error",
        "skip": "skipped",
        "notrun": "error",
    }
    last = root.findall("testcase")[-1]

    assert "virtual-cpu" in root.attrib["name"]
    assert [children[status]] == [child.tag for child in last]


def test_counts_in_junit_add_up() -> None:
    """The number of tests is the sum of passed, failed, broken and skipped ones."""
    root = junit.make_suite(run_of(*(result(status) for status in STATUSES)))

    assert ("6", "1", "2", "1") == tuple(
        root.attrib[name] for name in ("tests", "failures", "errors", "skipped")
    )
