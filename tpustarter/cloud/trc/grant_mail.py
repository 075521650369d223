"""Reads the lines of a grant in the text of a TRC e-mail.

Only one form is known, from e-mails that participants published. If it has changed, or a mail
program has rewritten it, nothing is guessed, and the command asks for the lines.
Source: https://github.com/tiny-aya-simultaneous-translation/model/tree/main/docs (read 2026-11).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from tpustarter.cloud.api.resources import Tier
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import MOST_ALLOWANCES, MOST_DAYS, Grant, GrantAllowance
from tpustarter.core.problem import ExitCode, Problem

MOST_CHARACTERS = 200_000
"""Longest accepted text in characters; a longer one is not a TRC e-mail."""
EXAMPLE = "64 spot Cloud TPU v6e chips in zone us-east1-d"

_LINE = re.compile(
    r"\b(?P<number>[0-9][0-9,]{0,11}) (?P<tier>spot|on-demand|preemptible|reserved) Cloud TPU "
    r"(?P<type>[\w-]{1,20}) (?P<unit>chip|device)(?:s|\(s\))? in zone (?P<zone>[a-z0-9-]{1,40})",
    re.IGNORECASE | re.ASCII,
)
_ZONE = re.compile(r"\bin (?:the )?zone\b", re.IGNORECASE)
"""Words that every line has, even one of another form."""
_DAYS = re.compile(r"\bfor ([0-9]{1,4}) days\b", re.IGNORECASE)
_TIERS: dict[str, Tier] = {
    "spot": "spot",
    "preemptible": "spot",
    "on-demand": "on-demand",
    "reserved": "reserved",
}
_MARKS = dict.fromkeys(map(ord, ">|*_`"), " ")
"""Marks of quoted and bold text, which are replaced by spaces."""


@dataclass(frozen=True)
class ParsedGrantMail:
    """The grant in an e-mail, with notes on its parsing."""

    grant: Grant
    notes: tuple[str, ...] = ()
    """Lines that were not understood, and decisions made, as sentences."""


def parse_grant_mail(text: str) -> ParsedGrantMail:
    """Parse the grant in an e-mail; raises Problem if the text contains no grant."""
    plain = " ".join(text[:MOST_CHARACTERS].translate(_MARKS).split())
    kept: dict[tuple[str, str, str, str], GrantAllowance] = {}
    notes: dict[str, None] = {}
    count = 0
    for match in _LINE.finditer(plain):
        try:
            row = _parse_line(match)
        except Problem:
            continue
        count += 1
        before = kept.setdefault(row.key, row)
        if before.chips != row.chips:  # an older grant may be quoted below a newer one
            fewer = min(before.chips, row.chips)
            kept[row.key] = msgspec.structs.replace(row, chips=fewer)
            where = f"{row.tier} {row.generation} in {row.zone}"
            notes[f"Two lines differ about {where}, and the one with {fewer} chips was taken."] = (
                None
            )
        if len(kept) == MOST_ALLOWANCES:
            break
    if not kept:
        raise Problem(
            f"no line of a grant was found in the text, expected lines such as `{EXAMPLE}`",
            hint="type them with `tpustarter trc --ask`, or as `tpustarter trc --allow "
            "v6e:64:spot:us-east1-d`",
            read="start/trc-to-first-vm",
            code=ExitCode.USAGE,
        )
    if count < len(_ZONE.findall(plain)):
        notes["A line that names a zone was not understood: `tpustarter trc --ask` asks."] = None
    days = {int(days) for days in _DAYS.findall(plain)}
    is_known = len(days) == 1 and 0 < min(days) <= MOST_DAYS
    return ParsedGrantMail(
        Grant(tuple(kept.values()), days=days.pop() if is_known else None), tuple(notes)
    )


def parse_line(text: str) -> GrantAllowance:
    """Parse a line of the e-mail or a value of `--allow`; raises Problem if it is invalid."""
    if match := _LINE.search(" ".join(text.translate(_MARKS).split())):
        return _parse_line(match)
    return trc_grant.parse_allow_option(text)


def _parse_line(match: re.Match[str]) -> GrantAllowance:
    tier = _TIERS[match["tier"].casefold()]
    row = trc_grant.make_grant_allowance(
        match["type"], match["number"], tier, match["zone"].casefold()
    )
    if bool(row.device) != (match["unit"].casefold() == "device"):
        raise Problem(f"`{match[0]}` counts something else than it names", code=ExitCode.USAGE)
    return row
