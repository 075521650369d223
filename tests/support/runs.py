"""Makes results and runs of the self-check, for tests."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tpustarter.checking.results.results import STATUSES, BlockedFramework, Result, Run, UsedDevices
from tpustarter.core.problem import ExitCode

REASONS = {"error": "crashed", "skip": "not-applicable", "notrun": "interrupted"}


VIRTUAL = UsedDevices("cpu", "cpu", 8, virtual=True)
TPU = UsedDevices("tpu", "TPU v6 lite", 8, virtual=False)


FINDING = {
    "code": "SAMPLE-SUM",
    "name": "sum",
    "verdict": "ok",
    "found": 2,
    "expected": 2,
    "unit": None,
    "entity": None,
    "hint": None,
    "lesson": None,
}


def result(status: str, name: str = "jax.sample", **more: object) -> Result:
    """Return a result as the runner would make it."""
    ran_on = VIRTUAL if status in ("pass", "warn", "fail") and name.startswith("jax") else None
    verdicts = {"pass": "ok", "warn": "warn", "fail": "fail"}
    findings = ({**FINDING, "verdict": verdicts[status]},) if status in verdicts else ()
    made = Result(
        name,
        "a claim",
        status,
        REASONS.get(status),
        ran_on=ran_on,
        findings=findings,
        lesson="jax/precision",
        framework=name.split(".", maxsplit=1)[0],
    )
    return replace(made, **more)


def run_of(*results: Result, **more: object) -> Run:
    """Return a run with these results."""
    target = {
        "python": "/env/bin/python",
        "shown": "env/bin/python",
        "why": "--python",
        "devices": 8,
        "python_version": "3.12.1",
        "frameworks": {"jax": "0.12.0.1"},
        "platform": "cpu",
        "kind": "cpu",
        "where": "8 virtual CPU devices",
        "virtual": True,
        "env": {},
        "others": [],
    }
    host = {"chips": 0, "generation": None}
    made = Run("0.1.0", "2026-11-21T00:00:00+00:00", "quick", target=target, host=host)
    made.results = list(results)
    return replace(made, **more)


BUSY = BlockedFramework("the TPU is in use by pid 7", ExitCode.BUSY, "wait")


HOST = result("pass", "host.sample")


BLOCKED = result("skip", reason="missing-resource", detail="in use")


results_strategy = st.lists(
    st.builds(
        result,
        st.sampled_from(STATUSES),
        st.sampled_from(["host.a", "jax.b"]),
        optional=st.booleans(),
    ),
    max_size=6,
)


NASTY = "\x1b[2J\x1b]0;owned\x07[bold]not markup[/] </testcase> & \x00 \u202e"
