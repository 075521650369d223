"""The watch on the memory of a run's processes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.places import REPOSITORY

HELD = 64 * 2**20
SUPERVISOR = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from tpustarter.probe.rehearse import host_memory_watch

def start(body):
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        body()
        os.write(tell, b"x")
        sys.stdin.read()
        os._exit(0)
    os.close(tell)
    return pid, told

def child():
    global held, told
    os.setpgid(0, 0)
    _, told = start(hold)
    os.read(told, 1)

def hold():
    global held
    held = bytearray(b"x") * int(sys.argv[2])

pid, told = start(child)
os.read(told, 1)
measure = host_memory_watch.measure_memory_excess
print(json.dumps([measure(pid, limit) for limit in (1, 1 << 60)]), flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the memory of a process here")
def test_grandchild_counts_as_its_group() -> None:
    """Memory of a child of the child counts, and nothing ends below the limit."""
    command = [sys.executable, "-c", SUPERVISOR, str(REPOSITORY), str(HELD)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None
        over, under = json.loads(supervisor.stdout.readline())
        supervisor.communicate("")

    assert 1 == over["limit_bytes"]
    assert HELD < over["resident_bytes"] < 8 * HELD
    assert under is None
