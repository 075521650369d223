"""Every host has the same versions, settings and chips."""

import collections

from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"hosts": 2}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "slices/run-everywhere"
SOURCE = "https://docs.jax.dev/en/latest/multi_process.html"

VERSIONS = ("jax", "jaxlib", "libtpu", "libtpu-nightly")
CLOCK_S = 60
"""Seconds: a clock that is further off breaks certificates, and the order of logs."""

INSTALL = "make the same environment on every host, with `tpustarter setup jax` or one image"
SETTING = "give every host the same value: else their programs differ, and wait for each other"
CHIPS = "`tpustarter check --this-host` on that host says which chips it lacks"
TYPE = "start the run on the hosts of one slice alone"
ORDER = "number the hosts as Cloud TPU does: a host's number is its TPU_WORKER_ID"
CLOCK = "`timedatectl` on that host says whether its clock is kept right"


def run(members=None):
    """Compare the facts of each host with those of most hosts."""
    members = [*(target().members if members is None else members)]
    yield from _compare("SLICE-PYTHON", "Python", members, [*map(_python, members)], INSTALL)
    for package in VERSIONS:
        code = f"SLICE-{package.upper()}"
        versions = [member["frameworks"].get(package) for member in members]
        yield from _compare(code, package, members, versions, INSTALL)
    for name in sorted({name for member in members for name in member["settings"]}):
        values = [member["settings"].get(name) for member in members]
        yield from _compare("SLICE-SETTING", name, members, values, SETTING)
    for code, name, field, hint in (
        ("SLICE-CHIPS", "TPU chips", "chips", CHIPS),
        ("SLICE-DEVICES", "devices of a host", "devices", CHIPS),
        ("SLICE-TYPE", "type of the TPU", "accelerator_type", TYPE),
    ):
        yield from _compare(code, name, members, [one[field] for one in members], hint)
    for member in members:
        entity = f"host:{member['host']}"
        if member["worker"] not in (None, member["host"]):
            yield Finding("SLICE-ORDER", "number of this worker in its TPU", "fail",
                          member["worker"], member["host"], None, entity, ORDER)  # fmt: skip
        ahead_s = float(member.get("clock_ahead_s", 0))
        if abs(ahead_s) > CLOCK_S:
            yield Finding("SLICE-CLOCK", "clock, ahead of that of host 0", "warn",
                          ahead_s, f"within {CLOCK_S}", "s", entity, CLOCK)  # fmt: skip


def _compare(code, name, members, values, hint):
    """Yield the differences from most hosts; from the first, where as many have either."""
    usual = collections.Counter(values).most_common(1)[0][0]
    if len({*values}) == 1:
        if usual is not None:
            yield Finding(code, f"{name}, on every host", "ok", usual, usual)
        return
    first = members[values.index(usual)]["host"]
    for member, value in zip(members, values, strict=True):
        if value != usual:
            found, expected = ("none" if one is None else one for one in (value, usual))
            yield Finding(code, f"{name}, unlike on host {first}", "fail", found, expected,
                          None, f"host:{member['host']}", hint)  # fmt: skip


def _python(member):
    return ".".join(member["python_version"].split(".")[:2])
