"""Parser for the grant in a TRC e-mail, however it was pasted: quoted, wrapped, HTML or bold.

Every pattern and the text itself are bounded, so that no input takes long. The formats come from
e-mails that participants published.
Source: https://github.com/tiny-aya-simultaneous-translation/model/tree/main/docs (read 2026-11).
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from email.utils import parsedate_to_datetime

import msgspec

from tpustarter.cloud.api.resources import Tier
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import MOST_ALLOWANCES, MOST_DAYS, Grant, GrantLine
from tpustarter.core.problem import ExitCode, Problem

MOST_CHARACTERS = 200_000
"""Longest accepted text in characters; a longer one is not a TRC e-mail."""
EXAMPLE = "64 spot Cloud TPU v6e chips in zone us-east1-d"

_ALLOWANCE = re.compile(
    r"(?<![\w.,-])(?P<number>[0-9][0-9,]{0,11}) ?x? "
    r"(?P<tier>spot|on-? ?demand|pre-?emptible|reserved) (?:google )?(?:cloud )?"
    r"(?P<type>tpu[-a-z0-9 ()]{0,40}?) "
    r"(?P<unit>chips?|cores?|devices?)(?: ?\(s\))? "
    r"in (?:the )?zones? ?:? ?(?P<zone>[a-z0-9-]{1,40})",
    re.IGNORECASE,
)
_LIKE_ONE = re.compile(
    r"(?<![\w.,-])[0-9][0-9,]{0,11} [^.]{0,60}?tpu[^.]{0,60}? zone [^ ]{1,40}", re.IGNORECASE
)
_DAYS = re.compile(
    r"\b(?:for|over|of) (?:an? |the |the next |the first |another )?([0-9]{1,4})[ -]days?\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"^[> \t]{0,20}Date:[ \t]{0,20}(.{6,60})$", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"<[^<>]*>")
_QUOTE = re.compile(r"^[ \t>|]+", re.MULTILINE)
_INVISIBLE: dict[int, str | None] = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_DASHES: dict[int, str | None] = dict.fromkeys(
    (0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212), "-"
)
_MARKS = dict.fromkeys(map(ord, "*_`\u2022\u00b7"), " ")
_TIERS: dict[str, Tier] = {
    "spot": "spot",
    "preemptible": "spot",
    "ondemand": "on-demand",
    "reserved": "reserved",
}


@dataclass(frozen=True)
class ParsedGrantMail:
    """The grant in an e-mail, with notes on its parsing."""

    grant: Grant
    notes: tuple[str, ...] = ()
    """Lines that were not understood, and decisions made, as sentences."""


def parse_grant_mail(text: str) -> ParsedGrantMail:
    """Parse the grant in an e-mail; raises Problem if the text contains none."""
    if len(text) > MOST_CHARACTERS:
        raise Problem(
            f"the e-mail has {len(text):,} characters, expected {MOST_CHARACTERS:,} at most",
            hint="paste only the lines that name chips and zones",
            code=ExitCode.USAGE,
        )
    plain = _plain(text)
    rows, unread = _allowances(plain)
    if not rows:
        raise _nothing_found(unread)
    kept, notes = _once(rows)
    notes += [f"Not understood, and left out: {row}." for row in unread]
    found_days = {int(days) for days in _DAYS.findall(plain)}
    sensible = {days for days in found_days if 0 < days <= MOST_DAYS}
    if len(sensible) > 1:
        numbers = ", ".join(map(str, sorted(sensible)[:5]))
        notes.append(f"Several numbers of days are named ({numbers}): `--days N` sets it.")
    days = sensible.pop() if len(sensible) == 1 else None
    return ParsedGrantMail(Grant(tuple(kept), _start(text), days), tuple(notes))


def _nothing_found(unread: Iterable[str]) -> Problem:
    near = "".join(f"; this was not understood: `{row}`" for row in [*unread][:1])
    return Problem(
        f"no line of a grant was found in the text, expected lines such as `{EXAMPLE}`{near}",
        hint="paste those lines, or type `tpustarter trc --allow v6e:64:spot:us-east1-d`",
        read="start/trc-to-first-vm",
        code=ExitCode.USAGE,
    )


def _plain(text: str) -> str:
    """Return a text as one line, without marks of quoting, HTML, bold and transfer encoding."""
    text = re.sub(r"=\r?\n", "", text).replace("=C2=A0", " ").replace("=20", " ")
    text = html.unescape(_TAG.sub(" ", _QUOTE.sub("", text)))
    text = text.translate(_INVISIBLE).translate(_DASHES)
    text = unicodedata.normalize("NFKC", text[:MOST_CHARACTERS])[:MOST_CHARACTERS]
    return " ".join(text.translate(_MARKS).split())


def _allowances(plain: str) -> tuple[list[GrantLine], list[str]]:
    """Return the grant lines, and texts that look like one but cannot be parsed."""
    rows: list[GrantLine] = []
    unread: list[str] = []
    end = 0
    between: list[str] = []
    for match in _ALLOWANCE.finditer(plain):
        between.append(plain[end : match.start()])
        end = match.end()
        if len(rows) + len(unread) >= MOST_ALLOWANCES:
            break
        try:
            rows.append(_allowance(match))
        except Problem as problem:
            unread.append(f"`{match[0][:100]}` ({problem.full_text[:200]})")
    between.append(plain[end:])
    for part in between:
        unread += [f"`{match[0][:100]}`" for match in _LIKE_ONE.finditer(part)]
    return rows, unread[:20]


def _allowance(match: re.Match[str]) -> GrantLine:
    tier = _TIERS[match["tier"].casefold().replace("-", "").replace(" ", "")]
    name = match["type"].partition("(")[0].strip()
    unit = match["unit"].casefold().rstrip("s")
    zone = match["zone"].casefold().strip("-")
    row = trc_grant.make_grant_line(name, match["number"], tier, zone, f"{unit}s")
    if unit == "device" and not row.device:
        raise Problem("how many chips a device has is not said", code=ExitCode.USAGE)
    if unit != "device" and row.device:
        raise Problem("it names a type, and counts chips", code=ExitCode.USAGE)
    return row


def _once(rows: Iterable[GrantLine]) -> tuple[list[GrantLine], list[str]]:
    """Return each line once; of contradictory lines, the one with fewer chips."""
    kept: dict[tuple[str, str, str, str], GrantLine] = {}
    notes: list[str] = []
    for row in rows:
        before = kept.setdefault(row.key, row)
        if before.chips != row.chips:
            fewer = min(before.chips, row.chips)
            kept[row.key] = msgspec.structs.replace(row, chips=fewer)
            notes.append(
                f"Two lines differ about {row.tier} {row.generation} in {row.zone}, and the one "
                f"with {fewer} chips was taken. `--allow` sets it."
            )
    return [*kept.values()], [*dict.fromkeys(notes)]


def _start(text: str) -> date | None:
    """Return the e-mail's date, if all its headers agree on one."""
    days = {day for line in _DATE.findall(text)[:20] if (day := _day(line.strip())) is not None}
    return days.pop() if len(days) == 1 else None


def _day(text: str) -> date | None:
    try:
        found: datetime | None = parsedate_to_datetime(text)
    except (IndexError, OverflowError, TypeError, ValueError):
        return None
    return found.date() if found and 2017 <= found.year <= 2100 else None
