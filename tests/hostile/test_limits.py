"""Few processes, threads, open files or no memory: a fact about this machine, never a bug of ours.

A row is a limit, a command line, the exit code, and what must be said. A limit of processes counts
those of one user and does not hold for root, so the program runs as a user nobody else is.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tests.support.processes import HANG_S
from tpustarter.core.problem import ExitCode, find_limit_problem
from tpustarter.machine import reached_limits

SUPPORT = Path(__file__).parents[1] / "support"
USER = 60000 + os.getpid() % 5000
READS = "+dac_read_search,+dac_override"
AS_USER = [
    "setpriv",
    f"--reuid={USER}",
    f"--regid={USER}",
    "--clear-groups",
    f"--inh-caps=-all,{READS}",
    f"--ambient-caps=-all,{READS}",
    f"--bounding-set=-all,{READS}",
]
"""An ordinary user who may read the Python that runs the tests, wherever it lies."""
PROCESSES = "this machine allows no more processes and threads: this user may have"
FILES = "a process may open no more than"


def can_be_another_user() -> bool:
    """Return whether this process can become another user and set limits for it."""
    if not (shutil.which("setpriv") and shutil.which("prlimit")) or os.geteuid() != 0:
        return False
    return (
        subprocess.run([*AS_USER, "--", "true"], check=False, capture_output=True).returncode == 0
    )


needs_user = pytest.mark.skipif(
    not can_be_another_user(),
    reason="Limiting the processes of a user needs root, setpriv and prlimit, and one is not here.",
)


def under(limit: str, number: int, folder: Path, *words: str) -> list[str]:
    """Return the command that runs the program under a limit, with a state folder of its own."""
    folder.chmod(0o777)
    user = AS_USER if limit == "nproc" else ["env"]
    return [
        *user,
        *(["--"] if limit == "nproc" else []),
        "prlimit",
        f"--{limit}={number}:{number}",
        "env",
        f"TPUSTARTER_HOME={folder / 'state'}",
        f"HOME={folder}",
        sys.executable,
        *words,
    ]


PROGRAM = ("-I", "-m", "tpustarter")


@needs_user
@pytest.mark.parametrize(
    ("limit", "words", "code", "said"),
    [
        (("nproc", 1), ("check", "host.space"), 71, PROCESSES),
        (("nproc", 2), ("check", "host.space"), 71, PROCESSES),
        (("nproc", 3), ("check", "host.space"), 0, "pass host.space"),
        (("nproc", 1), ("check", "host.space", "--json"), 71, PROCESSES),
        (("nproc", 1), ("learn", "jax/first-arrays", "--run"), 71, PROCESSES),
        (("nproc", 1), ("learn",), 0, "Your path"),
        (("nproc", 1), ("--version",), 0, "tpustarter "),
        (("nofile", 8), ("check", "host.space"), 71, FILES),
        (("nofile", 16), ("check", "host.space"), 71, FILES),
        (("nofile", 10), ("check", "host.space", "--json"), 71, FILES),
        (("nofile", 10), ("learn", "jax/first-arrays", "--run"), 71, FILES),
        (("nofile", 24), ("check", "host.space"), 0, "pass host.space"),
    ],
)
def test_limit_is_named_with_its_number(
    limit: tuple[str, int], words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    """An error at a system limit names the limit and its value, with no traceback or bug report."""
    tmp_path.chmod(0o777)
    done = subprocess.run(
        under(*limit, tmp_path, *PROGRAM, *words),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    text = done.stdout + done.stderr

    assert code == done.returncode, text
    assert said in " ".join(text.split())
    assert "Traceback" not in text
    assert "itself broke" not in text
    assert not list(tmp_path.rglob("bug-*"))
    if code == ExitCode.LIMIT:
        assert f" {limit[1]} " in text
        assert "hint" in text or "Next: " in text
    if "--json" in words:
        assert code == json.loads(done.stdout)["exit_code"]


@needs_user
def test_chips_need_no_thread(tmp_path: Path) -> None:
    """The metadata server is asked by one process without a second thread."""
    root = tmp_path / "root"
    root.mkdir()
    lay_out(root, "v5e", chips=8)
    drive = (str(SUPPORT / "drive.py"), "-", str(root), "-", "-", "check", "host.metadata")
    env = {**os.environ, "GCE_METADATA_HOST": "127.0.0.1:9"}
    words = under("nproc", 3, tmp_path, *drive)
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=HANG_S, check=False, env=env
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "host.metadata" in done.stdout


@needs_user
@pytest.mark.parametrize("number", [1, 2])
def test_app_without_threads_restores_terminal(number: int, tmp_path: Path) -> None:
    """If the app can't start a thread for its terminal, it says so and restores the terminal."""
    tmp_path.chmod(0o777)
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color"}
    env.pop("CI", None)
    with subprocess.Popen(
        under("nproc", number, tmp_path, *PROGRAM),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        output = b""
        with contextlib.suppress(OSError):  # Linux: the last one has closed it
            while select.select([ours], [], [], 60)[0]:
                output += os.read(ours, 65536)
        code = process.wait(timeout=HANG_S)
    os.close(ours)

    assert ExitCode.LIMIT == code, output
    assert PROCESSES.encode() in output
    entered = output.rfind(b"\x1b[?1049h")
    assert entered < 0 or entered < output.rfind(b"\x1b[?1049l") < output.rfind(b"error: ")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("can't start new thread"), "no more processes and threads"),
        (MemoryError(), "not enough memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "not enough memory"),
        (OSError(errno.EMFILE, "Too many open files"), "no more than"),
        (OSError(errno.ENFILE, "Too many open files in system"), "fs.file-max"),
        (BlockingIOError(errno.EAGAIN, "a pipe that is full"), None),
        (RuntimeError("dictionary changed size"), None),
        (OSError(errno.ENOSPC, "No space left on device"), None),
    ],
)
def test_errors_are_classified_as_limit_or_other(error: Exception, said: str | None) -> None:
    """An error is classified as a limit even if it is the cause or context of another one."""
    for chain in (error, _raised(error, cause=True), _raised(error, cause=False)):
        problem = find_limit_problem(chain)
        assert (said is None) == (problem is None)
        assert not problem or (said or "") in problem.full_text


def _raised(error: Exception, *, cause: bool) -> Exception:
    try:
        try:
            raise error
        except Exception as first:
            if cause:
                raise ValueError("outer") from first
            raise ValueError("outer")  # noqa: B904
    except ValueError as outer:
        return outer


def test_the_limit_of_a_control_group_is_named(tmp_path: Path) -> None:
    """In a container the control group's limit is named, not the user's."""
    machine = lay_out(tmp_path)
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/self/cgroup").write_text("0::/docker/abc\n")
    group = tmp_path / "sys/fs/cgroup/docker/abc"
    group.mkdir(parents=True)
    (group / "pids.max").write_text("20\n")
    (group / "pids.current").write_text("20\n")
    (tmp_path / "sys/fs/cgroup/docker/pids.max").write_text("max\n")
    limit = reached_limits.describe_limit("processes", machine)

    assert "its control group has 20 of 20 (pids.max)" in limit.what
    assert "--pids-limit" in limit.hint
