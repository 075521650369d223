"""However the process that started a probe dies, the probe ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checking.test_runner import until_asleep, until_ended
from tests.support.places import REPOSITORY
from tests.support.processes import HANG_S


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("name", ["ignores_term", "hangs_holding_the_gil"])
def test_no_process_outlives_its_parent(name: str, number: int, tmp_path: Path) -> None:
    """However the parent dies, its probe ends, though its check never would."""
    program = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from tests.support.sessions import make_session, sample\n"
        "from tpustarter.checking.run.runner import CheckRunner\n"
        f"check = replace(sample({name!r}), timeout_s=600)\n"
        f"list(CheckRunner(make_session(Path({str(tmp_path)!r}))).run([check]))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    parent = subprocess.Popen([sys.executable, "-c", program], env=env)
    until_asleep(tmp_path)
    parent.send_signal(number)
    parent.wait(timeout=HANG_S)

    until_ended(f"{tmp_path}/probe.pyz")
