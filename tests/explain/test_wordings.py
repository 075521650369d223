"""Errors in several wordings: each gets the answer of its kind."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.explain import measure
from tpustarter.explain import explain_output, explanation_text, known_failures
from tpustarter.explain.explanation_text import Explanation
from tpustarter.explain.log_scanner import FailureScanner

FILE = Path(__file__).with_name("wordings.yml")
WORDS = 150
"""The most words of an answer, without the addresses below it."""
CASES = [
    pytest.param(row, log, id=f"{row.get('failure') or row['mistake']}-{number}")
    for row in yaml.safe_load(FILE.read_text())
    for number, log in enumerate(row["logs"])
]


@pytest.fixture(scope="module")
def scanner() -> FailureScanner:
    """Return the scanner of all rows."""
    return FailureScanner(known_failures.read_known_failures())


def explained(scanner: FailureScanner, log: str) -> Explanation:
    """Return the explanation of a log."""
    return explain_output.explain_log(scanner.scan(io.BytesIO(f"{log}\n".encode())))


@pytest.mark.parametrize(
    "log",
    [
        "INFO Installing handler for SIGTERM, SIGSEGV and SIGABRT on a TPU VM",
        "ValueError: Splash attention kernel is only supported on TPU",
    ],
)
def test_neighbour_of_a_failure_is_none(log: str, scanner: FailureScanner) -> None:
    """The words of a failure stand in a line that says something else."""
    assert explained(scanner, log).matches == ()


@pytest.mark.parametrize(("row", "log"), CASES)
def test_wording_gets_answer_of_its_kind(
    row: dict[str, Any], log: str, scanner: FailureScanner
) -> None:
    """A failure comes first, or the mistake is told because no failure explains the end."""
    found = explained(scanner, log)

    if "failure" in row:
        assert row["failure"] == found.matches[0].failure.id
    else:
        assert not found.is_explained
        assert found.mistake
        assert re.search(row["mistake"], found.mistake.mistake.means)


def test_answers_are_short() -> None:
    """The row's own text is counted; the quoted line and the addresses are not."""
    told = {
        row.id: " ".join((row.what, row.numbers, row.why, *row.fix, row.never))
        for row in known_failures.read_known_failures()
    }

    assert [] == [name for name, text in told.items() if len(text.split()) > WORDS]


_COSTS = re.compile(
    r"^(?:unset\b|rm\b|sudo rm\b|gcloud \S.*\b(?:create|delete)\b|kubectl delete\b|"
    r"tpustarter tpu (?:create|delete)\b|PYTHON -m pip uninstall\b|"
    r"(?:Delete|Create|Unset|Remove)\b)"
)
"""The beginning of advice that costs money, or that deletes a setting or a thing."""


def test_first_advice_costs_and_deletes_nothing() -> None:
    """Advice that looks comes before it."""
    first = {row.id: row.fix[0] for row in known_failures.read_known_failures()}

    assert [] == [f"{name}: {fix}" for name, fix in first.items() if _COSTS.match(fix)]


def test_cuda_logs_are_no_tpu_failures() -> None:
    """The real logs of programs that ask for CUDA get the mistake, and no failure."""
    names = ("torch-no-nvidia-driver", "torch-not-compiled-with-cuda", "torch-nccl-no-gpus-found")
    scanner = FailureScanner(known_failures.read_known_failures())
    for name in names:
        [log] = measure.LOGS.glob(f"*/{name}.log")
        found = explained(scanner, log.read_text(encoding="utf-8"))

        assert found.mistake, name
        assert "port-a-cuda-script" in found.mistake.command
        shown = explanation_text.render_explanation(found)
        assert "a mistake in the program" not in shown
