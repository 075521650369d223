"""Every row of the known failures is usable, matches its own examples, and has a usable fix."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import re2

from tests.support.failures import fields, scan, write
from tpustarter.core import content, locations
from tpustarter.core.problem import Problem
from tpustarter.explain import explanation_text, failure_ranking, known_failures
from tpustarter.explain.known_failures import KnownFailure

ROWS = known_failures.read_known_failures()
PATTERNS = ("shows", "suggests", "unless", "needs")
HOST_CHECKS = "\n".join(
    path.read_text() for path in sorted((locations.content_folder("checks") / "host").glob("*.py"))
)
LESSONS = {lesson.id for lesson in content.read_lessons()}
CODES = set(re.findall(r'"(HOST(?:-[A-Z0-9]+)+)"', HOST_CHECKS))


PIN = ("HOST-FRAMEWORKS-", "-PIN")
"""What the code of a finding about two packages begins and ends with."""


def all_fixes(row: KnownFailure) -> list[str]:
    """Return the fixes of a row, those of frameworks too."""
    return [*row.fix, *(fix for fixes in row.fix_in.values() for fix in fixes)]


def test_ordinary_words_meet_no_condition() -> None:
    """A condition such as `tpu` is not met by `output`, nor `xla` by an axis label of a plot."""
    words = ("the output is", "plt.xlabel(example)", "relaxation")
    met = [
        (row.id, pattern)
        for row in ROWS
        for pattern in row.needs
        if re2.search(f"(?i){known_failures.generalise_pattern(pattern)}", "\n".join(words))
    ]

    assert [] == met


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row_has_valid_patterns_and_links(row: KnownFailure) -> None:
    """A row's patterns work in both engines, and its lesson and evidence exist."""
    for part in PATTERNS:
        for pattern in getattr(row, part):
            re.compile(known_failures.generalise_pattern(pattern))
            re2.compile(known_failures.generalise_pattern(pattern))
            assert not re.search(known_failures.generalise_pattern(pattern), ""), pattern
    assert not row.read or row.read in LESSONS
    for code in row.confirm:
        found, _, words = code.partition(" ")
        assert words in HOST_CHECKS, f"no finding of a host check holds `{words}`"
        assert found in CODES or (found.startswith(PIN[0]) and found.endswith(PIN[1])), code
    assert not row.what.endswith(".")
    assert row.why.endswith((".", "`"))
    assert all(source.startswith("https://") for source in row.sources)
    for fix in all_fixes(row):
        # A sentence that ends with an address has no full stop, so that it can be copied.
        ends = fix.endswith((".", "`")) or "https://" in fix.split()[-1]
        assert ends or known_failures.is_fix_command(fix), fix
    assert set(row.fix_in) <= {"jax", "torch_xla", "tensorflow"}


def test_log_alone_never_ends_process() -> None:
    """No fix ends the process of a log's number alone: it may be of another machine."""
    fixes = [(row.id, fix) for row in ROWS for fix in all_fixes(row)]

    assert [] == [(name, fix) for name, fix in fixes if re.search(r"\bkill\b.*\bPID\b", fix)]


def test_jax_row_cites_jax_sources() -> None:
    """The two sources that are shown are of the framework that failed."""
    shown = [
        (row.id, source)
        for row in ROWS
        if "JAX" in (told := " ".join((row.what, row.why, *row.fix))) and "orch" not in told
        for source in row.sources[: explanation_text.MAX_SOURCES]
    ]

    assert [] == [(name, source) for name, source in shown if "/pytorch/xla/" in source]


def test_tensorflow_host_findings_confirm_failure() -> None:
    """The build, its libtpu, a second build, and a TPU that no TensorFlow runs on can be seen."""
    found = {code for code in CODES if code.startswith("HOST-FRAMEWORKS-TENSORFLOW")}

    assert len(found) >= 5
    assert set() == found - {code.partition(" ")[0] for row in ROWS for code in row.confirm}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row_finds_its_own_examples(row: KnownFailure) -> None:
    """A row is found in its own examples, first or after a cause that explains it."""
    for example in row.examples:
        matches = failure_ranking.rank_failures(scan(example), ROWS)

        assert row.id in [match.failure.id for match in matches[:3]], example


_SOUND = fields("one", shows=["a sign"])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [_SOUND | {"role": "culprit"}],
            "its `role` is 'culprit', expected one of cause, symptom, notice",
        ),
        ([_SOUND | {"shows": []}], "neither `shows` nor `suggests`"),
        ([_SOUND | {"exit_codes": [0]}], "its `exit_codes` is [0], expected `int` >= 1"),
        (
            [_SOUND | {"exit_codes": [True]}],
            "its `exit_codes` is [True], expected `int`, got `bool`",
        ),
        ([_SOUND | {"exit_codes": "137"}], "its `exit_codes` is '137', expected `array`"),
        ([_SOUND | {"shows": "a sign"}], "its `shows` is 'a sign', expected `array`"),
        ([_SOUND | {"sings": ["a sign"]}], "unknown field `sings`"),
        ([_SOUND, _SOUND], "two rows called `one`"),
        ([_SOUND | {"explains": ["nobody"]}], "explains 'nobody'"),
        (["one"], "expected keys and values"),
    ],
)
def test_invalid_row_is_named(tmp_path: Path, rows: Any, expected: str) -> None:
    """An invalid row is one clear error."""
    with pytest.raises(Problem, match=re.escape(expected)):
        known_failures.read_known_failures(write(tmp_path / "failures.yml", *rows))
