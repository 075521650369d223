r"""What a person has to tell a set-up, such as the name of a bucket: declared in a lesson's header.

    values:
      bucket: {meaning: the bucket that is mounted, matches: "[a-z0-9][a-z0-9._-]+"}
      folder: {meaning: where it is mounted, matches: "/[\\w./-]+", default: /mnt/bucket}

A value is an argument of a command or a part of a line, and never a part of a script: what a
person typed does not go through a shell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from tpustarter.problem import ExitCode, Problem

_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Value:
    """One value that is to be told."""

    name: str
    meaning: str
    matches: str
    """What it has to be as a whole: a regular expression."""
    default: str | None

    @property
    def placeholder(self) -> str:
        """Return what stands for it in a plan while nobody has told it."""
        return self.name.upper().replace("-", "_")


def declared(header: Mapping[str, Any], steps: Any) -> list[Value]:
    """Return the values in a lesson's header that these steps, or their defaults, use."""
    every = cast("dict[str, dict[str, Any]]", header.get("values") or {})
    used = set(_NAME.findall(repr(steps)))
    return [
        Value(name, str(one["meaning"]), str(one["matches"]),
              None if one.get("default") is None else str(one["default"]))
        for name, one in every.items() if name in used
    ]  # fmt: skip


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Return what `--set NAME=VALUE` told; raises Problem for words of another shape."""
    for word in words:
        if "=" not in word:
            raise Problem(
                f"`--set {word}` has no value",
                hint="name and value are parted by `=`, as in `--set bucket=my-bucket`",
                code=ExitCode.USAGE,
            )
    return {word.partition("=")[0]: word.partition("=")[2] for word in words}


def chosen(
    values: Sequence[Value], given: Mapping[str, str], before: Mapping[str, str], profile: str
) -> dict[str, str | None]:
    """Return each value: as given, as set up before, or its default; null where there is none.

    Raises:
        Problem: a value was given that does not exist, or is not what it has to be.
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
        if text.startswith("-") or not text.isprintable() or not re.fullmatch(one.matches, text):
            raise Problem(
                f"{name} is `{text}`, expected {one.meaning}, which fits `{one.matches}`",
                code=ExitCode.USAGE,
            )
    return {one.name: given.get(one.name, before.get(one.name, one.default)) for one in values}


def filled(part: Any, texts: Mapping[str, str]) -> Any:
    """Return a part of a header with these texts in the place of their names in braces.

    Raises:
        ValueError: one would become a part of a script.
    """
    if isinstance(part, dict):
        fields = cast("dict[str, Any]", part)
        return {name: filled(value, texts) for name, value in fields.items()}
    if isinstance(part, list):
        words = [str(word) for word in cast("list[Any]", part)]
        scripts = [word for option, word in pairwise(words) if option == "-c"]
        for name in _NAME.findall(" ".join(scripts)):
            if name in texts:
                raise ValueError(f"`{{{name}}}` stands in a script; write $1, and it after that")
        return [filled(word, texts) for word in words]
    if isinstance(part, str):
        return _NAME.sub(lambda match: texts.get(match[1], match[0]), part)
    return part
