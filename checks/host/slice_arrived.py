"""Every host of the slice has arrived, and once."""

import collections

from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"hosts": 2}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "slices/run-everywhere"
SOURCE = "https://docs.jax.dev/en/latest/multi_process.html"

MISSING = (
    "start the command on it too; where it runs there, its own last line says why it did not come"
)
TWICE = "give each host a number of its own: TPU_WORKER_ID, or `--host`"
COUNT = "give every host the same number of hosts: TPU_WORKER_HOSTNAMES, or `--hosts`"


def run(members=None, hosts=None):
    """Compare the hosts that arrived with those that this run needs."""
    members = target().members if members is None else members
    hosts = target().hosts if hosts is None else hosts
    names = collections.defaultdict(list)
    for member in members:
        names[member["host"]].append(member)
    for host in range(hosts):
        if host not in names:
            yield Finding(
                "SLICE-MISSING", "host that did not arrive", "fail", "no answer", "arrived",
                entity=f"host:{host}", hint=MISSING,
            )  # fmt: skip
    arrived = sum(host in names for host in range(hosts))
    yield compare(
        "SLICE-ARRIVED", "hosts that have arrived", arrived, hosts, unit="hosts", hint=MISSING
    )
    for host, same in sorted(names.items()):
        if len(same) > 1:
            yield Finding(
                "SLICE-TWICE", "hosts that have this number", "fail", _names(same), "one",
                entity=f"host:{host}", hint=TWICE,
            )  # fmt: skip
    for member in members:
        if member["hosts"] != hosts:
            yield Finding(
                "SLICE-COUNT", f"number of hosts that {member['name']} was told", "fail",
                member["hosts"], hosts, "hosts", f"host:{member['host']}", COUNT,
            )  # fmt: skip


def _names(members):
    return ", ".join(f"{member['name']} (process {member['process']})" for member in members)
