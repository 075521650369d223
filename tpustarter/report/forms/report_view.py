"""A view of a report's document, and functions that quote text so that none of it is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from tpustarter.report.report_document import ReportDocument, read_facts


class ReportView:
    """A report's document, with its facts by section and name."""

    def __init__(self, document: dict[str, object]) -> None:
        self.document = msgspec.convert(document, ReportDocument)
        self.first = self.document.first
        self.facts = read_facts(self.document.sections)

    def package_version(self, name: str) -> str:
        """Return the version of a package, or `not installed`."""
        return self.facts.python.packages.get(name, "not installed")


def format_scalar(value: object) -> str:
    """Return a fact as text, a boolean as `yes` or `no`."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def escape_markdown(text: str) -> str:
    """Return text on one line, with Markdown characters escaped."""
    return re.sub(r"([`*_<>\[\]|#])", r"\\\1", " ".join(text.split()))


def fence_text(text: str, language: str = "text") -> Iterator[str]:
    """Yield a fenced block whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    yield f"{fence}{language}"
    yield text
    yield fence
