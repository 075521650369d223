"""`tpustarter check`: runs the self-check and prints its report."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.cli.check import all_hosts
from tpustarter.cli.command_end import print_errors_as_json, print_result, stop_at_signals
from tpustarter.cli.parameters import FiniteRange, StrictCommand
from tpustarter.core import content
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import frameworks
from tpustarter.text import phrases
from tpustarter.text.invocation import is_in_cell
from tpustarter.text.terminal import choose_paint, escape_text, format_code, is_notebook_cell, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.checking.machine_check import MachineCheck
    from tpustarter.checking.results.results import Run
    from tpustarter.checking.results.run_comparison import RunComparison
    from tpustarter.checking.results.saved_reports import SavedReport

# The modules that run checks are imported where they are used: `--list` needs none of them.

_COLOURS = {
    "fail": "red",
    "error": "magenta",
    "notrun": "magenta",
    "warn": "yellow",
    "pass": "green",
    "skip": "bright_black",
}


class _ReportFiles(NamedTuple):
    """Files that get the report, too."""

    junit: Path | None
    html: Path | None

    def write(self, run: Run, *, verbose: bool) -> Problem | None:
        """Write them, and return a Problem instead of raising it before the report is printed."""
        try:
            if self.junit:
                from tpustarter.checking.output import junit

                junit.write_report(run, self.junit)
            if self.html:
                from tpustarter.checking.output import run_html
                from tpustarter.checking.results import verdict

                closing = _next_step(run, verdict.exit_code(run), in_cell=is_in_cell(os.environ))
                run_html.write_html(run, self.html, verbose=verbose, closing=closing)
        except Problem as problem:
            return problem
        return None


@click.command(
    cls=StrictCommand,
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
    type=FiniteRange(0, 7 * 24 * 60, min_open=True),
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
@all_hosts.add_all_hosts_options
@click.option(
    "--require",
    type=click.Choice(["tpu", "gpu"]),
    help="Exit with code 69 if there is no such device.",
)
@click.option("--isolate", is_flag=True, help="Run every check in its own process.")
@click.option(
    "--fresh",
    is_flag=True,
    help="Compile every program anew, and load none that an earlier run compiled.",
)
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
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the report to FILE as HTML, for a notebook's IPython.display.HTML.",
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
    fail_on: str | None,
    save: bool,
    compare: str | None,
    minutes: float | None,
    **options: Any,  # with the options' types
) -> None:
    """Check this machine, and say what was proven and on which devices.

    ID is the id of a check, a part of one such as all_reduce, or a pattern such as 'jax.*'. Without
    an ID, it runs every check up to the level. A run changes nothing outside tpustarter's own state
    folder, ends no process of yours, and sends nothing, but to the other hosts with --all-hosts.
    """
    from tpustarter.checking.results import results, verdict

    if as_json and ndjson:
        raise click.UsageError("give either --json or --ndjson, not both")
    files = _ReportFiles(options.pop("junit"), options.pop("html"))
    of_hosts = all_hosts.SliceOptions(**{name: options.pop(name) for name in all_hosts.NAMES})
    request = CheckRequest(ids=ids, fail_on_warn=fail_on == "warn", **options)
    all_hosts.refuse_contradictions(request, of_hosts)
    if minutes is not None:
        request = _with_minutes(request, minutes)
    if listing:
        _list(request)
        return
    with print_errors_as_json(results.SCHEMA, wanted=as_json or ndjson):
        earlier = _read_earlier(compare)
        with _error_in(files.junit):
            selfcheck = all_hosts.make_machine_check(request, of_hosts)
            run = _run(selfcheck, ndjson=ndjson, quiet=as_json or ndjson)
        if of_hosts.all_hosts and (host_end := all_hosts.find_end_on_other_host(selfcheck)):
            click.echo(escape_text(host_end.sentence), err=as_json or ndjson)
            sys.exit(host_end.code)
        not_written = files.write(run, verbose=verbose)
        comparison = _compare(run, *earlier) if earlier else None
        code = not_written.code if not_written else verdict.exit_code(run)
        _report(run, comparison, code, verbose=verbose, as_json=as_json, ndjson=ndjson)
    if save:
        _save(run)
    if not_written:
        raise not_written  # after the report
    _end(selfcheck, code, is_text=not (as_json or ndjson))
    sys.exit(code)


def _with_minutes(request: CheckRequest, minutes: float) -> CheckRequest:
    request = replace(request, minutes=minutes)
    if not any(entry.level == "soak" for entry in _select_checks(request)):
        raise click.UsageError(
            "--minutes only works with checks of level soak, so add --level soak"
        )
    return request


def _end(selfcheck: MachineCheck, code: ExitCode, *, is_text: bool) -> None:
    """Print the next steps on a terminal, and on stderr the reason for an exit code other than 0.

    In a pipe the next steps are omitted, so that the headline is stdout's last line. A person reads
    them in a notebook, too.
    """
    from tpustarter.cli import command_words
    from tpustarter.cli.check import closing_lines as check_end

    run, context = selfcheck.run, click.get_current_context()
    in_cell = is_notebook_cell(sys.stdout)
    is_read = is_text and (sys.stdout.isatty() or in_cell)
    if steps := check_end.next_step_lines(run, code) if is_read else []:
        click.echo(format_code("\n".join(["", *steps])))
    if code != ExitCode.OK:
        left = check_end.list_unreached_checks(run)
        again = command_words.rebuild_arguments(context, **({"ids": left} if left else {}))
        click.echo(escape_text(check_end.explain_exit_code(run, code, again)), err=True)
    if why := check_end.format_log_hint(run, selfcheck.logs):
        click.echo(why, err=True)
    elif is_read and (now := _next_step(run, code, in_cell=in_cell)):
        click.echo(format_code("\n".join([*([] if steps else [""]), *wrap(now)])))


def _next_step(run: Run, code: ExitCode, *, in_cell: bool) -> str:
    """Return the next step after a run that was successful, or else an empty string."""
    from tpustarter.cli.check import closing_lines

    is_ok = code == ExitCode.OK
    return closing_lines.format_next_step(run, in_cell=in_cell) if is_ok else ""


@contextlib.contextmanager
def _error_in(junit: Path | None) -> Generator[None]:
    """Write an exception that ends a run without a result to the JUnit file."""
    if junit is None:
        yield
        return
    from tpustarter.checking.output import junit as xml
    from tpustarter.checking.output import run_document

    xml.write_placeholder(junit)  # a path that cannot be written must not cost a whole run
    try:
        yield
    except Exception as error:
        with contextlib.suppress(Problem):
            xml.write_error(
                str(as_object(run_document.error_fields(error)["error"])["what"]), junit
            )
        raise


def _run(selfcheck: MachineCheck, *, ndjson: bool, quiet: bool) -> Run:
    with stop_at_signals(selfcheck.stop):
        if quiet:
            _stream(selfcheck, ndjson=ndjson)
        else:
            _follow(selfcheck)
    from tpustarter.checking.results import last_failures
    from tpustarter.learning.progress import lesson_progress

    lesson_progress.record_check_run(selfcheck.run)
    last_failures.save_failures(selfcheck.run)
    return selfcheck.run


def _stream(selfcheck: MachineCheck, *, ndjson: bool) -> None:
    from tpustarter.checking.output import run_document

    for event in selfcheck.events():
        if ndjson:
            click.echo(run_document.format_json_line(run_document.event_fields(event)))


def _follow(selfcheck: MachineCheck) -> None:
    """Run the checks, with the Python's name on stdout and the progress on stderr.

    The reader of stdout may print to stderr's terminal at any time. Therefore a pipe gets nothing
    until the progress line has been cleared for the last time.
    """
    from tpustarter.checking.machine_check import PlanMade
    from tpustarter.checking.output import results_text
    from tpustarter.cli.check.check_progress import CheckProgress

    opening = ""
    with CheckProgress(selfcheck) as progress:
        for event in selfcheck.events():
            if isinstance(event, PlanMade):
                progress.clear()
                opening = f"{results_text.format_opening(event.run)}\n"
                if sys.stdout.isatty() or not progress.rewrites:
                    click.echo(opening)
                    opening = ""
            progress.follow(event)
    if opening:
        click.echo(opening)


def _read_earlier(name: str | None) -> tuple[str, SavedReport] | None:
    """Read the report to compare with; a problem with it is raised before anything runs."""
    if name is None:
        return None
    from tpustarter.checking.results import saved_reports

    return saved_reports.read_report(name)


def _compare(run: Run, file: str, earlier: SavedReport) -> RunComparison:
    from tpustarter.checking.output import run_document
    from tpustarter.checking.results import run_comparison as checking_comparison
    from tpustarter.checking.results import saved_reports

    return checking_comparison.compare_runs(
        file, earlier, saved_reports.parse_saved_report(run_document.make_json_document(run))
    )


def _save(run: Run) -> None:
    """Save the report; print a failure, because the verdict has already been printed."""
    from tpustarter.checking.output import run_document
    from tpustarter.checking.results import saved_reports
    from tpustarter.core.redact import Redactor

    try:
        path = saved_reports.save_report(run, run_document.make_json_document(run))
    except Problem as problem:
        click.echo(str(problem), err=True)
    else:
        click.echo(f"saved: {escape_text(Redactor(os.environ).redact_text(str(path)))}", err=True)


def _select_checks(request: CheckRequest) -> list[content.Check]:
    installed = set[str]()
    if any(not content.is_glob(name) for name in request.ids):
        from tpustarter.checking.plan import interpreters

        chosen, _ = interpreters.choose_interpreter(request.python, os.environ, Path.cwd())
        installed = {*chosen.frameworks}
    checks = content.read_checks()
    return content.select_checks(checks, request.ids, request.level, request.framework, installed)


def _list(request: CheckRequest) -> None:
    from tpustarter.checking.output import results_text

    checks = _select_checks(request)
    width = results_text.check_id_width(entry.id for entry in checks)
    for entry in checks:
        estimate = (
            phrases.format_approximate_duration(content.estimate_seconds([entry], request.minutes))
            if entry.estimate_s
            else ""
        )
        click.echo(
            f"{entry.id:<{width}} {entry.level:<6} {estimate:>7}  {entry.broken or entry.title}"
        )
    total = phrases.format_approximate_duration(content.estimate_seconds(checks, request.minutes))
    count = phrases.format_count(len(checks), "check")
    click.echo(f"{count}, about {total} on 8 virtual CPU devices", err=True)


def _report(
    run: Run,
    comparison: RunComparison | None,
    code: ExitCode,
    *,
    verbose: bool,
    as_json: bool,
    ndjson: bool,
) -> None:
    if as_json or ndjson:
        from tpustarter.checking.output import run_document

        fields = (
            run_document.make_json_document(run) if as_json else run_document.finished_fields(run)
        )
        fields["exit_code"] = int(code)
        if comparison:
            import msgspec

            fields["comparison"] = msgspec.to_builtins(comparison)
        print_result(fields)
        return
    from tpustarter.checking.output import results_text
    from tpustarter.cli.check.check_progress import can_rewrite_line

    paint = choose_paint(_COLOURS)
    # In a pipe each check keeps its line.
    folded = can_rewrite_line(sys.stdout) or is_notebook_cell(sys.stdout)
    click.echo(
        format_code(
            results_text.render_results(run, verbose=verbose, fold_passes=folded, paint=paint)
        )
    )
    if comparison:
        from tpustarter.checking.output import run_comparison_text

        click.echo(format_code(f"\n{run_comparison_text.render_comparison(comparison, paint)}"))
