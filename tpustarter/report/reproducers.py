"""The reproducers of a report: a file for each failed check and block, run in several variants.

A file that is not run is attached anyway, with the reason. Nothing is run if a framework hung,
because each of these files would wait for the same device.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tpustarter.checking.plan import framework_plan
from tpustarter.checking.plan.interpreters import Interpreter
from tpustarter.core.problem import Problem
from tpustarter.core.redact import Redactor
from tpustarter.machine import frameworks
from tpustarter.report.clean.allowed_fields import (
    VERSION,
    FieldRule,
    choice_rule,
    clean_number,
    clean_own_text,
    cleaned_text_rule,
    pattern_rule,
    rows_rule,
)
from tpustarter.report.clean.cleaner import Cleaner
from tpustarter.report.collect import reproducible_failures, software
from tpustarter.report.collect.collector import Collector, CollectorUnanswered, ReportContext
from tpustarter.report.collect.reproducible_failures import WantedReproducer
from tpustarter.reproducing import reproducer_file, reproducer_run, variants
from tpustarter.reproducing.merged_code import NotStandalone
from tpustarter.reproducing.reproducer_file import (
    FailureEnvironment,
    ReproducedFailure,
    ReproducerFile,
)
from tpustarter.reproducing.reproducer_run import ReproducerEnvironment
from tpustarter.reproducing.variants import TriedVariant
from tpustarter.running import lease, run_folder

MAX_FILES = 3
"""Maximum number of files that are made if none is named."""
RECENT_S = 24 * 3600.0
"""Seconds after which a failure no longer counts as recent; a named failure always counts."""
RUN_LIMIT_S = 120.0
"""Timeout for one run of a file, unless the check's own is shorter."""
TOTAL_LIMIT_S = 300.0
"""Time limit for all runs of all files."""

Fields = dict[str, object]


def make_reproducer_collector(ids: Sequence[str], why_not: str = "") -> Collector:
    """Return the collector of reproducers for these ids, or for the newest failures."""
    return Collector(
        "reproducers",
        "Files that reproduce failures",
        lambda context: _collect(context, ids, why_not),
        _ALLOWED,
        limit_s=TOTAL_LIMIT_S + RUN_LIMIT_S,
    )


def _collect(context: ReportContext, ids: Sequence[str], why_not: str) -> Fields:
    since = (datetime.now(timezone.utc) - timedelta(seconds=RECENT_S)).isoformat()
    found = (
        [reproducible_failures.find_reproducer(one) for one in ids]
        if ids
        else reproducible_failures.list_newest_failures(since)
    )
    without: list[Fields] = []
    if not ids:
        why = "it is not among the newest; the option --reproduce with its name makes one"
        without = [{"id": one.id, "why": why} for one in found[MAX_FILES:]]
        found = found[:MAX_FILES]
    if not found:
        return {}
    if context.interpreter is None:
        raise CollectorUnanswered("there is no Python to test on this machine")
    runner = _ReproducerRunner(context, context.interpreter, why_not)
    files: list[Fields] = []
    for one in found:
        row, why = runner.make_row_or_reason(one)
        if row:
            files.append(row)
        else:
            without.append({"id": one.id, "why": why})
    return {"files": files, "without": without}


