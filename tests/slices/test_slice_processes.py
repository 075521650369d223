"""The checks of a slice run in processes that `jax.distributed` has joined, whole and broken."""

from __future__ import annotations

import pytest

from tests.support.slice_processes import LIMIT_S, HostRun, run_hosts
from tpustarter.core import locations

NAMES = sorted(
    path.stem for path in (locations.content_folder("checks") / "jax").glob("slice_*.py")
)

pytestmark = pytest.mark.timeout(2 * LIMIT_S)


def ended(runs: list[HostRun]) -> list[HostRun]:
    """Return the runs of hosts that all came to their end by themselves."""
    assert [0] * len(runs) == [run.code for run in runs], "\n".join(run.log for run in runs)
    return runs


def verdicts(run: HostRun, name: str) -> set[str]:
    """Return the verdicts of one check on one host."""
    return {one["verdict"] for one in run.findings if one["check"] == name}


@pytest.fixture(scope="module")
def two_hosts() -> list[HostRun]:
    """Return the findings of all checks on two hosts of 4 devices."""
    return ended(run_hosts(NAMES))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "slice_dcn"])
def test_check_passes_on_each_of_two_hosts(name: str, two_hosts: list[HostRun]) -> None:
    """A check passes on each of two hosts, for that host's own devices."""
    for run in two_hosts:
        assert {"ok", "info"} >= verdicts(run, name) >= {"ok"}


def test_one_slice_has_no_axis_between_slices(two_hosts: list[HostRun]) -> None:
    """On one slice there is no axis between slices, and the check doesn't pass."""
    for run in two_hosts:
        assert [("", "this run has one slice, and 2 are needed", None)] == run.of("slice_dcn")


def test_hosts_judge_their_own_devices(two_hosts: list[HostRun]) -> None:
    """Four of eight devices each, so that together they have judged all."""
    for run in two_hosts:
        counts = [found for code, found, _ in run.of("slice_collectives", "ok")]
        assert [4] * 5 == counts


def test_first_host_names_short_input_and_slow_links(two_hosts: list[HostRun]) -> None:
    """Findings that all hosts know are reported by the first host, and short input by both."""
    first, second = two_hosts
    short = ("SLICE-INPUT-SHORT", "host:1: 3 of 4 batches", None)
    slowest = [[code for code, _, at in run.of("slice_rate") if at] for run in two_hosts]

    assert short in first.of("slice_input")
    assert short in second.of("slice_input")
    assert {"SLICE-LINK-HOST", "SLICE-LINK-SLOWEST"} <= {*slowest[0]}
    assert [] == slowest[1]


BROKEN = (
    "another_constant",
    "another_order",
    "another_seed",
    "fewer_batches",
    "rows_of_another_host",
)


@pytest.fixture(scope="module")
def broken_third() -> list[HostRun]:
    """Return the findings of three hosts of 2 devices, the last of which is broken in many ways."""
    names = ["slice_devices", "slice_program", "slice_keys", "slice_input", "slice_arrays"]
    return ended(run_hosts(names, hosts=3, devices=2, breaks=BROKEN))


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("slice_devices", "SLICE-DEVICES-LIST", ", and most have 0 0 cpu"),
        ("slice_program", "SLICE-PROGRAM-LINE", "dense<5>"),
        ("slice_keys", "SLICE-KEYS-SAME", "[1, 2], and most have"),
        ("slice_input", "SLICE-INPUT-LENGTH", "1 of 3 batches"),
    ],
)
def test_host_that_differs_is_named_and_nothing_hangs(
    name: str, code: str, text: str, broken_third: list[HostRun]
) -> None:
    """The classical hangs: another constant, another order of devices, a shorter input."""
    first, *others = broken_third
    (found,) = [one for one in first.of(name, "fail") if one[0] == code and one[2]]

    assert "host:2" == found[2]
    assert text in found[1]
    for run in broken_third:
        assert (code, 2, None) in run.of(name, "fail")
    assert [] == [one for run in others for one in run.of(name, "fail") if one[2]]


def test_hosts_with_a_short_input_still_stop_together(broken_third: list[HostRun]) -> None:
    """Hosts with a short input stop together, after the one step for which all have a batch."""
    for run in broken_third:
        assert ("SLICE-INPUT-SUMS", 1, None) in run.of("slice_input", "ok")


def test_program_that_differs_was_not_run(broken_third: list[HostRun]) -> None:
    """A program that differs between hosts isn't run, so there is no sum over all hosts."""
    for run in broken_third:
        assert "SLICE-PROGRAM-TOTAL" not in {code for code, _, _ in run.of("slice_program")}


def test_wrong_rows_are_found_on_their_host(broken_third: list[HostRun]) -> None:
    """The host that read the rows of another one has them on its devices."""
    wrong = [
        [entity for code, _, entity in run.of("slice_arrays", "fail") if code == "SLICE-ARRAY-ROWS"]
        for run in broken_third
    ]

    assert [[], []] == wrong[:2]
    assert 3 == len(wrong[2])  # the count, and both devices


def test_fewer_devices_and_more_steps_are_named() -> None:
    """A chip that one host does not see, and a loop that one host does not end with the others."""
    breaks = ("fewer_devices", "its_own_steps")
    first, _ = ended(run_hosts(["slice_devices", "slice_input"], breaks=breaks))
    named = {code: (found, entity) for code, found, entity in first.of("slice_devices", "fail")}

    assert ("3 devices, and host:0 has 4 devices", "host:1") == named["SLICE-DEVICES-EVEN"]
    steps = ("SLICE-INPUT-STEPS", "4 steps, and host:0 has 3 steps", "host:1")
    assert steps in first.of("slice_input", "fail")
    assert "SLICE-INPUT-SUMS" not in {code for code, _, _ in first.of("slice_input")}


def test_checkpoint_leaves_no_folder(two_hosts: list[HostRun]) -> None:
    """A checkpoint that all hosts have read is removed, with its folder."""
    assert [[], []] == [run.left for run in two_hosts]
