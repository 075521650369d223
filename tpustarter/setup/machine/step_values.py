r"""Values that the user gives to a set-up, such as a bucket's name, declared in a lesson's header.

    values:
      bucket: {meaning: the bucket that is mounted, matches: "[a-z0-9][a-z0-9._-]+"}
      folder: {meaning: where it is mounted, matches: "/[\\w./-]+", default: /mnt/bucket}
      clients: {meaning: the subnet of your machines, is: private-subnet}

A value is an argument of a command or part of a line, and never part of a script: user input does
not go through a shell.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from tpustarter.core.json_values import is_array, is_object
from tpustarter.core.problem import ExitCode, Problem

_NAME = re.compile(r"\{(\w+)\}")
_PRIVATE = [*map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))]
"""Private address ranges, unused on the internet. Source: RFC 1918 (read 2026-11)."""


def _is_private_subnet(text: str) -> bool:
    # An address range with a prefix length, and without public addresses.
    try:
        subnet = ipaddress.IPv4Network(text)
    except ValueError:
        return False
    return "/" in text and any(subnet.subnet_of(private) for private in _PRIVATE)


def _is_private_address(text: str) -> bool:
    return "/" not in text and _is_private_subnet(f"{text}/32")


@dataclass(frozen=True)
class ValueKind:
    """A kind of value that a regular expression cannot describe."""

    fits: Callable[[str], bool]
    expected: str
    why: str


KINDS = {
    "private-subnet": ValueKind(
        _is_private_subnet,
        "a private subnet such as `10.128.0.0/20`",
        "an NFS server believes whoever reaches it, so it never shares with the internet; "
        "`gcloud compute networks subnets list` shows the subnets that you have",
    ),
    "private-address": ValueKind(
        _is_private_address,
        "a private address such as `10.128.0.2`",
        "NFS is not encrypted, so it stays inside your network; `hostname -I` on that machine "
        "shows its addresses",
    ),
}


@dataclass(frozen=True)
class StepValue:
    """One value that a set-up needs."""

    name: str
    meaning: str
    matches: str
    """A regular expression for the whole value; empty if `kind` decides."""
    default: str | None
    kind: ValueKind | None = None

    @property
    def placeholder(self) -> str:
        """The text shown for the value in a plan until it is given."""
        return self.name.upper().replace("-", "_")


class _ValueFields(msgspec.Struct):
    meaning: str
    matches: str = ""
    default: str | int | None = None
    kind: str | None = msgspec.field(default=None, name="is")

    def __post_init__(self) -> None:
        if not (self.matches or self.kind):
            raise ValueError("a value has neither `matches` nor `is`")


def read_declared_values(header: Mapping[str, object], steps: object) -> list[StepValue]:
    """Return the values in a lesson's header that these steps use."""
    every = msgspec.convert(header.get("values") or {}, dict[str, _ValueFields])
    used = set(_NAME.findall(repr(steps)))
    return [
        StepValue(
            name,
            one.meaning,
            one.matches,
            None if one.default is None else str(one.default),
            KINDS[one.kind] if one.kind else None,
        )
        for name, one in every.items()
        if name in used
    ]


def parse_set_options(words: Sequence[str]) -> dict[str, str]:
    """Return the values given with `--set NAME=VALUE`.

    Raises:
        Problem: A word has no `=`.
    """
    for word in words:
        if "=" not in word:
            raise Problem(
                f"`--set {word}` has no value",
                hint="name and value are parted by `=`, as in `--set bucket=my-bucket`",
                code=ExitCode.USAGE,
            )
    return {word.partition("=")[0]: word.partition("=")[2] for word in words}


def choose_values(
    values: Sequence[StepValue], given: Mapping[str, str], before: Mapping[str, str], profile: str
) -> dict[str, str | None]:
    """Return each value: as given, as in an earlier set-up, its default, or None.

    Raises:
        Problem: A given value is unknown or invalid.
    """
    by_name = {one.name: one for one in values}
    for name, text in given.items():
        if name not in by_name:
            choices = "".join(f"\n  {one.name}  {one.meaning}" for one in values)
            raise Problem(
                f"`tpustarter setup {profile}` has no value `{name}`",
                hint=f"these can be set:{choices}" if values else "leave `--set` out",
                code=ExitCode.USAGE,
            )
        one = by_name[name]
        if one.kind:
            if not one.kind.fits(text):
                raise Problem(
                    f"{name} is `{text}`, expected {one.kind.expected}: {one.meaning}",
                    hint=one.kind.why,
                    code=ExitCode.USAGE,
                )
        elif text.startswith("-") or not text.isprintable() or not re.fullmatch(one.matches, text):
            raise Problem(
                f"{name} is `{text}`, expected {one.meaning}, which fits `{one.matches}`",
                code=ExitCode.USAGE,
            )
    return {one.name: given.get(one.name, before.get(one.name, one.default)) for one in values}


def make_missing_values_problem(missing: Sequence[StepValue], profile: str) -> Problem:
    """Return the Problem for missing values."""
    meanings = "; ".join(f"{one.name}: {one.meaning}" for one in missing)
    typed = " ".join(f"--set {one.name}={one.placeholder}" for one in missing)
    return Problem(
        f"`tpustarter setup {profile}` has to be told something first, {meanings}",
        hint=f"`tpustarter setup {profile} {typed} --yes`, with yours in capital letters' place",
        code=ExitCode.USAGE,
    )


def fill_in_values(part: object, texts: Mapping[str, str]) -> object:
    """Return a part of a header, with names in braces replaced by these texts.

    Raises:
        ValueError: A text would become part of a script.
    """
    if is_object(part):
        return {name: fill_in_values(value, texts) for name, value in part.items()}
    if is_array(part):
        words = [str(word) for word in part]
        scripts = [word for option, word in pairwise(words) if option == "-c"]
        for name in _NAME.findall(" ".join(scripts)):
            if name in texts:
                raise ValueError(f"`{{{name}}}` stands in a script; write $1, and it after that")
        return [fill_in_values(word, texts) for word in words]
    if isinstance(part, str):
        return _NAME.sub(lambda match: texts.get(match[1], match[0]), part)
    return part
