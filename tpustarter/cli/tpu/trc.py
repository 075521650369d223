"""`tpustarter trc`: the grant of the TPU Research Cloud, read from its e-mail."""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone

import click

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.echo import echo_if_waiting, echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.billing import other_charges
from tpustarter.cloud.billing.chips import Resource
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc import grant_mail as trc_mail
from tpustarter.cloud.trc.grant import MOST_ALLOWANCES, MOST_DAYS, Grant, GrantAllowance
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import choose_paint, escape_text, wrap

SCHEMA = "tpustarter.trc/1"
SITE = "https://sites.research.google/trc/about/"
_COLOURS = {"heading": "cyan", "ended": "red"}
_MOST_BYTES = 4 * trc_mail.MOST_CHARACTERS


@click.command(
    "trc",
    cls=StrictCommand,
    short_help="Record what your TPU Research Cloud grant covers, and show it.",
    epilog="Example: tpustarter trc --allow v6e:64:spot:us-east1-d --days 30",
)
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option(
    "--ask", is_flag=True, help="Ask for the lines of the grant, its first day and its days."
)
@click.option(
    "--allow",
    multiple=True,
    metavar="LINE",
    help="One line of the grant, as GENERATION:CHIPS:TIER:ZONE, in place of the e-mail. Repeat it "
    "for more lines.",
)
@click.option("--start", metavar="DAY", help="The first day of the grant, such as 2026-11-03.")
@click.option(
    "--days",
    type=click.IntRange(1, MOST_DAYS),
    metavar="N",
    help="How many days the grant lasts.",
)
@click.option("--forget", is_flag=True, help="Delete what is stored about the grant.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def trc(
    *,
    file: str | None,
    ask: bool,
    allow: Sequence[str],
    start: str | None,
    days: int | None,
    forget: bool,
    as_json: bool,
) -> None:
    """Record the coverage of your TPU Research Cloud (TRC) grant, and show it.

    FILE is the text of the e-mail about the grant, and - reads it from stdin. Without either, or
    where it has no line that can be read, three questions ask for the same. Only the zones,
    generations, chips and tiers, the first day and the number of days are stored, and only on this
    machine. From then on, `tpustarter tpu create` refuses what the grant doesn't
    cover.
    """
    with print_errors_as_json(SCHEMA, wanted=as_json):
        now = WallClock().now()
        if forget:
            _refuse_both(file, ask=ask, allow=allow)
            _forget(as_json=as_json)
            return
        grant, notes = _find(file, ask=ask, allow=allow)
        first = _day(start) if start else grant.start
        changed = replace(grant, start=first, days=days or grant.days)
        kept = trc_grant.find_grant()
        if changed != kept and not (file or allow):
            changed = _ask_for_what_is_missing(changed)
        if changed != kept:
            trc_grant.save_grant(changed)
        if as_json:
            print_result(grant_fields(changed, None, now, notes))
            return
        echo_lines(grant_lines(changed, None, now, notes))


def _refuse_both(file: str | None, *, ask: bool, allow: Sequence[str]) -> None:
    if sum((file is not None, ask, bool(allow))) > 0:
        raise Problem(
            "`--forget` cannot be combined with a file, `--ask` or `--allow`", code=ExitCode.USAGE
        )


def _find(file: str | None, *, ask: bool, allow: Sequence[str]) -> tuple[Grant, Sequence[str]]:
    if sum((file is not None, ask, bool(allow))) > 1:
        raise Problem(
            "give the grant in one way only: a file, `--ask` or `--allow`", code=ExitCode.USAGE
        )
    if allow:
        rows = [trc_grant.parse_allow_option(text) for text in allow[:MOST_ALLOWANCES]]
        return Grant(tuple({row.key: row for row in rows}.values())), ()
    kept = None if file is not None or ask else trc_grant.load_grant()
    if kept:
        return kept, ()
    if file is None:
        return Grant(tuple(_ask_for_lines())), ()
    text = _read(file)
    try:
        reading = trc_mail.parse_grant_mail(text)
    except Problem as problem:
        if not _has_terminal():
            raise
        click.echo(str(problem), err=True)
        return Grant(tuple(_ask_for_lines())), ()
    return reading.grant, reading.notes


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _read(file: str) -> str:
    if file == "-":
        return _read_stdin()
    from pathlib import Path

    try:
        echo_if_waiting(Path(file))
        return locations.read_user_file(Path(file), _MOST_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Problem(f"cannot read `{file}`: {why}", code=ExitCode.USAGE) from error


def _read_stdin() -> str:
    data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _ask_for_lines() -> Iterator[GrantAllowance]:
    """Yield the grant's lines as they are typed or pasted, and ask again for any invalid one."""
    if not _has_terminal():
        raise Problem(
            "no TRC grant is stored, and there is no terminal to ask for its lines",
            hint="name the file with its e-mail, as in `tpustarter trc FILE`, or give its "
            "lines, as in "
            "`tpustarter trc --allow v6e:64:spot:us-east1-d`",
            read="start/trc-to-first-vm",
            code=ExitCode.USAGE,
        )
    click.echo(f"The lines of the grant, such as `{trc_mail.EXAMPLE}`.", err=True)
    rows: dict[object, GrantAllowance] = {}
    try:
        while (
            typed := _ask("The next one; Enter after the last" if rows else "A line")
        ) or not rows:
            if row := _parse_line(typed):
                rows[row.key] = row
    finally:
        # What is left of a pasted e-mail must not be typed into the shell.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    yield from rows.values()


def _parse_line(typed: str) -> GrantAllowance | None:
    """Return a line of a grant; for any other text, print the reason and return None."""
    try:
        return trc_mail.parse_line(typed) if typed else None
    except Problem as problem:
        click.echo(f"not understood: {problem.summary}", err=True)
        return None


def _ask_for_what_is_missing(grant: Grant) -> Grant:
    if not _has_terminal():
        return grant
    if grant.start is None:
        typed = _ask("The day on which it began, such as 2026-11-03; Enter if you don't know")
        grant = replace(grant, start=_day(typed) if typed else None)
    if grant.days is None:
        typed = _ask("For how many days it holds; Enter if you don't know")
        number = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 5 else 0
        if typed and not 0 < number <= MOST_DAYS:
            raise Problem(f"`{typed[:40]}` is not a number of days", code=ExitCode.USAGE)
        grant = replace(grant, days=number or None)
    return grant


def _ask(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False, err=True)).strip()


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise Problem(
            f"`{text[:40]}` is not a day, expected a date such as 2026-11-03", code=ExitCode.USAGE
        ) from error


