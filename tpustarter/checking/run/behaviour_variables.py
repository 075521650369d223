"""User settings that change results: a check that fails with them is run again without them.

A flag such as `--xla_cpu_enable_fast_math` makes a sound machine compute different numbers. So a
machine is reported as faulty only if the claim also fails without such settings.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from tpustarter.checking.results.results import FindingFields, Result
from tpustarter.probe.finding import Finding, Hint, Verdict
from tpustarter.text import phrases

MOST = 3
"""Maximum number of claims changed by settings before the remaining checks run without them,
because each one costs a restart.
"""


def may_be_caused_by_variables(result: Result) -> bool:
    """Return whether a setting could have caused a result, which then justifies a second run."""
    return result.status == "fail" or result.reason in ("exception", "crashed")


def is_caused_by_variables(result: Result, without: Result) -> bool:
    """Return whether a check that failed with the settings passes without them."""
    return may_be_caused_by_variables(result) and without.status in ("pass", "warn")


def merge_results(result: Result, without: Result, names: tuple[str, ...]) -> Result:
    """Merge the results of two runs of a check, the first of them with the settings `names`.

    The run without them counts, and a finding describes the other. But if the first process
    crashed,
    its result still has no verdict, because the check does not work in the user's environment.
    """
    variables, seconds = phrases.join_words(names), result.seconds + without.seconds
    if not is_caused_by_variables(result, without):
        same = _finding("SETTINGS-SAME", f"it is the same without {variables}", "info")
        return replace(without, seconds=seconds, findings=(*without.findings, same))
    changed = _finding(
        "SETTINGS-CHANGED",
        f"fails with {variables}, and holds without",
        "warn",
        _outcome(result),
        Hint.run(f"unset {' '.join(names)}", ", unless you mean it: the fault is in your setting"),
    )
    if result.reason == "crashed":
        return replace(result, seconds=seconds, findings=(*result.findings, changed))
    return replace(without, status="warn", seconds=seconds, findings=(changed, *without.findings))


def add_variables_finding(result: Result, names: tuple[str, ...]) -> Result:
    """Add the finding that the check ran without the named settings."""
    note = _finding("SETTINGS-LEFT-OUT", f"it ran without {phrases.join_words(names)}", "info")
    return replace(result, findings=(*result.findings, note))


def _outcome(result: Result) -> str:
    for finding in result.findings:
        if finding["verdict"] == "fail":
            expected = finding["expected"]
            more = "" if expected is None else f", expected {expected}"
            return f"{finding['name']}: {finding['found']}{more}"
    return result.detail


def _finding(
    code: str, name: str, verdict: Verdict, found: str | None = None, hint: str | None = None
) -> FindingFields:
    return msgspec.convert(Finding(code, name, verdict, found, hint=hint).as_dict(), FindingFields)
