"""Find the worker of a job that failed first, by comparing all workers' logs.

Hosts' clocks differ, so causes take precedence over times: a worker with an error of its own is
ranked before one that the others miss, and both before workers that only report that another one is
gone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from tpustarter.core.problem import ExitCode
from tpustarter.explain import (
    explain_output,
    explanation_document,
    explanation_text,
    known_failures,
)
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.explanation_text import ExplanationPart
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.log_scanner import FailureSign, FoundFailure, LogScan
from tpustarter.text.terminal import Paint, cut_text, escape_text, paint_nothing

COMPARED = "comparison of workers"
"""The `pattern` of a sign inferred from the other logs."""
LATE_S = 5.0
"""Seconds after all others by which a worker must give up to count as late."""
MOST_SHOWN = 16
"""Most other workers that are listed."""

_GLOG_TIME = re.compile(r"\b[EFIW]\d{4} (\d\d):(\d\d):(\d\d(?:\.\d+)?)")
_DIGITS = re.compile(r"\d+")


class WorkerState(Enum):
    """A worker's state according to its log."""

    FAILED = "failed"
    """It has an error of its own."""
    ENDED = "ended"
    """Its program ended while others continued."""
    LOST = "lost"
    """It reports only that another worker is gone or did not arrive."""
    QUIET = "quiet"
    """It has no error."""


@dataclass(frozen=True)
class WorkerEnd:
    """One worker's end according to its log."""

    name: str
    """For example `worker 3`."""
    number: int | None
    """Its process number, by which others refer to it; None if unknown."""
    log: str
    """Its file's name; empty for one worker's lines in a combined log."""
    found: Explanation
    state: WorkerState
    missed: frozenset[int]
    """Numbers of the processes that it reports missing."""
    last_line: str


@dataclass(frozen=True)
class JobExplanation:
    """The failure of a multi-worker job: the first worker that failed, and its cause."""

    first: WorkerEnd | None
    """The worker that failed first; None if the logs do not show it."""
    is_shared: bool
    """True if every worker shows the same error."""
    found: Explanation
    """The explanation of that worker's failure; if no worker is first, of a representative
    worker's."""
    workers: tuple[WorkerEnd, ...]

    @property
    def code(self) -> ExitCode:
        """Return 0 if the first worker or a known failure was found, otherwise 5."""
        is_known = self.first or self.found.is_explained
        return ExitCode.OK if is_known else ExitCode.NOTHING_VERIFIED


def explain_job(
    logs: Mapping[str, LogScan],
    files: Mapping[str, str] | None = None,
    places: Mapping[str, Sequence[int]] | None = None,
) -> JobExplanation:
    """Explain why a job failed.

    Args:
        logs: Each worker's scan by the worker's name.
        files: The names of the workers' log files; None for a combined log.
        places: The line numbers of each worker's lines in a combined log.
    """
    _share_needs(list(logs.values()))
    numbers = _numbers(list(logs))
    job = _compare(
        tuple(
            _worker(name, numbers.get(name), (files or {}).get(name, ""), scan)
            for name, scan in logs.items()
        )
    )
    shown = job.first or job.workers[0]
    return replace(job, found=_renumber_lines(job.found, places[shown.name])) if places else job


def _renumber_lines(found: Explanation, lines: Sequence[int]) -> Explanation:
    """Return one worker's explanation with the line numbers of the combined log."""
    matches = tuple(
        replace(
            match,
            signs=tuple(
                replace(sign, line=lines[min(sign.line, len(lines)) - 1]) for sign in match.signs
            ),
        )
        for match in found.matches
    )
    return replace(found, matches=matches, lines=lines[-1])


def worker_names(files: Sequence[str]) -> list[str]:
    """Return the names of the workers with these log files, such as `worker 3`.

    The number is the one that differs between the file names. Without one, a worker is named after
    its file.
    """
    numbers = _numbers(files)
    if len(set(numbers.values())) == len(files):
        return [f"worker {numbers[file]}" for file in files]
    shown = [Path(file).name for file in files]
    return shown if len(set(shown)) == len(shown) else list(files)


