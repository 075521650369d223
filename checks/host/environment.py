"""No environment variable is a known mistake."""

from __future__ import annotations

from tpustarter.checks.host import _flags, _in_force, _relations, _variables
from tpustarter.machine import host
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "trouble/when-it-does-not-start"
SOURCE = "https://docs.cloud.google.com/tpu/docs/troubleshooting/trouble-jax"


def run(machine: host.Machine | None = None):
    """Compare the variables with the table of known mistakes, and with each other."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    tpu, count = host.guess_platform(machine) == "tpu", 0
    for row, name, display in _variables.mistakes(machine.env):
        count += 1
        yield Finding(
            code="HOST-ENVIRONMENT-VARIABLE",
            name=f"{name} {row.says}",
            verdict=row.verdict if tpu or not row.only_tpu else "info",
            found=display,
            expected=row.expected,
            entity=f"variable:{name}",
            hint=_variables.fix(row, name),
        )
    for finding in (*_relations.findings(machine), *_flags.findings(machine)):
        count += 1
        yield finding
    if not count:
        yield Finding("HOST-ENVIRONMENT-CLEAN", "known mistakes in variables", "ok", "none")
    yield from _in_force.findings(machine.env)
