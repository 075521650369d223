"""Forged, incomplete and damaged events: one check has no verdict, and nothing else happens.

A probe runs code of others, which may write to its pipe what it likes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.runs import HOST, run_of
from tests.support.sessions import run_samples
from tpustarter.checking.output import junit, results_text, run_document
from tpustarter.checking.results.results import UsedDevices
from tpustarter.checking.run import probe_events
from tpustarter.probe.finding import Finding
from tpustarter.running import process

FINDING = Finding("A-B", "sum", "ok", 1, 1).as_dict()
END = {"event": "end", "id": "host.forges", "outcome": "done", "seconds": 0.1, "ran_on": None}
FORGED: dict[str, Any] = {
    "no event": {"id": "host.forges"},
    "a number": 7,
    "a list": ["event", "end"],
    "an event that is not a text": {"event": {"a": 1}},
    "an event nobody knows": {"event": "promoted"},
    "a finding without fields": {"event": "finding", "id": "host.forges", "finding": {}},
    "no finding": {"event": "finding", "id": "host.forges"},
    "a finding that is a text": {"event": "finding", "id": "host.forges", "finding": "fine"},
    "a verdict nobody knows": {"event": "finding", "finding": {**FINDING, "verdict": "superb"}},
    "an array for a value": {"event": "finding", "finding": {**FINDING, "found": [1, 2]}},
    "the end of another check": {**END, "id": "host.passes"},
    "an end without an outcome": {"event": "end", "id": "host.forges"},
    "an outcome that is a list": {**END, "outcome": ["done"]},
    "gone": {"event": "gone", "code": 0, "signal": None, "left": [], "exit": 0},
    "interrupted": {"event": "interrupted"},
    "output": {"event": "output", "name": "stdout", "data": "x"},
    "an end of the process that says nothing": {"event": "ended"},
    "a start that says nothing": {"event": "started"},
}
"""What is written to the pipe; for each the check has no verdict, as it broke the protocol."""


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_event_costs_its_check_alone(name: str, tmp_path: Path) -> None:
    """A forged event is a protocol error of its check alone, and the next check runs."""
    env = {"FORGED": json.dumps(FORGED[name])}
    results = run_samples(tmp_path, "forges", "passes", env=env)

    assert ("error", "protocol") == (results["forges"].status, results["forges"].reason)
    assert "pass" == results["passes"].status


def test_forged_place_is_refused(tmp_path: Path) -> None:
    """An end that claims a TPU in a form of its own verifies nothing."""
    end = {**END, "ran_on": {"platform": "tpu"}}
    results = run_samples(tmp_path, "forges", env={"FORGED": json.dumps(end)})

    assert results["forges"].ran_on is None


def test_forged_start_ends_no_foreign_process(tmp_path: Path) -> None:
    """The process that a forged start names is not ours: ending the check leaves it alone."""
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],  # until it is ended below
        start_new_session=True,
    ) as stranger:
        forged = json.dumps({"event": "started", "pid": stranger.pid})
        results = run_samples(tmp_path, "forges", env={"FORGED": forged})
        alive = stranger.poll() is None
        os.killpg(stranger.pid, signal.SIGKILL)

    assert alive
    assert ("error", "protocol") == (results["forges"].status, results["forges"].reason)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        *FINDING,
        "event",
        "pid",
        "code",
        "signal",
        "left",
        "platform",
        "count",
        "kind",
        "virtual",
        "python",
        "python_version",
        "frameworks",
    ]
)
MAPPINGS = st.dictionaries(NAMES, JSON | st.just(1) | st.just("ok") | st.just({}))


@given(st.binary() | MAPPINGS.map(lambda value: json.dumps(value).encode()))
def test_any_line_of_pipe_is_readable(line: bytes) -> None:
    """Whatever bytes come, there is an event with a name, and none that only this side makes."""
    event = process.parse_event(line)

    assert isinstance(event["event"], str)
    assert event["event"] not in ("gone", "interrupted", "output")


@given(MAPPINGS | st.builds(lambda more: {**FINDING, **more}, MAPPINGS))
def test_accepted_finding_can_be_rendered(value: dict[str, Any]) -> None:
    """A finding that passed the door breaks no renderer."""
    finding = probe_events.parse_finding(value)
    if finding is None:
        return
    from dataclasses import replace

    run = run_of(replace(HOST, findings=(finding,)))
    results_text.render_results(run, verbose=True)
    junit.make_suite(run)
    run_document.format_json_line(run_document.make_json_document(run))


def test_name_with_half_a_character_is_invalid() -> None:
    """A probe may write any name as JSON."""
    value = {"platform": "cpu", "kind": "cpu", "count": 8, "virtual": True}

    assert UsedDevices("cpu", "cpu", 8, virtual=True) == probe_events.parse_devices(value)
    assert probe_events.parse_devices({**value, "\ud800": 1}) is None
