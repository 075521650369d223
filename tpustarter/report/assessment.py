"""The judgement at the top of a report: stale versions, known failures, the tracker, and hangs.

It reads only facts that a report contains, so a bundle from another machine can be judged again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tpustarter.machine.frameworks import is_too_old
from tpustarter.report.forms import trackers

Fields = dict[str, Any]
NAMED = "you named it with `--for`"
"""The reason for a tracker that the user has chosen."""


def first(facts: Mapping[str, Fields], unanswered: Sequence[Fields], wanted: str | None) -> Fields:
    """Judge the facts of a report.

    Args:
        facts: The facts of each section, by its name.
        unanswered: Sections without an answer, each with name, title, why and seconds.
        wanted: The tracker that the user named; None for the one that fits best.
    """
    packages = cast("dict[str, str]", facts.get("python", {}).get("packages") or {})
    tracker, why = _where(facts, packages, wanted)
    return {
        "stale": _stale(packages, str(facts.get("python", {}).get("python_version") or "")),
        "known": _known(facts.get("known", {})),
        "tracker": tracker,
        "file_at": trackers.named(tracker).file_at,
        "search_at": trackers.named(tracker).search_at,
        "why_there": why,
        "hung": _hung(facts, [one["name"] for one in unanswered]),
        "unanswered": [
            {"name": one["name"], "why": one["why"], "seconds": one["seconds"]}
            for one in unanswered
        ],
    }


def _stale(packages: Mapping[str, str], python: str) -> list[Fields]:
    minor = ".".join(python.split(".")[:2])
    found: list[Fields] = []
    for name, version in packages.items():
        newest = trackers.NEWEST_FOR.get((name, minor)) or trackers.NEWEST.get(name)
        pinned = trackers.PINNED.get(name) in packages
        if newest and not pinned and is_too_old(name, version, newest):
            found.append({"name": name, "found": version, "newest": newest})
    return found


def _known(section: Fields) -> list[Fields]:
    matches = cast("list[Fields]", section.get("matches") or [])
    causes = [one for one in matches if one["role"] != "notice" and not one["explained_by"]]
    order = ("confirmed", "likely", "possible")
    causes.sort(key=lambda one: order.index(one["confidence"]))
    unique = {one["id"]: one for one in reversed(causes)}
    kept = sorted(unique.values(), key=lambda one: order.index(one["confidence"]))
    return [
        {
            key: one[key]
            for key in ("id", "title", "confidence", "from", "line", "quote", "fix", "sources")
        }
        for one in kept[:3]
    ]


def _hung(facts: Mapping[str, Fields], unanswered: Sequence[str]) -> list[Fields]:
    return [
        {
            "framework": name,
            "in": one["hung_in"],
            "seconds": one["waited_s"],
            "likely": _reason(one, facts, unanswered),
        }
        for name, one in facts.items()
        if one.get("hung_in")
    ]


def _reason(one: Fields, facts: Mapping[str, Fields], unanswered: Sequence[str]) -> str | None:
    if "Metadata" in str(one.get("native_stack") or ""):
        return "its native stack shows that libtpu waits for the metadata server"
    if facts.get("tpu", {}).get("chips") and "metadata" in unanswered:
        return "the metadata server gives no answer, and libtpu asks it while it starts"
    if facts.get("metadata", {}).get("waits_for_other_hosts"):
        return "this is one of several hosts, and each waits for the others"
    return None


def _where(
    facts: Mapping[str, Fields], packages: Mapping[str, str], wanted: str | None
) -> tuple[str, str]:
    if wanted:
        return trackers.named(wanted).id, NAMED
    tpu, checks = facts.get("tpu", {}), facts.get("checks", {})
    found = cast("list[Fields]", checks.get("findings") or [])
    fails = [str(one["code"]) for one in found if one["verdict"] == "fail"]
    if tpu.get("chips") and re.search(r"HOST-(CHIPS|NODES?|METADATA)", " ".join(fails)):
        return "cloud-tpu", (
            "host checks fail on this TPU VM before a framework is involved, and the VM is Google's"
        )
    tracker = trackers.of_frameworks(list(packages))
    if not packages:
        return tracker.id, "no framework is installed in this Python, so this is a guess"
    if (
        any(one.get("hung_in") for one in facts.values())
        and tpu.get("chips")
        and tracker.id == "jax"
    ):
        return tracker.id, (
            "it hangs while libtpu starts, and JAX's maintainers take reports of libtpu; where a "
            "new TPU VM hangs too, Cloud TPU support can look at the host (`--for cloud-tpu`)"
        )
    return tracker.id, f"{tracker.title} is what is installed in this Python"
