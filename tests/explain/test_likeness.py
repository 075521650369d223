"""A log in words that no pattern knows: one failure that it reads like, as possible, or none."""

from __future__ import annotations

import io

import pytest

from tests.support.failures import failure
from tpustarter.explain import likeness, ranking
from tpustarter.explain.ranking import Match
from tpustarter.explain.scanning import Scanner

COORDINATOR = failure(
    "coordinator",
    shows=["coordinator_address should be defined"],
    examples=["ValueError: coordinator_address should be defined for every cluster."],
)
VFIO = failure(
    "vfio",
    shows=["Couldn't open iommu group"],
    needs=["libtpu"],
    unless=["qemu"],
    examples=["TPU initialization failed: open(/dev/vfio/0): Device or resource busy"],
)
SLOW = failure(
    "slow",
    role="notice",
    shows=["Very slow compile\\?"],
    examples=["slow_operation_alarm.cc:65] Very slow compile? File a bug with the dumped module."],
)
OTHERS = tuple(
    failure(f"other{number}", shows=[f"other {number}"], examples=[f"Error: {text}"])
    for number, text in enumerate(
        (
            "the quota of this project is used up", "no capacity left in this zone",
            "the disk of the worker is full", "permission to the bucket was refused",
            "the shape depends on a traced value", "the mesh does not fit the devices",
        )
    )
)  # fmt: skip
ALL = (COORDINATOR, VFIO, SLOW, *OTHERS)
REWORDED = "E1122 main.py:3] jax: for a cluster, a coordinator_address must be defined"
BUSY = "F42 chip.cc:7] Unknown: TPU initialization failed: open(/dev/vfio/3): the device was busy"


def ranked(log: str) -> list[Match]:
    """Return what a log shows of the rows above."""
    return ranking.rank(Scanner(ALL).scan(io.BytesIO(log.encode())), ALL)


def names(log: str) -> list[str]:
    """Return the ids of what a log shows, in order."""
    return [match.failure.id for match in ranked(log)]


def test_a_reworded_message_is_found_as_possible() -> None:
    """With the line that reads like it, and the text that it is like."""
    (match,) = ranked(f"one\ntwo\nthree\nfour\n{REWORDED}\nend\n")

    assert ("coordinator", "possible") == (match.failure.id, match.confidence)
    assert (5, REWORDED) == (match.signs[0].line, match.signs[0].quote)
    assert COORDINATOR.examples[0] == match.reads_like


def test_a_pattern_that_is_found_wins() -> None:
    """Likeness is asked only where no cause and no symptom is found."""
    assert ["other0"] == names(f"{REWORDED}\nother 0\n")
    assert "" == ranked(f"{REWORDED}\nother 0\n")[0].reads_like
    assert ["coordinator", "slow"] == names(f"Very slow compile?\n{REWORDED}\n")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (f"libtpu 0.0.50\n\n\n\n{BUSY}\n", ["vfio"]),
        (f"tpu\n\n\n\n{BUSY}\n", []),
        (f"libtpu 0.0.50\nqemu\n\n\n{BUSY}\n", []),
        (f"{VFIO.examples[0]}\n", ["vfio"]),
        (f"tpu\n\n\n\n\n{VFIO.examples[0]}\n", []),
    ],
    ids=["needs", "lacks what it needs", "excluded", "verbatim excerpt", "verbatim in a long log"],
)
def test_what_a_failure_needs_and_what_excludes_it_counts_as_well(
    log: str, expected: list[str]
) -> None:
    """An excerpt of a few lines may lack what the failure needs, where a line is verbatim."""
    assert expected == names(log)


@pytest.mark.parametrize(
    "log",
    [
        "Error: cluster",
        "jax\n\n\n\n\nslow_operation_alarm.cc:99] Very slow compiling! Error: file a bug",
        REWORDED.replace("E1122", "I1122").replace("must be", "was"),
        "npm\n\n\n\n\n" + REWORDED.replace("jax: ", ""),
    ],
    ids=["too little", "like a notice", "no error", "nothing of a TPU"],
)
def test_what_is_too_little_is_like_nothing(log: str) -> None:
    """A single word, a warning that is harmless, a healthy line, another program's log."""
    assert "coordinator" not in names(log)
    assert [] == [match for match in ranked(log) if match.failure.role != "notice"]


def test_only_so_many_lines_are_compared() -> None:
    """The last ones, since a run dies at its end; so a log full of errors costs little."""
    words = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(9_999)]
    scan = Scanner(ALL).scan(io.BytesIO("".join(f"Error {w} jax\n" for w in words).encode()))

    assert likeness.MOST == len(likeness._error_lines(scan))  # pyright: ignore[reportPrivateUsage]
    assert likeness.find(scan, ALL) is None
