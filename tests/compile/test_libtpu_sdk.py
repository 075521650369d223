"""libtpu's real SDK: it opens no device and takes no lock, and it reads the tests' own server.

There is no TPU here, so what the SDK does beside one was not tried on hardware.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.metrics_server import gauges, serve
from tests.support.needs import FAKED_VM, LIBTPU, LIBTPU_PYTHON
from tests.support.places import SUPPORT
from tests.support.processes import processes
from tpustarter.watch.metric_names import read_metric_names
from tpustarter.watch.metrics_client import HOST, PORT
from tpustarter.watch.sdk_metrics import ENVIRONMENT, PROGRAM, SdkFollower

SDK_NAMES = [",".join(name.sdk) for name in read_metric_names() if name.sdk]
STRACE = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="What a program opens is seen with strace, which is not installed here.",
)
DEVICE_OR_LOCK = re.compile(r'"(/dev/(?:accel|vfio)[^"]*|[^"]*libtpu_lockfile)"|\bflock\(|F_SETLK')
READ_ONCE = f"""\
import runpy, sys, time
def stop(_): raise SystemExit
time.sleep = stop
sys.argv = [{str(PROGRAM)!r}, "0", *{SDK_NAMES!r}]
runpy.run_path({str(PROGRAM)!r}, run_name="__main__")
"""


def opened(tmp_path: Path, *command: str) -> tuple[str, list[str]]:
    """Return a command's output on a faked v5e-8, and its calls on devices and locks."""
    trace = tmp_path / "trace"
    calls = ["strace", "-f", "-e", "trace=file,flock,fcntl", "-o", str(trace)]
    words = [sys.executable, str(SUPPORT / "fake_tpu_vm.py"), "v5e:8", "--", *calls, *command]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, **ENVIRONMENT},
    )
    return done.stdout, [
        line for line in trace.read_text().splitlines() if DEVICE_OR_LOCK.search(line)
    ]


@LIBTPU
@STRACE
@pytest.mark.root
@FAKED_VM[1]
def test_sdk_opens_no_device(tmp_path: Path) -> None:
    """The SDK opens no device node and no lock file, even where there are nodes of eight chips."""
    output, calls = opened(tmp_path, str(LIBTPU_PYTHON), "-c", READ_ONCE)

    assert '{"round": 1}' in output
    assert [] == calls


@STRACE
@pytest.mark.root
@FAKED_VM[1]
@pytest.mark.parametrize("path", ["/dev/vfio/0", "/tmp/libtpu_lockfile"])
def test_opened_device_is_seen(tmp_path: Path, path: str) -> None:
    """The trace shows a device node that is opened, so an empty trace proves that none was."""
    assert opened(tmp_path, "cat", path)[1]


@LIBTPU
def test_sdk_reads_the_test_server() -> None:
    """The SDK of libtpu can read the server that `watch` is tested with."""
    with socket.socket() as taken:
        if taken.connect_ex((HOST, PORT)) == 0:
            pytest.skip(f"The SDK asks port {PORT}, and another program has it here.")
    program = (
        "import json; from libtpu.sdk import tpumonitoring as sdk; "
        "print(json.dumps([sdk.get_metric(n).data() for n in "
        '("duty_cycle_pct", "hbm_capacity_usage", "hbm_capacity_total")]))'
    )
    with serve(gauges(4, used_gib=[1, 2, 3, 4], duty=[10, 20, 30, 40]), port=PORT):
        done = subprocess.run(
            [str(LIBTPU_PYTHON), "-c", program],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
            env={**os.environ, **ENVIRONMENT},
        )
    duty, used, total = json.loads(done.stdout.splitlines()[-1])

    assert [10, 20, 30, 40] == [float(one) for one in duty]
    assert [n * 2**30 for n in (1, 2, 3, 4)] == [int(one) for one in used]
    assert {int(31.25 * 2**30)} == {int(one) for one in total}


@LIBTPU
def test_sdk_process_ends_with_its_follower() -> None:
    """The SDK's process runs until it is stopped, and then leaves no process behind."""
    follower = SdkFollower(Path(str(LIBTPU_PYTHON)), read_metric_names(), dict(os.environ), 0.1)
    follower.start()
    follower.wait(240)
    ended = follower.ended
    follower.stop()

    assert ended is None
    assert follower.values == {}  # the control agent of a TPU VM has them
    assert {} == processes(Path(os.environ["TPUSTARTER_HOME"]))
