"""`tpustarter report`: the bug report, shown in full before it is written; nothing is sent."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.parameters import FiniteRange, StrictCommand
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text

if TYPE_CHECKING:
    from tpustarter.report.collect.collector import ReportContext
    from tpustarter.report.make_report import BugReport

SCHEMA = "tpustarter.bug-report/1"


@dataclass(frozen=True)
class _ReportOptions:
    tracker: str | None
    log: str | None
    python: str | None
    wait: float
    no_ask: bool
    reproduces: tuple[str, ...]
    no_reproduce: bool
    out: str
    yes: bool
    as_json: bool
    opened: str | None
    compare: tuple[str, str] | None


@click.command(
    cls=StrictCommand,
    short_help="Collect what a bug report needs, even while the TPU hangs.",
    epilog="Example: tpustarter report --for jax --log train.log",
)
@click.option(
    "--for",
    "tracker",
    metavar="TRACKER",
    help="Fill in the form of this issue tracker: jax, pytorch-xla, torchtpu, tensorflow "
    "or cloud-tpu.",
)
@click.option(
    "--log", metavar="FILE", help="The output of your program. It is searched, but not attached."
)
@click.option("--python", metavar="PATH", help="The Python whose packages the report lists.")
@click.option(
    "--wait",
    type=FiniteRange(1, 600),
    default=30.0,
    metavar="SECONDS",
    help="How long a framework may take to answer before it counts as hanging.  [default: 30]",
)
@click.option("--no-ask", is_flag=True, help="Only read files, and load no framework.")
@click.option(
    "--reproduce",
    "reproduces",
    multiple=True,
    metavar="ID",
    help="Make a reproducer of this check, such as jax.all_reduce, or of this block of a lesson, "
    "such as jax/precision:product.",
)
@click.option("--no-reproduce", is_flag=True, help="Make no reproducers.")
@click.option(
    "--out", default=".", metavar="FOLDER", help="The folder to write into.  [default: .]"
)
@click.option("--yes", is_flag=True, help="Write the files without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and write nothing.")
@click.option(
    "--open",
    "opened",
    metavar="FILE",
    help="Show a report from any machine, judged by today's rules. FILE is a .tar.gz, its folder "
    "or its report.json.",
)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Show what differs between two reports, the most suspicious first. Differences don't "
    "change the exit code.",
)
def report(**typed: Any) -> None:  # with the options' types
    """Collect the facts that maintainers ask for in a bug report, even while the TPU hangs.

    The report begins with what can be read: versions, variables, chips, locks, logs and the last
    checks. Then it starts each framework in a process of its own. If that process hangs, the
    report contains its stack. Names, addresses and paths become pseudonyms, and secrets are
    removed. You see the exact text before anything is written, and nothing is sent.

    It also makes a reproducer, one file that needs only the framework, for each of the newest three
    checks and blocks of lessons that failed in the last day, or for those that you name. It runs
    that file here, with other settings and devices too. The report can then say whether the failure
    happens again, and what it depends on.
    """
    options = _ReportOptions(**typed)
    if options.opened is not None or options.compare:
        _read(options)
        return
    from tpustarter.report import make_report
    from tpustarter.report.forms import issue_trackers

    with print_errors_as_json(SCHEMA, wanted=options.as_json):
        tracker = issue_trackers.find_tracker(options.tracker).id if options.tracker else None
        made = make_report.make_report(
            _make_context(options),
            tracker=tracker,
            query_frameworks=not options.no_ask,
            reproducer_ids=_check_reproducer_ids(options),
        )
        if options.as_json:
            print_result(made.document)
            return
    _show_and_write(made, locations.expand_path(options.out), yes=options.yes)


def _read(options: _ReportOptions) -> None:
    _refuse_what_makes_a_report(click.get_current_context())
    from tpustarter.report.open import opened_report

    if options.compare:
        import msgspec

        from tpustarter.report.compare import report_comparison, report_comparison_text

        schema = report_comparison.SCHEMA
        with print_errors_as_json(schema, wanted=options.as_json):
            a, b = (
                opened_report.open_report(locations.expand_path(name)) for name in options.compare
            )
            compared = report_comparison.compare_reports(a, b)
            document = msgspec.to_builtins(compared)
            shown = "" if options.as_json else report_comparison_text.render_comparison(compared)
    else:
        with print_errors_as_json(SCHEMA, wanted=options.as_json):
            document = opened_report.open_report(locations.expand_path(options.opened or ""))
            shown = "" if options.as_json else opened_report.render_report(document, sys.maxsize)
    if options.as_json:
        from tpustarter.checking.output.run_document import format_json_line

        shown = format_json_line(document)
    click.echo(shown.removesuffix("\n"))


def _refuse_what_makes_a_report(context: click.Context) -> None:
    """Raise UsageError if options that create a report are combined with one that reads one."""
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]
    reads = [name for name in given if name in ("--open", "--compare")]
    makes = [name for name in given if name not in ("--open", "--compare", "--json")]
    if len(reads) > 1:
        raise click.UsageError("give either --open or --compare, not both")
    if makes:
        make = phrases.choose_plural(len(makes), "makes", "make")
        reading = "reads one" if reads == ["--open"] else "reads two"
        raise click.UsageError(
            f"{phrases.join_words(makes)} {make} a report, and {reads[0]} {reading}"
        )


def _check_reproducer_ids(options: _ReportOptions) -> tuple[str, ...] | None:
    """Return the ids to reproduce, or None for no reproducers; raises Problem for an unknown id."""
    from tpustarter.report.collect import reproducible_failures

    for one in options.reproduces:
        reproducible_failures.find_reproducer(one)
    return None if options.no_reproduce else options.reproduces


def _make_context(options: _ReportOptions) -> ReportContext:
    """Return the report's sources; raises Problem if a named file or Python is missing."""
    from tpustarter.checking.plan import interpreters
    from tpustarter.machine import host
    from tpustarter.report.collect import known_failures as reported_failures
    from tpustarter.report.collect.collector import ReportContext

    machine = host.Machine()
    try:
        chosen, _ = interpreters.choose_interpreter(options.python, machine.env, Path.cwd())
    except Problem:
        if options.python is not None:
            raise
        chosen = None  # the machine can be reported without a Python
    log = locations.expand_path(options.log) if options.log else None
    context = ReportContext(machine, Path.cwd(), chosen, log, options.wait, _print_progress)
    if log and not log.is_fifo():  # opening and closing a pipe would end its writer
        reported_failures.open_log(context).close()
    return context


