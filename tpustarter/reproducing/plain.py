"""What a reproducer has in the place of the probe: copied into it as text, never imported here.

It stands for `probe/finding.py`, `probe/target.py` and the `_tally.py` of the checks, and has the
names that they have.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any


@dataclass
class Finding:
    """One observation; only the verdict `fail` goes against the claim."""

    code: str
    name: str
    verdict: str = "info"
    found: Any = None
    expected: Any = None
    unit: str | None = None
    entity: str | None = None
    hint: str | None = None
    lesson: str | None = None


@dataclass
class Progress:
    """How far a long run has come."""

    text: str


def compare(code: str, name: str, found: Any, expected: Any, **fields: Any) -> Finding:
    """Return what was found, which fails where something else was expected."""
    verdict = "ok" if found == expected else "fail"
    return Finding(code, name, verdict, found, expected, **fields)


AGAIN = "run it again; do not trust a machine on which it fails twice"


def tally(
    code: str, name: str, differences: dict[str, str], hint: str = AGAIN
) -> Iterator[Finding]:
    """Yield how many parts are as expected, then each that is not, and how it differs."""
    whole = list(differences.values()).count("")
    yield compare(code, name, whole, len(differences), hint=hint)
    for entity, text in differences.items():
        if text:
            yield Finding(code, name, "fail", text, entity=entity, hint=hint)


def target() -> SimpleNamespace:
    """Return what is expected of this machine, as the variables in the command above say."""
    platform = os.environ.get("EXPECTED_PLATFORM", "cpu")
    count = int(os.environ.get("EXPECTED_DEVICES", "0"))
    return SimpleNamespace(
        platform=platform,
        devices=count or None,
        generation=os.environ.get("EXPECTED_GENERATION"),
        virtual=platform == "cpu" and count > 1,
        minutes=float(os.environ.get("MINUTES", "1")),
        root=Path("/"),
        uid=None,
    )


def main(findings: Iterable[Any]) -> int:
    """Print everything that is not as expected; return 1 where the claim fails, else 0."""
    failed = False
    for one in findings:
        if not isinstance(one, Finding) or one.verdict == "ok":
            continue
        entity = f" of {one.entity}" if one.entity else ""
        unit = f" {one.unit}" if one.unit else ""
        expected = "" if one.expected is None else f", expected {one.expected}"
        print(f"{one.verdict.upper()} {one.code}, {one.name}{entity}: "
              f"found {one.found}{unit}{expected}", flush=True)  # fmt: skip
        failed |= one.verdict == "fail"
    print("The claim fails." if failed else "The claim holds.")
    return int(failed)
