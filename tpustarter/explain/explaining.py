"""Explains what a program wrote: what is known of it, and what this machine shows of that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tpustarter.checking import interpreters
from tpustarter.explain import ending, known, looking, mistakes, ranking, taught
from tpustarter.explain.explanation import Explanation, last_error
from tpustarter.explain.ranking import Match
from tpustarter.explain.scanning import Scan
from tpustarter.problem import Problem


@dataclass(frozen=True)
class End:
    """How a command ended."""

    code: int
    """Its exit code, as a shell tells it."""
    kills: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many processes the kernel ended for lack of memory meanwhile, by where it counts."""


def from_log(
    scan: Scan,
    env: Mapping[str, str] | None = None,
    end: End | None = None,
    *,
    lessons: Path | None = None,
    lesson: str = "",
) -> Explanation:
    """Return the explanation of what a log shows; nothing is looked at.

    Args:
        scan: What was found in the log.
        env: The environment in which the user's Python is looked for; null for this one.
        end: How the command ended, where that is known.
        lessons: The folder of the lessons, which name errors, too; None for the program's own.
        lesson: The lesson in which it happened, if any.
    """
    failures = known.read()
    matches = ranking.rank(scan, failures)
    if end:
        matches = ending.with_exit_code(matches, scan, failures, end.code)
        matches = ending.with_kills(matches, scan, failures, end.kills)
    error = last_error(scan.last)
    named = () if matches else taught.read(lessons, lesson)
    mistake = None if matches else mistakes.find(error, scan.last, named)
    line = _own_line(matches[0], scan.last) if matches else ""
    return Explanation(tuple(matches), scan.lines, error, _python(env), line, mistake)


def _own_line(match: Match, end_of_log: str) -> str:
    """Return the line of the program that led to something, where the last traceback tells it."""
    traceback = end_of_log.rpartition("Traceback (most recent call last)")[2]
    is_told = any(sign.quote and sign.quote in traceback for sign in match.signs)
    return mistakes.own_line(end_of_log) if is_told else ""


def can_look(one: Explanation) -> bool:
    """Return whether a look at this machine may confirm something."""
    return looking.can_confirm(one.matches)


def _python(env: Mapping[str, str] | None) -> str:
    """Return how the Python that is meant is started, as it is typed."""
    env = os.environ if env is None else env
    try:
        chosen, _ = interpreters.choose(None, env, Path.cwd())
    except Problem:
        return "python3"
    return interpreters.shown(chosen.path, env, Path.cwd())
