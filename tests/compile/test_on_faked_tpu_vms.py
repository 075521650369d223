"""The report from outside, on faked TPU VMs: it is there whatever hangs, and nothing is left.

With `TPUSTARTER_LIBTPU_PYTHON` naming a Python that has jax and libtpu, the real libtpu hangs in
its start-up; without it only the rows that end before that are shown.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.needs import FAKED_VM, LIBTPU, LIBTPU_PYTHON
from tests.support.places import SUPPORT
from tests.support.stubs import make_python

WAIT_S = 15

pytestmark = FAKED_VM


def report_on(spec: str, python: str | Path) -> tuple[dict[str, Any], str]:
    """Return the report's document from a faked machine, and the text printed beside it."""
    words = [
        sys.executable,
        "-m",
        "tpustarter",
        "report",
        "--json",
        "--wait",
        str(WAIT_S),
        "--python",
        str(python),
    ]
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "fake_tpu_vm.py"), spec, "--", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("JAX_")},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def facts_of(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the facts of a section."""
    return next(one["facts"] for one in document["sections"] if one["name"] == name)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("v5e:8,mds,livelock", "a live process holds libtpu's lock"),
        ("v5e:4,mds=2/4", "of 4 hosts in a slice"),
    ],
)
def test_devices_that_would_hang_are_not_started(spec: str, why: str, tmp_path: Path) -> None:
    """Devices that would hang are not started: the report has the reason, chips and metadata."""
    python = make_python(tmp_path / "env", jax="0.12.0.1", libtpu="0.0.50.1")
    document, told = report_on(spec, python)
    jax = facts_of(document, "jax")

    assert why in jax["not_asked_because"]
    assert facts_of(document, "tpu")["chips"] > 0
    assert "us-central1-b" == facts_of(document, "metadata")["zone"]
    assert "left running: nothing" in told


@LIBTPU
def test_report_is_written_while_real_libtpu_hangs() -> None:
    """While libtpu hangs the report has the step, the stack and all facts that files can tell."""
    document, told = report_on("v5e:8,mdshang", str(LIBTPU_PYTHON))
    jax = facts_of(document, "jax")
    print(f"report while libtpu hangs: {document['seconds']} s, of which {WAIT_S} s are the wait")

    assert "jax.devices()" == jax["hung_in"]
    assert "make_tpu_client" in jax["python_stack"]
    assert "the metadata server" in document["first"]["hung"][0]["likely"]
    assert 8 == facts_of(document, "tpu")["chips"]
    assert facts_of(document, "python")["packages"]["libtpu"]
    assert "left running: nothing" in told
