"""A view of a report's document, and functions that quote text so that nothing in it is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

Fields = dict[str, Any]


class View:
    """A report's document, with its facts by section and name."""

    def __init__(self, document: Fields) -> None:
        self.document = document
        self.first = cast("Fields", document["first"])
        self.sections = cast("list[Fields]", document["sections"])
        self._facts: dict[str, Fields] = {one["name"]: one["facts"] for one in self.sections}

    def fact(self, section: str, name: str, default: Any = "unknown") -> Any:
        """Return a fact; the default where it is missing."""
        value = self._facts.get(section, {}).get(name)
        return default if value is None else value

    def package(self, name: str) -> str:
        """Return the version of a package, or `not installed`."""
        return str(cast("Fields", self.fact("python", "packages", {})).get(name, "not installed"))


def plain(text: Any) -> str:
    """Return a text in one line, with the characters of markup escaped."""
    return re.sub(r"([`*_<>\[\]|#])", r"\\\1", " ".join(str(text).split()))


def fenced(text: Any, language: str = "text") -> Iterator[str]:
    """Yield a block whose fence is longer than any row of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", str(text))), default=2)
    fence = "`" * (longest + 1)
    yield f"{fence}{language}"
    yield str(text)
    yield fence
