"""Measure `explain` on real logs, next to plain regular expressions, in one run.

    python -m tests.explain.measure [FOLDER] [--wrong] [--failures FILE ...]

FOLDER holds `index.yml` and logs. By default it is tests/samples/logs/held_out, in which no TPU
fails. `threads.yml` names the logs of public threads that were measured. `--wrong` lists what was
got wrong, for logs that are not unread any more.
"""

from __future__ import annotations

import argparse
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tpustarter.explain import failure_ranking, known_failures, log_scanner

LOGS = Path(__file__).parents[1] / "samples" / "logs"
PLAIN = Path(__file__).with_name("plain_patterns.json")


NOTICE = "harmless-warnings"
"""What a log is labelled with whose warnings are all harmless."""
_NOTICE = (NOTICE,)


@dataclass(frozen=True)
class Log:
    """A real log, and the causes that its thread found."""

    name: str
    data: bytes
    causes: frozenset[str]
    """Any of them is right; empty for a log without a failure of a TPU."""


def read(folder: Path) -> list[Log]:
    """Return the logs of a folder."""
    entries: list[dict[str, Any]] = yaml.safe_load((folder / "index.yml").read_text())
    return [
        Log(
            one["log"],
            (folder / one["log"]).read_bytes(),
            frozenset(one.get("any_of") or [one["cause"]]) - {None},
        )
        for one in entries
    ]


def explained(
    failures: Sequence[known_failures.KnownFailure],
    scan: Callable[[bytes], log_scanner.LogScan] | None = None,
) -> Callable[[bytes], list[frozenset[str]]]:
    """Return a function that runs `explain` on a log and gives ids, the most likely first.

    A notice says of itself that it breaks nothing, so in a healthy log it is no false alarm.
    `scan` searches a log for all failures, if something has done so before.
    """
    if scan is None:
        scanner = log_scanner.FailureScanner(failures)
        scan = lambda data: scanner.scan(io.BytesIO(data))  # noqa: E731

    def ask(data: bytes) -> list[frozenset[str]]:
        matches = failure_ranking.rank_failures(scan(data), failures)
        return [
            frozenset(
                (one.failure.id, *one.failure.aliases, *_NOTICE[one.failure.role != "notice" :])
            )
            for one in matches
        ]

    return ask


def plain() -> Callable[[bytes], list[frozenset[str]]]:
    """Return a function that searches a log for the catalogue's patterns, in the log's order."""
    patterns = {
        name: [re.compile(one) for one in shapes]
        for name, shapes in json.loads(PLAIN.read_text()).items()
    }

    def ask(data: bytes) -> list[frozenset[str]]:
        text = data.decode("utf-8", "replace")
        found: dict[str, int] = {}
        for name, shapes in patterns.items():
            if starts := [match.start() for one in shapes if (match := one.search(text))]:
                found[name] = min(starts)
        return [frozenset({name}) for name in sorted(found, key=lambda name: found[name])]

    return ask


def figures(ask: Callable[[bytes], list[frozenset[str]]], logs: Sequence[Log]) -> dict[str, Any]:
    """Return how many causes rank first and in the first three, and how many alarms are false."""
    wrong: list[str] = []
    first = third = alarms = 0
    failed = [log for log in logs if log.causes]
    for log in logs:
        answers = ask(log.data)
        if not log.causes:
            alarms += bool(answers) and NOTICE not in answers[0]
            if answers:
                wrong.append(f"{log.name}: nothing, got {_names(answers[:3])}")
            continue
        first += bool(answers and log.causes & answers[0])
        third += any(log.causes & one for one in answers[:3])
        if not (answers and log.causes & answers[0]):
            wrong.append(f"{log.name}: {'|'.join(sorted(log.causes))}, got {_names(answers[:4])}")
    return {
        "logs": len(failed),
        "first": first,
        "first three": third,
        "others": len(logs) - len(failed),
        "false alarms": alarms,
        "wrong": wrong,
    }


def _names(answers: Sequence[frozenset[str]]) -> str:
    return ", ".join(sorted(one)[0] for one in answers) or "nothing"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--failures", nargs="*", type=Path, default=[known_failures.FILE])
    options = parser.parse_args()
    folders = options.folders or [LOGS / "held_out"]
    logs = [log for folder in folders for log in read(folder)]
    failures = [
        one for file in options.failures for one in known_failures.read_known_failures(file)
    ]
    for name, ask in (("explain", explained(failures)), ("plain patterns", plain())):
        found = figures(ask, logs)
        wrong = found.pop("wrong")
        print(name, *(f"{key} {value}" for key, value in found.items()), sep="  ")
        if options.wrong and name == "explain":
            print(*(f"    {line}" for line in wrong), sep="\n")


if __name__ == "__main__":
    main()