def _print_progress(text: str) -> None:
    click.echo(f"{text} ...", err=True)


def _show_and_write(made: BugReport, folder: Path, *, yes: bool) -> None:
    import msgspec

    from tpustarter.report.forms import bundle, markdown_form
    from tpustarter.report.report_document import ReportDocument

    document = msgspec.convert(made.document, ReportDocument)
    click.echo(markdown_form.render_markdown(made.document, limit=sys.maxsize), nl=False)
    counts = {kind: number for kind, number in document.replacements.items() if number}
    replaced = ", ".join(f"{number} x {kind}" for kind, number in counts.items()) or "nothing"
    click.echo(f"\nReplaced in this text: {replaced}.", err=True)
    if document.left_out:
        click.echo(
            f"Left out or without an answer: {len(document.left_out)}, named above and "
            "in the manifest.",
            err=True,
        )
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        click.echo("Nothing was written. `tpustarter report --yes` writes it.", err=True)
        return
    if not yes and not click.confirm(
        "Nothing is sent. Write this report?", default=False, err=True
    ):
        click.echo("Nothing was written.", err=True)
        return
    packed = bundle.write_bundle(made, folder)
    shown = escape_text(Redactor(os.environ).redact_text(str(packed)))
    click.echo(
        f"Written: {shown.removesuffix('.tar.gz')}/report.md and {shown}. Read them once "
        f"more, then file at {document.first.file_at}.",
        err=True,
    )
    sys.exit(ExitCode.OK)
