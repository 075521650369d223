"""libtpu's SDK in its own process: a stand-in that answers, hangs or crashes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tests.support.metrics_server import gauges, serve
from tests.support.processes import processes, until
from tests.support.stubs import make_python
from tpustarter.core.problem import Problem
from tpustarter.watch.metric_names import read_metric_names
from tpustarter.watch.sdk_metrics import MOST_VALUES, SdkFollower, find_sdk_python
from tpustarter.watch.tpu_watch import TpuWatch

ANSWERS = """\
class tpumonitoring:
    class get_metric:
        def __init__(self, name):
            print("libtpu warns about something", flush=True)
            self.values = {"tensorcore_util": ["6.00"] * 8, "tpu_throttle_score": ["0-2"] * 8}[name]

        def data(self):
            return self.values
"""
"""An SDK that lacks links: their name raises KeyError."""
HUGE = ANSWERS.replace('["6.00"] * 8', '["6.00"] * 100000')
HANGS = "import time\ntime.sleep(3600)\n"
CRASHES = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"


def lay_sdk(folder: Path, code: str) -> Path:
    """Make an environment whose libtpu has this SDK, and return its Python."""
    python = make_python(folder / "env")
    [packages] = (folder / "env" / "lib").glob("python3*/site-packages")
    (packages / "libtpu").mkdir()
    (packages / "libtpu" / "__init__.py").touch()
    (packages / "libtpu" / "sdk.py").write_text(code)
    (packages / "libtpu" / "sdk.stub.so").touch()  # what the choice of a Python looks for
    return python


@pytest.fixture
def state() -> Path:
    """Return the state folder, by which processes of this program are known."""
    return Path(os.environ["TPUSTARTER_HOME"])


def follow(python: Path) -> SdkFollower:
    """Start to follow an SDK."""
    follower = SdkFollower(python, read_metric_names(), dict(os.environ), 0.05)
    follower.start()
    return follower


@pytest.mark.parametrize("code", [ANSWERS, HUGE], ids=["answers", "huge"])
def test_whole_rounds_are_kept(tmp_path: Path, state: Path, code: str) -> None:
    """Without the lines that libtpu writes between, and without more than any host has."""
    follower = follow(lay_sdk(tmp_path, code))
    follower.wait(60)
    values = follower.values
    follower.stop()

    assert {"matrix_unit_percent", "throttle_score"} == values.keys()
    assert len(values["matrix_unit_percent"]) == (8 if code == ANSWERS else MOST_VALUES)
    assert follower.ended is None
    assert {} == processes(state)


def test_crash_ends_in_a_sentence(tmp_path: Path, state: Path) -> None:
    """Which names the signal, and waiting for it takes no longer."""
    follower = follow(lay_sdk(tmp_path, CRASHES))
    follower.wait(60)
    follower.stop()

    assert "was ended by SIGSEGV" in str(follower.ended)
    assert {} == follower.values
    assert {} == processes(state)


def test_hang_ends_with_its_follower(tmp_path: Path, state: Path) -> None:
    """Although it never wrote a line."""
    follower = follow(lay_sdk(tmp_path, HANGS))
    until(lambda: "child" in processes(state).values() or len(processes(state)) > 1)
    follower.wait(0.1)
    began = time.monotonic()
    follower.stop()

    assert {} == processes(state)
    assert time.monotonic() - began < 60


def test_look_has_both_sources(tmp_path: Path) -> None:
    """The service's duty cycle and the SDK's matrix unit, in the sentence too."""
    python = lay_sdk(tmp_path, ANSWERS)
    (tmp_path / "machine").mkdir()
    machine = lay_out(tmp_path / "machine", "v6e", chips=8, env=dict(os.environ))
    with serve(gauges(8)) as port:
        watch = TpuWatch(machine, tmp_path, [port], str(python))
        try:
            reading = watch.look_whole()
        finally:
            watch.close()

    assert [98.0] * 8 == [one.duty_cycle_percent for one in reading.devices]
    assert [6.0] * 8 == [one.matrix_unit_percent for one in reading.devices]
    assert [2] * 8 == [one.throttle_score for one in reading.devices]
    assert watch.problem is None


def test_python_without_sdk_is_told(tmp_path: Path) -> None:
    """A Python without the SDK gives a reason, and a named path that is no Python an error."""
    environ = {"PATH": "", "HOME": str(tmp_path)}

    assert find_sdk_python(None, environ, tmp_path) is None
    with pytest.raises(Problem):
        find_sdk_python("/nowhere/python", environ, tmp_path)
    python = lay_sdk(tmp_path, ANSWERS)
    (tmp_path / ".venv").symlink_to(python.parents[1])

    found = find_sdk_python(None, environ, tmp_path)
    assert found is not None
    assert "./.venv" == found.why
