"""How a command ended, as a sign of what went wrong: its exit code, and the memory of the host.

A signal is a symptom: whatever a log shows as a cause explains it. It speaks for itself only where
the log shows none, and then says what such an end usually means and how to tell which.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tpustarter.explain.known import Failure
from tpustarter.explain.ranking import Match, in_order
from tpustarter.explain.scanning import Scan, Seen, Sign

EXIT_CODE = "exit code"
"""What stands for the pattern of such a sign."""
_OUT_OF_MEMORY = "host-memory-out"


def in_words(code: int) -> str:
    """Return how a command ended; a shell tells a signal as 128 and its number."""
    # What a shell tells of a signal is no different from a program that ends with that code.
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return f"the command ended with exit code {code}"
    return f"the command was killed by {name} (exit code {code})"


def with_exit_code(
    matches: Sequence[Match], scan: Scan, failures: Sequence[Failure], code: int
) -> list[Match]:
    """Return the matches of a log with what the exit code adds to them, in their order by then."""
    sign = Sign(EXIT_CODE, scan.lines + 1, in_words(code))
    causes = [match for match in matches if match.failure.role == "cause"]
    found = {match.failure.id: match for match in matches}
    for one in failures:
        if code not in one.exit_codes or scan.seen.get(one.id, Seen()).signs.get("unless"):
            continue
        if match := found.get(one.id):
            found[one.id] = replace(match, signs=(*match.signs, sign))
        else:
            by = causes[0].failure.id if causes else ""
            found[one.id] = Match(one, "likely", (sign,), by)
    return in_order(found.values())


def with_kills(
    matches: Sequence[Match], scan: Scan, failures: Sequence[Failure], kills: Mapping[str, int]
) -> list[Match]:
    """Return the matches, confirmed where the kernel ended a process for lack of memory.

    Args:
        matches: What is known so far.
        scan: What was found in the log.
        failures: What is known to go wrong.
        kills: How many processes the kernel ended while the command ran, by where it counts them.
    """
    where = next((place for place, count in kills.items() if count > 0), None)
    row = next((one for one in failures if one.id == _OUT_OF_MEMORY), None)
    if where is None or row is None:
        return list(matches)
    count = kills[where]
    noun = "process" if count == 1 else "processes"
    here = f"the kernel ended {count} {noun} for lack of memory while the command ran ({where})"
    sign = Sign("oom_kill", scan.lines + 1, "the kernel counts it")
    signs = next((match.signs for match in matches if match.failure == row), (sign,))
    confirmed = Match(row, "confirmed", signs, here=here)
    others = [
        replace(match, explained_by=row.id) if _is_end(match) else match
        for match in matches
        if match.failure != row
    ]
    return in_order([confirmed, *others])


def _is_end(match: Match) -> bool:
    """Return whether nothing but the exit code shows it."""
    return all(sign.pattern == EXIT_CODE for sign in match.signs)
