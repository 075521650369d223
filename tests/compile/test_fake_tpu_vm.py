"""The program from outside, on faked TPU VMs: real namespaces, locks, metadata, and real libtpu.

The chips are not there: what the real libtpu does then is what it does on a broken machine. With
`TPUSTARTER_LIBTPU_PYTHON` naming a Python that has jax and libtpu, frameworks are really started;
without it only the rows that end before that are shown.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.needs import FAKED_VM, LIBTPU, LIBTPU_PYTHON, readable_by_nobody
from tests.support.places import SUPPORT
from tests.support.stubs import make_python
from tpustarter.core import locations

"""A run that starts libtpu on such a machine takes minutes; one that does not takes seconds, and a
busy machine some more."""


pytestmark = FAKED_VM


@dataclass
class Seen:
    """The exit code, output and duration of one run on a faked machine."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def headline(self) -> str:
        """Return the last paragraph on one line."""
        return " ".join(self.out.strip().split("\n\n")[-1].split())


def check_on(spec: str, python: str | Path, *arguments: str, checks: str = "-") -> Seen:
    """Run `tpustarter check` on a faked machine."""
    drive = [sys.executable, str(SUPPORT / "drive.py"), checks, "/", "-", "-"]
    words = [*drive, "check", "--python", str(python), *arguments]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "fake_tpu_vm.py"), spec, "--", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("JAX_")},
    )
    return Seen(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


@pytest.mark.parametrize(
    ("spec", "code", "headline"),
    [
        ("v5e:8,mds,livelock", 75, "in use: a live process holds libtpu's lock (pid "),
        ("v5e:8,mds,nodev", 1, "do not"),
        ("v5e:4,mds=2/4", 3, "of 4 hosts in a slice"),
        ("v5e:8,mds,foreignlock,user", 1, "1 does not"),
    ],
)
def test_faked_machine_is_examined_without_starting_frameworks(
    spec: str, code: int, headline: str, tmp_path: Path
) -> None:
    """Each faked machine gets its verdict in seconds, and no framework is started."""
    if "user" in spec and not readable_by_nobody():
        pytest.skip("The Python that runs the tests lies where an ordinary user cannot read it.")
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent != Path("/") and parent.owner() == "root" and str(parent) != "/tmp":
            parent.chmod(parent.stat().st_mode | 0o055)
    python = make_python(tmp_path / "env", jax="0.12.0.1", libtpu="0.0.50.1")
    seen = check_on(spec, python)

    assert code == seen.code, seen.out + seen.err
    assert headline in seen.headline
    print(f"{spec}: {seen.seconds:.1f} s")
    assert "left running: nothing" in seen.err


@LIBTPU
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("v5e:8,mds", "No jellyfish device found"),
        ("v4:4,mds", "Failed to get global TPU topology"),
    ],
)
def test_failed_tpu_start_quotes_error(spec: str, words: str) -> None:
    """The report has libtpu's error and no verdict, and claims no TPU."""
    seen = check_on(spec, str(LIBTPU_PYTHON), "--json")
    report = json.loads(seen.out)
    results = {one["id"]: one for one in report["results"]}
    first = results.pop("jax.devices_visible")

    assert (3, "none") == (seen.code, report["verified_on"])
    assert ("error", "exception") == (first["status"], first["reason"])
    assert words in first["detail"]
    assert {"dependency"} == {one["reason"] for name, one in results.items() if "jax." in name}
    assert "left running: nothing; in /tmp: nothing" in seen.err


@LIBTPU
@pytest.mark.parametrize("spec", ["v5e:8", "v5e:8,mdshang"])
def test_hanging_start_ends_with_stack(spec: str, tmp_path: Path) -> None:
    """A check whose libtpu hangs ends at its time limit, shows the stack, and leaves no process."""
    shutil.copytree(locations.content_folder("checks"), tmp_path / "checks")
    check = tmp_path / "checks" / "jax" / "devices_visible.py"
    check.write_text(check.read_text().replace("TIMEOUT_S = 120", "TIMEOUT_S = 12"))
    seen = check_on(spec, str(LIBTPU_PYTHON), "--json", checks=str(tmp_path / "checks"))
    report = json.loads(seen.out)
    first = next(one for one in report["results"] if one["id"] == "jax.devices_visible")

    assert 3 == seen.code
    assert ("error", "timeout") == (first["status"], first["reason"])
    assert "devices_visible.py" in first["log"]
    assert "xla_bridge.py" in first["log"]
    print(f"{spec}: {seen.seconds:.1f} s, of which 12 s are the limit")
    assert "left running: nothing; in /tmp: nothing" in seen.err


@LIBTPU
@pytest.mark.parametrize(
    ("variable", "said"),
    [
        (None, "Unable to initialize backend 'tpu'"),
        ("tpu,cpu", "Unable to initialize backend 'tpu'"),
        ("", "Falling back to cpu"),
    ],
)
def test_jax_stops_where_trouble_lessons_say(variable: str | None, said: str) -> None:
    """JAX falls back to the CPU if `JAX_PLATFORMS` is empty, but not if it is unset."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    done = subprocess.run(
        [
            sys.executable,
            str(SUPPORT / "fake_tpu_vm.py"),
            "v5e:8,mds,livelock",
            "--",
            str(LIBTPU_PYTHON),
            "-c",
            "import jax; print(jax.devices())",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=env if variable is None else {**env, "JAX_PLATFORMS": variable},
    )

    assert said in done.stderr
    assert (variable == "") == (done.returncode == 0)
