"""A check's details: its findings, method, lesson, log and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from textual.content import Content

from tpustarter.checking.output import results_text
from tpustarter.checking.results import next_step
from tpustarter.checking.results.results import Result, read_hint
from tpustarter.checking.run import known_causes
from tpustarter.core.content import Check
from tpustarter.text import bars
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.shell_variables import add_restart_hint
from tpustarter.tui.checks.check_explanation import CheckExplanation
from tpustarter.tui.kit.markdown_text import colour_code
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    colour_bar,
    group_heading,
    status_word,
    style_sentence,
)


def describe_result(result: Result, source: str = "") -> Iterator[LaidOutLines | Content]:
    """Yield a result's details: the claim, the findings and the devices.

    Args:
        result: The check's result.
        source: The address of the page that documents the claim, or "".
    """
    title = result.title if result.status == "pass" else f"Claim: {result.title}"
    yield Content.styled(escape_text(title), "bold")
    if result.status not in ("pass", "warn", "fail"):
        yield style_sentence(results_text.summarize_result(result))
    if result.cause:
        yield style_sentence(f"This is {known_causes.format_cause(result.cause)}.")
    for finding in result.findings:
        status = {"ok": "pass", "info": "", "warn": "warn", "fail": "fail"}
        verdict = str(finding["verdict"])
        label = status_word(status.get(verdict, ""), escape_text(verdict), 6)
        yield HangingText(label, style_sentence(results_text.finding_line(finding)))
        if filled := bars.draw_peak_bar(finding.get("share")):
            yield Content("      ") + colour_bar(filled)
        if finding["hint"] and verdict != "ok":  # a hint is useless if the claim holds
            yield HangingText(
                "      ", style_sentence(format_commands(add_restart_hint(read_hint(finding))))
            )
    if result.status == "error" or (result.status in ("fail", "warn") and not _has_hint(result)):
        yield HangingText("do    ", style_sentence(add_restart_hint(next_step.choose_hint(result))))
    if result.lesson:
        yield HangingText("read  ", f"{escape_text(result.lesson)} (o)")
    if source:
        yield AddressLine("page  ", escape_text(source))
    if result.ran_on:
        virtual = "virtual " if result.ran_on.virtual else ""
        where = escape_text(f"{result.ran_on.count} x {virtual}{result.ran_on.kind}")
        yield HangingText("on    ", Content.styled(where, "$muted"))


def describe_claim(check: Check) -> Iterator[LaidOutLines | Content]:
    """Yield the claim, lesson and source of a check that has no result."""
    yield Content.styled(escape_text(f"Claim: {check.title}"), "bold")
    if check.lesson:
        yield HangingText("read  ", f"{escape_text(check.lesson)} (o)")
    yield AddressLine("page  ", escape_text(check.source))


def describe_findings_and_method(
    check: Check, found: Iterable[LaidOutLines | Content], about: CheckExplanation
) -> Iterator[LaidOutLines | Content]:
    """Yield a check's findings or claim, then its method and the opening of its lesson."""
    yield from found
    yield from _facts(check, about)
    if about.why:
        yield Content("")
        yield group_heading(f"From its lesson, “{escape_text(about.lesson)}”")
        yield style_sentence(about.why)


def format_check_details(
    check: Check, found: Iterable[LaidOutLines | Content], about: CheckExplanation, log: str
) -> LaidOutLines:
    """Return a check's full details: findings, method, reason, log and code.

    Args:
        check: The check.
        found: The check's findings or claim.
        about: The texts from its file and its lesson.
        log: The last lines of its log, or "".
    """
    left = [*describe_findings_and_method(check, found, about)]
    if log:
        left += [Content(""), group_heading("Its log"), Content(log)]
    file = f"checks/{check.path.parent.name}/{check.path.name}"
    return TextBesideCode(
        StackedText(left),
        [group_heading(f"Its code, {escape_text(file)}"), colour_code(clean_text(about.code))],
    )


def _facts(check: Check, about: CheckExplanation) -> Iterator[LaidOutLines]:
    if about.how:
        yield HangingText("how   ", style_sentence(about.how))
    if check.estimate_s:
        where = " on 8 virtual CPU devices" if check.framework != "host" else ""
        took = f"about {check.estimate_s:g} s{where}"
        yield HangingText("takes ", f"{took}, and it is ended after {check.timeout_s:g} s")


class AddressLine(HangingText):
    """A web address after its label, or on its own line if it fits, or else broken at slashes."""

    def __init__(self, label: str, address: str) -> None:
        super().__init__(label, address, is_typed=False)
        self._name, self._address = label, address

    def lines(self, width: int) -> list[Content]:
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
            for line in HangingText(
                " " * len(self._name) if number else self._name, piece, is_typed=False
            ).lines(width)
        ]


class TextBesideCode(LaidOutLines):
    """A text with code next to it, or below it if the screen is too narrow."""

    CODE = 100
    """The width of the code, in columns."""
    LEAST = 56
    """Minimum width of a text next to code, in columns."""
    GAP = 3

    def __init__(self, text: LaidOutLines, code: Sequence[LaidOutLines | Content]) -> None:
        self._text, self._code = text, code

    def lines(self, width: int) -> list[Content]:
        room = width - self.CODE - self.GAP
        if room < self.LEAST:
            return [*self._text.lines(width), *StackedText([Content(""), *self._code]).lines(width)]
        pairs = zip_longest(
            self._text.lines(room), StackedText(self._code).lines(self.CODE), fillvalue=Content("")
        )
        return [left.pad_right(room + self.GAP - left.cell_length) + right for left, right in pairs]


def _has_hint(result: Result) -> bool:
    return any(
        finding["hint"] and finding["verdict"] in ("fail", "warn") for finding in result.findings
    )
