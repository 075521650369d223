"""Infer failures from a command's exit code, and from out-of-memory kills.

A signal is a symptom, so a cause found in the log explains it. Without such a cause, the signal's
own row is the result: it lists the usual reasons, and how to distinguish them.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tpustarter.explain.failure_ranking import FailureMatch, sort_matches
from tpustarter.explain.known_failures import KnownFailure
from tpustarter.explain.log_scanner import FailureSign, FoundFailure, LogScan
from tpustarter.text import phrases

EXIT_CODE = "exit code"
"""The `pattern` of a sign inferred from the exit code."""
_OUT_OF_MEMORY = "host-memory-out"


def describe_exit_code(code: int) -> str:
    """Return a phrase for an exit code; shells report a signal as 128 plus its number."""
    # A program that itself exits with 128 plus a number looks the same as one that was killed.
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return f"the command ended with exit code {code}"
    return f"the command was killed by {name} (exit code {code})"


def add_exit_code(
    matches: Sequence[FailureMatch], scan: LogScan, failures: Sequence[KnownFailure], code: int
) -> list[FailureMatch]:
    """Add the failures that an exit code indicates, and return all matches in ranked order."""
    sign = FailureSign(EXIT_CODE, scan.lines + 1, describe_exit_code(code))
    causes = [match for match in matches if match.failure.role == "cause"]
    found = {match.failure.id: match for match in matches}
    for one in failures:
        if code not in one.exit_codes or scan.seen.get(one.id, FoundFailure()).signs.get("unless"):
            continue
        if match := found.get(one.id):
            found[one.id] = replace(match, signs=(*match.signs, sign))
        else:
            by = causes[0].failure.id if causes else ""
            found[one.id] = FailureMatch(one, "likely", (sign,), by)
    return sort_matches(found.values())


def add_out_of_memory_kills(
    matches: Sequence[FailureMatch],
    scan: LogScan,
    failures: Sequence[KnownFailure],
    kills: Mapping[str, int],
) -> list[FailureMatch]:
    """Return the matches, with a lack of host memory confirmed if the kernel killed a process.

    Args:
        matches: The matches so far.
        scan: The signs found in the log.
        failures: The known failures.
        kills: Number of processes the kernel killed while the command ran, by the file that counts
            them.
    """
    where = next((place for place, count in kills.items() if count > 0), None)
    row = next((one for one in failures if one.id == _OUT_OF_MEMORY), None)
    if where is None or row is None:
        return list(matches)
    killed = phrases.format_count(kills[where], "process", "processes")
    here = f"the kernel ended {killed} for lack of memory while the command ran ({where})"
    sign = FailureSign("oom_kill", scan.lines + 1, "the kernel counts it")
    signs = next((match.signs for match in matches if match.failure == row), (sign,))
    confirmed = FailureMatch(row, "confirmed", signs, here=here)
    others = [
        replace(match, explained_by=row.id) if _is_end(match) else match
        for match in matches
        if match.failure != row
    ]
    return sort_matches([confirmed, *others])


def _is_end(match: FailureMatch) -> bool:
    return all(sign.pattern == EXIT_CODE for sign in match.signs)
