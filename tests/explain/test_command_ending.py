"""The exit code or signal of a command is evidence that never overrides the log's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.failures import explain
from tests.support.machines import lay_out
from tpustarter.explain import explanation_text
from tpustarter.explain.explain_output import CommandEnd
from tpustarter.machine import memory

HELD = (
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by "
    "process with pid 4242. Not attempting to load libtpu.so in this process.\n"
)
MEANT = {
    124: "ended-by-timeout",
    126: "command-not-started",
    127: "command-not-started",
    132: "ended-by-sigill",
    134: "ended-by-sigabrt",
    135: "ended-by-sigbus",
    137: "ended-by-sigkill",
    139: "bad-node-sigsegv",
    143: "ended-by-signal",
}


@pytest.mark.parametrize("code", MEANT)
def test_silent_end_gets_usual_meaning_of_code(code: int) -> None:
    """An end that the log doesn't explain gets the usual meaning of its exit code, and a fix."""
    found = explain("step 1 loss 0.5\n", end=CommandEnd(code))
    text = explanation_text.render_explanation(found)

    assert MEANT[code] == found.matches[0].failure.id
    assert "\nend     the command" in text
    assert f"exit code {code}" in text
    assert found.matches[0].failure.fix


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 130, 141, 255])
def test_unknown_exit_code_is_not_explained(code: int) -> None:
    """A program may end with any."""
    assert () == explain("step 1 loss 0.5\n", end=CommandEnd(code)).matches


@pytest.mark.parametrize("code", [137, 139, 134])
def test_cause_in_log_explains_exit_code(code: int) -> None:
    """A cause in the log comes first, and the exit code is shown as its consequence."""
    first, *others = explain(HELD, end=CommandEnd(code)).matches

    assert "tpu-in-use-by-pid" == first.failure.id
    end = next(match for match in others if match.failure.id == MEANT[code])
    assert "tpu-in-use-by-pid" == end.explained_by


def test_exclusion_of_row_covers_exit_code() -> None:
    """A crash on a GPU is none of a TPU's host."""
    found = explain("nvidia-smi says no\n", end=CommandEnd(139))

    assert "bad-node-sigsegv" not in [match.failure.id for match in found.matches]


@pytest.mark.parametrize("log", ["step 1\n", HELD])
def test_kernel_oom_count_confirms_out_of_memory(log: str) -> None:
    """The kernel's OOM count ranks host memory first and makes the signal its consequence."""
    file = "/sys/fs/cgroup/memory.events"
    first, *others = explain(log, end=CommandEnd(137, {file: 2, "/proc/vmstat": 2})).matches

    assert ("host-memory-out", "confirmed") == (first.failure.id, first.confidence)
    assert f"ended 2 processes for lack of memory while the command ran ({file})" in first.here
    assert "host-memory-out" == next(
        match.explained_by for match in others if match.failure.id == "ended-by-sigkill"
    )


def test_unchanged_oom_count_confirms_nothing() -> None:
    """Somebody sent the signal."""
    found = explain("step 1\n", end=CommandEnd(137, {"/proc/vmstat": 0}))

    assert ["ended-by-sigkill"] == [match.failure.id for match in found.matches]


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        (
            "0::/job\n",
            {"sys/fs/cgroup/job/memory.events": "oom 3\noom_kill 2\n"},
            {"/sys/fs/cgroup/job/memory.events": 2, "/proc/vmstat": 7},
        ),
        (
            "0::/\n",
            {"sys/fs/cgroup/memory.events": "oom_kill 1\noom_group_kill 0\n"},
            {"/sys/fs/cgroup/memory.events": 1, "/proc/vmstat": 7},
        ),
        (
            "5:memory:/job\n",
            {"sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill 4\n"},
            {"/sys/fs/cgroup/memory/job/memory.oom_control": 4, "/proc/vmstat": 7},
        ),
        ("0::/job\n", {"sys/fs/cgroup/job/memory.events": "\0nonsense\n"}, {"/proc/vmstat": 7}),
        ("", {}, {"/proc/vmstat": 7}),
    ],
)
def test_kernel_oom_kills_are_counted(
    groups: str, files: dict[str, str], expected: dict[str, int], tmp_path: Path
) -> None:
    """OOM kills are counted in this process's control group first, and on the whole machine."""
    machine = lay_out(tmp_path)
    (tmp_path / "proc/self").mkdir()
    for name, text in {
        "proc/self/cgroup": groups,
        "proc/vmstat": "nr_free 1\noom_kill 7\n",
        **files,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert list(expected.items()) == list(memory.count_oom_kills_by_file(machine).items())


def test_machine_without_counters_counts_nothing(tmp_path: Path) -> None:
    """Another system, or a /proc that is closed."""
    assert {} == memory.count_oom_kills_by_file(lay_out(tmp_path))