class _ReproducerRunner:
    """Makes reproducers and runs them, with one deadline for all."""

    def __init__(self, context: ReportContext, interpreter: Interpreter, why_not: str) -> None:
        self._context = context
        self._python: Path = interpreter.path
        self._plan = framework_plan.make_plan(
            context.machine, gpu_plugin=interpreter.has_gpu_plugin
        )
        self._why_not = why_not
        self._packages: Mapping[str, str] = context.shared.packages or software.read_packages(
            interpreter.path.parent.parent, context.machine.env
        )
        self._deadline = time.monotonic() + TOTAL_LIMIT_S

    def make_row_or_reason(self, one: WantedReproducer) -> tuple[Fields | None, str]:
        try:
            return self._make_row(one), ""
        except NotStandalone as error:
            return None, str(error)
        except Problem as problem:
            return None, problem.full_text

    def _make_row(self, one: WantedReproducer) -> Fields:
        own = Redactor(self._context.machine.env).redact_text(str(self._python))
        elsewhere = one.python not in ("", own)
        failure = None if elsewhere else one.failure
        place = self._describe_environment(one.framework)
        made = one.make(failure, place)
        tried, why = self._try_variants(one, made, place)
        first = tried[0].outcome if tried else None
        if first:
            self._context.shared.reproduced.append(first.output)
        state, says = _compare_failures(failure, first, why)
        if elsewhere:
            says += " It failed in another Python, which `--python` names."
        return {
            "id": one.id,
            "name": made.name,
            "title": made.title,
            "state": state,
            "says": says,
            "command": made.command,
            "conclusion": variants.compare_outcomes(tried) if first else None,
            "variants": [
                {
                    "variant": row.variant.title,
                    "outcome": row.words,
                    "seconds": row.outcome.seconds if row.outcome else None,
                }
                for row in tried
            ],
            "lines": made.text.count("\n"),
            "code": made.text,
            "output": first.output.strip() or None if first else None,
        }

    def _describe_environment(self, framework: str) -> FailureEnvironment:
        own = (
            framework_plan.framework_variables(self._plan, framework, self._context.machine.env)
            if framework
            else {}
        )
        # A user's variable goes into the report only if its value has the allowed form.
        variables = {
            name: value
            for name, value in own.items()
            if name in software.VARIABLES and re.fullmatch(software.VARIABLES[name], value)
        }
        names = [name for name in frameworks.DISTRIBUTIONS if name in self._packages]
        versions = {
            name: self._packages[name]
            for name in names
            if re.fullmatch(VERSION, self._packages[name])
        }
        checks = self._context.shared.checks
        python = checks.target.get("python_version", "") if checks else ""
        return FailureEnvironment(
            self._plan.platform,
            self._plan.devices,
            self._plan.generation,
            "its devices" if "=" in self._plan.devices_text else self._plan.devices_text,
            versions,
            python if re.fullmatch(VERSION, python) else "",
            variables,
        )

    def _try_variants(
        self, one: WantedReproducer, made: ReproducerFile, place: FailureEnvironment
    ) -> tuple[list[TriedVariant], str]:
        if why := self._find_obstacle(one.framework):
            return [], why
        try:
            with self._hold_environment(one.framework) as bench:
                return list(
                    self._run_variants(made, variants.list_variants(made, place), bench)
                ), ""
        except Problem as problem:  # another run holds the device, or Python is gone
            return [], problem.full_text

    def _find_obstacle(self, framework: str) -> str:
        for name, step in self._context.shared.hung.items():
            return f"{name} did not come back from `{step}`"
        if self._why_not or not framework:
            return self._why_not
        if self._plan.blocked:
            return self._plan.blocked.what
        missing = framework not in self._packages
        return f"{framework} is not installed in the Python under test" if missing else ""

    @contextlib.contextmanager
    def _hold_environment(self, framework: str) -> Generator[ReproducerEnvironment]:
        """Create a folder, and lease the device unless it is the CPU.

        Raises:
            Problem: The folder cannot be created, or the device cannot be leased.
        """
        machine = self._context.machine
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(
                run_folder.hold_run_folder(Redactor(machine.env), lambda: False)
            )
            env = dict(machine.env) | framework_plan.run_folder_variables(folder)
            hold = None
            if framework:
                env = framework_plan.make_probe_environment(
                    self._plan, machine.env, folder, framework
                )
                settings = frameworks.list_behaviour_variables(framework, machine.env)
                env = frameworks.remove_behaviour_variables(env, settings)
            if framework and self._plan.platform != "cpu":
                hold = stack.enter_context(lease.hold_device_lease("tpustarter report", machine))
            yield ReproducerEnvironment(self._python, folder, env, hold)

    def _run_variants(
        self, made: ReproducerFile, wanted: Sequence[variants.Variant], bench: ReproducerEnvironment
    ) -> Iterator[TriedVariant]:
        why = ""
        for one in wanted:
            left_s = self._deadline - time.monotonic()
            if one.why_not or why or left_s < 1:
                late = f"the {TOTAL_LIMIT_S:g} s for all of them were used up"
                yield TriedVariant(one, None, one.why_not or why or late)
                continue
            self._context.progress(f"running {made.name}.py, {one.title}")
            limit_s = min(made.limit_s, RUN_LIMIT_S, left_s)
            outcome = reproducer_run.run_file(made, bench, one.env, limit_s)
            yield TriedVariant(one, outcome)
            if outcome.kind == "holds" and one.title == variants.AS_IT_IS:
                return  # it holds, so no variant can make a difference
            if outcome.kind == "hangs":
                why = "it hangs, and so might this"


def _compare_failures(
    failure: ReproducedFailure | None, first: reproducer_run.TrialOutcome | None, why: str
) -> tuple[str, str]:
    """Return a word and a sentence on whether a file fails as the check or block did."""
    if first is None:
        return "not run", f"It was not run, because {why}."
    if failure is None:
        return "alone", f"No failed run is remembered to compare it with. The file {first.words}."
    if reproducer_run.is_same_failure(failure, first):
        return "same", "The file fails in the same way."
    seen = ", ".join(sorted({str(one["code"]) for one in failure.findings})) or failure.detail
    return "other", f"The file does not fail in the same way: it {first.words}. Before: {seen}."


def _clean_code(value: object, cleaner: Cleaner) -> str:
    """Return a public file's text, with the comment lines that quote a run cleaned."""
    head, end, body = str(value).partition('\n"""\n')
    lines = [
        cleaner.clean_text(line, 1) if line.startswith(reproducer_file.QUOTING_PREFIXES) else line
        for line in head.split("\n")
    ]
    return cleaner.require_clean("\n".join(lines) + end + body)


_ID = pattern_rule(
    r"[a-z_]{1,20}\.[a-z0-9_]{1,40}|[a-z]{1,20}/[a-z0-9-]{1,60}(?::[a-z0-9-]{1,60})?"
)
_ALLOWED: Mapping[str, FieldRule] = {
    "files": rows_rule(
        {
            "id": _ID,
            "name": pattern_rule(r"\w{1,150}"),
            "title": clean_own_text,
            "says": cleaned_text_rule(4),
            "command": clean_own_text,
            "state": choice_rule("same", "other", "alone", "not run"),
            "conclusion": cleaned_text_rule(3),
            "variants": rows_rule(
                {
                    "variant": clean_own_text,
                    "outcome": cleaned_text_rule(2),
                    "seconds": clean_number,
                }
            ),
            "lines": clean_number,
            "code": _clean_code,
            "output": cleaned_text_rule(80),
        }
    ),
    "without": rows_rule({"id": _ID, "why": cleaned_text_rule(2)}),
}
