"""A job whose calls go through the real gcloud, with shells of this machine in place of ssh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cloud.test_connection import environment
from tests.support.fake_cloud import FakeCloud, serving
from tests.support.fake_remote import node
from tests.support.fake_workers import ending_jobs
from tests.support.places import SUPPORT
from tests.support.processes import HANG_S

__all__ = ["environment"]
COMMAND = "cp data.bin copy; seq 1000"
SSH = """#!/bin/sh
while [ "$1" != -- ]; do
  case "$1" in
    *@10.0.0.[12]) address=${{1##*@}};;
  esac
  shift
done
shift
number=$((${{address##*.}} - 1))
HOME={homes}/w$number exec sh -c "$*"
"""


@pytest.mark.timeout(900)  # each of ten calls starts gcloud, which takes some seconds of a core
@pytest.mark.skipif(
    shutil.which("gcloud") is None or shutil.which("ssh-keygen") is None,
    reason="gcloud or ssh-keygen is not installed here, so a job over gcloud was not tried.",
)
@pytest.mark.skipif(shutil.which("tmux") is None, reason="Without systemd a job needs tmux.")
def test_real_gcloud_carries_a_job(environment: dict[str, str], tmp_path: Path) -> None:
    """The folder, the logs and the results pass through its input and output unchanged."""
    tools, folder = tmp_path / "tools", tmp_path / "train"
    homes = [tmp_path / "w0", tmp_path / "w1"]
    for one in (tools, folder, *homes):
        one.mkdir()
    (tools / "ssh").write_text(SSH.format(homes=tmp_path))
    (tools / "ssh").chmod(0o755)
    code = bytes(range(256)) * 3000
    (folder / "data.bin").write_bytes(code)
    with serving(FakeCloud()) as cloud, ending_jobs(tmp_path):
        one = node(workers=2)
        cloud.nodes[one.name] = one
        env = {
            **environment,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "TPUSTARTER_TPU_ENDPOINT": f"127.0.0.1:{cloud.port}",
            "CLOUDSDK_CORE_PROJECT": "my-project",
            "CLOUDSDK_COMPUTE_ZONE": "us-central1-b",
        }
        words = ("bert", "--follow", "--fetch", "copy", "--fetch-to", "results", "--", COMMAND)
        done = subprocess.run(
            [sys.executable, str(SUPPORT / "drive_tpu.py"), "tpu", "job", *words],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=6 * HANG_S,
            check=False,
        )

    assert 0 == done.returncode, done.stderr
    for number in range(2):
        lines = [line for line in done.stdout.splitlines() if line.startswith(f"w{number} | ")]
        assert [f"w{number} | {line}" for line in range(1, 1001)] == lines
        assert code == (folder / f"results/w{number}/copy").read_bytes()
