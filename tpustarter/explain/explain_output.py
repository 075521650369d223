"""The explanation of a program's output: known failures, and mistakes in the program itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tpustarter.checking.plan import interpreters
from tpustarter.core.problem import Problem
from tpustarter.explain import (
    command_ending,
    explanation_text,
    known_failures,
    lesson_failures,
    machine_evidence,
    program_mistakes,
    ranking,
)
from tpustarter.explain.explanation_text import Explanation, find_last_error
from tpustarter.explain.log_scanner import LogScan
from tpustarter.explain.program_mistakes import TRACEBACK, Traceback, read_tracebacks
from tpustarter.explain.ranking import FailureMatch


@dataclass(frozen=True)
class CommandEnd:
    """The exit code of a command, and the processes that were killed while it ran."""

    code: int
    """Its exit code, as a shell reports it."""
    kills: Mapping[str, int] = field(default_factory=dict[str, int])
    """Processes that the kernel killed for lack of memory meanwhile, by where it counts them."""


def explain_log(
    scan: LogScan,
    env: Mapping[str, str] | None = None,
    end: CommandEnd | None = None,
    *,
    lessons: Path | None = None,
    lesson: str = "",
) -> Explanation:
    """Explain a log; this machine is not looked at.

    Args:
        scan: The signs in the log.
        env: The environment in which the user's Python is looked for; None for this one.
        end: How the command ended, where that is known.
        lessons: The folder of the lessons, which name errors, too; None for the program's own.
        lesson: The lesson in which it happened, if any.
    """
    failures = known_failures.read_failures()
    matches = ranking.rank_failures(scan, failures)
    if end:
        matches = command_ending.add_exit_code(matches, scan, failures, end.code)
        matches = command_ending.add_kills(matches, scan, failures, end.kills)
    own = _own_error(matches, scan)
    found = Explanation(
        tuple(matches),
        scan.lines,
        own.error if own else find_last_error(scan.last),
        _python(env),
        has_failed=bool(end and end.code) or TRACEBACK in scan.last,
        has_own_error=bool(own),
        framework=explanation_text.find_framework(scan.last),
    )
    if found.is_explained:
        return replace(found, own_line=_own_line(matches[0], scan.last))
    named = lesson_failures.read_mistakes(lessons, lesson)
    text = f"{TRACEBACK}:\n{own.text}" if own else scan.last
    mistake = program_mistakes.find_mistake(found.last_error, text, named, python=found.python)
    return replace(
        found, mistake=mistake, own_line="" if mistake else program_mistakes.find_program_line(text)
    )


def _own_error(matches: Sequence[FailureMatch], scan: LogScan) -> Traceback | None:
    """Return the error with which a program ended before it lost the others of its job.

    Where a process of a job raises, JAX's coordination service aborts it afterwards, and its last
    lines speak of the others. None where no process was lost, or where a cause is known.
    """
    if not matches or not matches[0].failure.of_peer:
        return None
    first = min(match.signs[0].line for match in matches if match.failure.of_peer)
    before = [one for one in read_tracebacks(scan.last, scan.lines) if one.line < first]
    return before[-1] if before else None


def _own_line(match: FailureMatch, end_of_log: str) -> str:
    """Return the line of the program that led to something, where the last traceback tells it."""
    traceback = end_of_log.rpartition(TRACEBACK)[2]
    is_told = any(sign.quote and sign.quote in traceback for sign in match.signs)
    return program_mistakes.find_program_line(end_of_log) if is_told else ""


def can_confirm_here(one: Explanation) -> bool:
    """Return whether the host checks of this machine may confirm a match."""
    return machine_evidence.can_confirm(one.matches)


def _python(env: Mapping[str, str] | None) -> str:
    env = os.environ if env is None else env
    try:
        chosen, _ = interpreters.choose_interpreter(None, env, Path.cwd())
    except Problem:
        return "python3"
    return interpreters.format_path(chosen.path, env, Path.cwd())