def _forget(*, as_json: bool) -> None:
    existed = trc_grant.delete_grant()
    if as_json:
        print_result({"schema": SCHEMA, "grant": None, "exit_code": 0})
    elif existed:
        command = "`tpustarter tpu create`"
        echo_lines(
            wrap(f"The grant is forgotten. {command} no longer asks whether it covers a TPU.")
        )
    else:
        click.echo("There was no grant to forget.")


def grant_lines(
    grant: Grant, in_use: Sequence[Resource] | None, now: datetime, notes: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the lines of a grant, its chips in use, its end, and the charges beside it."""
    paint = choose_paint(_COLOURS)
    yield paint("What the TRC grant covers", "heading")
    for row in grant.allowances:
        device = f", as {row.device} devices" if row.device else ""
        used = None if in_use is None else trc_grant.count_chips_in_use(in_use, [row])
        left = "" if used is None else f"; {used} in use, {max(0, row.chips - used)} left"
        noun = phrases.choose_plural(row.chips, "chip", "chips")
        yield (
            f"  {row.zone:<18} {row.chips:>5} {row.generation} {noun}, "
            f"{trc_grant.TIERS[row.tier]}{device}{left}"
        )
    if in_use is None:
        yield from wrap(
            "How much of it is in use is not known here; `tpustarter tpu list` asks "
            "Google what exists.",
            "  ",
        )
    yield ""
    yield from wrap(_describe_period(grant, now))
    for note in notes:
        yield from wrap(escape_text(note))
    yield ""
    yield paint("What is billed all the same", "heading")
    for thing in other_charges.BESIDE_CHIPS:
        yield from wrap(f"{thing.what.capitalize()}: {thing.why}", "  * ", "    ")
        yield f"    {thing.source}"
    yield from wrap(
        "TPUs outside these lines, in any other project than the one that you "
        "registered, and after the end.",
        "  * ",
        "    ",
    )
    yield f"    {SITE}"


def _describe_period(grant: Grant, now: datetime) -> str:
    today = now.astimezone(timezone.utc).date()
    if grant.end is None:
        missing = phrases.join_words(
            name
            for name, value in (("`--start DAY`", grant.start), ("`--days N`", grant.days))
            if value is None
        )
        return f"When it ends is not known. `tpustarter trc` with {missing} notes it."
    first = (
        f"It began on {grant.start}"
        if grant.start and grant.start <= today
        else (f"It begins on {grant.start}")
    )
    left = (grant.end - today).days
    if left <= 0:
        return f"It ended on {grant.end}, so whatever still runs is billed. Delete it."
    days = phrases.choose_plural(left, "tomorrow", f"in {left} days")
    return f"{first} and ends on {grant.end}, {days}. Delete everything before that day."


def grant_fields(
    grant: Grant, in_use: Sequence[Resource] | None, now: datetime, notes: Sequence[str]
) -> dict[str, object]:
    """Return the grant as the JSON document `tpustarter.trc/1`."""
    today = now.astimezone(timezone.utc).date()
    rows: list[dict[str, object]] = []
    for row in grant.allowances:
        used = None if in_use is None else trc_grant.count_chips_in_use(in_use, [row])
        left = None if used is None else max(0, row.chips - used)
        rows.append(
            {
                "generation": row.generation,
                "chips": row.chips,
                "tier": row.tier,
                "zone": row.zone,
                "device": row.device or None,
                "chips_in_use": used,
                "chips_left": left,
            }
        )
    return {
        "schema": SCHEMA,
        "grant": {
            "allowances": rows,
            "start": grant.start.isoformat() if grant.start else None,
            "days": grant.days,
            "end": grant.end.isoformat() if grant.end else None,
            "ended": None if grant.end is None else today >= grant.end,
        },
        "notes": list(notes),
        "billed_anyway": [
            {"what": one.what, "why": one.why, "source": one.source}
            for one in other_charges.BESIDE_CHIPS
        ],
        "exit_code": 0,
    }
