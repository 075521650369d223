"""The closing lines of `check`: the reason for the exit code, and the next steps."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tpustarter.checking.output import results_text
from tpustarter.checking.results import headline, next_step, verdict
from tpustarter.checking.run import known_causes
from tpustarter.cli.command_end import format_explain_command
from tpustarter.core.problem import ExitCode
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import cut_text, escape_text, wrap

if TYPE_CHECKING:
    from tpustarter.checking.results.results import Result, Run


_NAMED = 3
"""Most next steps printed after a run; the report has all checks' steps."""
_TYPED = 4
"""Most checks named in a command; with more, the command repeats the whole run."""


def explain_exit_code(
    run: Run, code: ExitCode, again: Sequence[str] = ("tpustarter", "check")
) -> str:
    """Return the line for stderr: the exit code, its reason, and the command to run next.

    Args:
        run: The run that has ended.
        code: The exit code.
        again: The arguments of the command that runs the remaining checks, or everything again.
    """
    if code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        return f"exit {int(code)}: {_stopped(run)}. Next: `{shlex.join(again)}`"
    blocked = run.blocked
    if blocked and blocked.code == code:
        return f"exit {int(code)}: {blocked.what}" + (
            f". Next: {blocked.hint}" if blocked.hint else ""
        )
    worst = next((result for result in run.list_failed()), None)
    if worst:
        return f"exit {int(code)}: {worst.id} failed. Next: {next_step.choose_hint(worst)}"
    unknown = next((result for result in run.results if verdict.is_verdict_missing(result)), None)
    if unknown:
        step, reason = (
            next_step.choose_hint(unknown),
            f" ({cut_text(escape_text(results_text.summarize_result(unknown)), 100)})",
        )
        if unknown.cause:
            reason = f", {known_causes.format_cause(unknown.cause)}"
        return f"exit {int(code)}: {unknown.id} has no verdict{reason}. Next: {step}"
    all_skipped = bool(run.results) and all(result.status == "skip" for result in run.results)
    summary = (
        headline.explain_no_claim(headline.summarize_run(run))
        if all_skipped
        else "nothing was verified"
    )
    step = "tpustarter check" if all_skipped else "tpustarter check --list"
    reasons = {
        ExitCode.SOFT: "there are warnings, and `--fail-on warn` was given. Next: read them above",
        ExitCode.NO_DEVICE: f"there is no {run.require} here. Next: `tpustarter check 'host.*' -v`",
        ExitCode.NOTHING_VERIFIED: f"{summary}. Next: `{step}`",
    }
    return f"exit {int(code)}: {reasons.get(code, summary)}"


def list_unreached_checks(run: Run) -> list[str]:
    """Return the ids of checks that a stopped run did not reach, if few enough to type."""
    names = [result.id for result in run.results if result.status == "notrun"]
    return names if len(names) <= _TYPED else []


def _stopped(run: Run) -> str:
    applying = [result for result in run.results if result.status != "skip"]
    ran = sum(result.status != "notrun" for result in applying)
    if not ran:
        return "stopped before any check has run"
    return f"stopped; this report has the results of {ran} of {len(applying)} checks"


def format_log_hint(run: Run, logs: Sequence[Path]) -> str:
    """Return a hint with the command that explains an error or failure, or "" if there is none.

    An error with a known cause is explained by the lesson of the check that found the cause.
    """
    errors = [result for result in run.results if result.status == "error"]
    known = {result.cause.check for result in errors if result.cause}
    caused = [result for result in run.results if result.id in known]
    lessons = [result.lesson for result in (*run.list_failed(), *caused) if result.lesson]
    if logs and any(map(next_step.is_unexplained, errors)):
        command = format_explain_command(logs)
    elif lessons:
        command = f"tpustarter learn {escape_text(lessons[0])}"
    else:
        return ""
    return f"This says why:\n  {command}"


def next_step_lines(run: Run, code: ExitCode) -> list[str]:
    """Return lines with the next step after each failure and warning.

    A step that the line about the exit code already has is omitted.
    """
    failed = [result for result in run.results if result.status == "fail"]
    if code == ExitCode.FAILED:
        failed = [result for result in failed if result is not run.list_failed()[0]]
    told = run.blocked.hint if run.blocked and run.blocked.code == code else ""
    warned = [result for result in run.results if result.status == "warn"]
    checks: dict[str, list[str]] = {}
    for result in (*failed, *warned):
        if next_step.choose_hint(result) == told:
            continue
        word = "failure" if result.status == "fail" else "warning"
        checks.setdefault(_step(result), []).append(f"the {word} of {escape_text(result.id)}")
    lines: list[str] = []
    for step, names in list(checks.items())[:_NAMED]:
        lines += wrap(f"Next, for {phrases.join_words(names)}:")
        lines += wrap(step, "  ") if "`" in step else [f"  {format_commands(step)}"]
    if len(checks) > _NAMED:
        lines.append("What helps with the others stands above, beside the word do.")
    return lines


def _step(result: Result) -> str:
    hint = next_step.choose_hint(result)
    if hint.command:
        return escape_text(hint.command)
    step = escape_text(hint)
    if "`" in step or not result.lesson:
        return step
    return f"{step}, see `tpustarter learn {escape_text(result.lesson)}`"


def format_next_step(run: Run, *, in_cell: bool = False) -> str:
    """Return the next step after a successful run, or "" if its warnings have steps of their own.

    A user who named checks gets their lesson. A user who has done no lesson yet is sent to the
    tutor, even after a warning, or to the list of lessons in a cell, where the tutor can't open.
    """
    from tpustarter.learning.progress import lesson_progress

    is_new = not run.ids and not lesson_progress.read_progress().lessons
    warned = any(result.status == "warn" for result in run.results)
    if in_cell and not run.ids:
        return "" if warned else "Your path through the lessons: `tpustarter learn`"
    if warned:
        return "Or open the tutor first, and run a lesson: `tpustarter`" if is_new else ""
    lessons = {result.lesson for result in run.results if result.lesson}
    if run.ids:
        (*others, lesson) = lessons or {""}
        is_one = lesson and not others
        if is_one:
            return f"Read what it means: `tpustarter learn {escape_text(lesson)}`"
        return "All checks of this machine: `tpustarter check`"
    if is_new:
        return "Now open the tutor, and run your first lesson: `tpustarter`"
    return "Go on with your lessons in the tutor: `tpustarter`"
