"""The result of one check on many hosts: the worst of them, with the findings of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tpustarter.checking.results.results import WORST_FIRST, FindingFields, Result, UsedDevices
from tpustarter.text import phrases

HOST = "host:"
"""Beginning of the entity of a finding of one host, as in `host:3 device:5`."""


def name_host(finding: FindingFields, host: int | None) -> FindingFields:
    """Return a finding of a host with the host in its entity; one that names a host keeps it."""
    entity = finding["entity"] or ""
    if host is None or entity.startswith(HOST):
        return finding
    return {**finding, "entity": f"{HOST}{host} {entity}".rstrip()}


def merge(results: Mapping[int | None, Result]) -> Result:
    """Return one result for those of all hosts; None is the key of what is about all of them.

    Of several errors the earliest counts: hosts that waited for that one fail after it.
    """
    worst = min(results.values(), key=lambda one: (WORST_FIRST.index(one.status), one.seconds))
    alike = [
        host
        for host, one in results.items()
        if host is not None and (one.status, one.detail) == (worst.status, worst.detail)
    ]
    detail = worst.detail
    if detail and None not in results and len(alike) < len(results):
        detail = f"{_list_hosts(alike)}: {detail}"
    return replace(
        worst,
        detail=detail,
        seconds=max(one.seconds for one in results.values()),
        ran_on=_together([one.ran_on for one in results.values() if one.ran_on]),
        findings=tuple(
            name_host(finding, host) for host, one in results.items() for finding in one.findings
        ),
    )


def _list_hosts(hosts: list[int]) -> str:
    numbers = phrases.join_words([str(host) for host in hosts])
    return f"{phrases.choose_plural(len(hosts), 'host', 'hosts')} {numbers}"


def _together(places: list[UsedDevices]) -> UsedDevices | None:
    if not places:
        return None
    first = places[0]
    return UsedDevices(first.platform, first.kind, sum(one.count for one in places), first.virtual)
