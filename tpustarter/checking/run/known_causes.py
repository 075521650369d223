"""Known causes of failures: a faulty variable found by another check and named by the error.

Nothing is guessed. A failure is attributed to the environment only if its own error, or the fatal
line of its process's output, names the variable or flag that a host check found to be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tpustarter.checking.results.results import Cause, FindingFields, Result

_FATAL = re.compile(r"^(F\d{4} |Fatal Python error|ERROR: Unknown command line flag)", re.MULTILINE)
"""Beginnings of lines that contain the reason why a process ended."""
_VARIABLE, _FLAG = "variable:", "--"
Rank = tuple[int, bool]
"""Sort key of a result, before causes are taken into account."""


def attribute_to_earlier_result(result: Result, earlier: Sequence[Result]) -> Result:
    """Add the cause to a result if an earlier result of the run proves it."""
    words = "\n".join(_words(result))
    for verdict in ("fail", "warn"):
        for other in earlier if words else ():
            for finding in other.findings:
                if finding["verdict"] == verdict and _is_named(finding, words):
                    return replace(result, cause=Cause(other.id, finding))
    return result


def rank_causes(results: Iterable[Result], rank: Callable[[Result], Rank]) -> dict[str, Rank]:
    """Rank the checks that caused failures, each by the best rank of its effects."""
    ranks: dict[str, Rank] = {}
    for result in results:
        if result.cause:
            check = result.cause.check
            ranks[check] = min(rank(result), ranks.get(check, rank(result)))
    return ranks


def make_sort_key(check: str, rank: Rank, raised: Mapping[str, Rank]) -> tuple[Rank, bool]:
    """Return a sort key that puts each cause directly above its first effect."""
    return min(rank, raised.get(check, rank)), check not in raised


def format_cause(cause: Cause) -> str:
    """Return the cause as a phrase: `because of host.environment: JAX_PLATFORMS ...`."""
    return f"because of {cause.check}: {cause.finding['name']}"


def _words(result: Result) -> Iterator[str]:
    if result.reason == "exception":
        yield result.detail
    elif result.reason == "crashed":
        yield from (line for line in result.log.splitlines() if _FATAL.match(line))
    yield from (
        str(finding["found"])
        for finding in result.findings
        if finding["code"] == "SETTINGS-CHANGED"
    )


def _is_named(finding: FindingFields, words: str) -> bool:
    entity, found = str(finding["entity"] or "").rpartition(" ")[2], str(finding["found"])
    if not entity.startswith(_VARIABLE):
        return False
    names = [entity.removeprefix(_VARIABLE)]
    names += [found.removeprefix(_FLAG)] if found.startswith(_FLAG) else []
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) for name in names)
