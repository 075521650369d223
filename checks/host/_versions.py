"""Installed distributions and what they require of each other, read without importing them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tpustarter.machine import frameworks, installed_distributions

NAMES = (
    *map(frameworks.spell_distribution, frameworks.DISTRIBUTIONS.values()),
    "torchax",
    "tpu-inference",
    "vllm-tpu",
    "scipy",
    "ml-dtypes",
)


class Package(NamedTuple):
    """One installed distribution."""

    name: str
    version: str
    requires: tuple[str, ...]
    """Its `Requires-Dist` lines."""


def installed(path: Sequence[str] | None = None) -> dict[str, Package]:
    """Return the installed packages of NAMES, by name; `path` replaces `sys.path`."""
    packages: dict[str, Package] = {}
    for name, found in installed_distributions.find_installed_distributions(NAMES, path).items():
        for said in found:
            # A half-deleted distribution has no metadata, and then no name.
            spelt = re.sub(r"[-_.]+", "-", said.name or "").lower()
            if spelt == name and name not in packages and said.version:
                packages[name] = Package(name, said.version, said.requires)
    return packages


def specifier_for(package: Package, name: str, extra: str | None = None) -> str | None:
    """Return the versions of `name` that a package requires, such as `==0.0.50.*`, or None.

    Only plain requirements and `extra == "..."` are read; other markers are ignored.
    """
    spelt = name.replace("-", "[-_.]")
    pattern = rf"{spelt}\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(?:;(.*))?"
    for line in package.requires:
        match = re.fullmatch(pattern, line.strip(), re.IGNORECASE)
        if match is None:
            continue
        marker = (match[2] or "").strip().replace("'", '"')
        if marker == (f'extra == "{extra}"' if extra else ""):
            return match[1].strip() or None
    return None


def numbers(version: str) -> tuple[int, ...]:
    """Return the release numbers of a version: `0.0.50.1.dev3` is (0, 0, 50, 1)."""
    match = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", version.strip())
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def allows(specifier: str, version: str) -> bool | None:
    """Return whether a version satisfies `specifier`, such as `<=0.12.0.1,>=0.11.2`.

    None if it is not understood. Development and local versions count as their release.
    """
    verdicts = [_allows(part.strip(), numbers(version)) for part in specifier.split(",")]
    return None if None in verdicts else all(verdicts)


def _allows(part: str, version: tuple[int, ...]) -> bool | None:
    match = re.fullmatch(r"(===?|~=|!=|<=|>=|<|>)\s*([\w.!+]+?)(\.\*)?", part)
    if match is None or not version or not numbers(match[2]):
        return None
    operator, limit, star = match[1], numbers(match[2]), match[3]
    length = max(len(version), len(limit))
    padded, padded_limit = (v + (0,) * (length - len(v)) for v in (version, limit))
    same = version[: len(limit)] == limit if star else padded == padded_limit
    verdicts: Mapping[str, bool] = {
        "==": same,
        "===": same,
        "!=": not same,
        "<=": padded <= padded_limit,
        ">=": padded >= padded_limit,
        "<": padded < padded_limit,
        ">": padded > padded_limit,
        "~=": padded >= padded_limit and padded[: len(limit) - 1] == limit[:-1],
    }
    return verdicts[operator]
