"""`tpustarter tpu doctor`: obstacles between a project and its first TPU, with their fixes."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import common_options, print_dry_run_json
from tpustarter.cloud.api import project_and_zone
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.text.terminal import WIDTH, Paint, choose_paint, escape_text, wrap

if TYPE_CHECKING:
    from tpustarter.cloud.doctor.diagnosis import DoctorReport
    from tpustarter.cloud.doctor.project_findings import ProjectFinding

SCHEMA = "tpustarter.doctor/1"
_WORDS = {"fail": "FAIL", "unknown": "UNKNOWN", "warn": "WARN"}
_COLOURS = {"fail": "red", "unknown": "magenta", "warn": "yellow", "ok": "green"}
_INDENT = " " * 8
_DO, _DO_ON = f"{_INDENT}do    ", " " * 16
_QUOTED = re.compile(r'"[^"]*"')
_NO_BREAK = "\N{NO-BREAK SPACE}"


@click.command(
    "doctor",
    cls=StrictCommand,
    short_help="Find what keeps your project from getting a TPU.",
    epilog="Example: tpustarter tpu doctor --zone us-east1-d --type v6e-8",
)
@common_options(zone="The zone in which you want a TPU.")
@click.option(
    "--type", "tpu_type", metavar="TYPE", help="The accelerator type that you want, such as v6e-8."
)
@click.option(
    "--show-names",
    is_flag=True,
    help="Show project ids, numbers and addresses, which are otherwise left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor_command(
    *,
    project: str | None,
    zone: str | None,
    tpu_type: str | None,
    show_names: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Find out why your project gets no TPU, and how to fix it.

    It asks Google about the project with your own credentials, changes nothing, and takes at most
    about 20 seconds. If it can't find something out, it says so, with the gcloud command that
    does.

    \b
    Exit codes:
      0   nothing stands in the way
      1   something stands in the way
      3   something that matters is unknown
      77  there are no credentials that work
    """  # noqa: D301  click looks for the character itself
    with print_errors_as_json(SCHEMA, wanted=as_json):
        from tpustarter.cloud.doctor import diagnosis as core

        subject = DoctorTarget(
            project_and_zone.require_project(project)
            if project_and_zone.find_project(project)
            else project_and_zone.PLACEHOLDER,
            project_and_zone.find_zone(zone),
            tpu_request.parse_type(tpu_type) if tpu_type else None,
            show_names=show_names,
        )
        if dry_run:
            _show_commands(core.list_commands(subject), as_json=as_json)
            return
        if sys.stderr.isatty() and not as_json:
            click.echo(f"asking Google about the project, at most {core.TOTAL_S:g} s", err=True)
        report = core.diagnose_project(subject)
        if as_json:
            print_result(report.fields())
        else:
            echo_lines(_describe(report, core.format_headline(report), choose_paint(_COLOURS)))
    if report.exit_code:
        worst = report.findings[0]
        fix = f". Next: `{escape_text(worst.fix)}`" if worst.fix else ""
        text = f"exit {int(report.exit_code)}: {worst.id}: {escape_text(worst.found)}{fix}"
        click.echo(text, err=True)
    sys.exit(report.exit_code)


def _show_commands(commands: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_dry_run_json(commands.values(), SCHEMA)
        return
    click.echo("The same with gcloud:")
    for title, command in commands.items():
        echo_lines(f"# {title}")
        for line in _command(command, "", "    "):
            click.echo(line)
    click.echo("Nothing was sent.")


def _describe(report: DoctorReport, headline: str, paint: Paint) -> Iterator[str]:
    subject = report.subject
    named = f"`{subject.id}`" if subject.show_names else f"from {subject.project.source}"
    wanted = subject.type.name if subject.type else "any type"
    yield from wrap(
        escape_text(f"project {named}, {subject.zone or 'no zone'}, {wanted}"), "", _INDENT
    )
    if report.server:
        yield from wrap(f"asks   {report.server} on this machine, not Google", "", " " * 7)
    yield ""
    for finding in report.findings:
        yield from _row(finding, paint)
    yield ""
    yield from wrap(headline)


def _row(finding: ProjectFinding, paint: Paint) -> Iterator[str]:
    word = f"{_WORDS.get(finding.verdict, finding.verdict):<8}"
    hang = " " * 23
    first, *others = wrap(escape_text(finding.found), f"{word}{finding.id:<14} ", hang)
    yield paint(first[:8], finding.verdict) + first[8:]
    yield from others
    if finding.fix and finding.verdict != "ok":
        yield from _command(escape_text(finding.fix))


def _command(text: str, lead: str = _DO, hang: str = _DO_ON) -> Iterator[str]:
    """Yield a command that can be pasted, with a backslash at the end of a continued line."""
    whole = _QUOTED.sub(lambda match: match[0].replace(" ", _NO_BREAK), text)
    lines = textwrap.wrap(
        whole,
        WIDTH - 2,
        initial_indent=lead,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = [line.replace(_NO_BREAK, " ") for line in lines]
    yield from (f"{line} \\" for line in lines[:-1])
    yield lines[-1]