def _numbers(names: Sequence[str]) -> dict[str, int]:
    """Return a number for each name: the last group of digits that differs in every name."""
    groups = [[int(digits) for digits in _DIGITS.findall(name)] for name in names]
    if len({len(group) for group in groups}) != 1:
        return {}
    different = [column for column in zip(*groups, strict=True) if len(set(column)) == len(names)]
    return dict(zip(names, different[-1], strict=True)) if different else {}


def _share_needs(scans: Sequence[LogScan]) -> None:
    """Let words required in one log, such as `jax`, be satisfied by another worker's log."""
    needs: dict[str, list[FailureSign]] = {}
    for scan in scans:
        for failure, seen in scan.seen.items():
            needs.setdefault(failure, []).extend(seen.signs.get("needs", [])[:1])
    for scan in scans:
        for failure, signs in needs.items():
            if signs:
                scan.seen.setdefault(failure, FoundFailure()).signs.setdefault("needs", signs)


def _worker(name: str, number: int | None, file: str, scan: LogScan) -> WorkerEnd:
    found = explain_output.explain_log(scan)
    peers = [match for match in found.matches if match.failure.of_peer]
    missed = {number for match in peers for number in _list_missed_workers(match)}
    last = next((line for line in reversed(scan.last.split("\n")) if line.strip()), "")
    return WorkerEnd(name, number, file, found, _state(found, peers), frozenset(missed), last)


def _state(found: Explanation, peers: Sequence[FailureMatch]) -> WorkerState:
    if found.has_own_error or (found.has_failed and not peers):
        return WorkerState.FAILED
    first_peer = min((match.signs[0].line for match in peers), default=found.lines + 1)
    said = {match.failure.id for match in peers}
    own = [
        match
        for match in found.matches
        if not match.failure.of_peer
        and match.failure.role != "notice"
        # The line that blames a peer may end with a reason that lies in this process.
        and match.signs[0].line < first_peer + (not said.isdisjoint(match.failure.explains))
    ]
    if own:
        return WorkerState.FAILED
    if any("ENDED" in sign.values for match in peers for sign in match.signs):
        return WorkerState.ENDED
    return WorkerState.LOST if peers else WorkerState.QUIET


def _list_missed_workers(match: FailureMatch) -> Iterator[int]:
    for sign in match.signs:
        tasks = sign.values.get("TASKS", "")
        for digits in re.findall(r"(\d+)(?=[\s,]|$)", tasks):
            yield int(digits)
        if "LEADER" in sign.values:
            yield 0


def _compare(workers: tuple[WorkerEnd, ...]) -> JobExplanation:
    failed = [one for one in workers if one.state is WorkerState.FAILED]
    missed = Counter(number for one in workers for number in one.missed)
    if failed and len({_identity(one) for one in failed}) == 1 and len(failed) == len(workers):
        first = _different(failed)
        shown = first or failed[0]
        return JobExplanation(first, is_shared=True, found=shown.found, workers=workers)
    if failed:
        first = max(failed, key=lambda one: (_times_missed(one, missed), one.found.is_explained))
        return JobExplanation(first, is_shared=False, found=first.found, workers=workers)
    is_missed = any(one.state is WorkerState.LOST for one in workers)
    for row, candidates in (
        ("worker-ended-early", [one for one in workers if one.state is WorkerState.ENDED]),
        ("worker-gone", _most_missed(workers, missed)),
        ("worker-not-started", [one for one in workers if not one.found.lines]),
        ("worker-late", _late(workers)),
        ("worker-gone", [one for one in workers if one.state is WorkerState.QUIET]),
    ):
        if len(candidates) == 1 and is_missed:
            first = candidates[0]
            found = _add_failure(first, row if first.found.lines else "worker-not-started")
            return JobExplanation(first, is_shared=False, found=found, workers=workers)
    most = max(workers, key=lambda one: one.found.is_explained)
    return JobExplanation(None, is_shared=False, found=most.found, workers=workers)


def _identity(one: WorkerEnd) -> str:
    """Return an error without the numbers in it, which differ between workers."""
    named = one.found.matches[0].failure.id if one.found.is_explained else one.found.last_error
    return _DIGITS.sub("", named)


