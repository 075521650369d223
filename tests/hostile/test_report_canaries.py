"""Canaries by collectors: cleaning never depends on what else was collected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.test_canaries import context, leaking, leaks, make_contexts
from tests.support import report_machine as telling
from tpustarter.report import make_report
from tpustarter.report.collect.collector import ReportContext

__all__ = ["context"]


def test_report_of_any_collector_pair_has_no_canary(context: ReportContext) -> None:
    """A report of any pair of collectors, with all secrets there, has no canary."""
    assert {} == leaking(context, 2)


@pytest.mark.parametrize("devices", telling.DEVICES)
def test_no_canary_in_report_for_any_device_failure(
    devices: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a framework prints, raises or shows as its stack, no canary is in the report."""
    for telling_machine in make_contexts(tmp_path, home, monkeypatch, None, devices):
        report = make_report.make_report(telling_machine)
        asked = next(one for one in report.document["sections"] if one["name"] == "jax")

        assert {} == leaks(report)
        assert asked["state"] == "answered"
        assert asked["facts"]["output"]
        assert report.document["replacements"]["secret"] > 10
        assert report.document["replacements"]["path"] > 10
