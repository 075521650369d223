"""The stand-in for the probe in a reproducer: copied into it as text, never imported here.

It replaces `probe/finding.py`, `probe/target.py` and the `_tally.py` of the checks. A copy has the
names that they have: `StandIn` is removed from those of the classes.
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
        """Keep the sentence alone."""
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
"""Raised where what a check asks does not answer."""


def compare(code: str, name: str, found: object, expected: object, **fields: Any) -> StandInFinding:
    """Return a finding that fails unless the two values are equal."""
    verdict = "ok" if found == expected else "fail"
    return StandInFinding(code, name, verdict, found, expected, **fields)


AGAIN = "run it again; do not trust a machine on which it fails twice"


def tally(
    code: str, name: str, differences: dict[str, str], hint: str = AGAIN
) -> Iterator[StandInFinding]:
    """Yield how many parts are as expected, then each that is not, with how it differs."""
    whole = list(differences.values()).count("")
    yield compare(code, name, whole, len(differences), hint=hint)
    for entity, text in differences.items():
        if text:
            yield StandInFinding(code, name, "fail", text, entity=entity, hint=hint)


def target() -> SimpleNamespace:
    """Stand in for `probe.target.target`: return the devices that the command above names."""
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
    """Print every finding that is not as expected; return 1 where the claim fails, else 0."""
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
