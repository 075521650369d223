"""Sessions, runs and commands of the sample checks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.support.places import SUPPORT, TESTS
from tpustarter.checking.results.results import Result
from tpustarter.checking.run.probe_session import ProbeSession
from tpustarter.checking.run.runner import CheckEnded, CheckRunner
from tpustarter.core import content
from tpustarter.core.redact import Redactor
from tpustarter.machine.machine import Machine
from tpustarter.running import probe_archive

SAMPLES = TESTS / "samples" / "checks"


def drive(
    *arguments: str, checks: Path | str = SAMPLES, machine: Machine | None = None
) -> list[str]:
    """Return the command of `drive.py`; `-` are the checks that ship."""
    place = [str(machine.root), json.dumps(dict(machine.env))] if machine else ["/", "-"]
    user = "-" if machine is None or machine.uid is None else str(machine.uid)
    return [sys.executable, str(SUPPORT / "drive.py"), str(checks), *place, user, *arguments]


def make_session(folder: Path, **more: object) -> ProbeSession:
    """Return a session of this Python on the sample checks, with its files in `folder`."""
    env = {**os.environ, **dict(more.pop("env", {}))}  # type: ignore[call-overload]
    target = {"platform": "cpu", "devices": None, "generation": None, "virtual": False, "root": "/"}
    probe = probe_archive.build_probe_archive(folder / "probe.pyz", SAMPLES)
    return ProbeSession(Path(sys.executable), probe, folder, env, target, Redactor(env), **more)


def sample(name: str) -> content.Check:
    """Return one sample check."""
    return next(one for one in content.read_checks(SAMPLES) if one.id == f"host.{name}")


def run_samples(folder: Path, *names: str, **more: object) -> dict[str, Result]:
    """Run sample checks and return their results by name."""
    runner = CheckRunner(make_session(folder, **more))
    checks = [sample(name) for name in names]
    ended = [event for event in runner.run(checks) if isinstance(event, CheckEnded)]
    return {event.result.id.removeprefix("host."): event.result for event in ended}
