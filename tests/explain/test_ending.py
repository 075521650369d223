"""How a command ended is a sign: it tells what a log cannot, and overrides nothing in it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tpustarter.explain import explaining, explanation, known
from tpustarter.explain.explaining import End
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.scanning import Scanner
from tpustarter.machine import memory

HELD = (
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by "
    "process with pid 4242. Not attempting to load libtpu.so in this process.\n"
)
MEANT = {
    124: "ended-by-timeout", 126: "command-not-started", 127: "command-not-started",
    132: "ended-by-sigill", 134: "ended-by-sigabrt", 135: "ended-by-sigbus",
    137: "ended-by-sigkill", 139: "bad-node-sigsegv", 143: "ended-by-signal",
}  # fmt: skip


@pytest.fixture(scope="module")
def scanner() -> Scanner:
    """Return what searches for all rows."""
    return Scanner(known.read())


def explained(scanner: Scanner, log: str, end: End) -> Explanation:
    """Return what is said of a log and an end."""
    return explaining.from_log(scanner.scan(io.BytesIO(log.encode())), {}, end)


@pytest.mark.parametrize("code", MEANT)
def test_an_end_without_a_word_says_what_it_usually_means(code: int, scanner: Scanner) -> None:
    """With the code as its line, and how to tell which it was."""
    found = explained(scanner, "step 1 loss 0.5\n", End(code))
    text = explanation.text(found)

    assert MEANT[code] == found.matches[0].failure.id
    assert "\nend     the command" in text
    assert f"exit code {code}" in text
    assert found.matches[0].failure.fix


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 130, 141, 255])
def test_other_codes_say_nothing(code: int, scanner: Scanner) -> None:
    """A program may end with any."""
    assert () == explained(scanner, "step 1 loss 0.5\n", End(code)).matches


@pytest.mark.parametrize("code", [137, 139, 134])
def test_a_cause_in_the_log_explains_the_end(code: int, scanner: Scanner) -> None:
    """It stands first, and the end follows from it."""
    first, *others = explained(scanner, HELD, End(code)).matches

    assert "tpu-in-use-by-pid" == first.failure.id
    end = next(match for match in others if match.failure.id == MEANT[code])
    assert "tpu-in-use-by-pid" == end.explained_by


def test_what_excludes_a_row_excludes_it_at_the_end_too(scanner: Scanner) -> None:
    """A crash on a GPU is none of a TPU's host."""
    found = explained(scanner, "nvidia-smi says no\n", End(139))

    assert "bad-node-sigsegv" not in [match.failure.id for match in found.matches]


@pytest.mark.parametrize("log", ["step 1\n", HELD])
def test_the_kernel_s_count_confirms_that_memory_ran_out(log: str, scanner: Scanner) -> None:
    """It stands before what a log only suggests, and the signal follows from it."""
    file = "/sys/fs/cgroup/memory.events"
    first, *others = explained(scanner, log, End(137, {file: 2, "/proc/vmstat": 2})).matches

    assert ("host-memory-out", "confirmed") == (first.failure.id, first.confidence)
    assert f"ended 2 processes for lack of memory while the command ran ({file})" in first.here
    assert "host-memory-out" == next(
        match.explained_by for match in others if match.failure.id == "ended-by-sigkill"
    )


def test_a_count_that_has_not_grown_confirms_nothing(scanner: Scanner) -> None:
    """Somebody sent the signal."""
    found = explained(scanner, "step 1\n", End(137, {"/proc/vmstat": 0}))

    assert ["ended-by-sigkill"] == [match.failure.id for match in found.matches]


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/job\n", {"sys/fs/cgroup/job/memory.events": "oom 3\noom_kill 2\n"},
         {"/sys/fs/cgroup/job/memory.events": 2, "/proc/vmstat": 7}),
        ("0::/\n", {"sys/fs/cgroup/memory.events": "oom_kill 1\noom_group_kill 0\n"},
         {"/sys/fs/cgroup/memory.events": 1, "/proc/vmstat": 7}),
        ("5:memory:/job\n", {"sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill 4\n"},
         {"/sys/fs/cgroup/memory/job/memory.oom_control": 4, "/proc/vmstat": 7}),
        ("0::/job\n", {"sys/fs/cgroup/job/memory.events": "\0nonsense\n"}, {"/proc/vmstat": 7}),
        ("", {}, {"/proc/vmstat": 7}),
    ],
)  # fmt: skip
def test_the_kernel_counts_what_it_has_ended(
    groups: str, files: dict[str, str], expected: dict[str, int], tmp_path: Path
) -> None:
    """In the control group of this process first, and on the whole machine."""
    machine = lay_out(tmp_path)
    (tmp_path / "proc/self").mkdir()
    for name, text in {
        "proc/self/cgroup": groups, "proc/vmstat": "nr_free 1\noom_kill 7\n", **files,
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert list(expected.items()) == list(memory.kills(machine).items())


def test_a_machine_without_counters_counts_nothing(tmp_path: Path) -> None:
    """Another system, or a /proc that is closed."""
    assert {} == memory.kills(lay_out(tmp_path))
