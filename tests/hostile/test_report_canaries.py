"""Canaries by collectors: whether something is hidden never depends on what else was collected."""

from __future__ import annotations

from tests.report.test_canaries import context, leaking
from tpustarter.report.collect.collectors import ReportContext

__all__ = ["context"]


def test_report_of_any_collector_pair_has_no_canary(context: ReportContext) -> None:
    """Each of the pairs, with all secrets there."""
    assert {} == leaking(context, 2)
