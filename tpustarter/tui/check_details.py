"""What was found by one check, as the app shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from textual.content import Content

from tpustarter.checking import bars, causes, text
from tpustarter.checking.results import Result
from tpustarter.content import Check
from tpustarter.invocation import as_typed
from tpustarter.terminal import visible
from tpustarter.tui import painted
from tpustarter.tui.check_about import About
from tpustarter.tui.lines import Hanging, Lines, Stack, heading, prose, word
from tpustarter.tui.plain import plain
from tpustarter.tui.reading import coloured
from tpustarter.tui.variables import in_app


def details(result: Result, source: str = "") -> Iterator[Lines | Content]:
    """Yield the claim, named as one unless it holds, each finding, and where the check ran.

    Args:
        result: What the check came to.
        source: The page that documents the claim, where it is known.
    """
    title = result.title if result.status == "pass" else f"Claim: {result.title}"
    yield Content.styled(visible(title), "bold")
    if result.status not in ("pass", "warn", "fail"):
        yield prose(text.summary(result))
    if result.cause:
        yield prose(f"This is {causes.sentence(result.cause)}.")
    for finding in result.findings:
        status = {"ok": "pass", "info": "", "warn": "warn", "fail": "fail"}
        verdict = str(finding["verdict"])
        label = word(status.get(verdict, ""), visible(verdict), 6)
        yield Hanging(label, prose(text.finding_line(finding)))
        if filled := bars.of_peak(finding):
            yield Content("      ") + painted.bar(filled)
        if finding["hint"] and verdict != "ok":  # nothing is to be done about what holds
            yield Hanging("      ", prose(as_typed(in_app(str(finding["hint"])))))
    if result.status == "error" or (result.status in ("fail", "warn") and not _has_hint(result)):
        yield Hanging("do    ", prose(in_app(text.next_step(result))))
    if result.lesson:
        yield Hanging("read  ", f"{visible(result.lesson)} (o)")
    if source:
        yield Address("page  ", visible(source))
    if result.ran_on:
        devices = result.ran_on
        virtual = "virtual " if devices.get("virtual") else ""
        where = visible(f"{devices.get('count')} x {virtual}{devices.get('kind')}")
        yield Hanging("on    ", Content.styled(where, "$muted"))


def of_claim(check: Check) -> Iterator[Lines | Content]:
    """Yield what a check that has no result yet claims, where that is documented and explained."""
    yield Content.styled(visible(f"Claim: {check.title}"), "bold")
    if check.lesson:
        yield Hanging("read  ", f"{visible(check.lesson)} (o)")
    yield Address("page  ", visible(check.source))


def explained(
    check: Check, found: Iterable[Lines | Content], about: About
) -> Iterator[Lines | Content]:
    """Yield what a check found, or claims, and then how it measures and why that matters."""
    yield from found
    yield from _facts(check, about)
    if about.why:
        yield Content("")
        yield heading(f"From its lesson, “{visible(about.lesson)}”")
        yield prose(about.why)


def whole(check: Check, found: Iterable[Lines | Content], about: About, log: str) -> Lines:
    """Return all there is to read of a check: what it found, how and why, its log and its code.

    Args:
        check: The check.
        found: What it found, or claims.
        about: What its file and its lesson say.
        log: The last lines that it wrote; empty for none.
    """
    left = [*explained(check, found, about)]
    if log:
        left += [Content(""), heading("Its log"), Content(log)]
    file = f"checks/{check.path.parent.name}/{check.path.name}"
    return Beside(Stack(left), [heading(f"Its code, {visible(file)}"), coloured(plain(about.code))])


def _facts(check: Check, about: About) -> Iterator[Lines]:
    """Yield how a check measures, and how long that takes."""
    if about.how:
        yield Hanging("how   ", prose(about.how))
    if check.estimate_s:
        where = " on 8 virtual CPU devices" if check.framework != "host" else ""
        took = f"about {check.estimate_s:g} s{where}"
        yield Hanging("takes ", f"{took}, and it is ended after {check.timeout_s:g} s")


class Address(Hanging):
    """An address behind a label, or below it where that keeps it whole; else broken at a slash."""

    def __init__(self, label: str, address: str) -> None:
        super().__init__(label, address, is_typed=False)
        self._name, self._address = label, address

    def lines(self, width: int) -> list[Content]:
        """Return the address; no line of it ends within a word that fits one."""
        room = width - len(self._name)
        if len(self._address) <= room:
            return super().lines(width)
        if len(self._address) <= width:
            return [Content.styled(self._name.rstrip(), "$label"), Content(self._address)]
        pieces = [""]
        for part in re.findall(r"[^/]*/+|[^/]+$", self._address):
            if pieces[-1] and len(pieces[-1] + part) > room:
                pieces.append("")
            pieces[-1] += part
        return [
            line
            for number, piece in enumerate(pieces)
            for line in Hanging(
                " " * len(self._name) if number else self._name, piece, is_typed=False
            ).lines(width)
        ]


class Beside(Lines):
    """A text with code beside it, or below it where there is no room for both."""

    CODE = 100
    """Columns of the longest line of code."""
    LEAST = 56
    """Columns that a text needs beside code."""
    GAP = 3

    def __init__(self, text: Lines, code: Sequence[Lines | Content]) -> None:
        self._text, self._code = text, code

    def lines(self, width: int) -> list[Content]:
        """Return the lines of both."""
        room = width - self.CODE - self.GAP
        if room < self.LEAST:
            return [*self._text.lines(width), *Stack([Content(""), *self._code]).lines(width)]
        pairs = zip_longest(
            self._text.lines(room), Stack(self._code).lines(self.CODE), fillvalue=Content("")
        )
        return [left.pad_right(room + self.GAP - left.cell_length) + right for left, right in pairs]


def _has_hint(result: Result) -> bool:
    """Return whether what to do already stands below a finding."""
    return any(
        finding["hint"] and finding["verdict"] in ("fail", "warn") for finding in result.findings
    )
