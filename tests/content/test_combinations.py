"""Failures with a cause and its effects in one log: the cause is listed first."""

from __future__ import annotations

import functools
import io
import itertools

import pytest

from tpustarter.explain import failure_ranking, known_failures
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.log_scanner import FailureScanner

ROWS = known_failures.read_known_failures()
BY_ID = {name: row for row in ROWS for name in (row.id, *row.aliases)}
FILLER = "I1122 10:00:00.000000 41 train.py:8] TPU step 7 loss=2.31\n" * 40
SCANNER = FailureScanner(ROWS)
ALWAYS = ("peer-died", "broken-process-pool", "ended-by-signal")
"""What follows from whatever ends one process of a job."""


def matches(text: str) -> list[FailureMatch]:
    """Return the failures that match a log, in order."""
    return failure_ranking.rank_failures(SCANNER.scan(io.BytesIO(text.encode())), ROWS)


def ids(text: str) -> list[str]:
    """Return the failures in a log, in order."""
    return [match.failure.id for match in matches(text)]


@functools.cache
def sure(name: str) -> str:
    """Return an example whose first failure is this one, or an empty text."""
    for example in BY_ID[name].examples:
        first = matches(example)[:1]
        if first and first[0].failure is BY_ID[name] and first[0].confidence == "likely":
            return example
    return ""


@pytest.mark.parametrize("is_reversed", [False, True], ids=["in order", "reversed"])
def test_cause_comes_before_explained_effects(is_reversed: bool) -> None:
    """The cause is listed before its effects, whatever their order in the log."""
    wrong: list[str] = []
    tried = 0
    for row in ROWS:
        cause = sure(row.id)
        for name in row.explains if cause else ():
            follows = sure(name)
            parts = [cause, FILLER, follows]
            found = ids("\n".join(parts[::-1] if is_reversed else parts))
            # A text of one may exclude the other, as a container's options do.
            if not follows or row.id not in found or name not in found:
                continue
            tried += 1
            if found.index(row.id) > found.index(BY_ID[name].id):
                wrong.append(f"{row.id} after {name}: {found[:4]}")

    assert tried > 40
    assert not wrong


@pytest.mark.parametrize("is_reversed", [False, True], ids=["in order", "reversed"])
def test_cause_comes_before_process_death(is_reversed: bool) -> None:
    """The failure that broke one worker is listed before the reports that it is gone."""
    wrong: list[str] = []
    tried = 0
    causes = [row for row in ROWS if row.role == "cause" and sure(row.id)]
    for row, name in zip(causes, itertools.cycle(ALWAYS), strict=False):
        parts = [sure(row.id), FILLER, BY_ID[name].examples[0]]
        found = ids("\n".join(parts[::-1] if is_reversed else parts))
        if row.id not in found:
            continue
        tried += 1
        if BY_ID[name].id in found and found.index(row.id) > found.index(BY_ID[name].id):
            wrong.append(f"{row.id} after {name}: {found[:4]}")

    assert tried > 80
    assert not wrong


@pytest.mark.parametrize("name", ["hbm-oom", "hbm-full"])
def test_large_program_and_full_memory_are_distinguished(name: str) -> None:
    """`hbm-oom` advises on the compiler's list of allocations, `hbm-full` on live arrays."""
    for example in BY_ID[name].examples:
        assert [name] == ids(example)
    lists = ["message lists" in fix for fix in BY_ID[name].fix]
    assert (name == "hbm-oom") == any(lists)
    assert ("live_arrays" in BY_ID[name].fix[0]) == (name == "hbm-full")


def test_loops_come_first_for_needed_integer() -> None:
    """A needed integer suggests a loop such as `fori_loop` first, a condition `jnp.where`."""
    for name, first in (("python-if-in-jit", "jnp.where"), ("python-int-in-jit", "fori_loop")):
        row = BY_ID[name]

        assert [name] == ids(row.examples[0])
        assert first in row.fix[0]
