"""What `check` says last: why its exit code is not 0, and what to do now."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tpustarter.checking import causes, headline, text, verdict
from tpustarter.cli.endings import explaining
from tpustarter.invocation import as_typed
from tpustarter.problem import ExitCode
from tpustarter.terminal import cut, visible, wrap

if TYPE_CHECKING:
    from tpustarter.checking.results import Result, Run


_COMMAND = re.compile(r"(?:run )?`(?P<command>[^`]+)`")
"""A step that begins with a command; what follows says what else it does, or what comes then."""
_NAMED = 3
"""Checks for which a run ends with the next step; of more the report has it."""
_TYPED = 4
"""Checks that are named in a command; of more the whole run is begun again."""


def explain_exit(run: Run, code: ExitCode, again: Sequence[str] = ("tpustarter", "check")) -> str:
    """Return one line for stderr: what, why, and the command to run next.

    Args:
        run: What was run.
        code: The exit code.
        again: The words of the command that runs what is left, or all of it again.
    """
    if code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        return f"exit {int(code)}: {_stopped(run)}. Next: `{shlex.join(again)}`"
    blocked = run.blocked
    if blocked and blocked.code == code:
        return f"exit {int(code)}: {blocked.what}" + (
            f". Next: {blocked.hint}" if blocked.hint else ""
        )
    worst = next((result for result in run.failed()), None)
    if worst:
        return f"exit {int(code)}: {worst.id} failed. Next: {text.next_step(worst)}"
    unknown = next((result for result in run.results if verdict.without_verdict(result)), None)
    if unknown:
        step, reason = text.next_step(unknown), f" ({cut(visible(text.summary(unknown)), 100)})"
        if unknown.cause:
            reason = f", {causes.sentence(unknown.cause)}"
        return f"exit {int(code)}: {unknown.id} has no verdict{reason}. Next: {step}"
    all_skipped = bool(run.results) and all(result.status == "skip" for result in run.results)
    summary = headline.nothing(run) if all_skipped else "nothing was verified"
    step = "tpustarter check" if all_skipped else "tpustarter check --list"
    reasons = {
        ExitCode.SOFT: "there are warnings, and `--fail-on warn` was given. Next: read them above",
        ExitCode.NO_DEVICE: f"there is no {run.require} here. Next: `tpustarter check 'host.*' -v`",
        ExitCode.NOTHING_VERIFIED: f"{summary}. Next: `{step}`",
    }
    return f"exit {int(code)}: {reasons.get(code, summary)}"


def left(run: Run) -> list[str]:
    """Return the checks that a stop kept from a result, where they are few enough to be typed."""
    names = [result.id for result in run.results if result.status == "notrun"]
    return names if len(names) <= _TYPED else []


def _stopped(run: Run) -> str:
    """Say what a run that was stopped has come to."""
    applying = [result for result in run.results if result.status != "skip"]
    ran = sum(result.status != "notrun" for result in applying)
    if not ran:
        return "stopped before any check has run"
    return f"stopped; this report has the results of {ran} of {len(applying)} checks"


def why(run: Run, logs: Sequence[Path]) -> str:
    """Return the command that explains what is wrong, on a line of its own; empty for none.

    An error whose cause is known is explained by the lesson on that.
    """
    errors = [result for result in run.results if result.status == "error"]
    known = {result.cause.check for result in errors if result.cause}
    caused = [result for result in run.results if result.id in known]
    lessons = [result.lesson for result in (*run.failed(), *caused) if result.lesson]
    if logs and not all(result.cause for result in errors):
        command = explaining(logs)
    elif lessons:
        command = f"tpustarter learn {visible(lessons[0])}"
    else:
        return ""
    return f"This says why:\n  {command}"


def next_steps(run: Run, code: ExitCode) -> list[str]:
    """Return the lines that say what mends each failure and warning, or says more of it.

    What the line about the exit code says already is left out.
    """
    failed = [result for result in run.results if result.status == "fail"]
    if code == ExitCode.FAILED:
        failed = [result for result in failed if result is not run.failed()[0]]
    told = run.blocked.hint if run.blocked and run.blocked.code == code else ""
    warned = [result for result in run.results if result.status == "warn"]
    checks: dict[str, list[str]] = {}
    for result in (*failed, *warned):
        if text.next_step(result) == told:
            continue
        word = "failure" if result.status == "fail" else "warning"
        checks.setdefault(_step(result), []).append(f"the {word} of {visible(result.id)}")
    lines: list[str] = []
    for step, names in list(checks.items())[:_NAMED]:
        lines += wrap(f"Next, for {' and '.join(names)}:")
        lines += wrap(step, "  ") if "`" in step else [f"  {as_typed(step)}"]
    if len(checks) > _NAMED:
        lines.append("What helps with the others stands above, beside the word do.")
    return lines


def _step(result: Result) -> str:
    """Return what to do about a result: a command by itself, or a sentence that has one."""
    step = visible(text.next_step(result))
    if command := _COMMAND.match(step):
        return command["command"]
    if "`" in step or not result.lesson:
        return step
    return f"{step}, see `tpustarter learn {visible(result.lesson)}`"


def what_now(run: Run) -> str:
    """Return what to do after a run that ended well.

    Whoever named checks is told their lesson; who begins is told where the tutor is, also after a
    warning, for it keeps nobody from a lesson. Else a warning has its own next step.
    """
    from tpustarter.learning import progress

    is_new = not run.ids and not progress.read().lessons
    if any(result.status == "warn" for result in run.results):
        return "Or open the tutor first, and run a lesson: `tpustarter`" if is_new else ""
    lessons = {result.lesson for result in run.results if result.lesson}
    if run.ids:
        (*others, lesson) = lessons or {""}
        is_one = lesson and not others
        if is_one:
            return f"Read what it means: `tpustarter learn {visible(lesson)}`"
        return "All checks of this machine: `tpustarter check`"
    if is_new:
        return "Now open the tutor, and run your first lesson: `tpustarter`"
    return "Go on with your lessons in the tutor: `tpustarter`"
