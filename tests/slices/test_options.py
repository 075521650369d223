"""Options of `check --all-hosts` that contradict each other are refused before anything runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tpustarter.core.problem import ExitCode

REFUSED = {
    "--hosts 2": "--hosts only works with --all-hosts",
    "--coordinator a:1": "--coordinator only works with --all-hosts",
    "--start ssh": "--start only works with --all-hosts",
    "--wait 5": "--wait only works with --all-hosts",
    "--yes": "--yes only works with --all-hosts",
    "--set zone=a": "--set only works with --all-hosts",
    "--all-hosts --framework torch_xla": "the checks of JAX alone",
    "--all-hosts --hosts 2 --host 2": "--host is 2, expected 0 to 1",
    "--all-hosts --start ssh": "needs --on",
    "--all-hosts --start gcloud --on a,b": "needs --on with the name of the TPU",
    "--all-hosts --start ssh --on a --set zone": "expected KEY=VALUE",
    "--all-hosts --start ssh --on a --host 0": "leave it out",
}


def check(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `tpustarter check` without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "tpustarter", "check", *words],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_contradicting_options_are_refused(words: str) -> None:
    """Options that contradict each other are refused, naming the option and its alternatives."""
    done = check(*words.split())

    assert done.returncode == ExitCode.USAGE
    assert REFUSED[words] in " ".join(done.stderr.split())


def test_nothing_starts_without_a_yes() -> None:
    """Without a terminal the command is shown, and the option that starts it."""
    done = check("--all-hosts", "--start", "ssh", "--on", "no-such-host.invalid")

    assert done.returncode == ExitCode.USAGE
    assert "ssh -T" in done.stderr
    assert "--yes" in done.stderr
