"""The probe's stand-in in a reproducer, copied into it as text and never imported.

It replaces `probe/finding.py`, `probe/target.py` and the checks' `_tally.py`. The copy has their
class names, because `StandIn` is removed from the names in this file.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class StandInHint(str):
    """Advice for a finding."""

    def __new__(cls, text: str, **_: object) -> "StandInHint":  # noqa: PYI034  there is none in 3.10
        """Keep only the sentence."""
        return super().__new__(cls, text)

    @classmethod
    def run(cls, command: str, more: str = "") -> "StandInHint":
        """Return advice to run a command."""
        return cls(f"run `{command}`{more}")

    @classmethod
    def see(cls, command: str, does: str) -> "StandInHint":
        """Return a command with what it does or shows."""
        return cls(f"`{command}` {does}")

    @classmethod
    def set_up(cls, profile: str, more: str = "") -> "StandInHint":
        """Return the hint to run `tpustarter setup PROFILE`, with `more` appended."""
        return cls.run(f"tpustarter setup {profile}", more)


@dataclass
class StandInFinding:
    """One observation; only the verdict `fail` goes against the claim."""

    code: str
    name: str
    verdict: str = "info"
    found: object = None
    expected: object = None
    unit: str | None = None
    entity: str | None = None
    hint: str | None = None
    lesson: str | None = None
    share: float | None = None


@dataclass
class StandInProgress:
    """The progress of a long run."""

    text: str


NoAnswer = RuntimeError
"""Raised when a check cannot get an answer."""


def compare(code: str, name: str, found: object, expected: object, **fields: Any) -> StandInFinding:
    """Return a finding that fails unless the two values are equal."""
    verdict = "ok" if found == expected else "fail"
    return StandInFinding(code, name, verdict, found, expected, **fields)


AGAIN = "run it again; do not trust a machine on which it fails twice"


def tally(
    code: str, name: str, differences: dict[str, str], hint: str = AGAIN
) -> Iterator[StandInFinding]:
    """Yield the number of parts that are as expected, then a finding for each that differs."""
    whole = list(differences.values()).count("")
    yield compare(code, name, whole, len(differences), hint=hint)
    for entity, text in differences.items():
        if text:
            yield StandInFinding(code, name, "fail", text, entity=entity, hint=hint)


def target() -> SimpleNamespace:
    """Stand in for `probe.target.target`: return the devices named by the command."""
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


def main(findings: Iterable[object]) -> int:
    """Print every finding that is not as expected; return 1 if the claim fails, else 0."""
    failed = False
    for one in findings:
        if not isinstance(one, StandInFinding) or one.verdict == "ok":
            continue
        entity = f" of {one.entity}" if one.entity else ""
        unit = f" {one.unit}" if one.unit else ""
        expected = "" if one.expected is None else f", expected {one.expected}"
        print(
            f"{one.verdict.upper()} {one.code}, {one.name}{entity}: "
            f"found {one.found}{unit}{expected}",
            flush=True,
        )
        failed |= one.verdict == "fail"
    print("The claim fails." if failed else "The claim holds.")
    return int(failed)
