"""The checks of a slice in several processes joined by `jax.distributed`, each with 4 devices.

As a program, it is one of the processes: `slice_processes.py REQUEST`, where REQUEST is JSON. It
prints one finding per line, as JSON with the check and the host.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT_S = 150
"""Seconds after which hosts that still run are killed, because none of them may hang."""


@dataclass
class HostRun:
    """The findings of one host, and the end of its process."""

    findings: list[dict[str, Any]] = field(default_factory=list)
    code: int | None = None
    """The exit code; None if the process hung and was killed."""
    log: str = ""
    left: list[str] = field(default_factory=list)
    """Names of the entries that the checks left in the temporary folder."""

    def of(self, check: str, verdict: str = "") -> list[tuple[str, Any, str | None]]:
        """Return the code, value and entity of a check's findings, of one verdict if given."""
        return [
            (one["code"], one["found"], one["entity"])
            for one in self.findings
            if one["check"] == check and verdict in (one["verdict"], "")
        ]


def run_hosts(
    names: list[str],
    *,
    hosts: int = 2,
    devices: int = 4,
    breaks: tuple[str, ...] = (),
    python: str = sys.executable,
) -> list[HostRun]:
    """Run checks on several hosts at once; `breaks` names the faults of the last host."""
    with socket.create_server(("localhost", 0)) as server:
        address = f"localhost:{server.getsockname()[1]}"
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(devices)}
    request = {"names": names, "hosts": hosts, "address": address, "breaks": breaks}
    runs, processes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for host in range(hosts):
            given = json.dumps({**request, "host": host})
            out, log = (Path(folder, f"{kind}-{host}") for kind in ("out", "log"))
            with out.open("wb") as stdout, log.open("wb") as stderr:
                process = subprocess.Popen(
                    [python, __file__, given],
                    stdout=stdout,
                    stderr=stderr,
                    env={**variables, "TMPDIR": folder},
                )
            processes.append((process, out, log))
        until = time.monotonic() + LIMIT_S
        for process, out, log in processes:
            run = HostRun()
            try:
                run.code = process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            lines = out.read_text().splitlines()
            run.findings = [
                json.loads(line) for line in lines if line[:1] == "{"
            ]  # other lines are Gloo's
            run.log = log.read_text()
            run.left = [path.name for path in Path(folder).glob("slice-checkpoint-*")]
            runs.append(run)
    return runs


# Faults, and the program of one process.


def another_constant(checks: Any) -> None:
    """Give this host's program a different constant."""
    checks.module("slice_program").FACTOR = 5


def another_order(checks: Any) -> None:
    """Make this host list the devices of the other hosts first."""
    module = checks.module("slice_devices")
    honest = module.listed
    module.listed = lambda: honest()[::-1]


def fewer_devices(checks: Any) -> None:
    """Hide the last device from this host."""
    module = checks.module("slice_devices")
    honest = module.listed
    module.listed = lambda: honest()[:-1]


def fewer_batches(checks: Any) -> None:
    """Make this host read only one batch."""
    checks.module("slice_input").batches = lambda numbers, _: list(numbers[:1])


def its_own_steps(checks: Any) -> None:
    """Make this host take as many steps as the longest input has."""
    checks.module("slice_input").steps = max


def another_seed(checks: Any) -> None:
    """Make this host's keys come from a different seed."""
    module = checks.module("slice_keys")
    module.words = lambda: [1, 2]


def rows_of_another_host(checks: Any) -> None:
    """Make this host read the first host's rows."""
    module = checks.module("slice_arrays")
    own = module._slices.own
    module.local_rows = lambda numbers, devices: numbers[: len(own(devices))]


BREAKS = {
    one.__name__: one
    for one in (
        another_constant,
        another_order,
        fewer_devices,
        fewer_batches,
        its_own_steps,
        another_seed,
        rows_of_another_host,
    )
}


class Checks:
    """The modules of the JAX checks."""

    def module(self, name: str) -> Any:
        """Return the module of a check, or of shared code."""
        import importlib

        return importlib.import_module(f"tpustarter.checks.jax.{name}")


def main(request: dict[str, Any]) -> None:
    """Join the other hosts, run the checks, and print their findings."""
    sys.path.insert(0, str(ROOT))
    import tpustarter

    if (ROOT / "checks").is_dir():
        tpustarter.__path__.append(str(ROOT))
    import jax

    jax.distributed.initialize(
        request["address"], num_processes=request["hosts"], process_id=request["host"]
    )
    from tpustarter.probe import check_needs
    from tpustarter.probe.finding import Finding, NoAnswer

    checks = Checks()
    timing = checks.module("_timing")
    timing.LEAST_BY_PLATFORM_S["cpu"], timing.REPEATS_TOGETHER = (
        0,
        1,
    )  # times are not judged in these tests
    for name in request["breaks"] if request["host"] == request["hosts"] - 1 else ():
        BREAKS[name](checks)
    for name in request["names"]:
        module, began = checks.module(name), time.monotonic()
        if reason := check_needs.find_unmet_need("jax", module.NEEDS):
            report(name, "unmet", reason)
            continue
        before = dict(jax.config.values)
        try:
            for item in module.run():
                if isinstance(item, Finding):
                    print(json.dumps({"check": name, **item.as_dict()}), flush=True)
        except NoAnswer as silent:
            report(name, "no-answer", str(silent))
        except Exception as error:  # noqa: BLE001  the next check is run all the same
            report(name, "exception", repr(error))
        if before != dict(jax.config.values):
            report(name, "changed", "it left JAX configured in another way")
        print(f"{name}: {time.monotonic() - began:.2f} s", file=sys.stderr, flush=True)


def report(name: str, verdict: str, text: str) -> None:
    """Print the end of a check that has no verdict."""
    print(
        json.dumps({"check": name, "code": "", "verdict": verdict, "found": text, "entity": None}),
        flush=True,
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