def _different(failed: Sequence[WorkerEnd]) -> WorkerEnd | None:
    """Return the only worker whose error has other numbers than the others' common error."""
    errors = Counter(one.found.last_error for one in failed)
    rare = [one for one in failed if errors[one.found.last_error] == 1]
    return rare[0] if len(rare) == 1 and len(errors) == 2 and len(failed) > 2 else None


def _most_missed(workers: Sequence[WorkerEnd], missed: Counter[int]) -> list[WorkerEnd]:
    most = max(missed.values(), default=0)
    return [one for one in workers if most and _times_missed(one, missed) == most]


def _times_missed(one: WorkerEnd, missed: Counter[int]) -> int:
    return 0 if one.number is None else missed[one.number]


def _late(workers: Sequence[WorkerEnd]) -> list[WorkerEnd]:
    times = {one.name: seconds for one in workers if (seconds := _gave_up_at(one)) is not None}
    if len(times) != len(workers) or len(workers) < 2:
        return []
    *_, before, last = sorted(times.values())
    return [one for one in workers if times[one.name] == last and last - before > LATE_S]


def _gave_up_at(one: WorkerEnd) -> float | None:
    """Return the time of day in seconds at which a worker gave up waiting for others."""
    for match in one.found.matches:
        for sign in match.signs:
            if match.failure.of_peer and (time := _GLOG_TIME.search(sign.quote)):
                hours, minutes, seconds = time.groups()
                return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    return None


def _add_failure(first: WorkerEnd, row: str) -> Explanation:
    failure = next(one for one in known_failures.read_known_failures() if one.id == row)
    sign = FailureSign(COMPARED, max(first.found.lines, 1), first.last_line)
    sure = "possible" if row == "worker-late" else "likely"
    match = FailureMatch(failure, sure, (sign,))
    return replace(first.found, matches=(match, *first.found.matches))


def render_explanation(job: JobExplanation, paint: Paint = paint_nothing) -> str:
    """Return the explanation as text: the first worker's in detail, the others on a line each."""
    others = [one for one in job.workers if one is not job.first][:MOST_SHOWN]
    head = [ExplanationPart(_headline(job)), ExplanationPart()]
    tail = [
        ExplanationPart(),
        ExplanationPart("The other workers:" if job.first else "The workers:"),
    ]
    tail += [_in_a_line(one) for one in others]
    more = len(job.workers) - len(others) - bool(job.first)
    if more > 0:
        tail.append(ExplanationPart(f"  and {more} more (`--json` has them all)"))
    middle = explanation_text.explanation_parts(job.found, has_all_logs=True)
    return "\n".join(explanation_text.format_parts([*head, *middle, *tail], paint))


def _headline(job: JobExplanation) -> str:
    count = len(job.workers)
    if job.first is None and job.is_shared:
        return f"All {count} workers failed with the same error."
    if job.first is None:
        return f"The logs of {count} workers do not tell which one failed first."
    place = f" ({escape_text(job.first.log)})" if job.first.log else ""
    if job.is_shared:
        name = escape_text(job.first.name)
        return f"Of {count} workers, only {name} has other values in its error{place}."
    return f"Of {count} workers, {escape_text(job.first.name)} failed first{place}."


def _in_a_line(one: WorkerEnd) -> ExplanationPart:
    found = one.found
    if one.state is WorkerState.QUIET:
        last = f"; its last line is {one.last_line.strip()}" if one.last_line else ""
        text = f"shows no error{last}" if found.lines else "printed nothing"
    elif found.matches and not found.has_own_error:
        text = found.matches[0].failure.what
    else:
        text = found.last_error
    return ExplanationPart(escape_text(cut_text(text, 200)), escape_text(one.name), indent=2)


def make_json_document(job: JobExplanation) -> dict[str, object]:
    """Return the explanation as JSON: the first worker's explanation, and all workers."""
    return {
        **explanation_document.make_json_document(job.found),
        "first": job.first.name if job.first else None,
        "workers": [
            {
                "worker": one.name,
                "log": one.log or None,
                "lines": one.found.lines,
                "state": one.state.value,
                "match": one.found.matches[0].failure.id if one.found.matches else None,
                "last_error": one.found.last_error or None,
                "misses": sorted(one.missed),
            }
            for one in job.workers
        ],
        "exit_code": int(job.code),
    }
