"""An error of memory is explained with the numbers that it has."""

from __future__ import annotations

import pytest

from tests.support.failures import explain
from tpustarter.explain import explanation_document, explanation_text, known_failures

COMPILER = "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space "
RUNTIME = "ValueError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate "


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            f"{COMPILER}hbm. Used 20.30G of 15.75G hbm. Exceeded hbm capacity by 4.55G.",
            "The program needs 20.3 GiB, which is 1.3 times the 15.75 GiB that one device has",
        ),
        (
            (
                "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO "
                "temporaries (16.25G) exceeds available HBM (15.75G)."
            ),
            "The program needs 16.25 GiB, which is 3 % more than the 15.75 GiB that",
        ),
        (
            f"{COMPILER}vmem. Used 65.05M of 64.00M vmem. Exceeded vmem capacity by 1.05M",
            "The kernel needs 65.05 MiB, which is 2 % more than the 64 MiB that it may use.",
        ),
        (
            f"{RUNTIME}1.50G. That was not possible. There are 147.64M free.; (0x0x1_HBM0)",
            "The program asks for 1.5 GiB, but only 147.64 MiB are free.",
        ),
    ],
)
def test_cause_begins_with_needed_and_available_memory(log: str, said: str) -> None:
    """The cause begins with the needed and available memory, as text and in the document."""
    found = explain(log)
    cause = explanation_document.make_json_document(found)["matches"][0]["cause"]

    assert cause.startswith(said)
    assert cause.endswith(found.matches[0].failure.why)
    assert said in " ".join(explanation_text.render_explanation(found).split())


@pytest.mark.parametrize(
    "log",
    [
        f"{COMPILER}hbm. Exceeded hbm capacity by 33.05G.",
        f"{RUNTIME}1.50G. That was not possible. There are 1.60G free.; (0x0x1_HBM0)",
        f"{RUNTIME}1.50G. That was not possible. There are 0B free.; (0x0x1_HBM0)",
    ],
)
def test_cause_without_sizes_is_that_of_row(log: str) -> None:
    """Some texts have none, and memory in fragments has more free than was asked for."""
    first = explain(log).matches[0]

    assert first.failure.numbers
    assert first.failure.why == explanation_text.format_cause(first)


@pytest.mark.parametrize(
    ("needed", "over"),
    [("1001M", "less than 1 % more than"), ("1.07G", "10 % more than"), ("16T", "16777 times")],
)
def test_excess_is_percent_or_multiple(needed: str, over: str) -> None:
    """Sizes may have different units."""
    there = "1000M"
    told = known_failures.format_memory_shortage({"NEEDED": needed, "THERE": there})

    assert told
    assert over == told["OVER"]
