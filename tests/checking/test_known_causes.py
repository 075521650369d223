"""Tests of causes: a failure gets one only if its own error names it."""

from __future__ import annotations

import pytest

from tests.support.runs import FINDING, result, run_of
from tpustarter.checking.output import results_text
from tpustarter.checking.results.results import Result
from tpustarter.checking.run import known_causes
from tpustarter.cli.check import closing_lines as check_end
from tpustarter.core.problem import ExitCode
from tpustarter.tui.checks.check_list import CheckList

BACKEND = (
    "RuntimeError: Unable to initialize backend 'tpu': No TPU found. "
    "(set JAX_PLATFORMS='' to automatically choose an available backend)"
)
FATAL = "F1126 09:15:47.5 7 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_tpu_x"


def mistake(name: str = "JAX_PLATFORMS", verdict: str = "warn", **more: object) -> Result:
    """Return the result of a host check that finds a variable to be wrong."""
    finding = {
        **FINDING,
        "verdict": verdict,
        "name": f"{name} is wrong",
        "found": "tpu",
        "entity": f"variable:{name}",
        "hint": f"run `unset {name}`",
    } | more
    return result("warn", "host.environment", findings=(finding,), lesson="trouble/environment")


def error(detail: str = BACKEND, reason: str = "exception", log: str = "") -> Result:
    """Return a result that ended with an error."""
    return result("error", "jax.devices_visible", reason=reason, detail=detail, log=log)


@pytest.mark.parametrize(
    ("failed", "found"),
    [
        (error(), mistake()),
        (error("exit code 1", "crashed", f"started\n{FATAL}"), mistake("XLA_FLAGS", "fail")),
        (
            error("aborted", "crashed", "ERROR: Unknown command line flag 'xla_gpu_x'"),
            mistake("LIBTPU_INIT_ARGS", "fail", found="--xla_gpu_x"),
        ),
    ],
)
def test_wrong_variable_named_in_error_is_cause(failed: Result, found: Result) -> None:
    """The error or the process's log may name the wrong variable, or a flag in it."""
    traced = known_causes.attribute_to_earlier_result(failed, [result("pass"), found])

    assert traced.cause
    assert "host.environment" == traced.cause.check
    assert found.findings[0] == traced.cause.finding


@pytest.mark.parametrize(
    ("failed", "found"),
    [
        (error("ValueError: no such axis"), mistake()),
        (error(), mistake(verdict="info")),
        (error(), mistake("JAX_PLATFORM")),
        (error(), mistake(entity="package:jax")),
        (error("exit code 1", "crashed", "JAX_PLATFORMS is tpu\nkilled"), mistake()),
        (error("it took 120 s", "timeout", FATAL), mistake("XLA_FLAGS", "fail")),
        (result("fail", "jax.precision"), mistake()),
    ],
)
def test_unnamed_setting_is_no_cause(failed: Result, found: Result) -> None:
    """A setting that the error doesn't name, or that is in order, is not the cause."""
    assert known_causes.attribute_to_earlier_result(failed, [found]).cause is None


def test_cause_stands_above_its_effects_by_severity() -> None:
    """The cause is listed above its effects, and all of them lead to the same action."""
    found, worse = mistake(), result("fail", "host.other")
    run = run_of(
        result("warn", "host.aside"),
        found,
        worse,
        known_causes.attribute_to_earlier_result(error(), [found]),
    )
    shown = results_text.render_results(run)
    rows = [line.split()[1] for line in shown.splitlines() if line[:1].isupper()]

    assert ["host.other", "host.environment", "jax.devices_visible", "host.aside"] == rows
    assert "because of host.environment: JAX_PLATFORMS is wrong" in shown
    assert 2 == shown.count("do    run `unset JAX_PLATFORMS`")


def test_end_of_run_names_cause_and_its_lesson() -> None:
    """A run with a known cause ends with that cause and its lesson, not with the log."""
    found = mistake()
    run = run_of(found, known_causes.attribute_to_earlier_result(error(), [found]))
    line = check_end.explain_exit_code(run, ExitCode.INCONCLUSIVE)

    assert line == (
        "exit 3: jax.devices_visible has no verdict, because of host.environment: JAX_PLATFORMS "
        "is wrong. Next: run `unset JAX_PLATFORMS`"
    )
    assert "learn trouble/environment" in check_end.format_log_hint(
        run, [check_end.Path("probe.log")]
    )


def test_the_app_lists_the_cause_first_too() -> None:
    """The app lists the cause first, as the command line does."""
    found = mistake()
    known = CheckList()
    for one in (
        result("warn", "host.aside"),
        found,
        known_causes.attribute_to_earlier_result(error(), [found]),
    ):
        known.checks[one.id] = None  # type: ignore[assignment]  # only the ids are looked at
        known.results[one.id] = one

    assert ["host.environment", "jax.devices_visible", "host.aside"] == known.ids()


def test_checks_blocked_by_failure_are_one_row() -> None:
    """Checks blocked by a failure are one row, so that the failure isn't hidden."""
    known = CheckList()
    blocked = [result("skip", f"jax.after{number}", reason="dependency") for number in range(5)]
    for one in (*blocked, error()):
        known.checks[one.id] = None  # type: ignore[assignment]  # only the ids are looked at
        known.results[one.id] = one

    assert ["jax.devices_visible", "blocked"] == known.ids()
    known.lists_all = True
    known.run = run_of(*known.results.values())
    assert 6 == len(known.ids())
