"""`tpustarter check`: run the self-check and report it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tpustarter import content
from tpustarter.checking.request import Request
from tpustarter.cli.endings import json_even_if_it_breaks, print_result, stopped_by_signals
from tpustarter.machine import frameworks
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import coded, paint_for, visible, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.checking.results import Run
    from tpustarter.checking.selfcheck import SelfCheck

# What runs checks is imported where it is used: their list needs nothing of it.

_COLOURS = {
    "fail": "red", "error": "magenta", "notrun": "magenta", "warn": "yellow", "pass": "green",
    "skip": "bright_black",
}  # fmt: skip


@click.command(
    short_help="Check this machine, and say what was proven and where.",
    epilog="Example: tpustarter check 'jax.*' --python ~/tpu/bin/python -v\n\n"
    "After a change: tpustarter check --compare last --save",
)
@click.argument("ids", nargs=-1, metavar="[ID ...]")
@click.option(
    "--level",
    type=click.Choice(content.LEVELS),
    default="quick",
    show_default=True,
    help="How much to check. static: loads no framework, so it is safe while a job is running. "
    "quick: takes about half a minute on a TPU. full: measures speed too, in about three minutes. "
    "soak: repeats its work for --minutes.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0, 7 * 24 * 60, min_open=True),
    metavar="N",
    help="How many minutes the checks of level soak run (10 by default). Ctrl-C ends them early "
    "and keeps the results so far; a second Ctrl-C ends them at once.",
)
@click.option(
    "--framework",
    type=click.Choice([*frameworks.FRAMEWORKS]),
    help="Run only the checks of this framework.",
)
@click.option(
    "--python",
    metavar="PATH",
    help="The Python to test: an interpreter, or the folder of an environment.",
)
@click.option(
    "--devices",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Use N virtual CPU devices, even beside a TPU.",
)
@click.option("--this-host", is_flag=True, help="On a slice of several hosts, test only this one.")
@click.option(
    "--require",
    type=click.Choice(["tpu", "gpu"]),
    help="Exit with code 69 if there is no such device.",
)
@click.option("--isolate", is_flag=True, help="Run every check in its own process.")
@click.option("--list", "listing", is_flag=True, help="List the checks, and run nothing.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Show every finding, every skipped check and full logs."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.option("--ndjson", is_flag=True, help="Print each event as a line of JSON while it runs.")
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the results to FILE as JUnit XML.",
)
@click.option("--save", is_flag=True, help="Save the report, and print where it is.")
@click.option(
    "--compare",
    metavar="FILE",
    help="Show what changed since FILE, a report from --json or --save. The word `last` stands for "
    "the newest saved report.",
)
@click.option(
    "--fail-on", type=click.Choice(["warn"]), help="Exit with code 4 if there are warnings."
)
def check(
    *,
    ids: tuple[str, ...],
    listing: bool,
    verbose: bool,
    as_json: bool,
    ndjson: bool,
    junit: Path | None,
    fail_on: str | None,
    save: bool,
    compare: str | None,
    minutes: float | None,
    **options: Any,
) -> None:
    """Check this machine, and say what was proven and on which devices.

    ID is the id of a check, a part of one such as all_reduce, or a pattern such as 'jax.*'. Without
    an ID, it runs every check up to the level that you choose. A run changes nothing outside
    tpustarter's own state folder, ends no process of yours, and sends nothing anywhere.
    """
    from tpustarter.checking import results, verdict

    if as_json and ndjson:
        raise click.UsageError("give either --json or --ndjson, not both")
    request = Request(ids=ids, fail_on_warn=fail_on == "warn", **options)
    if minutes is not None:
        request = replace(request, minutes=minutes)
        if not any(entry.level == "soak" for entry in _select_checks(request)):
            raise click.UsageError(
                "--minutes only works with checks of level soak, so add --level soak"
            )
    if listing:
        _list(request)
        return
    with json_even_if_it_breaks(results.SCHEMA, wanted=as_json or ndjson):
        earlier = _read_earlier(compare)
        with _error_in(junit):
            selfcheck = _run(request, ndjson=ndjson, quiet=as_json or ndjson)
            run = selfcheck.run
        not_written = _write_junit(run, junit)
        comparison = _compare(run, *earlier) if earlier else None
        _report(run, comparison, verbose=verbose, as_json=as_json, ndjson=ndjson)
    if save:
        _save(run)
    if not_written:
        raise not_written  # the report came first
    code = verdict.exit_code(run)
    _end(selfcheck, code, is_text=not (as_json or ndjson))
    sys.exit(code)


def _end(selfcheck: SelfCheck, code: ExitCode, *, is_text: bool) -> None:
    """Say to a person what mends what is wrong, and on stderr why the exit code is not 0.

    In a pipe the report is the same, and its last line is the headline.
    """
    from tpustarter.cli import check_end, retyped

    run, context = selfcheck.run, click.get_current_context()
    is_read = is_text and sys.stdout.isatty()
    if steps := check_end.next_steps(run, code) if is_read else []:
        click.echo(coded("\n".join(["", *steps])))
    if code != ExitCode.OK:
        left = check_end.left(run)
        again = retyped.words(context, **({"ids": left} if left else {}))
        click.echo(visible(check_end.explain_exit(run, code, again)), err=True)
    if why := check_end.why(run, selfcheck.logs):
        click.echo(why, err=True)
    elif is_read and code == ExitCode.OK and (now := check_end.what_now(run)):
        click.echo(coded("\n".join([*([] if steps else [""]), *wrap(now)])))


@contextlib.contextmanager
def _error_in(junit: Path | None) -> Generator[None]:
    """Have the JUnit file say of a run without a result what ended it."""
    if junit is None:
        yield
        return
    from tpustarter.checking import document
    from tpustarter.checking import junit as xml

    xml.reserve(junit)  # a path that cannot be written must not cost a whole run
    try:
        yield
    except Exception as error:
        with contextlib.suppress(Problem):
            xml.write_error(document.error_fields(error)["error"]["what"], junit)
        raise


def _write_junit(run: Run, junit: Path | None) -> Problem | None:
    """Write the JUnit file; returns what went wrong, which must not hide the report."""
    if junit is None:
        return None
    from tpustarter.checking import junit as xml

    try:
        xml.write(run, junit)
    except Problem as problem:
        return problem
    return None


def _run(request: Request, *, ndjson: bool, quiet: bool) -> SelfCheck:
    """Run the checks, tell every event, and remember how it ended."""
    from tpustarter.checking.selfcheck import SelfCheck

    selfcheck = SelfCheck(request)
    with stopped_by_signals(selfcheck.stop):
        if quiet:
            _stream(selfcheck, ndjson=ndjson)
        else:
            _follow(selfcheck)
    from tpustarter.checking import failures
    from tpustarter.learning import progress

    progress.remember_check(selfcheck.run)
    failures.remember(selfcheck.run)
    return selfcheck


def _stream(selfcheck: SelfCheck, *, ndjson: bool) -> None:
    """Run the checks without progress; with `--ndjson` each event is a line of JSON on stdout."""
    from tpustarter.checking import document

    for event in selfcheck.events():
        if ndjson:
            click.echo(document.line(document.event_fields(event)))


def _follow(selfcheck: SelfCheck) -> None:
    """Run the checks; says on stdout in which Python, and on stderr how far it is.

    Whatever reads stdout may write it onto the terminal of stderr, at a time of its own: so a pipe
    gets nothing before the line that says how far it is has gone for good.
    """
    from tpustarter.checking import text
    from tpustarter.checking.selfcheck import Began
    from tpustarter.cli.check_progress import Progress

    opening = ""
    with Progress(selfcheck) as progress:
        for event in selfcheck.events():
            if isinstance(event, Began):
                progress.begin()
                opening = f"{text.opening(event.run)}\n"
                if sys.stdout.isatty() or not progress.rewrites:
                    click.echo(opening)
                    opening = ""
            progress.follow(event)
    if opening:
        click.echo(opening)


def _read_earlier(name: str | None) -> tuple[str, dict[str, Any]] | None:
    """Read the report to compare with: what is wrong with it is told before anything runs."""
    if name is None:
        return None
    from tpustarter.checking import saved

    return saved.read(name)


def _compare(run: Run, file: str, earlier: dict[str, Any]) -> dict[str, Any]:
    from tpustarter.checking import compare, document

    return compare.compare(file, earlier, document.document(run))


def _save(run: Run) -> None:
    """Keep the report; a full disk must not hide a verdict that was told already."""
    from tpustarter.checking import document, saved
    from tpustarter.redact import Redactor

    try:
        path = saved.save(run, document.document(run))
    except Problem as problem:
        click.echo(str(problem), err=True)
    else:
        click.echo(f"saved: {visible(Redactor(os.environ).text(str(path)))}", err=True)


def _select_checks(request: Request) -> list[content.Check]:
    installed = set[str]()
    if any(not content.is_glob(name) for name in request.ids):
        from tpustarter.checking import interpreters

        installed = interpreters.choose(request.python, os.environ, Path.cwd())[0].names
    checks = content.read_checks()
    return content.select(checks, request.ids, request.level, request.framework, installed)


def _list(request: Request) -> None:
    """Show each check with its level, about how long it takes, and its claim."""
    from tpustarter.checking import text, words

    checks = _select_checks(request)
    width = text.id_width(entry.id for entry in checks)
    for entry in checks:
        estimate = text.about(content.seconds([entry], request.minutes)) if entry.estimate_s else ""
        click.echo(
            f"{entry.id:<{width}} {entry.level:<6} {estimate:>7}  {entry.broken or entry.title}"
        )
    total = text.about(content.seconds(checks, request.minutes))
    count = words.count(len(checks), "check")
    click.echo(f"{count}, about {total} on 8 virtual CPU devices", err=True)


def _report(
    run: Run, comparison: dict[str, Any] | None, *, verbose: bool, as_json: bool, ndjson: bool
) -> None:
    if as_json or ndjson:
        from tpustarter.checking import document

        fields = document.document(run) if as_json else document.finished_fields(run)
        print_result({**fields, "comparison": comparison} if comparison else fields)
        return
    from tpustarter.checking import text
    from tpustarter.cli.check_progress import can_rewrite

    paint = paint_for(_COLOURS)
    folded = can_rewrite(sys.stdout)  # in a pipe each check keeps its line
    click.echo(coded(text.render(run, verbose=verbose, fold_passes=folded, paint=paint)))
    if comparison:
        from tpustarter.checking import compare_text

        click.echo(coded(f"\n{compare_text.render(comparison, paint)}"))
