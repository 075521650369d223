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
"""A clock that is further off breaks certificates, and the order of logs."""

INSTALL = "make the same environment on every host: `tpustarter setup jax` there, or one image"
SETTING = "give every host the same value, or programs are compiled differently and wait for ever"
CHIPS = "`tpustarter check --this-host` on that host says which chips it lacks"
TYPE = "these hosts are of different TPUs: start the run on the hosts of one slice"
ORDER = "number the hosts as Cloud TPU does: TPU_WORKER_ID is the host's number"
CLOCK = "`timedatectl` on that host says whether its clock is kept right"


def run(members=None):
    """Compare what each host has handed in with what most of them have."""
    members = [*(target().members if members is None else members)]
    yield from _same("SLICE-PYTHON", "Python", members, _python, INSTALL)
    for package in VERSIONS:
        yield from _same(
            f"SLICE-{package.upper()}", package, members,
            lambda member, package=package: member["frameworks"].get(package), INSTALL,
        )  # fmt: skip
    for name in sorted({name for member in members for name in member["settings"]}):
        yield from _same(
            "SLICE-SETTING", name, members,
            lambda member, name=name: member["settings"].get(name), SETTING,
        )  # fmt: skip
    yield from _same("SLICE-CHIPS", "TPU chips", members, lambda one: one["chips"], CHIPS)
    yield from _same("SLICE-DEVICES", "devices", members, lambda one: one["devices"], CHIPS)
    yield from _same("SLICE-TYPE", "TPU", members, lambda one: one["accelerator_type"], TYPE)
    yield from _order(members)
    yield from _clocks(members)


def _python(member):
    return ".".join(member["python_version"].split(".")[:2])


def _same(code, name, members, read, hint):
    values = [read(member) for member in members]
    [(usual, _)] = collections.Counter(values).most_common(1)
    if len(set(values)) == 1:
        if usual is not None:
            yield Finding(code, f"{name} on every host", "ok", usual, usual)
        return
    for member, value in zip(members, values, strict=True):
        if value != usual:
            found, expected = ("none" if one is None else one for one in (value, usual))
            yield Finding(
                code, f"{name} (expected: as on most hosts)", "fail", found, expected,
                entity=f"host:{member['host']}", hint=hint,
            )  # fmt: skip


def _order(members):
    for member in members:
        if member["worker"] not in (None, member["host"]):
            yield Finding(
                "SLICE-ORDER", "number of this worker in its TPU", "fail", member["worker"],
                member["host"], entity=f"host:{member['host']}", hint=ORDER,
            )  # fmt: skip


def _clocks(members):
    for member in members:
        if abs(member["clock_ahead_s"]) > CLOCK_S:
            yield Finding(
                "SLICE-CLOCK", "its clock is ahead of host 0's by", "warn",
                member["clock_ahead_s"], f"within {CLOCK_S}", "s", f"host:{member['host']}", CLOCK,
            )  # fmt: skip
